"""The recurrences of `model.py`, fused for the CPU: the same numbers, several times faster.

What makes them fast: everything that does not depend on the recurrence is done outside, as large products;
a step is one pass over a few small arrays that stay in the cache; sentences are not padded; and
tanh(x + y) needs no tanh inside the loop: with E = exp(2x) once and F = exp(2y) once a step it is
1 − 2 / (1 + E·F). The middle of a sentence's x is moved from x to y first, which keeps both small.

Every function but the last few handles one direction of a batch. Rows of its arrays are flat positions
(`Batch`). A sentence starts at `starts[i]` and has `lengths[i]` rows; sentences come longest first, so that
those still running at a step are the first ones. Backward functions take the saved arrays of their forward
function, and leave products of whole arrays, such as the gradients of weights, to the caller. Where nothing
is to be `kept` for a backward pass, those arrays have a row a sentence, written over at each step. Matrices
of the recurrence come packed (`products.py`).

All is in one file because numba tells by a file's date whether what it keeps on disk is still good.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from biatt.compiled import compiled, compiled_fast
from biatt.kernels.products import PANEL, multiply

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]

SLOPE = np.float32(0.1)  # of the leaky rectified linear function
STATE_LIMIT = np.float32(1e4)  # of candidates, far above any trained one, so that nothing overflows
EXPONENT_LIMIT = np.float32(87)  # of exp(2x); a product of two may overflow: 1 / (1 + inf) is the right 0
CLAMPED = np.float32(np.exp(86.9))  # exp(2x) above this, or below its inverse, passes no gradient on

ONE = np.float32(1)
ZERO = np.float32(0)
LOG2_E = np.float32(1.4426950408889634)
LN2_HIGH = np.float32(0.693359375)
LN2_LOW = np.float32(-2.12194440e-4)


@intrinsic
def _float_from_bits(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@partial(compiled, fastmath={"contract", "nsz"})  # sums in another order would lose three times as much
def exp(x: np.float32) -> np.float32:
    """eˣ within 1e-7 relative (Cephes' polynomial), in a form that compiles to vector instructions."""
    x = min(max(x, np.float32(-87)), np.float32(88))
    k = np.floor(x * LOG2_E + np.float32(0.5))
    x = x - k * LN2_HIGH - k * LN2_LOW
    p = np.float32(1.9875691500e-4)
    p = p * x + np.float32(1.3981999507e-3)
    p = p * x + np.float32(8.3334519073e-3)
    p = p * x + np.float32(4.1665795894e-2)
    p = p * x + np.float32(1.6666665459e-1)
    p = p * x + np.float32(5.0000001201e-1)
    p = p * x * x + x + ONE
    return p * _float_from_bits(np.int32((np.int32(k) + np.int32(127)) << np.int32(23)))  # type: ignore[call-arg]


@compiled_fast
def exp_doubled(values: Floats, out: Floats) -> None:
    """exp(2x) of a whole array, clamped: the E and F of the attention."""
    flat, result = values.reshape(-1), out.reshape(-1)
    for i in range(flat.size):
        result[i] = exp(min(max(np.float32(2) * flat[i], -EXPONENT_LIMIT), EXPONENT_LIMIT))


@compiled_fast
def embed(table: Floats, rows: NDArray[np.int32], offsets: NDArray[np.int32], out: Floats) -> None:
    """The sum of each token's rows of E."""
    for i in range(len(offsets) - 1):
        total = out[i]
        total[:] = ZERO
        for k in range(offsets[i], offsets[i + 1]):
            row = table[rows[k]]
            for j in range(len(total)):
                total[j] += row[j]


@compiled_fast
def leaky(x: Floats, bias: Floats) -> None:
    """x = LReL(x + bias), in place."""
    for i in range(len(x)):
        row = x[i]
        for j in range(len(bias)):
            value = row[j] + bias[j]
            row[j] = max(value, SLOPE * value)


@compiled_fast
def add_weighted_rows(weights: Floats, rows: Floats, start: int, total: Floats) -> None:
    """total += Σⱼ weights[j] · rows[start + j], eight rows a pass."""
    count, width = len(weights), len(total)
    whole = count - count % 8
    for j in range(0, whole, 8):
        s = start + j
        r0, r1, r2, r3, r4, r5, r6, r7 = (
            rows[s], rows[s + 1], rows[s + 2], rows[s + 3],
            rows[s + 4], rows[s + 5], rows[s + 6], rows[s + 7],
        )  # fmt: skip
        w0, w1, w2, w3, w4, w5, w6, w7 = (
            weights[j], weights[j + 1], weights[j + 2], weights[j + 3],
            weights[j + 4], weights[j + 5], weights[j + 6], weights[j + 7],
        )  # fmt: skip
        for k in range(width):
            total[k] += (w0 * r0[k] + w1 * r1[k] + w2 * r2[k] + w3 * r3[k]) + (
                w4 * r4[k] + w5 * r5[k] + w6 * r6[k] + w7 * r7[k]
            )
    for j in range(whole, count):
        row, weight = rows[start + j], weights[j]
        for k in range(width):
            total[k] += weight * row[k]


@compiled
def row_at(start: int, length: int, step: int, backwards: bool) -> int:
    """The flat position that a direction reads at a step."""
    return start + (length - 1 - step if backwards else step)


@compiled_fast
def gates(row: Floats, products: Floats, state: Floats, r: Floats, z: Floats, reset_state: Floats) -> None:
    """r and z from Wx + b and hU; and r ⊙ h."""
    h = len(state)
    for k in range(h):
        r[k] = ONE / (ONE + exp(-(row[k] + products[k])))
    for k in range(h):
        z[k] = ONE / (ONE + exp(-(row[h + k] + products[h + k])))
    for k in range(h):
        reset_state[k] = r[k] * state[k]


@compiled_fast
def update(row: Floats, product: Floats, z: Floats, c: Floats, state: Floats, out: Floats) -> None:
    """c = LReL(…) and h = z ⊙ h₋₁ + (1 − z) ⊙ c, in place of the old state and in `out`."""
    h = len(state)
    for k in range(h):
        x = row[2 * h + k] + product[k]
        x = max(x, SLOPE * x)
        c[k] = min(max(x, -STATE_LIMIT), STATE_LIMIT)
    for k in range(h):
        state[k] = z[k] * state[k] + (ONE - z[k]) * c[k]
        out[k] = state[k]


@compiled_fast
def update_backward(
    d: Floats,
    r: Floats,
    z: Floats,
    c: Floats,
    previous: Floats,
    inner: Floats,
    after: bool,
    d_row: Floats,
    d_inner: Floats,
) -> None:
    """First half of a step's backward pass: from dh to the gradients of z and of the candidate.

    `inner` is h U of the candidate where the reset acts after it; d_inner is what then goes through Uᵀ.
    """
    h = len(d)
    for k in range(h):
        slope = SLOPE if c[k] < ZERO else ONE
        slope = ZERO if abs(c[k]) >= STATE_LIMIT else slope
        d_c = d[k] * (ONE - z[k]) * slope
        d_row[h + k] = d[k] * (previous[k] - c[k]) * z[k] * (ONE - z[k])
        d_row[2 * h + k] = d_c
        if after:
            d_row[k] = d_c * inner[k] * r[k] * (ONE - r[k])
            d_inner[k] = d_c * r[k]
        else:
            d_inner[k] = d_c


@compiled_fast
def reset_backward(d: Floats, d_reset: Floats, r: Floats, z: Floats, previous: Floats, d_row: Floats) -> None:
    """Second half where the reset acts before U: d becomes dh₋₁ but for the gates' own product."""
    for k in range(len(d)):
        d_row[k] = d_reset[k] * previous[k] * r[k] * (ONE - r[k])
        d[k] = d[k] * z[k] + d_reset[k] * r[k]


@compiled_fast
def prepare_memory(projected: Floats, words: NDArray[np.int32], memory: Floats, middle: Floats) -> None:
    """E = exp(2 (C m − middle)) for every sentence, and in its ROOT's row the middle of its C m."""
    start = 0
    for n in words:
        low, high = projected[start].copy(), projected[start].copy()
        for p in range(start + 1, start + n + 1):
            row = projected[p]
            for k in range(len(low)):
                low[k] = min(low[k], row[k])
                high[k] = max(high[k], row[k])
        centre = middle[start]
        for k in range(len(low)):
            centre[k] = np.float32(0.5) * (low[k] + high[k])
        for p in range(start, start + n + 1):
            exp_doubled(projected[p] - centre, memory[p])
        start += n + 1


@compiled_fast
def attend(memory: Floats, start: int, f: Floats, v: Floats, log_a: Floats, a: Floats) -> None:
    """log a and a of one query over the positions of its sentence; `memory` is E = exp(2 C m)."""
    top = np.float32(-np.inf)
    for j in range(len(a)):
        e = memory[start + j]
        total = ZERO
        for k in range(len(f)):
            total += v[k] / (ONE + e[k] * f[k])
        log_a[j] = np.float32(-2) * total  # Σ v tanh(…) but for the constant Σ v, which softmax forgets
        top = max(top, log_a[j])
    for j in range(len(a)):
        a[j] = exp(log_a[j] - top)
    total = ZERO
    for j in range(len(a)):  # apart from the loop above: see `compiled_fast`
        total += a[j]
    shift = top + np.log(total)
    for j in range(len(a)):
        log_a[j] -= shift
        a[j] /= total


@compiled_fast
def attend_backward(
    memory: Floats, start: int, f: Floats, v: Floats, log_a: Floats, d_log_a: Floats,
    values: Floats, d_soft: Floats, ds: Floats, d_memory: Floats, d_v: Floats, d_y: Floats,
) -> None:  # fmt: skip
    """From the gradients of log a and of the soft sum to those of D q, C m (raw: without 4v) and v."""
    total = ZERO
    for j in range(len(ds)):
        row = values[start + j]
        product = ZERO
        for k in range(len(d_soft)):
            product += d_soft[k] * row[k]
        ds[j] = d_log_a[j] + exp(log_a[j]) * product
        total += ds[j]
    top = 0
    for j in range(len(ds)):
        ds[j] -= exp(log_a[j]) * total
        top = j if abs(ds[j]) > abs(ds[top]) else top
    # The weights add up to 0, so a constant may be taken off their factors: less is lost in rounding. That of
    # the largest weight is 0 where tanh is flat, so that what the weights miss 0 by does not get through.
    constant = np.empty_like(f)
    for k in range(len(f)):
        s = ONE / (ONE + memory[start + top, k] * f[k])
        constant[k] = s * (ONE - s)
    d_y[:] = ZERO
    for j in range(len(ds)):
        weight = ds[j]
        e, d_e = memory[start + j], d_memory[start + j]
        for k in range(len(f)):
            s = ONE / (ONE + e[k] * f[k])
            factor = s * (ONE - s)
            d_v[k] += weight * (ONE - np.float32(2) * s)
            d_y[k] += weight * (factor - constant[k])
            d_e[k] += weight * factor
    for k in range(len(f)):
        inside = f[k] < CLAMPED and f[k] > ONE / CLAMPED
        d_y[k] *= np.float32(4) * v[k] if inside else ZERO


@compiled
def room(rows: int, packed: Floats) -> Floats:
    """For the products of so many rows with a packed matrix."""
    return np.empty((rows, len(packed) * PANEL), np.float32)


@compiled
def gru_forward(
    inputs: Floats, U_gates: Floats, U_candidate: Floats, first: Floats, starts: Indices, lengths: Indices,
    backwards: bool, after: bool, kept: bool,
    states: Floats, previous: Floats, r: Floats, z: Floats, c: Floats, inner: Floats,
) -> None:  # fmt: skip
    """A GRU over every sentence; all outputs are (flat, h)."""
    h, running = len(first), len(starts)
    state, reset_state = np.empty((running, h), np.float32), np.empty((running, h), np.float32)
    products, product = room(running, U_gates), room(running, U_candidate)
    state[:] = first
    for step in range(lengths[0]):
        while lengths[running - 1] <= step:
            running -= 1
        multiply(state, U_gates, products, running, True)
        gru_step(
            inputs, inputs, False, U_candidate, starts, lengths, step, running, backwards, after, kept,
            state, reset_state, products, product, states, previous, r, z, c, inner,
        )  # fmt: skip


@compiled
def gru_step(
    inputs: Floats, fed: Floats, feedback: bool, U_candidate: Floats, starts: Indices, lengths: Indices,
    step: int, running: int, backwards: bool, after: bool, kept: bool,
    state: Floats, reset_state: Floats, products: Floats, product: Floats,
    states: Floats, previous: Floats, r: Floats, z: Floats, c: Floats, inner: Floats,
) -> None:  # fmt: skip
    """One step of all running sentences, given `products` = h U of the gates; `product` is room for another.

    With feedback, row p of `fed` is the soft headword's part that the next step's position takes in; it is
    added to that position's inputs in place.
    """
    h = state.shape[1]
    for i in range(running):
        p = row_at(starts[i], lengths[i], step, backwards)
        if feedback and step > 0:
            row, more = inputs[p], fed[row_at(starts[i], lengths[i], step - 1, backwards)]
            for k in range(3 * h):
                row[k] += more[k]
        at = p if kept else i
        previous[at] = state[i]
        gates(inputs[p], products[i], state[i], r[at], z[at], reset_state[i])
    multiply(state if after else reset_state, U_candidate, product, running, True)
    for i in range(running):
        p = row_at(starts[i], lengths[i], step, backwards)
        at = p if kept else i
        if after:
            inner[at] = product[i, :h]
            for k in range(h):
                product[i, k] *= r[at, k]
        update(inputs[p], product[i], z[at], c[at], state[i], states[p])


@compiled
def gru_backward(
    d_states: Floats, U_gates_T: Floats, U_candidate_T: Floats, starts: Indices, lengths: Indices,
    backwards: bool, after: bool,
    previous: Floats, r: Floats, z: Floats, c: Floats, inner: Floats,
    d_inputs: Floats, d_inner: Floats, d_first: Floats,
) -> None:  # fmt: skip
    """Gradients of the inputs (flat, 3h), the candidate's product with U (flat, h) and the first state."""
    h, running = d_states.shape[1], 0
    d, d_reset = room(len(starts), U_gates_T), room(len(starts), U_candidate_T)
    d_gates = np.empty((len(starts), 2 * h), np.float32)
    d[:] = ZERO
    for step in range(lengths[0] - 1, -1, -1):
        while running < len(starts) and lengths[running] > step:
            running += 1
        for i in range(running):
            p = row_at(starts[i], lengths[i], step, backwards)
            for k in range(h):
                d[i, k] += d_states[p, k]
        gru_step_backward(
            d, d_reset, d_gates, U_gates_T, U_candidate_T, starts, lengths, step, running, backwards, after,
            previous, r, z, c, inner, d_inputs, d_inner,
        )  # fmt: skip
    for i in range(len(starts)):
        d_first += d[i, :h]


@compiled
def gru_step_backward(
    d: Floats, d_reset: Floats, d_gates: Floats, U_gates_T: Floats, U_candidate_T: Floats,
    starts: Indices, lengths: Indices, step: int, running: int, backwards: bool, after: bool,
    previous: Floats, r: Floats, z: Floats, c: Floats, inner: Floats, d_inputs: Floats, d_inner: Floats,
) -> None:  # fmt: skip
    """d, the gradient of the running states, becomes that of the states before."""
    h = r.shape[1]
    for i in range(running):
        p = row_at(starts[i], lengths[i], step, backwards)
        update_backward(d[i, :h], r[p], z[p], c[p], previous[p], inner[p], after, d_inputs[p], d_inner[p])
        d_gates[i, :h] = d_inner[p]  # borrowed as the product's contiguous input
    multiply(d_gates, U_candidate_T, d_reset, running, True)
    for i in range(running):
        p = row_at(starts[i], lengths[i], step, backwards)
        if after:
            for k in range(h):
                d[i, k] = d[i, k] * z[p, k] + d_reset[i, k]
        else:
            reset_backward(d[i, :h], d_reset[i], r[p], z[p], previous[p], d_inputs[p])
        d_gates[i] = d_inputs[p, : 2 * h]
    multiply(d_gates, U_gates_T, d, running, False)


@compiled
def query_forward(
    inputs: Floats, values: Floats, memory: Floats, middle: Floats,
    U_gates_D: Floats, U_candidate: Floats, first: Floats, v: Floats,
    starts: Indices, lengths: Indices, memory_starts: Indices, backwards: bool, after: bool, kept: bool,
    states: Floats, previous: Floats, r: Floats, z: Floats, c: Floats, inner: Floats,
    f: Floats, log_a: Floats, soft: Floats,
) -> None:  # fmt: skip
    """A query component with feedback: GRU, attention, soft headword, step by step.

    `memory` is E = exp(2 (C m − middle)), `values` is what the soft headword is multiplied by: the first 3h
    columns of its sum are fed to the next step. `U_gates_D` is [U | D]: one product gives this step's D q and
    the next step's gates. Fed parts are added to `inputs` in place.
    """
    h, running = len(first), len(starts)
    state, reset_state = np.empty((running, h), np.float32), np.empty((running, h), np.float32)
    products, product = room(running, U_gates_D), room(running, U_candidate)
    a = np.empty(lengths[0] + 1, np.float32)
    state[:] = first
    multiply(state, U_gates_D, products, running, True)
    for step in range(lengths[0]):
        while lengths[running - 1] <= step:
            running -= 1
        gru_step(
            inputs, soft, True, U_candidate, starts, lengths, step, running, backwards, after, kept,
            state, reset_state, products, product, states, previous, r, z, c, inner,
        )  # fmt: skip
        multiply(state, U_gates_D, products, running, True)
        for i in range(running):
            p, words = row_at(starts[i], lengths[i], step, backwards), lengths[i] + 1
            at = p if kept else i
            for k in range(h):
                products[i, 2 * h + k] += middle[memory_starts[i], k]
            exp_doubled(products[i, 2 * h : 3 * h], f[at])
            attend(memory, memory_starts[i], f[at], v, log_a[p, :words], a[:words])
            soft[p] = ZERO
            add_weighted_rows(a[:words], values, memory_starts[i], soft[p])


@compiled
def query_backward(
    d_states: Floats, d_log_a: Floats, d_soft: Floats,
    values: Floats, memory: Floats, U_gates_T: Floats, U_candidate_T: Floats, D_T: Floats, v: Floats,
    starts: Indices, lengths: Indices, memory_starts: Indices, backwards: bool, after: bool,
    previous: Floats, r: Floats, z: Floats, c: Floats, inner: Floats, f: Floats, log_a: Floats,
    d_inputs: Floats, d_inner: Floats, d_first: Floats, d_y: Floats, d_memory: Floats, d_v: Floats,
) -> None:  # fmt: skip
    """Gradients of inputs, first state, D q, C m (raw: without its factor 4v) and v.

    What was fed to the next step is added to `d_soft`, so that the caller can go on to `values`.
    """
    h, running = d_states.shape[1], 0
    d, d_reset = room(len(starts), U_gates_T), room(len(starts), U_candidate_T)
    d_gates, queries = np.empty((len(starts), 2 * h), np.float32), np.empty((len(starts), h), np.float32)
    d[:] = ZERO
    ds = np.empty(lengths[0] + 1, np.float32)
    for step in range(lengths[0] - 1, -1, -1):
        while running < len(starts) and lengths[running] > step:
            running += 1
        for i in range(running):
            p, words = row_at(starts[i], lengths[i], step, backwards), lengths[i] + 1
            if step + 1 < lengths[i]:
                fed = d_inputs[row_at(starts[i], lengths[i], step + 1, backwards)]
                for k in range(3 * h):
                    d_soft[p, k] += fed[k]
            attend_backward(
                memory, memory_starts[i], f[p], v, log_a[p, :words], d_log_a[p, :words],
                values, d_soft[p], ds[:words], d_memory, d_v, d_y[p],
            )  # fmt: skip
            queries[i] = d_y[p]
            for k in range(h):
                d[i, k] += d_states[p, k]
        multiply(queries, D_T, d, running, False)
        gru_step_backward(
            d, d_reset, d_gates, U_gates_T, U_candidate_T, starts, lengths, step, running, backwards, after,
            previous, r, z, c, inner, d_inputs, d_inner,
        )  # fmt: skip
    for i in range(len(starts)):
        d_first += d[i, :h]


@compiled
def attend_all(
    queries: Floats, values: Floats, memory: Floats, middle: Floats, v: Floats,
    starts: Indices, lengths: Indices, memory_starts: Indices, f: Floats, log_a: Floats, soft: Floats,
) -> None:  # fmt: skip
    """The attention of all words at once, where no step waits for it; `queries` is D q."""
    a = np.empty(lengths[0] + 1, np.float32)
    for i in range(len(starts)):
        words = lengths[i] + 1
        for p in range(starts[i], starts[i] + lengths[i]):
            exp_doubled(queries[p] + middle[memory_starts[i]], f[p])
            attend(memory, memory_starts[i], f[p], v, log_a[p, :words], a[:words])
            soft[p] = ZERO
            add_weighted_rows(a[:words], values, memory_starts[i], soft[p])


@compiled
def attend_all_backward(
    d_log_a: Floats, d_soft: Floats, values: Floats, memory: Floats, v: Floats,
    starts: Indices, lengths: Indices, memory_starts: Indices, f: Floats, log_a: Floats,
    d_y: Floats, d_memory: Floats, d_v: Floats,
) -> None:  # fmt: skip
    """Gradients of D q, C m (raw: without its factor 4v) and v."""
    ds = np.empty(lengths[0] + 1, np.float32)
    for i in range(len(starts)):
        words = lengths[i] + 1
        for p in range(starts[i], starts[i] + lengths[i]):
            attend_backward(
                memory, memory_starts[i], f[p], v, log_a[p, :words], d_log_a[p, :words],
                values, d_soft[p], ds[:words], d_memory, d_v, d_y[p],
            )  # fmt: skip


@compiled_fast
def values_backward(
    log_a: Floats, d_soft: Floats, starts: Indices, lengths: Indices, memory_starts: Indices, d_values: Floats
) -> None:
    """The gradient of `values`: each position collects a · d_soft from all words of its sentence."""
    column = np.empty(lengths[0], np.float32)
    for i in range(len(starts)):
        words = lengths[i]
        for j in range(words + 1):
            for t in range(words):
                column[t] = exp(log_a[starts[i] + t, j])
            total = d_values[memory_starts[i] + j]
            total[:] = ZERO
            add_weighted_rows(column[:words], d_soft, starts[i], total)


@compiled
def affine(x: Floats, W: Floats, bias: Floats, out: Floats) -> None:
    """out = x W + b for any number of rows; W is packed."""
    for i in range(len(x)):
        row = out[i]
        row[: len(bias)] = bias
        row[len(bias) :] = ZERO
    multiply(x, W, out, len(x), False)


# For parsing: a component of the network in one call, so that threads do not wait for each other's Python.


@compiled
def embeddings(
    table: Floats, rows: NDArray[np.int32], offsets: NDArray[np.int32], P: Floats, bias: Floats
) -> Floats:
    """x = LReL(P (E e + …)) of every position; columns past the hidden size have no meaning."""
    sums, x = np.empty((len(offsets) - 1, table.shape[1]), np.float32), room(len(offsets) - 1, P)
    embed(table, rows, offsets, sums)
    multiply(sums, P, x, len(x), True)
    leaky(x, bias)
    return x


@compiled
def memory_states(
    x: Floats, W: Floats, bias: Floats, U_gates: Floats, U_candidate: Floats, first: Floats,
    starts: Indices, lengths: Indices, after: bool,
) -> Floats:  # fmt: skip
    """The memory m = [hˡ; hʳ] of every position."""
    h = first.shape[1]
    m, states = np.empty((len(x), 2 * h), np.float32), np.empty((len(x), h), np.float32)
    inputs, scratch = room(len(x), W[0]), np.empty((5, len(starts), h), np.float32)
    for k in range(2):
        affine(x, W[k], bias[k], inputs)
        gru_forward(
            inputs, U_gates[k], U_candidate[k], first[k], starts, lengths, k == 1, after, False,
            states, scratch[0], scratch[1], scratch[2], scratch[3], scratch[4],
        )  # fmt: skip
        m[:, k * h : (k + 1) * h] = states
    return m


@compiled
def query_states(
    x: Floats, m: Floats, words: NDArray[np.int32], W: Floats, bias: Floats, U_gates_D: Floats,
    U_candidate: Floats, first: Floats, F_V: Floats, C: Floats, v: Floats,
    starts: Indices, lengths: Indices, memory_starts: Indices, backwards: NDArray[np.bool_], after: bool,
    q: Floats, log_a: Floats, soft: Floats,
) -> None:  # fmt: skip
    """The query components with feedback; `F_V` is [F | V], and `soft` the soft headwords times it."""
    h = first.shape[1]
    inputs, values, projected = room(len(x), W[0]), room(len(m), F_V[0]), room(len(m), C[0])
    keys, middle = np.empty((len(m), h), np.float32), np.empty((len(m), h), np.float32)
    scratch = np.empty((6, len(starts), h), np.float32)
    for k in range(len(first)):
        affine(x, W[k], bias[k], inputs)
        multiply(m, F_V[k], values, len(m), True)
        if k < len(C):
            multiply(m, C[k], projected, len(m), True)
            prepare_memory(projected[:, :h], words, keys, middle)
        query_forward(
            inputs, values, keys, middle, U_gates_D[k], U_candidate[k], first[k], v[k],
            starts, lengths, memory_starts, backwards[k], after, False, q[k],
            scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5], log_a[k], soft[k],
        )  # fmt: skip


@compiled_fast
def relation_scores(q: Floats, W: Floats, bias: Floats, soft: Floats) -> Floats:
    """Σ soft + Σ W q + b, what the softmax of the relations is taken of; `soft` is (A, N, R)."""
    scores = room(q.shape[1], W[0])
    affine(q[0], W[0], bias, scores)
    for k in range(1, len(W)):
        multiply(q[k], W[k], scores, len(scores), False)
    for k in range(len(soft)):
        for i in range(len(scores)):
            row, more = scores[i], soft[k, i]
            for j in range(len(bias)):
                row[j] += more[j]
    return scores[:, : len(bias)]
