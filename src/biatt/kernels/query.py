"""A query component with feedback, one direction at a time: GRU, attention, soft headword, step by step.

The soft headword of a step, times F, is added to the inputs of the next step. `Recurrent.U_gates` is [U | D]:
one product gives this step's D q and the next step's gates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biatt.kernels.attention import Attended, AttentionGradients, Lookup, attend_backward, look_up
from biatt.kernels.elements import copy_row
from biatt.kernels.gru import (
    GruGradients,
    Options,
    Recurrent,
    Sentences,
    States,
    Transposed,
    first_step,
    gru_step,
    gru_step_backward,
    last_step_gradients,
    row_at,
)
from biatt.kernels.products import multiply
from biatt.kernels.rounding import Floats
from biatt.machine.compiled import compiled


class TransposedQuery(NamedTuple):
    """Uᵀ and Dᵀ of one direction, packed."""

    U_gates: Floats
    U_candidate: Floats
    D: Floats


class OutputGradients(NamedTuple):
    """Gradients of the states (N, h), of log a (N, T) and of the soft headwords (N, width)."""

    states: Floats
    log_a: Floats
    soft: Floats


class QueryGradients(NamedTuple):
    """The fields of `GruGradients` and of `AttentionGradients`."""

    inputs: Floats
    first: Floats
    queries: Floats
    keys: Floats
    v: Floats


@compiled
def query_forward(
    inputs: Floats,
    lookup: Lookup,
    weights: Recurrent,
    sentences: Sentences,
    options: Options,
    saved: States,
    attended: Attended,
) -> None:
    """Fill `saved` and `attended`; `inputs` is W x + b, and the soft headwords times F are added to it.

    The first 3h columns of `lookup.values`, and so of the soft headwords, are multiplied by F already.
    """
    h, running = len(weights.first), len(sentences.starts)
    arrays = first_step(weights, running)
    a = np.empty(sentences.lengths[0] + 1, np.float32)
    multiply(arrays.state, weights.U_gates, arrays.products, running, True)
    for step in range(sentences.lengths[0]):
        while sentences.lengths[running - 1] <= step:
            running -= 1
        if step > 0:
            for i in range(running):
                row = inputs[row_at(sentences, i, step, options.backwards)]
                fed = attended.soft[row_at(sentences, i, step - 1, options.backwards)]
                for k in range(3 * h):
                    row[k] += fed[k]
        gru_step(inputs, None, weights.U_candidate, sentences, step, running, options, arrays, saved)
        multiply(arrays.state, weights.U_gates, arrays.products, running, True)
        for i in range(running):
            p, root = row_at(sentences, i, step, options.backwards), sentences.memory_starts[i]
            positions, query = sentences.lengths[i] + 1, arrays.products[i, 2 * h : 3 * h]
            for k in range(h):
                query[k] += lookup.middle[root, k]
            look_up(
                query,
                lookup,
                root,
                attended.f[p if options.keep else i],
                attended.log_a[p, :positions],
                a[:positions],
                attended.soft[p],
            )


@compiled
def query_backward(
    d_outputs: OutputGradients,
    lookup: Lookup,
    weights: TransposedQuery,
    sentences: Sentences,
    options: Options,
    saved: States,
    attended: Attended,
    gradients: QueryGradients,
) -> None:
    """Fill the gradients of inputs and queries, and add to those of first, keys and v.

    What was fed to the next step is added to `d_outputs.soft`, so that the caller can go on to the values.
    """
    h, running, count = d_outputs.states.shape[1], 0, len(sentences.starts)
    transposed = Transposed(weights.U_gates, weights.U_candidate)
    gru_gradients = GruGradients(gradients.inputs, gradients.first)
    attention_gradients = AttentionGradients(gradients.queries, gradients.keys, gradients.v)
    arrays = last_step_gradients(transposed, count, h)
    queries, ds = np.empty((count, h), np.float32), np.empty(sentences.lengths[0] + 1, np.float32)
    for step in range(sentences.lengths[0] - 1, -1, -1):
        while running < count and sentences.lengths[running] > step:
            running += 1
        for i in range(running):
            p, n = row_at(sentences, i, step, options.backwards), sentences.lengths[i]
            if step + 1 < n:
                fed = gradients.inputs[row_at(sentences, i, step + 1, options.backwards)]
                for k in range(3 * h):
                    d_outputs.soft[p, k] += fed[k]
            attend_backward(
                lookup, sentences.memory_starts[i], p, attended, d_outputs.log_a, d_outputs.soft, ds[: n + 1],
                attention_gradients,
            )  # fmt: skip
            copy_row(gradients.queries[p], queries[i])
            for k in range(h):
                arrays.state[i, k] += d_outputs.states[p, k]
        multiply(queries, weights.D, arrays.state, running, False)
        gru_step_backward(arrays, transposed, sentences, step, running, options, saved, gru_gradients)
    for i in range(count):
        for k in range(h):
            gradients.first[k] += arrays.state[i, k]
