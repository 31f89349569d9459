"""The parts of the network that go step by step, in torch: recurrences and attention (section 2.2).

Symbols and shapes are those of `model.py`. `PLAIN` computes on padded grids, one step of all sentences at a
time; `autograd.FUSED` computes the same in compiled loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from biatt.data.scores import NEGATIVE_SLOPE
from biatt.encoding.vocabulary import Indices


class GruTensors(NamedTuple):
    """The weights of a gated recurrent unit for each of d directions: reset gate, update gate, candidate."""

    W: Tensor  # (d, inputs, 3h)
    bias: Tensor  # (d, 3h)
    U: Tensor  # (d, h, 3h)
    first: Tensor  # (d, h): the state before the first step
    limit: float  # of a candidate's absolute value, which LReL does not bound


class LookupTensors(NamedTuple):
    """The weights of the attention in query components with feedback."""

    F: Tensor  # (d, 2h, 3h)
    U: Tensor  # (d, 2h, R)
    C: Tensor  # (1, 2h, h): shared by the directions
    D: Tensor  # (d, h, h)
    v: Tensor  # (d, h)


class Grid:
    """Where the flat rows of sentences go in a padded grid, read from the left and from the right."""

    def __init__(self, lengths: Indices, device: torch.device) -> None:
        size, longest = len(lengths), int(lengths.max())
        step = np.arange(longest)
        starts = (np.cumsum(lengths) - lengths)[:, None]  # (B, 1)
        inside = step < lengths[:, None]  # (B, longest)
        cells = np.arange(size * longest).reshape(size, longest)
        self.inside = torch.from_numpy(inside).to(device)
        self.to_grid, self.to_flat = {}, {}
        for direction, offset in (("l", step), ("r", lengths[:, None] - 1 - step)):
            index = np.where(inside, starts + offset, 0)  # (B, longest): the row read at each step
            flat = np.empty(int(lengths.sum()), np.int64)
            flat[index[inside]] = cells[inside]
            self.to_grid[direction] = torch.from_numpy(index).to(device)
            self.to_flat[direction] = torch.from_numpy(flat).to(device)

    def pad(self, flat: Tensor, directions: str) -> Tensor:
        """(d, flat, …) → (d, B, steps, …), each direction in its reading order."""
        return torch.stack([flat[k][self.to_grid[direction]] for k, direction in enumerate(directions)])

    def unpad(self, grid: Tensor, directions: str) -> Tensor:
        """(d, B, steps, …) → (d, flat, …): undoes `pad`."""
        cells = grid.flatten(1, 2)
        return torch.stack([cells[k][self.to_flat[direction]] for k, direction in enumerate(directions)])


def gru_step(state: Tensor, inputs: Tensor, U: Tensor, limit: float) -> Tensor:
    """h = z ⊙ h₋₁ + (1 − z) ⊙ h̃ with an LReL candidate (section 2.2); `inputs` is Wx + b of all parts."""
    h = state.shape[-1]
    gates, candidate = inputs[..., : 2 * h], inputs[..., 2 * h :]
    r, z = torch.sigmoid(gates + state @ U[..., : 2 * h]).chunk(2, -1)
    # The reset gate acts before the product with U, as in Cho et al. 2014.
    candidate = candidate + (r * state) @ U[..., 2 * h :]
    candidate = functional.leaky_relu(candidate, NEGATIVE_SLOPE).clamp(-limit, limit)
    return z * state + (1 - z) * candidate


def recurrence(x: Tensor, gru: GruTensors, lengths: Indices, directions: str) -> Tensor:
    """(flat, inputs) → (d, flat, h): a GRU over every sentence in each direction's order."""
    sentences = Grid(lengths, x.device)
    grid = sentences.pad(x @ gru.W + gru.bias[:, None], directions)  # (d, B, steps, 3h)
    state = gru.first[:, None].expand(-1, grid.shape[1], -1)  # (d, B, h)
    states = []
    for step in range(grid.shape[2]):
        state = gru_step(state, grid[:, :, step], gru.U, gru.limit)
        states.append(state)
    return sentences.unpad(torch.stack(states, 2), directions)


def attend(
    projected: Tensor, query: Tensor, v: Tensor, values: Tensor, inside: Tensor
) -> tuple[Tensor, Tensor]:
    """Equations 1 and 2 for one word of each sentence: log a, and the soft headword's Σⱼ aⱼ valuesⱼ.

    s = vᵀ tanh(C m + D q), normalised over the positions of the sentence. projected (1, B, T, h) is C m;
    query (d, B, h) is D q; v (d, h); values (d, B, T, …). The results are (d, B, T) and (d, B, …).
    """
    s = torch.tanh(projected + query[:, :, None]) @ v[:, None, :, None]
    log_a = torch.log_softmax(s[..., 0].masked_fill(~inside, -torch.inf), -1)
    return log_a, (log_a.exp()[:, :, None] @ values)[:, :, 0]


def attention(
    queries: Tensor, values: Tensor, projected: Tensor, v: Tensor, words: Indices
) -> tuple[Tensor, Tensor]:
    """Attention without feedback, for all words at once: log a (A, N, T) and soft headwords (A, N, …).

    queries (A, N, h) is D q; values (A, M, …); projected (1, M, h) is C m; v (A, h).
    """
    rows, positions, order = Grid(words, queries.device), Grid(words + 1, queries.device), "l" * len(queries)
    grid, values = rows.pad(queries, order), positions.pad(values, order)
    projected = positions.pad(projected, "l")
    steps = [attend(projected, grid[:, :, t], v, values, positions.inside) for t in range(grid.shape[2])]
    log_a, soft = (torch.stack(part, 2) for part in zip(*steps, strict=True))
    return rows.unpad(log_a, order), rows.unpad(soft, order)


def query_recurrence(
    x: Tensor, m: Tensor, gru: GruTensors, lookup: LookupTensors, words: Indices, directions: str
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Query components with feedback (section 2.2): q (d, N, h), log a (d, N, T), soft headwords (d, N, R).

    x (N, h) are the words' embeddings, m (M, 2h) the memory. The soft headword of step t − 1 (t + 1 from the
    right) times F enters step t; at the first step it is zero. Times U it is added to the relations' scores.
    """
    rows, positions = Grid(words, x.device), Grid(words + 1, x.device)
    grid = rows.pad(x @ gru.W + gru.bias[:, None], directions)  # (d, B, T − 1, 3h)
    # Memory is looked up, not read in order, so both directions see it from left to right.
    projected = positions.pad(m @ lookup.C, "l")  # (1, B, T, h)
    values = torch.cat([m @ lookup.F, m @ lookup.U], -1)
    values = positions.pad(values, "l" * len(values))  # (d, B, T, 3h + R)
    state = gru.first[:, None].expand(-1, grid.shape[1], -1)  # (d, B, h)
    fed = torch.zeros_like(grid[:, :, 0])  # (d, B, 3h)
    steps = []
    for t in range(grid.shape[2]):
        state = gru_step(state, grid[:, :, t] + fed, gru.U, gru.limit)
        log_a, soft = attend(projected, state @ lookup.D, lookup.v, values, positions.inside)
        fed, relations = soft.split([fed.shape[-1], lookup.U.shape[-1]], -1)
        steps.append((state, log_a, relations))
    q, log_a, soft = (rows.unpad(torch.stack(part, 2), directions) for part in zip(*steps, strict=True))
    return q, log_a, soft


class Operations(NamedTuple):
    """The parts of the network that go step by step; `autograd.FUSED` computes the same in compiled loops."""

    recurrence: Callable[..., Tensor]
    attention: Callable[..., tuple[Tensor, Tensor]]
    query_recurrence: Callable[..., tuple[Tensor, Tensor, Tensor]]


PLAIN = Operations(recurrence, attention, query_recurrence)
