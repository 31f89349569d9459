"""Steps of Adam as compiled loops: one pass over the weights, their gradient and their moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from biatt.kernels.rounding import Floats
from biatt.machine.compiled import compiled, compiled_fast

BLOCK = 4096  # numbers whose squares are added in 32 bits


@compiled_fast
def sum_of_squares(values: Floats) -> float:
    """Of a flat array."""
    total = 0.0
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK]
        part = np.float32(0)
        for i in range(len(block)):
            part += block[i] * block[i]
        total += np.float64(part)
    return total


@compiled
def step_all(
    weights: Floats,
    gradient: Floats,
    first: Floats,
    second: Floats,
    factor: float,
    decay: tuple[float, float],
    rate: float,
    correction: float,
    epsilon: float,
) -> None:
    """A step of flat arrays; the gradient is multiplied by `factor`.

    With m and v, the moments after t steps with decay β₁ and β₂, weights −= rate · m / (√v · correction +
    epsilon): `rate` is the rate / (1 − β₁ᵗ), `correction` is 1 / √(1 − β₂ᵗ).
    """
    beta1, beta2 = np.float32(decay[0]), np.float32(decay[1])
    rest1, rest2 = np.float32(1) - beta1, np.float32(1) - beta2
    scale, size, root, least = (
        np.float32(factor),
        np.float32(rate),
        np.float32(correction),
        np.float32(epsilon),
    )
    for i in range(len(weights)):
        g = gradient[i] * scale
        m = first[i] * beta1 + g * rest1
        v = second[i] * beta2 + g * g * rest2
        first[i] = m
        second[i] = v
        weights[i] -= size * m / (np.sqrt(v) * root + least)


@compiled
def step_rows(
    weights: Floats,
    rows: NDArray[np.int64],
    gradient: Floats,
    first: Floats,
    second: Floats,
    steps: Floats,
    factor: float,
    decay: tuple[float, float],
    rate: float,
    epsilon: float,
) -> None:
    """A step of different rows of a table, each with its own number of `steps`; gradient (rows, width)."""
    for k in range(len(rows)):
        row = rows[k]
        steps[row] += np.float32(1)
        of_row = rate / (1 - decay[0] ** np.float64(steps[row]))
        correction = 1 / np.sqrt(1 - decay[1] ** np.float64(steps[row]))
        step_all(
            weights[row], gradient[k], first[row], second[row], factor, decay, of_row, correction, epsilon
        )
