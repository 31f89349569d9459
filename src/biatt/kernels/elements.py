"""Loops over the numbers of a vector that every part of the network uses."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from biatt.data.scores import SLOPE
from biatt.kernels.rounding import INPUTS, LEAST, ROW_LIMIT, Floats
from biatt.machine.compiled import compiled, compiled_fast

ONE = np.float32(1)
HALF = np.float32(0.5)
ZERO = np.float32(0)

EXPONENT_LIMIT = np.float32(87)  # of exp(2x); a product of two may overflow: 1 / (1 + inf) is the right 0
CLAMPED = np.float32(np.exp(86.9))  # exp(2x) above this, or below its inverse, passes no gradient on

LOG2_E = np.float32(1.4426950408889634)
LN2_HIGH = np.float32(0.693359375)
LN2_LOW = np.float32(-2.12194440e-4)


@intrinsic
def _float_from_bits(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def _bits_of_float(typing: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@partial(compiled, fastmath={"contract", "nsz"})  # sums in another order would lose three times as much
def exp(x: np.float32) -> np.float32:
    """eˣ within 1e-7 relative (Cephes' polynomial), in a form that compiles to vector instructions."""
    x = min(max(x, np.float32(-87)), np.float32(88))
    k = np.floor(x * LOG2_E + HALF)
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
    """exp(2x) of a whole array, clamped so that it stays finite."""
    flat, result = values.reshape(-1), out.reshape(-1)
    for i in range(flat.size):
        result[i] = exp(min(max(np.float32(2) * flat[i], -EXPONENT_LIMIT), EXPONENT_LIMIT))


@compiled
def copy_row(numbers: Floats, out: Floats) -> None:
    """As many numbers as `out` has; numba's own assignment takes several times as long for short rows."""
    for k in range(len(out)):
        out[k] = numbers[k]


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
def round_rows(a: Floats, inputs: int, rows: int) -> tuple[NDArray[np.int16], Floats]:
    """The first numbers of each row as whole numbers, with zeros up to a multiple of INPUTS, and the scales.

    `rounding.rounded_rows` is the same in numpy. NaN and infinity make a scale that is not finite either.
    """
    width = (inputs + INPUTS - 1) // INPUTS * INPUTS
    numbers, scales = np.empty((rows, width), np.int16), np.empty(rows, np.float32)
    for i in range(rows):
        row, whole, bits = a[i], numbers[i], np.int32(0)
        for k in range(inputs):  # numbers without a sign are in the order of their bits
            size = np.int32(_bits_of_float(row[k]) & np.int32(0x7FFFFFFF))  # type: ignore[call-arg]
            bits = np.int32(max(bits, size))  # else numba would compare 64 bits
        largest: np.float32 = _float_from_bits(bits)  # type: ignore[call-arg]
        largest = LEAST if largest < LEAST else largest
        factor = ROW_LIMIT / largest
        for k in range(inputs):
            scaled = row[k] * factor
            whole[k] = np.int16(scaled + (HALF if scaled >= ZERO else -HALF))
        for k in range(inputs, width):
            whole[k] = 0
        scales[i] = largest / ROW_LIMIT
    return numbers, scales
