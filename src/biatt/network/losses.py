"""The training objective: the log-likelihood of the gold tree (section 3)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from biatt.encoding.batches import Batch, word_positions
from biatt.network.model import Output, pair_logits


def log_likelihood(output: Output, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
    """Σ log y + log aˡ + log aʳ of the gold tree (section 3); relations unseen in training do not count.

    With smoothing, that share of each term is the mean over all choices instead of the gold one.
    """
    device = output.relations.device
    heads = torch.from_numpy(batch.heads).long().to(device)
    relations = torch.from_numpy(batch.relations).long().to(device)
    arcs = output.attention.gather(-1, heads.expand(len(output.attention), -1)[..., None]).sum()
    if smoothing:
        choices = torch.from_numpy(np.repeat(batch.words + 1, batch.words)).to(output.attention)
        inside = output.attention.masked_fill(output.attention == -torch.inf, 0.0)
        arcs = (1 - smoothing) * arcs + smoothing * (inside.sum(-1) / choices).sum()
    logits = gold_logits(output, batch)
    return arcs - F.cross_entropy(
        logits, relations, ignore_index=-1, reduction="sum", label_smoothing=smoothing
    )


def gold_logits(output: Output, batch: Batch) -> Tensor:
    """The relations' scores given the gold heads: (N, R)."""
    roots = word_positions(batch.words) - np.concatenate([np.arange(1, n + 1) for n in batch.words])
    heads = torch.from_numpy(roots + np.maximum(batch.heads, 0))
    return pair_logits(output, heads.to(output.relations.device))
