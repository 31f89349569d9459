"""The components of the trained network, each as one compiled function, so that threads run side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.kernels.attention import Attended, Lookup, prepare_keys
from biatt.kernels.elements import embed, leaky
from biatt.kernels.gru import Options, Positions, Recurrent, Sentences, States, gru_forward
from biatt.kernels.products import PANEL, Numbers, affine, empty_products, multiply
from biatt.kernels.query import query_forward
from biatt.kernels.rounding import Floats
from biatt.machine.compiled import compiled


class PackedGru(NamedTuple):
    """The weights of a GRU; matrices are packed, the first axis is the direction."""

    W: Numbers
    bias: Floats  # (d, 3h)
    U_gates: Numbers  # [U | D] in a query component: both multiply the state
    U_candidate: Numbers
    first: Floats  # (d, h)
    limit: np.float32  # of a candidate's absolute value


class PackedLookup(NamedTuple):
    """The weights of attention with feedback, packed; the first axis of F_U and v is the direction."""

    F_U: Numbers  # [F | U]: both multiply the soft headword
    C: Numbers  # shared by the directions
    v: Floats  # (d, h)


class QueryStates(NamedTuple):
    """What the query components with feedback compute, for each direction."""

    q: Floats  # (d, N, h)
    log_a: Floats  # (d, N, T)
    soft: Floats  # (d, N, columns of F_U)


@compiled
def embeddings(
    table: Floats,
    rows: NDArray[np.int32],
    offsets: NDArray[np.int32],
    P: Numbers,
    bias: Floats,
    summand: Floats,
) -> Floats:
    """x = LReL(P (E e + …) + summand) of every position; columns past the hidden size have no meaning.

    The summand is (M, h), or has no rows.
    """
    count = len(offsets) - 1
    sums, x = np.empty((count, table.shape[1]), np.float32), empty_products(count, P)
    embed(table, rows, offsets, sums)
    multiply(sums, P, x, count, True)
    for i in range(len(summand)):
        for j in range(summand.shape[1]):
            x[i, j] += summand[i, j]
    leaky(x, bias)
    return x


@compiled
def layer_inputs(x: Floats, layer: PackedGru) -> Floats:
    """W x + b of both directions, (2, M, …); columns past 3h have no meaning."""
    inputs = np.empty((2, len(x), layer.W.shape[1] * PANEL), np.float32)
    for k in range(2):
        affine(x, layer.W[k], layer.bias[k], inputs[k])
    return inputs


@compiled
def recurrent_states(
    inputs: Floats, places: Positions | None, layer: PackedGru, sentences: Sentences
) -> Floats:
    """The memory m = [hˡ; hʳ] of every position, from W x + b of both directions as in `gru_forward`."""
    h, rows = layer.first.shape[1], inputs.shape[1] if places is None else len(places)
    m, states = np.empty((rows, 2 * h), np.float32), np.empty((rows, h), np.float32)
    scratch = np.empty((4, len(sentences.starts), h), np.float32)
    saved = States(states, scratch[0], scratch[1], scratch[2], scratch[3])
    for k in range(2):
        weights = Recurrent(layer.U_gates[k], layer.U_candidate[k], layer.first[k])
        gru_forward(inputs[k], places, weights, sentences, Options(k == 1, False, layer.limit), saved)
        for i in range(rows):
            row, state = m[i], states[i]
            for j in range(h):
                row[k * h + j] = state[j]
    return m


@compiled
def query_states(
    x: Floats,
    m: Floats,
    query: PackedGru,
    lookup: PackedLookup,
    sentences: Sentences,
    backwards: NDArray[np.bool_],
    out: QueryStates,
) -> None:
    """The query components with feedback."""
    h, count = query.first.shape[1], len(sentences.starts)
    inputs, values = empty_products(len(x), query.W[0]), empty_products(len(m), lookup.F_U[0])
    projected = empty_products(len(m), lookup.C)
    keys, middle = np.empty((len(m), h), np.float32), np.empty((len(m), h), np.float32)
    multiply(m, lookup.C, projected, len(m), True)
    prepare_keys(projected[:, :h], sentences, keys, middle)
    scratch = np.empty((5, count, h), np.float32)
    for k in range(len(backwards)):
        affine(x, query.W[k], query.bias[k], inputs)
        multiply(m, lookup.F_U[k], values, len(m), True)
        query_forward(
            inputs,
            Lookup(keys, middle, values, lookup.v[k]),
            Recurrent(query.U_gates[k], query.U_candidate[k], query.first[k]),
            sentences,
            Options(backwards[k], False, query.limit),
            States(out.q[k], scratch[0], scratch[1], scratch[2], scratch[3]),
            Attended(scratch[4], out.log_a[k], out.soft[k]),
        )


@compiled
def sum_of_products(x: Floats, W: Numbers) -> Floats:
    """Σ x W over the first axis of both; columns past those of W have no meaning."""
    total = empty_products(x.shape[1], W[0])
    for k in range(len(W)):
        multiply(x[k], W[k], total, len(total), k == 0)
    return total
