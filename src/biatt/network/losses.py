"""What training makes large or small: the likelihood of the gold tree (section 3), and its companions."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from biatt.data.scores import Floats
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


def taught(output: Output, batch: Batch, heads: Floats, relations: Floats) -> Tensor:
    """What `log_likelihood` becomes where a teacher's probabilities take the place of the gold tree.

    heads is (N, T), 0 past the sentence; relations, given the gold heads, (N, R).
    """
    inside = output.attention.masked_fill(output.attention == -torch.inf, 0.0)
    arcs = torch.from_numpy(heads).to(inside) * inside
    labels = torch.from_numpy(relations).to(inside) * gold_logits(output, batch).log_softmax(-1)
    return arcs.sum() + labels.sum()


def gold_logits(output: Output, batch: Batch) -> Tensor:
    """The relations' scores given the gold heads: (N, R)."""
    roots = word_positions(batch.words) - np.concatenate([np.arange(1, n + 1) for n in batch.words])
    heads = torch.from_numpy(roots + np.maximum(batch.heads, 0))
    return pair_logits(output, heads.to(output.relations.device))


def disagreement(output: Output) -> Tensor:
    """Σ squared Hellinger distance of the two directions' attentions: 1 − Σⱼ √(aˡⱼ aʳⱼ) of every word."""
    left, right = output.attention
    return (1 - torch.exp(0.5 * (left + right)).sum(-1)).sum()
