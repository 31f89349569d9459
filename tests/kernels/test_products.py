"""Products with packed matrices against numpy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from biatt.kernels.elements import round_rows
from biatt.kernels.products import (
    HEADER,
    PANEL,
    TILE_ROWS,
    WHOLE_TILE_ROWS,
    Packed,
    multiply,
    pack,
    pack_whole,
    padded,
)
from biatt.kernels.rounding import (
    COLUMN_LIMIT,
    INPUTS,
    ROW_LIMIT,
    rounded_matrix,
    rounded_rows,
    whole_columns,
)
from examples import examples

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 13, 17]  # whole blocks of four and eight, and what is left over


def random(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


both_kinds = pytest.mark.parametrize("packing", [pack, pack_whole])
Packing = Callable[[NDArray[np.float32]], Packed]


def product(a: NDArray[np.float32], w: NDArray[np.float32], packing: Packing) -> NDArray[np.float64]:
    """What `multiply` gives for a matrix of this kind, in numpy."""
    if packing is pack_whole:
        a, w = rounded_rows(a), rounded_matrix(w)
    return a.astype(np.float64) @ w


@both_kinds
@pytest.mark.parametrize("rows", range(2 * max(TILE_ROWS, WHOLE_TILE_ROWS) + 2))
@pytest.mark.parametrize("inputs", SIZES)
def test_product_is_added_for_any_number_of_rows_and_inputs(rows: int, inputs: int, packing: Packing) -> None:
    for outputs in (1, 7, PANEL - 1, PANEL, PANEL + 1, 3 * PANEL):
        a, w = random(rows + 2, inputs), random(inputs, outputs, seed=1)
        c = random(rows + 2, padded(outputs), seed=2)
        for fresh in (False, True):
            expected, found = c.astype(np.float64), c.copy()
            before = 0 if fresh else c[:rows, :outputs]
            expected[:rows, :outputs] = product(a[:rows], w, packing) + before
            expected[:rows, outputs:] = 0 if fresh else c[:rows, outputs:]
            multiply(a, packing(w), found, rows, fresh)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@both_kinds
@pytest.mark.parametrize("rows", [1, 4, 6])
def test_product_leaves_inputs_past_the_size_of_w_alone(rows: int, packing: Packing) -> None:
    a, w, found = random(rows, 9), random(6, 5, seed=1), random(rows, padded(5), seed=2)
    a[:, 6:] *= 100
    multiply(a, packing(w), found, rows, True)
    np.testing.assert_allclose(found[:, :5], product(a[:, :6], w, packing), rtol=1e-5, atol=1e-5)


@both_kinds
def test_product_of_a_row_is_the_same_whatever_rows_are_beside_it(packing: Packing) -> None:
    a, w = random(19, 33), packing(random(33, 70, seed=1))
    together, alone = random(19, padded(70)), random(19, padded(70))
    multiply(a, w, together, 19, True)
    for i in range(19):
        multiply(a[i : i + 1], w, alone[i : i + 1], 1, True)
    assert np.array_equal(together, alone)


numbers = st.floats(-1000, 1000, width=32)


@examples(100)
@given(st.lists(st.lists(numbers, min_size=11, max_size=11), min_size=1, max_size=4), st.integers(1, 11))
def test_rows_are_rounded_as_numpy_rounds_them(rows: list[list[float]], inputs: int) -> None:
    a = np.array(rows, np.float32)
    whole, scales = round_rows(a, inputs, len(a))
    assert whole.shape[1] % INPUTS == 0
    assert not whole[:, inputs:].any()
    expected = rounded_rows(a[:, :inputs])
    np.testing.assert_array_equal(whole[:, :inputs] * scales[:, None], expected)
    largest = np.abs(a[:, :inputs]).max(1, keepdims=True)
    assert (np.abs(expected - a[:, :inputs]) <= 0.501 * np.maximum(largest, 1e-30) / ROW_LIMIT).all()


@examples(100)
@given(st.integers(1, 40), st.integers(1, 5), st.floats(-37, 37), st.integers(0, 999))
def test_columns_are_the_nearest_whole_numbers(inputs: int, outputs: int, exponent: float, seed: int) -> None:
    w = random(inputs, outputs, seed=seed) * np.float32(10**exponent)
    whole, scales = whole_columns(w)
    assert (np.abs(whole.astype(int)) <= COLUMN_LIMIT).all()
    assert (np.abs(whole * scales.astype(np.float64) - w) <= 0.501 * scales).all()


@pytest.mark.parametrize("inputs", [1, 64, 400, 3000])
def test_largest_sums_do_not_overflow(inputs: int) -> None:
    """All of a column's numbers have the signs of the row, and the largest size."""
    signs = np.sign(random(inputs))
    for sizes in (np.ones(inputs), np.linspace(0.1, 1, inputs), 0.5 + (np.arange(inputs) == 0)):
        w = (sizes * signs).astype(np.float32)[:, None]
        found = random(2, padded(1))
        multiply(np.array([signs, -signs], np.float32), pack_whole(w), found, 2, True)
        rounding = 2e-4 + inputs * ROW_LIMIT / 2**31  # of a row and a column
        np.testing.assert_allclose(found[:, 0], [sizes.sum(), -sizes.sum()], rtol=rounding)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_number_that_is_none_makes_its_row_none(wrong: float) -> None:
    a, found = random(3, 9), random(3, padded(5))
    a[1, 4] = wrong
    multiply(a, pack_whole(random(9, 5, seed=1)), found, 3, True)
    assert not np.isfinite(found[1, :5]).any()
    assert np.isfinite(found[[0, 2], :5]).all()


@pytest.mark.parametrize("size", [0, 1e-38])
def test_row_or_column_without_a_size_gives_zeros(size: float) -> None:
    a, w, found = random(3, 9), random(9, 5, seed=1), random(3, padded(5))
    a[1] *= size
    w[:, 2] *= size
    multiply(a, pack_whole(w), found, 3, True)
    assert (np.abs(found[1, :5]) < 1e-20).all()
    assert (np.abs(found[:, 2]) < 1e-20).all()
    np.testing.assert_allclose(found[0, :2], product(a, w, pack_whole)[0, :2], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("inputs", [0, COLUMN_LIMIT + 1])
def test_matrix_without_inputs_or_with_too_many_is_refused(inputs: int) -> None:
    with pytest.raises(ValueError, match=f"of {inputs} inputs"):
        pack_whole(np.zeros((inputs, 1), np.float32))


@given(st.integers(1, 19), st.integers(1, 3 * PANEL))
def test_packed_whole_numbers_alternate(inputs: int, outputs: int) -> None:
    w = random(inputs, outputs)
    panels = pack_whole(w)
    assert panels.ctypes.data % 64 == 0
    assert panels[0, 1, 0] == inputs
    whole, scales = whole_columns(w)
    assert np.array_equal(panels[:, 0].copy().view(np.float32).ravel()[:outputs], scales)
    for i in range(inputs):
        assert np.array_equal(panels[:, HEADER + i // 2, i % 2 :: 2].ravel()[:outputs], whole[i])


@given(st.integers(1, 9), st.integers(1, 3 * PANEL), st.booleans())
def test_packing_keeps_every_number_and_adds_zeros(inputs: int, outputs: int, transposed: bool) -> None:
    w = random(outputs, inputs).T if transposed else random(inputs, outputs)
    panels = pack(w)
    assert panels.ctypes.data % 64 == 0
    columns = panels.transpose(1, 0, 2).reshape(inputs, -1)
    assert np.array_equal(columns[:, :outputs], w)
    assert not columns[:, outputs:].any()
