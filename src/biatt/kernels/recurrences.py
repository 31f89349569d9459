"""The kernels over a whole batch: all directions, all sentences, one or more threads.

Each direction of each group of sentences is a task, so that two threads have a direction each. What tasks add
up is added in a fixed order: the same number of threads gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.kernels import attention as attention_kernels
from biatt.kernels import gru as gru_kernels
from biatt.kernels import query as query_kernels
from biatt.kernels.attention import Attended, AttentionGradients, Lookup
from biatt.kernels.elements import CLAMPED
from biatt.kernels.gru import GruGradients, Options, Recurrent, Sentences, States, Transposed
from biatt.kernels.products import pack
from biatt.kernels.query import OutputGradients, QueryGradients, TransposedQuery
from biatt.kernels.rounding import Floats
from biatt.machine.threads import run

Lengths = NDArray[np.int32]


class GruWeights(NamedTuple):
    """The weights of a GRU for each of d directions."""

    W: Floats  # (d, inputs, 3h)
    bias: Floats  # (d, 3h)
    U: Floats  # (d, h, 3h)
    first: Floats  # (d, h): the state before the first step


class LookupWeights(NamedTuple):
    """The weights of the attention in a query component, for each of d directions."""

    F: Floats  # (d, 2h, 3h): multiplies the soft headword that is fed back
    U: Floats  # (d, 2h, R): multiplies the soft headword for the relations
    C: Floats  # (1, 2h, h): shared by the directions
    D: Floats  # (d, h, h)
    v: Floats  # (d, h)


class QueryPass(NamedTuple):
    """Inputs, weights and results of a forward pass of the query components, for the backward pass."""

    x: Floats  # (N, inputs)
    m: Floats  # (M, 2h)
    gru: GruWeights
    weights: LookupWeights
    states: States  # each (d, N, h)
    attended: Attended  # each (d, N, …)
    lookup: Lookup
    limit: float  # of a candidate's absolute value


def sentence_groups(lengths: Lengths, count: int) -> list[Sentences]:
    """The batch's sentences in at most `count` groups, the longest of each group first."""
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    order = np.argsort(-lengths, kind="stable")
    groups = [order[k::count] for k in range(min(count, len(lengths)))]
    return [
        Sentences(starts[group], lengths[group].astype(np.int64), starts[group] + group) for group in groups
    ]


def gru(
    x: Floats,
    weights: GruWeights,
    lengths: Lengths,
    directions: str,
    *,
    limit: float,
    threads: int = 1,
) -> States:
    """x (rows, inputs) → states (d, rows, h); `limit` is that of a candidate's absolute value."""
    d, rows, h = len(directions), len(x), weights.U.shape[1]
    inputs, recurrent, saved = _empty(d, rows, 3 * h), {}, _empty_states(d, rows, h)

    def before(k: int) -> None:
        _affine(x, weights.W[k], weights.bias[k], inputs[k])
        U = weights.U[k]
        recurrent[k] = Recurrent(pack(U[:, : 2 * h]), pack(U[:, 2 * h :]), weights.first[k])

    def recur(k: int, sentences: Sentences) -> None:
        options = Options(directions[k] == "r", True, np.float32(limit))
        gru_kernels.gru_forward(inputs[k], None, recurrent[k], sentences, options, _states_of(saved, k))

    _run_directions(before, recur, None, d, lengths, threads)
    return saved


def gru_backward(
    d_states: Floats,
    x: Floats,
    weights: GruWeights,
    saved: States,
    lengths: Lengths,
    directions: str,
    *,
    limit: float,
    threads: int = 1,
) -> tuple[Floats, GruWeights]:
    """Gradients of x and of the weights."""
    d, rows, h = d_states.shape
    d_inputs, transposed = _empty(d, rows, 3 * h), {}
    d_first: dict[tuple[int, int], Floats] = {}
    d_x, d_weights = _empty(d, *x.shape), GruWeights(*map(np.empty_like, weights))

    def before(k: int) -> None:
        transposed[k] = Transposed(*_transposed(weights.U[k]))

    def recur(k: int, sentences: Sentences) -> None:
        first = d_first[k, int(sentences.starts[0])] = np.zeros(h, np.float32)
        options = Options(directions[k] == "r", True, np.float32(limit))
        gradients = GruGradients(d_inputs[k], first)
        gru_kernels.gru_backward(
            d_states[k], transposed[k], sentences, options, _states_of(saved, k), gradients
        )

    def last(k: int) -> None:
        gradients = GruGradients(d_inputs[k], _sum_over_groups(d_first, k))
        _gru_weights_backward(k, x, weights, saved, gradients, d_x[k], d_weights)

    _run_directions(before, recur, last, d, lengths, threads)
    return d_x.sum(0), d_weights


def attention(
    queries: Floats,
    values: Floats,
    projected: Floats,
    v: Floats,
    words: Lengths,
    *,
    threads: int = 1,
) -> tuple[Attended, Lookup]:
    """Attention of queries (A, N, h) that do not wait for it; `projected` is C m, (M, h)."""
    lookup, attended = _lookup(projected, values, v, words), _empty_attended(queries.shape, values, words)

    def recur(k: int, sentences: Sentences) -> None:
        attention_kernels.attend_all(queries[k], _lookup_of(lookup, k), sentences, _attended_of(attended, k))

    _run_directions(None, recur, None, len(queries), words, threads)
    return attended, lookup


def attention_backward(
    d_log_a: Floats,
    d_soft: Floats,
    attended: Attended,
    lookup: Lookup,
    words: Lengths,
    *,
    threads: int = 1,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Gradients of the queries, of the values, of C m and of v."""
    count, h = lookup.v.shape
    d_queries, d_values = np.empty_like(attended.f), np.empty_like(lookup.values)
    d_keys = np.zeros((count, lookup.values.shape[1], h), np.float32)
    d_v: dict[tuple[int, int], Floats] = {}

    def recur(k: int, sentences: Sentences) -> None:
        gradients = AttentionGradients(d_queries[k], d_keys[k], np.zeros(h, np.float32))
        d_v[k, int(sentences.starts[0])] = gradients.v
        attention_kernels.attend_all_backward(
            d_log_a[k], d_soft[k], _lookup_of(lookup, k), sentences, _attended_of(attended, k), gradients
        )
        attention_kernels.values_backward(attended.log_a[k], d_soft[k], sentences, d_values[k])

    _run_directions(None, recur, None, count, words, threads)
    totals = np.stack([_sum_over_groups(d_v, k) for k in range(count)])
    return d_queries, d_values, _projection_gradient(d_keys, lookup), totals


def query(
    x: Floats,
    m: Floats,
    gru: GruWeights,
    weights: LookupWeights,
    words: Lengths,
    directions: str,
    *,
    limit: float,
    threads: int = 1,
) -> QueryPass:
    """The query components with feedback: x (N, inputs), m (M, 2h)."""
    d, rows, h = len(directions), len(x), gru.U.shape[1]
    inputs, recurrent, saved = _empty(d, rows, 3 * h), {}, _empty_states(d, rows, h)
    values = _empty(d, len(m), 3 * h + weights.U.shape[2])
    lookup = _lookup(m @ weights.C[0], values, weights.v, words)
    attended = _empty_attended((d, rows, h), values, words)

    def before(k: int) -> None:
        _affine(x, gru.W[k], gru.bias[k], inputs[k])
        np.matmul(m, weights.F[k], out=values[k, :, : 3 * h])
        np.matmul(m, weights.U[k], out=values[k, :, 3 * h :])
        gates = np.concatenate([gru.U[k, :, : 2 * h], weights.D[k]], -1)
        recurrent[k] = Recurrent(pack(gates), pack(gru.U[k, :, 2 * h :]), gru.first[k])

    def recur(k: int, sentences: Sentences) -> None:
        query_kernels.query_forward(
            inputs[k],
            _lookup_of(lookup, k),
            recurrent[k],
            sentences,
            Options(directions[k] == "r", True, np.float32(limit)),
            _states_of(saved, k),
            _attended_of(attended, k),
        )

    _run_directions(before, recur, None, d, words, threads)
    return QueryPass(x, m, gru, weights, saved, attended, lookup, limit)


def query_backward(
    d_states: Floats,
    d_log_a: Floats,
    d_relations: Floats,
    forward: QueryPass,
    words: Lengths,
    directions: str,
    *,
    threads: int = 1,
) -> tuple[Floats, Floats, GruWeights, LookupWeights]:
    """Gradients of x, of m and of the weights; `d_relations` is that of the soft headwords times U."""
    x, m, gru, weights, saved, attended, lookup, limit = forward
    d, rows, h = d_states.shape
    d_inputs, d_queries = _empty(d, rows, 3 * h), _empty(d, rows, h)
    d_soft, d_values = np.empty_like(attended.soft), np.empty_like(lookup.values)
    d_keys, transposed = np.zeros((d, len(m), h), np.float32), {}
    d_first: dict[tuple[int, int], Floats] = {}
    d_v: dict[tuple[int, int], Floats] = {}
    d_x, d_m = _empty(d, *x.shape), _empty(d, *m.shape)
    d_gru, d_weights = GruWeights(*map(np.empty_like, gru)), LookupWeights(*map(np.empty_like, weights))

    def before(k: int) -> None:
        d_soft[k, :, : 3 * h] = 0
        d_soft[k, :, 3 * h :] = d_relations[k]
        transposed[k] = TransposedQuery(*_transposed(gru.U[k]), pack(weights.D[k].T))

    def recur(k: int, sentences: Sentences) -> None:
        first, v = np.zeros(h, np.float32), np.zeros(h, np.float32)
        group = int(sentences.starts[0])
        d_first[k, group], d_v[k, group] = first, v
        query_kernels.query_backward(
            OutputGradients(d_states[k], d_log_a[k], d_soft[k]),
            _lookup_of(lookup, k),
            transposed[k],
            sentences,
            Options(directions[k] == "r", True, np.float32(limit)),
            _states_of(saved, k),
            _attended_of(attended, k),
            QueryGradients(d_inputs[k], first, d_queries[k], d_keys[k], v),
        )
        attention_kernels.values_backward(attended.log_a[k], d_soft[k], sentences, d_values[k])

    def last(k: int) -> None:
        gradients = GruGradients(d_inputs[k], _sum_over_groups(d_first, k))
        _gru_weights_backward(k, x, gru, saved, gradients, d_x[k], d_gru)
        _values_backward(k, m, weights, d_values[k], d_m[k], d_weights)
        np.matmul(saved.states[k].T, d_queries[k], out=d_weights.D[k])
        d_weights.v[k] = _sum_over_groups(d_v, k)

    _run_directions(before, recur, last, d, words, threads)
    d_projected = _projection_gradient(d_keys, lookup)
    np.matmul(m.T, d_projected, out=d_weights.C[0])
    return d_x.sum(0), d_m.sum(0) + d_projected @ weights.C[0].T, d_gru, d_weights


def _run_directions(
    before: Callable[[int], None] | None,
    recur: Callable[[int, Sentences], None],
    last: Callable[[int], None] | None,
    directions: int,
    lengths: Lengths,
    threads: int,
) -> None:
    """Call `before`, `recur` for each group of sentences, and `last` in turn for every direction."""
    groups = sentence_groups(lengths, -(-threads // directions))

    def all_three(k: int) -> None:
        if before:
            before(k)
        recur(k, groups[0])
        if last:
            last(k)

    if len(groups) == 1:
        run(all_three, range(directions), threads)
    else:  # passing work to a thread costs as much as a short recurrence: only if there are threads to spare
        if before:
            run(before, range(directions), threads)
        run(lambda item: recur(*item), product(range(directions), groups), threads)
        if last:
            run(last, range(directions), threads)


def _affine(x: Floats, W: Floats, bias: Floats, out: Floats) -> None:
    np.matmul(x, W, out=out)
    out += bias


def _gru_weights_backward(
    k: int,
    x: Floats,
    weights: GruWeights,
    saved: States,
    gradients: GruGradients,
    d_x: Floats,
    d_weights: GruWeights,
) -> None:
    """From the gradients of direction k's recurrence to those of x and of its weights."""
    d_inputs, h, previous = gradients.inputs, weights.U.shape[1], saved.previous[k]
    np.matmul(d_inputs, weights.W[k].T, out=d_x)
    np.matmul(x.T, d_inputs, out=d_weights.W[k])
    np.sum(d_inputs, 0, out=d_weights.bias[k])
    np.matmul(previous.T, d_inputs[:, : 2 * h], out=d_weights.U[k, :, : 2 * h])
    reset_state = previous * saved.r[k]
    np.matmul(reset_state.T, d_inputs[:, 2 * h :], out=d_weights.U[k, :, 2 * h :])
    d_weights.first[k] = gradients.first


def _values_backward(
    k: int, m: Floats, weights: LookupWeights, d_values: Floats, d_m: Floats, d_weights: LookupWeights
) -> None:
    """From the gradient of direction k's values, m [F | U], to those of m, F and U."""
    width = weights.F.shape[2]
    d_fed, d_scores = d_values[:, :width], d_values[:, width:]
    np.matmul(d_fed, weights.F[k].T, out=d_m)
    d_m += d_scores @ weights.U[k].T
    np.matmul(m.T, d_fed, out=d_weights.F[k])
    np.matmul(m.T, d_scores, out=d_weights.U[k])


def _empty(*shape: int) -> Floats:
    return np.empty(shape, np.float32)


def _empty_states(d: int, rows: int, h: int) -> States:
    states, previous, r, z, c = (_empty(d, rows, h) for _ in range(5))
    return States(states, previous, r, z, c)


def _empty_attended(shape: tuple[int, ...], values: Floats, words: Lengths) -> Attended:
    """For queries of this shape; log a is −∞ past the end of a sentence."""
    log_a = np.full((*shape[:2], int(words.max()) + 1), -np.inf, np.float32)
    return Attended(_empty(*shape), log_a, _empty(*shape[:2], values.shape[2]))


def _lookup(projected: Floats, values: Floats, v: Floats, words: Lengths) -> Lookup:
    """The lookup of all attentions; they share C, and so keys and middle."""
    keys, middle = np.empty_like(projected), np.empty_like(projected)
    (sentences,) = sentence_groups(words, 1)
    attention_kernels.prepare_keys(projected, sentences, keys, middle)
    return Lookup(keys, middle, values, v)


def _lookup_of(lookup: Lookup, k: int) -> Lookup:
    """That of attention k."""
    return Lookup(lookup.keys, lookup.middle, lookup.values[k], lookup.v[k])


def _states_of(saved: States, k: int) -> States:
    """Those of direction k."""
    return States(*(part[k] for part in saved))


def _attended_of(attended: Attended, k: int) -> Attended:
    """That of attention k."""
    return Attended(*(part[k] for part in attended))


def _transposed(U: Floats) -> tuple[Floats, Floats]:
    """Uᵀ of the gates and of the candidate, packed."""
    h = len(U)
    return pack(U[:, : 2 * h].T), pack(U[:, 2 * h :].T)


def _projection_gradient(d_keys: Floats, lookup: Lookup) -> Floats:
    """The gradient of C m: times 4v, summed over attentions, and 0 where it was clamped."""
    gradient: Floats = (d_keys * (4 * lookup.v)[:, None]).sum(0)
    gradient[(lookup.keys >= CLAMPED) | (lookup.keys <= 1 / CLAMPED)] = 0
    return gradient


def _sum_over_groups(parts: dict[tuple[int, int], Floats], direction: int) -> Floats:
    """A direction's sum over groups of sentences, added in the order of their first sentence."""
    total: Floats = np.sum([parts[key] for key in sorted(parts) if key[0] == direction], 0)
    return total
