"""A GRU over the sentences of a batch, one direction at a time, forward and backward.

Rows of arrays are flat positions (`Batch`): sentences are not padded. All sentences take a step together, so
that a step multiplies several states with a matrix that stays in the processor's cache. Products that do not
depend on the recurrence, such as W x and the gradients of weights, are left to the caller. Matrices of the
recurrence are packed (`products.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.data.scores import SLOPE
from biatt.kernels.elements import ONE, ZERO, copy_row, exp
from biatt.kernels.products import Packed, empty_products, multiply
from biatt.kernels.rounding import Floats
from biatt.machine.compiled import compiled, compiled_fast

Positions = NDArray[np.int64]


class Sentences(NamedTuple):
    """Some sentences of a batch, longest first: those that are still running at a step are the first ones."""

    starts: Positions  # first row of each sentence, where rows are words; or where rows are positions
    lengths: Positions  # number of its rows
    memory_starts: Positions  # its ROOT, where rows are words


class Options(NamedTuple):
    """How a recurrence runs."""

    backwards: bool  # from the last row of a sentence to the first
    keep: bool  # `States` has a row for each position; otherwise, but for `states`, one for each sentence
    limit: np.float32  # of the candidate's absolute value


class Recurrent(NamedTuple):
    """What each step of one direction multiplies the state with, packed, and the state before the first."""

    U_gates: Packed  # reset gate, update gate, and the D of a query component
    U_candidate: Packed
    first: Floats  # (h,)


class States(NamedTuple):
    """Arrays (rows, h) that a GRU writes: its states, and what its backward pass needs."""

    states: Floats
    previous: Floats  # the state before
    r: Floats  # reset gate
    z: Floats  # update gate
    c: Floats  # candidate


class Step(NamedTuple):
    """Arrays of one step with a row for each running sentence."""

    state: Floats  # (…, h)
    reset_state: Floats  # (…, h): r ⊙ h
    products: Floats  # h U_gates
    product: Floats  # h U_candidate


class Transposed(NamedTuple):
    """Uᵀ of one direction, packed."""

    U_gates: Floats
    U_candidate: Floats


class GruGradients(NamedTuple):
    """Gradients of the inputs (rows, 3h) and of the first state (h,)."""

    inputs: Floats
    first: Floats


class StepGradients(NamedTuple):
    """Arrays of one backward step with a row for each running sentence."""

    state: Floats  # the gradient of h
    reset_state: Floats  # of r ⊙ h
    gates: Floats  # (…, 2h): contiguous input of products


@compiled
def row_at(sentences: Sentences, i: int, step: int, backwards: bool) -> int:
    """The flat position of sentence i that a direction reads at a step."""
    position: int = sentences.starts[i] + (sentences.lengths[i] - 1 - step if backwards else step)
    return position


@compiled
def first_step(weights: Recurrent, count: int) -> Step:
    """The arrays of a step for this many sentences, with their first states."""
    h = len(weights.first)
    state = np.empty((count, h), np.float32)
    for i in range(count):
        for k in range(h):
            state[i, k] = weights.first[k]
    return Step(
        state,
        np.empty((count, h), np.float32),
        empty_products(count, weights.U_gates),
        empty_products(count, weights.U_candidate),
    )


@compiled
def gru_forward(
    inputs: Floats,
    places: Positions | None,
    weights: Recurrent,
    sentences: Sentences,
    options: Options,
    saved: States,
) -> None:
    """Fill `saved`; `inputs` is W x + b, (…, 3h), in the row of each position, or where `places` says."""
    running = len(sentences.starts)
    arrays = first_step(weights, running)
    for step in range(sentences.lengths[0]):
        while sentences.lengths[running - 1] <= step:
            running -= 1
        multiply(arrays.state, weights.U_gates, arrays.products, running, True)
        gru_step(inputs, places, weights.U_candidate, sentences, step, running, options, arrays, saved)


@compiled
def gru_step(
    inputs: Floats,
    places: Positions | None,
    U_candidate: Packed,
    sentences: Sentences,
    step: int,
    running: int,
    options: Options,
    arrays: Step,
    saved: States,
) -> None:
    """One step of all running sentences; `arrays.products` is h U of the gates already."""
    state, product = arrays.state, arrays.product
    for i in range(running):
        p = row_at(sentences, i, step, options.backwards)
        at = p if options.keep else i
        if options.keep:
            copy_row(state[i], saved.previous[p])
        row = inputs[p if places is None else places[p]]
        gates(row, arrays.products[i], state[i], saved.r[at], saved.z[at], arrays.reset_state[i])
    multiply(arrays.reset_state, U_candidate, product, running, True)
    for i in range(running):
        p = row_at(sentences, i, step, options.backwards)
        at = p if options.keep else i
        row = inputs[p if places is None else places[p]]
        update(row, product[i], saved.z[at], options.limit, saved.c[at], state[i], saved.states[p])


@compiled_fast
def gates(row: Floats, products: Floats, state: Floats, r: Floats, z: Floats, reset_state: Floats) -> None:
    """r and z from W x + b and h U; and r ⊙ h."""
    h = len(state)
    for k in range(h):
        reset = ONE / (ONE + exp(-(row[k] + products[k])))
        r[k] = reset
        z[k] = ONE / (ONE + exp(-(row[h + k] + products[h + k])))
        reset_state[k] = reset * state[k]


@compiled_fast
def update(
    row: Floats, product: Floats, z: Floats, limit: np.float32, c: Floats, state: Floats, out: Floats
) -> None:
    """c = LReL(…) within the limit and h = z ⊙ h₋₁ + (1 − z) ⊙ c, in place of the old state and in `out`."""
    h = len(state)
    for k in range(h):
        x = row[2 * h + k] + product[k]
        x = max(x, SLOPE * x)
        x = min(max(x, -limit), limit)
        c[k] = x
        x = z[k] * state[k] + (ONE - z[k]) * x
        state[k] = x
        out[k] = x


@compiled
def last_step_gradients(weights: Transposed, count: int, h: int) -> StepGradients:
    """The arrays of a backward step for this many sentences; no gradient comes from after the last step."""
    state = empty_products(count, weights.U_gates)
    state[:] = ZERO
    return StepGradients(
        state, empty_products(count, weights.U_candidate), np.empty((count, 2 * h), np.float32)
    )


@compiled
def gru_backward(
    d_states: Floats,
    weights: Transposed,
    sentences: Sentences,
    options: Options,
    saved: States,
    gradients: GruGradients,
) -> None:
    """Fill `gradients`, but add to that of the first state."""
    h, running, count = d_states.shape[1], 0, len(sentences.starts)
    arrays = last_step_gradients(weights, count, h)
    for step in range(sentences.lengths[0] - 1, -1, -1):
        while running < count and sentences.lengths[running] > step:
            running += 1
        for i in range(running):
            p = row_at(sentences, i, step, options.backwards)
            for k in range(h):
                arrays.state[i, k] += d_states[p, k]
        gru_step_backward(arrays, weights, sentences, step, running, options, saved, gradients)
    for i in range(count):
        for k in range(h):
            gradients.first[k] += arrays.state[i, k]


@compiled
def gru_step_backward(
    arrays: StepGradients,
    weights: Transposed,
    sentences: Sentences,
    step: int,
    running: int,
    options: Options,
    saved: States,
    gradients: GruGradients,
) -> None:
    """`arrays.state`, the gradient of the running states, becomes that of the states before."""
    d, d_reset, d_gates, h = arrays.state, arrays.reset_state, arrays.gates, saved.r.shape[1]
    for i in range(running):
        p = row_at(sentences, i, step, options.backwards)
        update_backward(d[i, :h], saved, p, options.limit, gradients.inputs[p])
        copy_row(gradients.inputs[p, 2 * h :], d_gates[i, :h])  # borrowed as the product's contiguous input
    multiply(d_gates, weights.U_candidate, d_reset, running, True)
    for i in range(running):
        p = row_at(sentences, i, step, options.backwards)
        reset_backward(d[i, :h], d_reset[i], saved, p, gradients.inputs[p])
        copy_row(gradients.inputs[p], d_gates[i])
    multiply(d_gates, weights.U_gates, d, running, False)


@compiled_fast
def update_backward(d: Floats, saved: States, p: int, limit: np.float32, d_row: Floats) -> None:
    """First half of a backward step: from dh to the gradients of the inputs of z and of c."""
    z, c, previous = saved.z[p], saved.c[p], saved.previous[p]
    h = len(d)
    for k in range(h):
        slope = SLOPE if c[k] < ZERO else ONE
        slope = ZERO if abs(c[k]) >= limit else slope
        # The order of these lines decides how LLVM groups the factors, and so the last digits of a training.
        d_c = d[k] * (ONE - z[k]) * slope
        d_row[h + k] = d[k] * (previous[k] - c[k]) * z[k] * (ONE - z[k])
        d_row[2 * h + k] = d_c


@compiled_fast
def reset_backward(d: Floats, d_reset: Floats, saved: States, p: int, d_row: Floats) -> None:
    """Second half: the gradient of the input of r; and dh becomes dh₋₁ but for its part through the gates."""
    r, z, previous = saved.r[p], saved.z[p], saved.previous[p]
    for k in range(len(d)):
        d_row[k] = d_reset[k] * previous[k] * r[k] * (ONE - r[k])
        d[k] = d[k] * z[k] + d_reset[k] * r[k]
