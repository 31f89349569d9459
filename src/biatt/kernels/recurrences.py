"""The fused kernels over a whole batch: all directions, all sentences, one or more threads; numpy only.

Each direction, and each share of a batch's sentences, is a task of its own, so that two threads have a
direction each. What tasks add up is added in a fixed order: the same threads give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.kernels import gru_attention as kernels
from biatt.kernels.gru_attention import Floats
from biatt.kernels.products import pack
from biatt.threads import run


class Share(NamedTuple):
    """Some sentences of a batch, longest first."""

    starts: NDArray[np.int64]  # of the words; or of all rows, for a recurrence over all rows
    lengths: NDArray[np.int64]
    memory_starts: NDArray[np.int64]  # of the positions, where ROOT is


class Cell(NamedTuple):
    """The weights of a GRU for each of d directions."""

    W: Floats  # (d, inputs, 3h)
    bias: Floats  # (d, 3h)
    U: Floats  # (d, h, 3h)
    first: Floats  # (d, h): the state before the first step


class Lookup(NamedTuple):
    """The weights of the attention in a query component, for each of d directions."""

    F: Floats  # (d, 2h, 3h): what multiplies the soft headword that is fed back
    V: Floats  # (d, 2h, R): what multiplies the soft headword for the relations
    C: Floats  # (1 or d, 2h, h)
    D: Floats  # (d, h, h)
    v: Floats  # (d, h)


class States(NamedTuple):
    """A GRU's states (d, rows, h) and what its backward pass needs."""

    states: Floats
    previous: Floats
    r: Floats
    z: Floats
    c: Floats
    inner: Floats


class Attention(NamedTuple):
    """What attention gives, and what its backward pass needs."""

    f: Floats  # (A, N, h): exp(2 D q)
    log_a: Floats  # (A, N, T)
    soft: Floats  # (A, N, width of the values)
    memory: Floats  # (1 or A, M, h): exp(2 (C m − middle))
    middle: Floats  # (1 or A, M, h): of the sentence's C m, in the row of its ROOT
    values: Floats  # (A, M, …): what soft headwords are sums of


def shares(lengths: NDArray[np.int32], count: int) -> list[Share]:
    """The batch's sentences dealt out to at most `count` shares."""
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    order = np.argsort(-lengths, kind="stable")
    picks = [order[k::count] for k in range(min(count, len(lengths)))]
    return [Share(starts[pick], lengths[pick].astype(np.int64), starts[pick] + pick) for pick in picks]


def gru(
    x: Floats,
    cell: Cell,
    lengths: NDArray[np.int32],
    directions: str,
    *,
    after: bool,
    threads: int = 1,
) -> States:
    """x (rows, inputs) → states (d, rows, h)."""
    d, rows, h = len(directions), len(x), cell.U.shape[1]
    inputs, packed, saved = _empty(d, rows, 3 * h), {}, _states(d, rows, h, after)

    def before(k: int) -> None:
        _affine(x, cell.W[k], cell.bias[k], inputs[k])
        packed[k] = pack(cell.U[k, :, : 2 * h]), pack(cell.U[k, :, 2 * h :])

    def recur(k: int, share: Share) -> None:
        kernels.gru_forward(
            inputs[k], *packed[k], cell.first[k], share.starts, share.lengths,
            directions[k] == "r", after, True, *(part[k] for part in saved),
        )  # fmt: skip

    _run_directions(before, recur, None, d, lengths, threads)
    return saved


def gru_backward(
    d_states: Floats,
    x: Floats,
    cell: Cell,
    saved: States,
    lengths: NDArray[np.int32],
    directions: str,
    *,
    after: bool,
    threads: int = 1,
) -> tuple[Floats, Cell]:
    """Gradients of x and of the weights."""
    d, rows, h = d_states.shape
    d_inputs, d_inner, d_first, transposed = _empty(d, rows, 3 * h), _empty(d, rows, h), {}, {}
    d_x, gradient = _empty(d, *x.shape), Cell(*map(np.empty_like, cell))

    def before(k: int) -> None:
        transposed[k] = _transposed(cell.U[k])

    def recur(k: int, share: Share) -> None:
        total = d_first[k, int(share.starts[0])] = np.zeros(h, np.float32)
        kernels.gru_backward(
            d_states[k], *transposed[k], share.starts, share.lengths, directions[k] == "r", after,
            *(part[k] for part in saved[1:]), d_inputs[k], d_inner[k], total,
        )  # fmt: skip

    def last(k: int) -> None:
        _cell_backward(k, x, cell, saved, d_inputs[k], d_inner[k], after, d_x[k], gradient)
        gradient.first[k] = _gather(d_first, k)

    _run_directions(before, recur, last, d, lengths, threads)
    return d_x.sum(0), gradient


def attention(
    queries: Floats,
    values: Floats,
    projected: Floats,
    v: Floats,
    words: NDArray[np.int32],
    *,
    threads: int = 1,
) -> Attention:
    """The attention of queries (A, N, h) that do not wait for it."""
    found = _attention(queries, values, projected, words)

    def recur(k: int, share: Share) -> None:
        kernels.attend_all(
            queries[k], values[k], _of(found.memory, k), _of(found.middle, k), v[k], *share,
            found.f[k], found.log_a[k], found.soft[k],
        )  # fmt: skip

    _run_directions(None, recur, None, len(queries), words, threads)
    return found


def attention_backward(
    d_log_a: Floats, d_soft: Floats, found: Attention, v: Floats, words: NDArray[np.int32],
    *, threads: int = 1,
) -> tuple[Floats, Floats, Floats, Floats]:  # fmt: skip
    """Gradients of the queries, of the values, of C m and of v."""
    d_queries, d_values = np.empty_like(found.f), np.empty_like(found.values)
    d_memory, d_v = np.zeros((len(v), found.values.shape[1], v.shape[1]), np.float32), {}

    def recur(k: int, share: Share) -> None:
        total = d_v[k, int(share.starts[0])] = np.zeros_like(v[k])
        kernels.attend_all_backward(
            d_log_a[k], d_soft[k], found.values[k], _of(found.memory, k), v[k], *share,
            found.f[k], found.log_a[k], d_queries[k], d_memory[k], total,
        )  # fmt: skip
        kernels.values_backward(found.log_a[k], d_soft[k], *share, d_values[k])

    _run_directions(None, recur, None, len(v), words, threads)
    totals = np.stack([_gather(d_v, k) for k in range(len(v))])
    return d_queries, d_values, _gradient_of_projection(d_memory, v, found.memory), totals


def query(
    x: Floats, m: Floats, cell: Cell, lookup: Lookup, words: NDArray[np.int32], directions: str,
    *, after: bool, threads: int = 1,
) -> tuple[States, Attention]:  # fmt: skip
    """The query components with feedback: x (N, inputs), m (M, 2h)."""
    d, rows, h = len(directions), len(x), cell.U.shape[1]
    inputs, packed, saved = _empty(d, rows, 3 * h), {}, _states(d, rows, h, after)
    values, projected = _empty(d, len(m), 3 * h + lookup.V.shape[2]), m @ lookup.C
    found = _attention(cell.first, values, projected, words)

    def before(k: int) -> None:
        _affine(x, cell.W[k], cell.bias[k], inputs[k])
        np.matmul(m, lookup.F[k], out=values[k, :, : 3 * h])
        np.matmul(m, lookup.V[k], out=values[k, :, 3 * h :])
        gates = np.concatenate([cell.U[k, :, : 2 * h], lookup.D[k]], -1)
        packed[k] = pack(gates), pack(cell.U[k, :, 2 * h :])

    def recur(k: int, share: Share) -> None:
        kernels.query_forward(
            inputs[k], values[k], _of(found.memory, k), _of(found.middle, k), *packed[k],
            cell.first[k], lookup.v[k], *share, directions[k] == "r", after, True,
            *(part[k] for part in saved), found.f[k], found.log_a[k], found.soft[k],
        )  # fmt: skip

    _run_directions(before, recur, None, d, words, threads)
    return saved, found


def query_backward(
    d_states: Floats, d_log_a: Floats, d_relations: Floats, x: Floats, m: Floats, cell: Cell, lookup: Lookup,
    saved: States, found: Attention, words: NDArray[np.int32], directions: str,
    *, after: bool, threads: int = 1,
) -> tuple[Floats, Floats, Cell, Lookup]:  # fmt: skip
    """Gradients of x, of m and of the weights; `d_relations` is that of the soft headwords times V."""
    d, rows, h = d_states.shape
    d_inputs, d_inner, d_queries = _empty(d, rows, 3 * h), _empty(d, rows, h), _empty(d, rows, h)
    d_soft, d_values = np.empty_like(found.soft), np.empty_like(found.values)
    d_memory, d_first, d_v, transposed = np.zeros((d, len(m), h), np.float32), {}, {}, {}
    d_x, d_m = _empty(d, *x.shape), _empty(d, *m.shape)
    gradient, d_lookup = Cell(*map(np.empty_like, cell)), Lookup(*map(np.empty_like, lookup))

    def before(k: int) -> None:
        d_soft[k, :, : 3 * h] = 0
        d_soft[k, :, 3 * h :] = d_relations[k]
        transposed[k] = *_transposed(cell.U[k]), pack(lookup.D[k].T)

    def recur(k: int, share: Share) -> None:
        at = k, int(share.starts[0])
        d_first[at], d_v[at] = np.zeros(h, np.float32), np.zeros(h, np.float32)
        kernels.query_backward(
            d_states[k], d_log_a[k], d_soft[k], found.values[k], _of(found.memory, k), *transposed[k],
            lookup.v[k], *share, directions[k] == "r", after, *(part[k] for part in saved[1:]),
            found.f[k], found.log_a[k], d_inputs[k], d_inner[k], d_first[at], d_queries[k], d_memory[k],
            d_v[at],
        )  # fmt: skip
        kernels.values_backward(found.log_a[k], d_soft[k], *share, d_values[k])

    def last(k: int) -> None:
        _cell_backward(k, x, cell, saved, d_inputs[k], d_inner[k], after, d_x[k], gradient)
        gradient.first[k], d_lookup.v[k] = _gather(d_first, k), _gather(d_v, k)
        fed, relations = d_values[k, :, : 3 * h], d_values[k, :, 3 * h :]
        np.matmul(fed, lookup.F[k].T, out=d_m[k])
        d_m[k] += relations @ lookup.V[k].T
        np.matmul(m.T, fed, out=d_lookup.F[k])
        np.matmul(m.T, relations, out=d_lookup.V[k])
        np.matmul(saved.states[k].T, d_queries[k], out=d_lookup.D[k])

    _run_directions(before, recur, last, d, words, threads)
    d_projected = _gradient_of_projection(d_memory, lookup.v, found.memory)
    np.matmul(m.T, d_projected, out=d_lookup.C)
    total = d_m.sum(0)
    for k in range(len(lookup.C)):
        total += d_projected[k] @ lookup.C[k].T
    return d_x.sum(0), total, gradient, d_lookup


def _run_directions(
    before: Callable[[int], None] | None,
    recur: Callable[[int, Share], None],
    last: Callable[[int], None] | None,
    directions: int,
    lengths: NDArray[np.int32],
    threads: int,
) -> None:
    """The three in turn for every direction, and `recur` for every share; directions side by side."""
    parts = shares(lengths, -(-threads // directions))

    def whole(k: int) -> None:
        if before:
            before(k)
        recur(k, parts[0])
        if last:
            last(k)

    if len(parts) == 1:
        run(whole, range(directions), threads)
    else:  # a handoff costs as much as a short recurrence, so only where there are threads to spare
        if before:
            run(before, range(directions), threads)
        run(lambda item: recur(*item), product(range(directions), parts), threads)
        if last:
            run(last, range(directions), threads)


def _affine(x: Floats, W: Floats, bias: Floats, out: Floats) -> None:
    np.matmul(x, W, out=out)
    out += bias


def _cell_backward(
    k: int, x: Floats, cell: Cell, saved: States, d_inputs: Floats, d_inner: Floats, after: bool,
    d_x: Floats, gradient: Cell,
) -> None:  # fmt: skip
    """From the gradients of a direction's inputs, and of what its candidate's U gave, to x and weights."""
    h, previous = d_inner.shape[1], saved.previous[k]
    np.matmul(d_inputs, cell.W[k].T, out=d_x)
    np.matmul(x.T, d_inputs, out=gradient.W[k])
    np.sum(d_inputs, 0, out=gradient.bias[k])
    np.matmul(previous.T, d_inputs[:, : 2 * h], out=gradient.U[k, :, : 2 * h])
    multiplied = previous if after else previous * saved.r[k]
    np.matmul(multiplied.T, d_inner, out=gradient.U[k, :, 2 * h :])


def _empty(*shape: int) -> Floats:
    return np.empty(shape, np.float32)


def _states(d: int, rows: int, h: int, after: bool) -> States:
    states, previous, r, z, c = (_empty(d, rows, h) for _ in range(5))
    inner = np.empty_like(c) if after else c  # only touched where the reset acts after U
    return States(states, previous, r, z, c, inner)


def _attention(queries: Floats, values: Floats, projected: Floats, words: NDArray[np.int32]) -> Attention:
    count, rows = len(queries), int(words.sum())
    memory, middle = np.empty_like(projected), np.empty_like(projected)
    for k in range(len(projected)):
        kernels.prepare_memory(projected[k], words, memory[k], middle[k])
    log_a = np.full((count, rows, int(words.max()) + 1), -np.inf, np.float32)
    f, soft = _empty(count, rows, queries.shape[-1]), _empty(count, rows, values.shape[2])
    return Attention(f, log_a, soft, memory, middle, values)


def _of(memory: Floats, k: int) -> Floats:
    """The memory of attention k, which all attentions may share."""
    one: Floats = memory[k if len(memory) > 1 else 0]
    return one


def _transposed(U: Floats) -> tuple[Floats, Floats]:
    """Uᵀ of the gates and of the candidate, packed."""
    h = len(U)
    return pack(U[:, : 2 * h].T), pack(U[:, 2 * h :].T)


def _gradient_of_projection(d_memory: Floats, v: Floats, memory: Floats) -> Floats:
    """The factor 4v that the kernels leave out, the sum over attentions that share C m, and its clamp."""
    gradient: Floats = d_memory * (4 * v)[:, None]
    if len(memory) == 1:
        gradient = gradient.sum(0, keepdims=True)
    gradient[(memory >= kernels.CLAMPED) | (memory <= 1 / kernels.CLAMPED)] = 0
    return gradient


def _gather(parts: dict[tuple[int, int], Floats], direction: int) -> Floats:
    """A direction's sum over shares, added in the order of their first sentence."""
    total: Floats = np.sum([parts[key] for key in sorted(parts) if key[0] == direction], 0)
    return total
