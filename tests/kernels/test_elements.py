"""Loops over vectors against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from biatt.kernels import elements

Floats = NDArray[np.float32]

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 13, 17]  # whole blocks of four and eight, and what is left over


def random(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def exponentials(x: Floats) -> Floats:
    return np.array([elements.exp(value) for value in x], np.float32)


def test_exp_is_right_to_the_last_digits_over_the_whole_range() -> None:
    x = np.concatenate([np.linspace(-87, 88, 20_001), np.linspace(-1e-3, 1e-3, 1001)]).astype(np.float32)
    expected = np.exp(x.astype(np.float64))
    assert (np.abs(exponentials(x) - expected) / expected).max() <= 1e-7


def test_exp_of_zero_is_one() -> None:
    assert elements.exp(np.float32(0)) == 1


def test_exp_is_clamped_at_both_ends() -> None:
    low, high = exponentials(np.array([-87, 88], np.float32))
    assert 0 < low < high < np.inf
    assert exponentials(np.array([-87.5, -1e30, -np.inf], np.float32)).tolist() == [low] * 3
    assert exponentials(np.array([88.5, 1e30, np.inf], np.float32)).tolist() == [high] * 3


def test_exp_doubled_is_clamped_and_stays_finite() -> None:
    x = np.array([[-np.inf, -1e9, -1.5], [0, 2.25, 1e9]], np.float32)
    result = np.empty_like(x)
    elements.exp_doubled(x, result)
    limit = float(elements.EXPONENT_LIMIT)
    expected = np.exp(np.clip(2 * x.astype(np.float64), -limit, limit))
    np.testing.assert_allclose(result, expected, rtol=3e-7)
    assert np.isfinite(result).all()
    clamped = (result > elements.CLAMPED) | (result < 1 / elements.CLAMPED)
    assert np.array_equal(clamped, np.abs(x) > 1e8)


@pytest.mark.parametrize("size", SIZES)
def test_leaky_adds_the_bias_and_scales_what_is_negative(size: int) -> None:
    x, bias = random(3, size), random(size, seed=1)
    total = x + bias
    elements.leaky(x, bias)
    np.testing.assert_allclose(x, np.where(total > 0, total, np.float32(0.1) * total), rtol=1e-6)


def test_embedding_sums_the_rows_of_each_token_and_no_rows_give_zero() -> None:
    table, bags = random(6, 5), [[0], [], [3, 3, 1], [5, 4, 2, 1, 0], []]
    rows = np.array([row for bag in bags for row in bag], np.int32)
    offsets = np.cumsum([0, *map(len, bags)]).astype(np.int32)
    result = np.full((len(bags), 5), np.nan, np.float32)
    elements.embed(table, rows, offsets, result)
    np.testing.assert_allclose(result, [table[bag].sum(0) for bag in bags], rtol=1e-6, atol=1e-6)


@given(st.integers(0, 20), st.integers(0, 4), st.integers(1, 20), st.integers(0, 99))
def test_weighted_rows_are_added(count: int, start: int, width: int, seed: int) -> None:
    weights, rows = random(count, seed=seed), random(count + start + 3, width, seed=seed + 1)
    total = random(width, seed=seed + 2)
    expected = total + weights.astype(np.float64) @ rows[start : start + count]
    elements.add_weighted_rows(weights, rows, start, total)
    np.testing.assert_allclose(total, expected, rtol=1e-5, atol=1e-5)
