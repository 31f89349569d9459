"""The compiled kernels against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biatt.kernels import gru_attention as kernels
from biatt.kernels import recurrences
from biatt.kernels.gru_attention import Floats

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 13, 17]  # whole blocks of four and eight, and what is left over


def random(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def exponentials(x: Floats) -> Floats:
    return np.array([kernels.exp(value) for value in x], np.float32)


# Elements


def test_exp_is_right_to_the_last_digits_over_the_whole_range() -> None:
    x = np.concatenate([np.linspace(-87, 88, 20_001), np.linspace(-1e-3, 1e-3, 1001)]).astype(np.float32)
    expected = np.exp(x.astype(np.float64))
    assert (np.abs(exponentials(x) - expected) / expected).max() <= 1e-7


def test_exp_of_zero_is_one() -> None:
    assert kernels.exp(np.float32(0)) == 1


def test_exp_is_clamped_at_both_ends() -> None:
    low, high = exponentials(np.array([-87, 88], np.float32))
    assert 0 < low < high < np.inf
    assert exponentials(np.array([-87.5, -1e30, -np.inf], np.float32)).tolist() == [low] * 3
    assert exponentials(np.array([88.5, 1e30, np.inf], np.float32)).tolist() == [high] * 3


def test_exp_doubled_is_clamped_and_stays_finite() -> None:
    x = np.array([[-np.inf, -1e9, -1.5], [0, 2.25, 1e9]], np.float32)
    found = np.empty_like(x)
    kernels.exp_doubled(x, found)
    limit = float(kernels.EXPONENT_LIMIT)
    expected = np.exp(np.clip(2 * x.astype(np.float64), -limit, limit))
    np.testing.assert_allclose(found, expected, rtol=3e-7)
    assert np.isfinite(found).all()
    assert ((found > kernels.CLAMPED) | (found < 1 / kernels.CLAMPED)).tolist() == (np.abs(x) > 1e8).tolist()


@pytest.mark.parametrize("size", SIZES)
def test_leaky_adds_the_bias_and_scales_what_is_negative(size: int) -> None:
    x, bias = random(3, size), random(size, seed=1)
    total = x + bias
    kernels.leaky(x, bias)
    np.testing.assert_allclose(x, np.where(total > 0, total, np.float32(0.1) * total), rtol=1e-6)


# Sums and products


def test_embedding_sums_the_rows_of_each_token_and_no_rows_give_zero() -> None:
    table, bags = random(6, 5), [[0], [], [3, 3, 1], [5, 4, 2, 1, 0], []]
    rows = np.array([row for bag in bags for row in bag], np.int32)
    offsets = np.cumsum([0, *map(len, bags)]).astype(np.int32)
    found = np.full((len(bags), 5), np.nan, np.float32)
    kernels.embed(table, rows, offsets, found)
    np.testing.assert_allclose(found, [table[bag].sum(0) for bag in bags], rtol=1e-6, atol=1e-6)


@settings(deadline=None)
@given(st.integers(0, 20), st.integers(0, 4), st.integers(1, 20), st.integers(0, 99))
def test_weighted_rows_are_added(count: int, start: int, width: int, seed: int) -> None:
    weights, rows = random(count, seed=seed), random(count + start + 3, width, seed=seed + 1)
    total = random(width, seed=seed + 2)
    expected = total + weights.astype(np.float64) @ rows[start : start + count]
    kernels.add_weighted_rows(weights, rows, start, total)
    np.testing.assert_allclose(total, expected, rtol=1e-5, atol=1e-5)


@settings(deadline=None)
@given(st.lists(st.integers(1, 11), min_size=1, max_size=5), st.integers(1, 13), st.integers(0, 99))
def test_gradient_of_values_collects_from_all_words_of_the_sentence(
    lengths: list[int], width: int, seed: int
) -> None:
    words = np.array(lengths, np.int32)
    log_a, d_soft = -np.abs(random(sum(lengths), max(lengths) + 1, seed=seed)), random(sum(lengths), width)
    found = np.full((sum(lengths) + len(lengths), width), np.nan, np.float32)
    (share,) = recurrences.shares(words, 1)
    kernels.values_backward(log_a, d_soft, *share, found)
    start = position = 0
    for n in lengths:
        a = np.exp(log_a[start : start + n, : n + 1])
        expected = a.T @ d_soft[start : start + n]
        np.testing.assert_allclose(found[position : position + n + 1], expected, rtol=1e-5, atol=1e-5)
        start, position = start + n, position + n + 1


# Attention


@pytest.mark.parametrize("scale", [0.1, 1, 30])
@pytest.mark.parametrize("h", [1, 4, 9])
def test_attention_is_a_softmax_over_tanh_scores(h: int, scale: float) -> None:
    """Scale 30 has sums near 0 of numbers near ±40, of which exp(2x) must not be cut off."""
    x, v = np.clip(scale * random(7, h), -40, 40), random(h, seed=2)
    y = -x[3] + random(h, seed=1)
    memory, f = np.empty_like(x), np.empty_like(y)
    kernels.exp_doubled(x, memory)
    kernels.exp_doubled(y, f)
    log_a, a = np.empty(5, np.float32), np.empty(5, np.float32)
    kernels.attend(memory, 2, f, v, log_a, a)
    s = np.tanh(x[2:].astype(np.float64) + y) @ v
    expected = s - np.log(np.exp(s).sum())
    np.testing.assert_allclose(log_a, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(a, np.exp(expected), rtol=1e-5, atol=1e-5)


def attention_gradients(x: Floats, y: Floats, v: Floats, d_log_a: Floats) -> tuple[Floats, Floats, Floats]:
    """Of y, of x and of v, where the soft sum is not used."""
    memory, f = np.empty_like(x), np.empty_like(y)
    kernels.exp_doubled(x, memory)
    kernels.exp_doubled(y, f)
    n = len(x)
    log_a, a = np.empty(n, np.float32), np.empty(n, np.float32)
    kernels.attend(memory, 0, f, v, log_a, a)
    d_memory, d_v, d_y, ds = np.zeros_like(x), np.zeros_like(v), np.empty_like(y), np.empty_like(a)
    values, d_soft = np.zeros((n, 1), np.float32), np.zeros(1, np.float32)
    kernels.attend_backward(memory, 0, f, v, log_a, d_log_a, values, d_soft, ds, d_memory, d_v, d_y)
    return d_y, d_memory * 4 * v, d_v


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(2, 9), st.floats(0.01, 3), st.integers(0, 99))
def test_attention_gradient_equals_the_chain_rule(h: int, n: int, scale: float, seed: int) -> None:
    x, y = scale * random(n, h, seed=seed), scale * random(h, seed=seed + 1)
    x, y, v = x.astype(np.float32), y.astype(np.float32), random(h, seed=seed + 2)
    d_log_a = random(n, seed=seed + 3)
    tanh = np.tanh(x.astype(np.float64) + y)
    a = np.exp(tanh @ v) / np.exp(tanh @ v).sum()
    ds = d_log_a - a * d_log_a.sum()
    d_x = ds[:, None] * (1 - tanh**2) * v
    for found, expected in zip(
        attention_gradients(x, y, v, d_log_a), (d_x.sum(0), d_x, ds @ tanh), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(d_log_a).sum())


def test_no_gradient_passes_where_tanh_is_flat_or_its_argument_was_clamped() -> None:
    """Else what rounding leaves is multiplied at every step of a long sentence."""
    x = np.array([[30, 1e4, 60], [25, 2e4, 50], [35, 1e5, 70]], np.float32)
    y, d_log_a = np.array([9, 3e3, -60], np.float32), np.array([0.3, -7.1, 1e3], np.float32)
    d_y, d_x, _ = attention_gradients(x, y, np.ones(3, np.float32), d_log_a)
    assert np.abs(d_y).max() < 1e-20
    assert np.abs(d_x[:, :2]).max() < 1e-20


# Memory


def laid_out(arrays: list[Floats], gap: int) -> list[Floats]:
    """Copies of the arrays in one buffer, one after the other, with so many numbers between them."""
    copies, at = [], 0
    buffer = np.full(sum(array.size + gap for array in arrays), np.nan, np.float32)
    for array in arrays:
        copies.append(buffer[at : at + array.size].reshape(array.shape))
        copies[-1][...] = array
        at += array.size + gap
    return copies


def attend_both_ways(
    memory: Floats, values: Floats, f: Floats, v: Floats, d_soft: Floats, log_a: Floats, a: Floats,
    d_log_a: Floats, ds: Floats, d_memory: Floats, d_v: Floats, d_y: Floats, soft: Floats,
) -> None:  # fmt: skip
    kernels.attend(memory, 0, f, v, log_a, a)
    kernels.add_weighted_rows(a, values, 0, soft)
    kernels.attend_backward(memory, 0, f, v, log_a, d_log_a, values, d_soft, ds, d_memory, d_v, d_y)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("h", [8, 32])
def test_results_do_not_depend_on_where_arrays_lie(h: int, backwards: bool) -> None:
    """LLVM's vector loops give way to plain ones where arrays may overlap, or are less than a few vectors
    apart; where malloc puts an array changes from run to run. So both loops must give the same bits.
    """
    for n in range(2, 41):
        rows, vectors, positions = random(2, n, h, seed=n), random(6, h, seed=n + 1), random(4, n, seed=n + 2)
        arrays = [np.exp(rows[0]), rows[1], np.exp(vectors[0]), vectors[1], vectors[2], *positions]
        arrays += [np.zeros((n, h), np.float32), *vectors[3:]]
        order = slice(None, None, -1 if backwards else 1)
        expected = laid_out(arrays, 1000)
        attend_both_ways(*expected)
        for gap in range(0, 68, 4):  # malloc's steps of 16 bytes, up to four of the widest vectors
            near = laid_out(arrays[order], gap)[order]
            attend_both_ways(*near)
            for one, other in zip(near, expected, strict=True):
                assert one.tobytes() == other.tobytes(), (n, gap)
