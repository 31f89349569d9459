"""The network's components in plain numpy: all directions and all sentences take a step together.

They need no compiler and compute what `packed.py` does, which is faster; matrices and what they are
multiplied with are rounded in the same way (`rounding.py`). This is also the shortest account of the
equations; `network/operations.py` has the same in torch, for training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.config import DIRECTIONS, EncoderConfig, ParserConfig
from biatt.data.scores import SLOPE, log_softmax
from biatt.encoding.batches import Batch
from biatt.encoding.vocabulary import Indices
from biatt.kernels.rounding import Floats, rounded_matrix, rounded_rows
from biatt.models.weights import Table, memory_layers


class PlainEncoder:
    """Token embeddings and memory."""

    def __init__(self, config: EncoderConfig, weights: Mapping[str, Floats], table: Table) -> None:
        self.config, self.weights, self.table = config, weights, table
        self._rounded: dict[str, Floats] = {}

    @cached_property
    def memory(self) -> list[Gru]:
        return [
            _gru(self.matrix, self.weights, name, self.config.state_limit, rounded_rows)
            for name in memory_layers(self.config)
        ]

    def matrix(self, name: str) -> Floats:
        """A matrix, or a matrix for each direction, with rounded numbers."""
        if name not in self._rounded:
            self._rounded[name] = rounded_matrix(self.weights[name])
        return self._rounded[name]

    def product(self, x: Floats, name: str) -> Floats:
        """x W (N, …); where there are several x (d, N, …) and W, the sum of their products."""
        products = rounded_rows(x) @ self.matrix(name)
        return products if products.ndim == 2 else products.sum(0)

    def first_layer(
        self, batch: Batch, summand: Floats | None, lengths: Indices, *, with_x: bool
    ) -> tuple[Floats, Floats]:
        """x (M, h) and the states of the memory's first layer, (M, 2h)."""
        x = self.embed(batch, summand)
        return x, self.encode(x, 0, lengths)

    def embed(self, batch: Batch, summand: Floats | None) -> Floats:
        """x = LReL(P (E e + …) + summand) of every position, (M, h)."""
        x = self.product(_sums(self.table.rows(batch.rows), batch.offsets), "P") + self.weights["P_bias"]
        return leaky(x if summand is None else x + summand)

    def encode(self, x: Floats, layer: int, lengths: Indices) -> Floats:
        """The states of a layer of the memory, m = [hˡ; hʳ], (M, 2h)."""
        left, right = recurrence(x, self.memory[layer], lengths, "lr")
        return np.concatenate([left, right], -1)


class PlainNetwork(PlainEncoder):
    """A parser's query components and relations as well."""

    config: ParserConfig

    def __init__(self, config: ParserConfig, weights: Mapping[str, Floats], table: Table) -> None:
        super().__init__(config, weights, table)
        self.directions = DIRECTIONS[config.directions]

    @cached_property
    def query(self) -> Gru:
        limit = self.config.state_limit
        if self.config.feedback:
            return _gru(self.matrix, self.weights, "query", limit, rounded_rows)
        return _gru(self.weights.__getitem__, self.weights, "query", limit, _as_they_are)

    def attend(self, x: Floats, m: Floats, words: Indices) -> tuple[Floats, Floats, Floats]:
        """q (d, N, h), log a (A, N, T), and the soft headwords times U, (A, N, R)."""
        w, memory = self.weights, Memory(m, words)
        if self.config.feedback:
            return self._with_feedback(x, rounded_rows(m), memory)
        projected = memory.grid(m @ w["C"][0])
        q = recurrence(x, self.query, words, self.directions)
        queries = np.concatenate([*q], -1)[None] if self.config.attention == "single" else q
        shape = queries.shape[1], int(words.max()) + 1
        values = memory.grid(m @ w["U"])
        log_a = np.full((len(queries), *shape), -np.inf, np.float32)
        soft = np.empty((*log_a.shape[:2], values.shape[-1]), np.float32)
        attention = np.arange(len(queries))[:, None]
        for rows in steps(words, "l" * len(queries)):
            running = memory.order[: rows.shape[1]]
            looked_up = look_up(
                queries[attention, rows] @ w["D"], projected[running], values[:, running], w["v"],
                memory.inside[running],
            )  # fmt: skip
            log_a[attention, rows], soft[attention, rows] = looked_up
        return q, log_a, soft

    def _with_feedback(self, x: Floats, m: Floats, memory: Memory) -> tuple[Floats, Floats, Floats]:
        gru, (F, U, C, D) = self.query, map(self.matrix, ("F", "U", "C", "D"))
        (d, h), v = gru.first.shape, self.weights["v"]
        fed_width = F.shape[2]  # 3h
        values = memory.grid(np.concatenate([m @ F, m @ U], -1))  # (d, B, T, 3h + R)
        projected = memory.grid(m @ C[0])
        inputs = rounded_rows(x) @ gru.W + gru.bias[:, None]  # (d, N, 3h)
        q = np.empty((d, len(x), h), np.float32)
        log_a = np.full((d, len(x), values.shape[2]), -np.inf, np.float32)
        soft = np.empty((d, len(x), values.shape[3]), np.float32)
        direction, state = np.arange(d)[:, None], np.repeat(gru.first[:, None], len(memory.words), 1)
        fed = np.zeros((d, len(memory.words), fed_width), np.float32)
        for rows in steps(memory.words, self.directions):
            count = rows.shape[1]
            running = memory.order[:count]
            state = gru_step(state[:, :count], inputs[direction, rows] + fed[:, :count], gru)
            log_a_step, soft_step = look_up(
                rounded_rows(state) @ D, projected[running], values[:, running], v, memory.inside[running]
            )
            q[direction, rows], log_a[direction, rows], soft[direction, rows] = state, log_a_step, soft_step
            fed = soft_step[..., :fed_width]
        return q, log_a, soft[..., fed_width:]

    def relations(self, q: Floats, soft: Floats) -> Floats:
        """Scores of the relations before their softmax, (N, R): Σ soft + Σ W q + b."""
        scores: Floats = self.product(q, "W") + self.weights["relation_bias"] + soft.sum(0)
        return scores


class Gru(NamedTuple):
    """The weights of a gated recurrent unit for each of d directions: reset gate, update gate, candidate."""

    W: Floats  # (d, inputs, 3h)
    bias: Floats  # (d, 3h)
    U_gates: Floats  # (d, h, 2h)
    U_candidate: Floats  # (d, h, h)
    first: Floats  # (d, h): the state before the first step
    limit: np.float32  # of a candidate's absolute value, which LReL does not bound
    rows: Callable[[Floats], Floats]  # what becomes of rows before a product


def _as_they_are(rows: Floats) -> Floats:
    return rows


def _gru(
    matrix: Callable[[str], Floats],
    weights: Mapping[str, Floats],
    name: str,
    limit: float,
    rows: Callable[[Floats], Floats],
) -> Gru:
    U, bias, first = matrix(f"{name}.U"), weights[f"{name}.bias"], weights[f"{name}.first"]
    h = first.shape[1]
    gates, candidate = (np.ascontiguousarray(part) for part in (U[..., : 2 * h], U[..., 2 * h :]))
    return Gru(matrix(f"{name}.W"), bias, gates, candidate, first, np.float32(limit), rows)


class Memory:
    """Where the positions of sentences go in a padded grid."""

    def __init__(self, m: Floats, words: Indices) -> None:
        self.words, self.order = words, np.argsort(-words, kind="stable")  # the longest sentence first
        position = np.arange(int(words.max()) + 1)
        starts = np.cumsum(words + 1) - (words + 1)
        self.inside = position <= words[:, None]  # (B, T)
        self._rows = np.where(self.inside, starts[:, None] + position, 0)

    def grid(self, flat: Floats) -> Floats:
        """(…, M, width) → (…, B, T, width); cells past the end of a sentence have no meaning."""
        return flat[..., self._rows, :]


def steps(lengths: Indices, directions: str) -> Iterator[NDArray[np.int64]]:
    """For each step, the flat rows (d, running) that the directions read.

    Sentences are in the order of `Memory`, so that those that are still running are the first ones.
    """
    order = np.argsort(-lengths, kind="stable")
    first, count = (np.cumsum(lengths) - lengths)[order], lengths[order].astype(np.int64)
    running = len(order)
    for step in range(int(count[0])):
        while count[running - 1] <= step:
            running -= 1
        rows = {"l": first[:running] + step, "r": first[:running] + count[:running] - 1 - step}
        yield np.stack([rows[direction] for direction in directions])


def recurrence(x: Floats, gru: Gru, lengths: Indices, directions: str) -> Floats:
    """(rows, inputs) → (d, rows, h): a GRU over every sentence in each direction's order."""
    inputs = gru.rows(x) @ gru.W + gru.bias[:, None]
    d, h = gru.first.shape
    states = np.empty((d, len(x), h), np.float32)
    direction, state = np.arange(d)[:, None], np.repeat(gru.first[:, None], len(lengths), 1)
    for rows in steps(lengths, directions):
        state = gru_step(state[:, : rows.shape[1]], inputs[direction, rows], gru)
        states[direction, rows] = state
    return states


def gru_step(state: Floats, inputs: Floats, gru: Gru) -> Floats:
    """h = z ⊙ h₋₁ + (1 − z) ⊙ h̃ with an LReL candidate (section 2.2); `inputs` is Wx + b of all parts."""
    h = state.shape[-1]
    gates = sigmoid(inputs[..., : 2 * h] + gru.rows(state) @ gru.U_gates)
    r, z = gates[..., :h], gates[..., h:]
    # The reset gate acts before the product with U, as in Cho et al. 2014.
    candidate: Floats = np.matmul(gru.rows(r * state), gru.U_candidate)
    candidate += inputs[..., 2 * h :]
    candidate = leaky(candidate)
    np.clip(candidate, -gru.limit, gru.limit, out=candidate)
    return candidate + z * (state - candidate)


def look_up(
    queries: Floats, projected: Floats, values: Floats, v: Floats, inside: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Equations 1 and 2 for one word of each sentence: log a, (d, B, T), and Σⱼ aⱼ valuesⱼ, (d, B, width).

    s = vᵀ tanh(C m + D q), normalised over the positions of the sentence. queries (d, B, h) is D q; projected
    (B, T, h) is C m; values (d, B, T, width); v (d, h).
    """
    compared = np.tanh(projected + queries[:, :, None])  # (d, B, T, h)
    s = (compared @ v[:, None, :, None])[..., 0]
    log_a = log_softmax(np.where(inside, s, -np.inf))
    return log_a, (np.exp(log_a)[:, :, None] @ values)[:, :, 0]


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e⁻ˣ), in a form that does not overflow."""
    result: Floats = np.tanh(np.float32(0.5) * x)
    result += np.float32(1)
    result *= np.float32(0.5)
    return result


def leaky(x: Floats) -> Floats:
    result: Floats = np.maximum(x, SLOPE * x)
    return result


def _sums(rows: Floats, offsets: Indices) -> Floats:
    """(M, width): the sum of rows[offsets[i] : offsets[i + 1]] for each i, of which some have no row."""
    sums = np.zeros((len(offsets) - 1, rows.shape[1]), np.float32)
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    if len(filled):
        sums[filled] = np.add.reduceat(rows, offsets[filled], axis=0)
    return sums
