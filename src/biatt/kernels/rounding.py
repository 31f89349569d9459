"""Matrices and rows of numbers as whole numbers times a scale, so that a product of both is exact.

A processor multiplies and adds twice as many 16-bit whole numbers at once as 32-bit ones with a point. Each
column of a matrix and each row that it is multiplied with has a scale of its own. Rows keep 14 bits and a
sign; columns keep as many as leave a sum of 32 bits no chance to overflow, which is 10 to 15. Rows need more:
a few numbers of a row can be much larger than the others, and the rounding of a weight averages out over
the inputs. What that does to trees is in `docs/speed.md`. Training does not round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

ROW_LIMIT = np.float32(16383)  # of a row's whole numbers
COLUMN_LIMIT = 32767
LARGEST_SUM = 2**31 - 2**16  # of a product, with room for the rounding of a scale
INPUTS = 8  # the number of inputs is a multiple of this
LEAST = np.float32(1e-30)  # a row or column whose numbers are all smaller counts as this large


class Whole(NamedTuple):
    """A matrix of whole numbers, and what each column is multiplied by."""

    numbers: NDArray[np.int16]
    scales: Floats

    def floats(self) -> Floats:
        return self.numbers * self.scales


def whole_columns(w: Floats) -> Whole:
    """The nearest whole numbers to each column of a matrix, (inputs, outputs)."""
    sizes = np.abs(w, dtype=np.float64)
    room = LARGEST_SUM / float(ROW_LIMIT) - len(w) / 2  # rounding adds a half to a number, at the most
    scales = np.maximum(sizes.max(0) / COLUMN_LIMIT, sizes.sum(0) / room)
    scales = np.maximum(scales, LEAST).astype(np.float32)
    return Whole(np.rint(w / scales).astype(np.int16), scales)


def rounded_matrix(w: Floats) -> Floats:
    """(…, inputs, outputs): matrices as `whole_columns` keeps them."""
    flat = w.reshape(-1, *w.shape[-2:])
    return np.stack([whole_columns(matrix).floats() for matrix in flat]).reshape(w.shape)


def rounded_rows(x: Floats) -> Floats:
    """(…, inputs): rows as `elements.round_rows` keeps them."""
    largest = np.maximum(np.abs(x).max(-1, keepdims=True), LEAST)
    scaled = x * (ROW_LIMIT / largest)
    whole: Floats = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)) * (largest / ROW_LIMIT)
    return whole
