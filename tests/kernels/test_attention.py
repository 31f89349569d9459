"""Attention and its gradient against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from biatt.kernels import attention
from biatt.kernels.attention import Attended, AttentionGradients, Lookup
from biatt.kernels.elements import add_weighted_rows, exp_doubled
from biatt.kernels.recurrences import sentence_groups

Floats = NDArray[np.float32]


def random(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def exponentials(values: Floats) -> Floats:
    result = np.empty_like(values)
    exp_doubled(values, result)
    return result


def lookup(keys: Floats, v: Floats, values: Floats | None = None) -> Lookup:
    """A lookup whose middle is not used, without values unless they are given."""
    values = np.zeros((len(keys), 1), np.float32) if values is None else values
    return Lookup(keys, np.zeros_like(keys), values, v)


@pytest.mark.parametrize("scale", [0.1, 1, 30])
@pytest.mark.parametrize("h", [1, 4, 9])
def test_attention_is_a_softmax_over_tanh_scores(h: int, scale: float) -> None:
    """Scale 30 has sums near 0 of numbers near ±40, of which exp(2x) must not be cut off."""
    x, v = np.clip(scale * random(7, h), -40, 40), random(h, seed=2)
    y = -x[3] + random(h, seed=1)
    log_a, a = np.empty(5, np.float32), np.empty(5, np.float32)
    attention.attend(lookup(exponentials(x), v), 2, exponentials(y), log_a, a)
    s = np.tanh(x[2:].astype(np.float64) + y) @ v
    expected = s - np.log(np.exp(s).sum())
    np.testing.assert_allclose(log_a, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(a, np.exp(expected), rtol=1e-5, atol=1e-5)


def attention_gradients(x: Floats, y: Floats, v: Floats, d_log_a: Floats) -> tuple[Floats, Floats, Floats]:
    """Of y, of x and of v, where the soft headword is not used."""
    n, h = x.shape
    memory, f = lookup(exponentials(x), v), exponentials(y)
    log_a, a = np.empty(n, np.float32), np.empty(n, np.float32)
    attention.attend(memory, 0, f, log_a, a)
    no_soft, ds = np.zeros((1, 1), np.float32), np.empty(n, np.float32)
    gradients = AttentionGradients(np.empty((1, h), np.float32), np.zeros_like(x), np.zeros_like(v))
    attended = Attended(f[None], log_a[None], no_soft)
    attention.attend_backward(memory, 0, 0, attended, d_log_a[None], no_soft, ds, gradients)
    return gradients.queries[0], gradients.keys * 4 * v, gradients.v


@given(st.integers(1, 9), st.integers(2, 9), st.floats(0.01, 3), st.integers(0, 99))
def test_attention_gradient_equals_the_chain_rule(h: int, n: int, scale: float, seed: int) -> None:
    x, y = scale * random(n, h, seed=seed), scale * random(h, seed=seed + 1)
    x, y, v = x.astype(np.float32), y.astype(np.float32), random(h, seed=seed + 2)
    d_log_a = random(n, seed=seed + 3)
    tanh = np.tanh(x.astype(np.float64) + y)
    a = np.exp(tanh @ v) / np.exp(tanh @ v).sum()
    ds = d_log_a - a * d_log_a.sum()
    d_x = ds[:, None] * (1 - tanh**2) * v
    for gradient, expected in zip(
        attention_gradients(x, y, v, d_log_a), (d_x.sum(0), d_x, ds @ tanh), strict=True
    ):
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5 * np.abs(d_log_a).sum())


def test_no_gradient_passes_where_tanh_is_flat_or_its_argument_was_clamped() -> None:
    """Else what rounding leaves is multiplied at every step of a long sentence."""
    x = np.array([[30, 1e4, 60], [25, 2e4, 50], [35, 1e5, 70]], np.float32)
    y, d_log_a = np.array([9, 3e3, -60], np.float32), np.array([0.3, -7.1, 1e3], np.float32)
    d_y, d_x, _ = attention_gradients(x, y, np.ones(3, np.float32), d_log_a)
    assert np.abs(d_y).max() < 1e-20
    assert np.abs(d_x[:, :2]).max() < 1e-20


@given(st.lists(st.integers(1, 11), min_size=1, max_size=5), st.integers(1, 13), st.integers(0, 99))
def test_gradient_of_values_collects_from_all_words_of_the_sentence(
    lengths: list[int], width: int, seed: int
) -> None:
    words = np.array(lengths, np.int32)
    log_a, d_soft = -np.abs(random(sum(lengths), max(lengths) + 1, seed=seed)), random(sum(lengths), width)
    d_values = np.full((sum(lengths) + len(lengths), width), np.nan, np.float32)
    (sentences,) = sentence_groups(words, 1)
    attention.values_backward(log_a, d_soft, sentences, d_values)
    start = position = 0
    for n in lengths:
        a = np.exp(log_a[start : start + n, : n + 1])
        expected = a.T @ d_soft[start : start + n]
        np.testing.assert_allclose(d_values[position : position + n + 1], expected, rtol=1e-5, atol=1e-5)
        start, position = start + n, position + n + 1


def laid_out(arrays: list[Floats], gap: int) -> list[Floats]:
    """Copies of the arrays in one buffer, one after the other, with this many numbers between them."""
    copies, at = [], 0
    buffer = np.full(sum(array.size + gap for array in arrays), np.nan, np.float32)
    for array in arrays:
        copies.append(buffer[at : at + array.size].reshape(array.shape))
        copies[-1][...] = array
        at += array.size + gap
    return copies


def attend_both_ways(arrays: list[Floats]) -> None:
    """Forward and backward pass of one word; the arrays are those of `test_results_do_not_depend_…`."""
    keys, values, f, v, d_soft, log_a, a, d_log_a, ds, d_keys, d_v, d_y, soft = arrays
    memory, attended = lookup(keys, v, values), Attended(f[None], log_a[None], soft[None])
    attention.attend(memory, 0, f, log_a, a)
    add_weighted_rows(a, values, 0, soft)
    gradients = AttentionGradients(d_y[None], d_keys, d_v)
    attention.attend_backward(memory, 0, 0, attended, d_log_a[None], d_soft[None], ds, gradients)


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
        attend_both_ways(expected)
        for gap in range(0, 68, 4):  # malloc's steps of 16 bytes, up to four of the widest vectors
            near = laid_out(arrays[order], gap)[order]
            attend_both_ways(near)
            for array, far in zip(near, expected, strict=True):
                assert array.tobytes() == far.tobytes(), (n, gap)
