"""The training objectives: the log-likelihood of the gold tree (section 3), and that of labels.

Where a batch has a teacher's doubts, the log-likelihood of a choice becomes its expected value under the
teacher's probabilities.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from biatt.encoding.batches import Batch
from biatt.encoding.doubts import FIRST_LABEL, HEAD, RELATION, Doubts
from biatt.encoding.labels import NO_LABEL, Labels
from biatt.encoding.vocabulary import Indices
from biatt.network.model import ParserOutput


def log_likelihood(output: ParserOutput, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
    """Σ log y + log aˡ + log aʳ of the gold tree (section 3).

    Words without a gold head, and relations unseen in training, are ignored. With smoothing, each
    log-probability is (1 − smoothing) · that of the gold choice + smoothing · the mean over all choices.
    """
    device = output.logits.device
    known = batch.heads != NO_LABEL
    if batch.doubts is None:
        heads = torch.from_numpy(np.maximum(batch.heads, 0)).long().to(device)
        chosen = output.log_a.gather(-1, heads.expand(len(output.log_a), -1)[..., None])
        arcs = chosen[:, torch.from_numpy(known).to(device)].sum()
    else:
        arcs = _expected(output.log_a, batch.heads, batch.doubts, HEAD)
    if smoothing:
        choices = torch.from_numpy(np.repeat(batch.words + 1, batch.words)).to(output.log_a)
        inside = output.log_a.masked_fill(output.log_a == -torch.inf, 0.0)
        means = inside.sum(-1) / choices
        with_target = _with_target(batch.heads, batch.doubts, HEAD)
        arcs = (1 - smoothing) * arcs + smoothing * means[:, torch.from_numpy(with_target).to(device)].sum()
    logits = output.relation_logits(torch.from_numpy(gold_head_positions(batch)).to(device))
    # A relation is scored given the head, so it is not known where the head is not.
    relations = np.where(known, batch.relations, NO_LABEL)
    return arcs - _cross_entropy(logits, relations, batch.doubts, RELATION, smoothing)


def label_losses(
    scores: Tensor,
    gold: Indices,
    labels: Labels,
    *,
    doubts: Doubts | None = None,
    smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of each kind of label, summed over all words; labels that are not known are ignored.

    `scores` are (N, all labels), `gold` (N, kinds).
    """
    return torch.stack(
        [
            _cross_entropy(scores[:, part], gold[:, kind], doubts, FIRST_LABEL + kind, smoothing)
            for kind, part in enumerate(labels.slices)
        ]
    )


def _cross_entropy(
    logits: Tensor, gold: Indices, doubts: Doubts | None, kind: int, smoothing: float
) -> Tensor:
    """The cross entropy of logits (N, choices), summed over all words whose choice is known."""
    if doubts is None:
        return functional.cross_entropy(
            logits,
            torch.from_numpy(gold).long().to(logits.device),
            ignore_index=NO_LABEL,
            reduction="sum",
            label_smoothing=smoothing,
        )
    log_y = torch.log_softmax(logits, -1)
    expected = _expected(log_y, gold, doubts, kind)
    if smoothing:
        with_target = _with_target(gold, doubts, kind)
        mean = log_y[torch.from_numpy(with_target).to(log_y.device)].mean(-1).sum()
        expected = (1 - smoothing) * expected + smoothing * mean
    return -expected


def _with_target(gold: Indices, doubts: Doubts | None, kind: int) -> NDArray[np.bool_]:
    """Whether each word has a gold choice of this kind, or doubts about it."""
    known: NDArray[np.bool_] = gold != NO_LABEL
    if doubts is not None:
        known[doubts.words[doubts.kinds == kind]] = True
    return known


def _expected(log_y: Tensor, gold: Indices, doubts: Doubts, kind: int) -> Tensor:
    """The expected log-probability of choices of one kind, summed over all words; `log_y` is (…, N, choices).

    A word that the teacher has doubts about has several choices; another has its gold choice, if it is known.
    """
    doubtful = doubts.kinds == kind
    certain = gold != NO_LABEL
    certain[doubts.words[doubtful]] = False
    (words,) = np.nonzero(certain)
    rows = np.concatenate([words, doubts.words[doubtful]])
    choices = np.concatenate([gold[words], doubts.choices[doubtful]])
    weights = np.concatenate([np.ones(len(words)), doubts.probabilities[doubtful]])
    chosen = log_y[..., torch.from_numpy(rows).long(), torch.from_numpy(choices).long()]
    return (chosen * torch.from_numpy(weights).to(log_y)).sum()


def gold_head_positions(batch: Batch) -> NDArray[np.int64]:
    """The position in the batch, (N,), of the gold head of every word; of ROOT where there is none."""
    words = batch.words.astype(np.int64)
    roots = np.cumsum(words + 1) - (words + 1)  # (B,): the positions of the ROOTs
    positions: NDArray[np.int64] = np.repeat(roots, words) + np.maximum(batch.heads, 0)
    return positions
