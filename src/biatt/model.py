"""The network of the paper, section by section, in torch.

Symbols are the paper's: x token embeddings, m memory, q queries, s scores, a attention, y relations;
P, C, D, v, U, W weights. Weight matrices are stored input × output, so that a row vector times the matrix
is the layer. Shapes use

    B sentences of n words;  N = Σn words and M = Σ(n + 1) positions with ROOT, laid out flat (`Batch`)
    T = 1 + the largest n;   h the hidden size;   R relations;   d query directions (1 or 2)

The soft headword m̃ = Σⱼ aⱼmⱼ is only ever multiplied by a matrix, so we multiply first: Σⱼ aⱼ(mⱼW) is
the same number, and mW is one large product outside the recurrence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from biatt.batches import Batch
from biatt.config import ModelConfig, Reset
from biatt.decode import Scores

SLOPE = 0.1  # of the leaky rectified linear function's negative part (section 2.1)


class Output(NamedTuple):
    attention: Tensor  # (A, N, T): log a, one for each query direction (A = 1 or 2), −inf past the sentence
    relations: Tensor  # (N, R): log y


class Layout:
    """Where the flat positions of a batch go in a padded grid, read from the left and from the right."""

    def __init__(self, lengths: np.ndarray, device: torch.device) -> None:
        size, longest = len(lengths), int(lengths.max())
        step = np.arange(longest)
        starts = (np.cumsum(lengths) - lengths)[:, None]  # (B, 1)
        inside = step < lengths[:, None]  # (B, longest)
        grid = np.arange(size * longest).reshape(size, longest)
        self.inside = torch.from_numpy(inside).to(device)
        self.to_grid, self.to_flat = {}, {}
        for direction, offset in (("l", step), ("r", lengths[:, None] - 1 - step)):
            index = np.where(inside, starts + offset, 0)  # (B, longest): the position read at each step
            flat = np.empty(int(lengths.sum()), np.int64)
            flat[index[inside]] = grid[inside]
            self.to_grid[direction] = torch.from_numpy(index).to(device)
            self.to_flat[direction] = torch.from_numpy(flat).to(device)

    def pad(self, flat: Tensor, directions: str) -> Tensor:
        """(d, flat, …) → (d, B, steps, …), each direction in its reading order."""
        return torch.stack([flat[k][self.to_grid[direction]] for k, direction in enumerate(directions)])

    def unpad(self, grid: Tensor, directions: str) -> Tensor:
        """(d, B, steps, …) → (d, flat, …): undoes `pad`."""
        cells = grid.flatten(1, 2)
        return torch.stack([cells[k][self.to_flat[direction]] for k, direction in enumerate(directions)])


class GRU(nn.Module):
    """The weights of one gated recurrent unit for each direction: reset gate, update gate, candidate."""

    def __init__(self, directions: int, inputs: int, hidden: int) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(directions, inputs, 3 * hidden))
        self.U = nn.Parameter(torch.empty(directions, hidden, 3 * hidden))
        self.bias = nn.Parameter(torch.empty(directions, 3 * hidden))
        self.first = nn.Parameter(torch.empty(directions, hidden))


def gru_step(state: Tensor, inputs: Tensor, U: Tensor, *, reset: Reset) -> Tensor:
    """h = z ⊙ h₋₁ + (1 − z) ⊙ h̃ with an LReL candidate (section 2.2); `inputs` holds Wx + b of the three parts."""
    h = state.shape[-1]
    gates, candidate = inputs.split([2 * h, h], -1)
    if reset == "before":  # Cho et al. 2014, the paper's
        r, z = torch.sigmoid(gates + state @ U[..., : 2 * h]).chunk(2, -1)
        candidate = candidate + (r * state) @ U[..., 2 * h :]
    else:
        products = state @ U
        r, z = torch.sigmoid(gates + products[..., : 2 * h]).chunk(2, -1)
        candidate = candidate + r * products[..., 2 * h :]
    return z * state + (1 - z) * F.leaky_relu(candidate, SLOPE)


def recurrence(
    inputs: Tensor, U: Tensor, first: Tensor, words: Layout, directions: str, *, reset: Reset
) -> Tensor:
    """(d, flat, 3h) → (d, flat, h): a GRU over every sentence in each direction's order."""
    grid = words.pad(inputs, directions)  # (d, B, steps, 3h)
    state = first[:, None].expand(-1, grid.shape[1], -1)  # (d, B, h)
    states = []
    for step in range(grid.shape[2]):
        state = gru_step(state, grid[:, :, step], U, reset=reset)
        states.append(state)
    return words.unpad(torch.stack(states, 2), directions)


def attend(projected: Tensor, query: Tensor, v: Tensor, inside: Tensor) -> Tensor:
    """log a of equations 1 and 2: s = vᵀ tanh(C m + D q), normalised over the positions of the sentence.

    projected (d, B, T, h) is C m; query (d, B, h) is D q; v (d, h); the result is (d, B, T).
    """
    s = torch.tanh(projected + query[:, :, None]) @ v[:, None, :, None]
    return torch.log_softmax(s[..., 0].masked_fill(~inside, -torch.inf), -1)


def query_recurrence(
    inputs: Tensor,  # (d, N, 3h): x W + b
    fed: Tensor | None,  # (d, M, 3h): m W, what a soft headword feeds to the next step; None without feedback
    projected: Tensor,  # (1 or d, M, h): C m
    U: Tensor,
    first: Tensor,
    D: Tensor,  # (d, h, h)
    v: Tensor,  # (d, h)
    words: Layout,
    positions: Layout,
    directions: str,
    *,
    reset: Reset,
) -> tuple[Tensor, Tensor]:
    """The query components (section 2.2): q (d, N, h) and log a (d, N, T).

    The soft headword of step t − 1 (t + 1 from the right) enters step t; at the first step it is zero.
    """
    grid = words.pad(inputs, directions)  # (d, B, T − 1, 3h)
    # Memory is looked up, not read in order, so both directions see it from left to right.
    memory = positions.pad(projected, "l" * len(projected))  # (1 or d, B, T, h)
    fed = None if fed is None else positions.pad(fed, "l" * len(fed))  # (d, B, T, 3h)
    state = first[:, None].expand(-1, grid.shape[1], -1)  # (d, B, h)
    headword: Tensor | None = None  # m̃ W of the step before: (d, B, 3h)
    queries, attentions = [], []
    for step in range(grid.shape[2]):
        total = grid[:, :, step] if headword is None else grid[:, :, step] + headword
        state = gru_step(state, total, U, reset=reset)
        log_a = attend(memory, state @ D, v, positions.inside)
        if fed is not None:
            headword = (log_a.exp()[:, :, None] @ fed)[:, :, 0]
        queries.append(state)
        attentions.append(log_a)
    return words.unpad(torch.stack(queries, 2), directions), words.unpad(
        torch.stack(attentions, 2), directions
    )


class BiAtt(nn.Module):
    """Bi-directional attention with agreement."""

    def __init__(self, config: ModelConfig, *, rows: int, relations: int) -> None:
        super().__init__()
        self.config = config
        self.directions = {"both": "lr", "left-to-right": "l", "right-to-left": "r"}[config.directions]
        single = config.attention == "single"
        h, d = config.hidden, len(self.directions)
        attentions = 1 if single else d
        self.E = nn.EmbeddingBag(rows, config.width, mode="sum", sparse=True, include_last_offset=True)
        self.P = nn.Parameter(torch.empty(config.width, h))
        self.P_bias = nn.Parameter(torch.empty(h))
        self.memory = GRU(2, h, h)
        self.query = GRU(d, h, h)
        self.F = (
            nn.Parameter(torch.empty(d, 2 * h, 3 * h)) if config.feedback else None
        )  # feedback: W's rows for m̃
        self.C = nn.Parameter(torch.empty(1 if config.shared_memory_projection else attentions, 2 * h, h))
        self.D = nn.Parameter(torch.empty(attentions, d * h if single else h, h))
        self.v = nn.Parameter(torch.empty(attentions, h))
        self.U = nn.Parameter(torch.empty(attentions, 2 * h, relations))
        self.W = nn.Parameter(torch.empty(d, h, relations))
        self.relation_bias = nn.Parameter(torch.empty(relations))

    @torch.no_grad()
    def initialise(self, *, deviation: float, first_state: float, generator: torch.Generator) -> None:
        """N(0, deviation²) for weights, 0 for biases, a constant for first states (section 3)."""
        for name, parameter in sorted(self.named_parameters()):
            if name.endswith("bias"):
                parameter.zero_()
            elif name.endswith("first"):
                parameter.fill_(first_state)
            else:
                parameter.normal_(0.0, deviation, generator=generator)

    def forward(self, batch: Batch) -> Output:
        device, reset = self.P.device, self.config.reset
        words, positions = Layout(batch.words, device), Layout(batch.words + 1, device)
        is_word = torch.from_numpy(word_positions(batch.words)).to(device)

        # Token embeddings (2.1): x = LReL[P (E e + …)]
        rows, offsets = torch.from_numpy(batch.rows).to(device), torch.from_numpy(batch.offsets).to(device)
        x = F.leaky_relu(self.E(rows, offsets) @ self.P + self.P_bias, SLOPE)  # (M, h)

        # Memory component: m = [hˡ; hʳ]
        inputs = x @ self.memory.W + self.memory.bias[:, None]  # (2, M, 3h)
        states = recurrence(inputs, self.memory.U, self.memory.first, positions, "lr", reset=reset)
        m = torch.cat([states[0], states[1]], -1)  # (M, 2h)

        # Query components: q and a, equations 1 and 2
        inputs = x[is_word] @ self.query.W + self.query.bias[:, None]  # (d, N, 3h)
        if self.config.attention == "single":
            q = recurrence(inputs, self.query.U, self.query.first, words, self.directions, reset=reset)
            attention = self.attend_once(q, m @ self.C, words, positions)
        else:
            q, attention = query_recurrence(
                inputs,
                None if self.F is None else m @ self.F,
                m @ self.C,
                self.query.U,
                self.query.first,
                self.D,
                self.v,
                words,
                positions,
                self.directions,
                reset=reset,
            )

        # Relations, equation 5: softmax(U [m̃ˡ; m̃ʳ] + W [qˡ; qʳ])
        soft = self.soft_headwords(attention, m @ self.U, words, positions)  # (N, R)
        logits = soft + (q @ self.W).sum(0) + self.relation_bias
        return Output(attention, torch.log_softmax(logits, -1))

    def attend_once(self, q: Tensor, projected: Tensor, words: Layout, positions: Layout) -> Tensor:
        """The variant under Table 4: one attention that sees both queries. The result is (1, N, T)."""
        both = words.pad(torch.cat([q[0], q[1]], -1)[None], "l") @ self.D[0]  # (1, B, T − 1, h)
        memory = positions.pad(projected, "l")  # (1, B, T, h)
        steps = [attend(memory, both[:, :, step], self.v, positions.inside) for step in range(both.shape[2])]
        return words.unpad(torch.stack(steps, 2), "l")

    @staticmethod
    def soft_headwords(attention: Tensor, values: Tensor, words: Layout, positions: Layout) -> Tensor:
        """Σⱼ aⱼ valuesⱼ, summed over the attentions: (A, N, T), (A, M, R) → (N, R)."""
        order = "l" * len(attention)
        soft = words.pad(attention, order).exp() @ positions.pad(values, order)  # (A, B, T − 1, R)
        return words.unpad(soft.sum(0)[None], "l")[0]


def log_likelihood(output: Output, batch: Batch) -> Tensor:
    """Σ log y + log aˡ + log aʳ of the gold tree (section 3); a relation never seen in training is passed over."""
    device = output.relations.device
    heads = torch.from_numpy(batch.heads).long().to(device)
    relations = torch.from_numpy(batch.relations).long().to(device)
    arcs = output.attention.gather(-1, heads.expand(len(output.attention), -1)[..., None]).sum()
    return arcs - F.nll_loss(output.relations, relations, ignore_index=-1, reduction="sum")


def word_positions(words: np.ndarray) -> np.ndarray:
    """Flat positions of all words, i.e. of everything but the ROOTs."""
    is_word = np.ones(int((words + 1).sum()), bool)
    is_word[np.cumsum(words + 1) - (words + 1)] = False
    return np.flatnonzero(is_word)


def scores(output: Output, batch: Batch) -> list[Scores]:
    """What the network says of each sentence of a batch, for the decoder."""
    attention, relations = output.attention.detach().cpu().numpy(), output.relations.detach().cpu().numpy()
    result = []
    for n, end in zip(batch.words, np.cumsum(batch.words), strict=True):
        directions = [a[end - n : end, : n + 1] for a in attention]
        result.append(Scores(directions[0], directions[-1], relations[end - n : end]))
    return result
