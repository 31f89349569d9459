"""Products with packed matrices against numpy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from biatt.kernels.products import PANEL, TILE_ROWS, multiply, pack, padded

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 13, 17]  # whole blocks of four and eight, and what is left over


def random(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("rows", range(2 * TILE_ROWS + 2))
@pytest.mark.parametrize("inputs", SIZES)
def test_product_is_added_for_any_number_of_rows_and_inputs(rows: int, inputs: int) -> None:
    for outputs in (1, 7, PANEL - 1, PANEL, PANEL + 1, 3 * PANEL):
        a, w = random(rows + 2, inputs), random(inputs, outputs, seed=1)
        c = random(rows + 2, padded(outputs), seed=2)
        for fresh in (False, True):
            expected, found = c.astype(np.float64), c.copy()
            expected[:rows, :outputs] = a[:rows].astype(np.float64) @ w + (0 if fresh else c[:rows, :outputs])
            expected[:rows, outputs:] = 0 if fresh else c[:rows, outputs:]
            multiply(a, pack(w), found, rows, fresh)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 4, 6])
def test_product_leaves_inputs_past_the_size_of_w_alone(rows: int) -> None:
    a, w, found = random(rows, 9), random(6, 5, seed=1), random(rows, padded(5), seed=2)
    multiply(a, pack(w), found, rows, True)
    np.testing.assert_allclose(found[:, :5], a[:, :6] @ w, rtol=1e-5, atol=1e-5)


def test_product_of_a_row_is_the_same_whatever_rows_are_beside_it() -> None:
    a, w = random(19, 33), pack(random(33, 70, seed=1))
    together, alone = random(19, padded(70)), random(19, padded(70))
    multiply(a, w, together, 19, True)
    for i in range(19):
        multiply(a[i : i + 1], w, alone[i : i + 1], 1, True)
    assert np.array_equal(together, alone)


@given(st.integers(1, 9), st.integers(1, 3 * PANEL), st.booleans())
def test_packing_keeps_every_number_and_adds_zeros(inputs: int, outputs: int, transposed: bool) -> None:
    w = random(outputs, inputs).T if transposed else random(inputs, outputs)
    panels = pack(w)
    assert panels.ctypes.data % 64 == 0
    columns = panels.transpose(1, 0, 2).reshape(inputs, -1)
    assert np.array_equal(columns[:, :outputs], w)
    assert not columns[:, outputs:].any()
