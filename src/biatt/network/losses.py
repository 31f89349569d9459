"""The training objectives: the log-likelihood of the gold tree (section 3), and that of labels."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from biatt.encoding.batches import Batch
from biatt.encoding.labels import NO_LABEL, Labels
from biatt.encoding.vocabulary import Indices
from biatt.network.model import ParserOutput


def log_likelihood(output: ParserOutput, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
    """Σ log y + log aˡ + log aʳ of the gold tree (section 3); relations unseen in training are ignored.

    With smoothing, each log-probability is (1 − smoothing) · that of the gold choice + smoothing · the mean
    over all choices.
    """
    device = output.logits.device
    heads = torch.from_numpy(batch.heads).long().to(device)
    relations = torch.from_numpy(batch.relations).long().to(device)
    arcs = output.log_a.gather(-1, heads.expand(len(output.log_a), -1)[..., None]).sum()
    if smoothing:
        choices = torch.from_numpy(np.repeat(batch.words + 1, batch.words)).to(output.log_a)
        inside = output.log_a.masked_fill(output.log_a == -torch.inf, 0.0)
        arcs = (1 - smoothing) * arcs + smoothing * (inside.sum(-1) / choices).sum()
    logits = output.relation_logits(torch.from_numpy(gold_head_positions(batch)).to(device))
    return arcs - functional.cross_entropy(
        logits, relations, ignore_index=-1, reduction="sum", label_smoothing=smoothing
    )


def label_losses(scores: Tensor, gold: Indices, labels: Labels, *, smoothing: float = 0.0) -> Tensor:
    """The cross entropy of each kind of label, summed over all words; labels that are not known are ignored.

    `scores` are (N, all labels), `gold` (N, kinds).
    """
    numbers = torch.from_numpy(gold).long().to(scores.device)
    return torch.stack(
        [
            functional.cross_entropy(
                scores[:, part],
                numbers[:, kind],
                ignore_index=NO_LABEL,
                reduction="sum",
                label_smoothing=smoothing,
            )
            for kind, part in enumerate(labels.slices)
        ]
    )


def gold_head_positions(batch: Batch) -> NDArray[np.int64]:
    """The position in the batch, (N,), of the gold head of every word; of ROOT where there is none."""
    words = batch.words.astype(np.int64)
    roots = np.cumsum(words + 1) - (words + 1)  # (B,): the positions of the ROOTs
    positions: NDArray[np.int64] = np.repeat(roots, words) + np.maximum(batch.heads, 0)
    return positions
