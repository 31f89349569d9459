"""Products of a few rows with a matrix that stays the same: what every step of a recurrence waits for.

A matrix is packed into panels of PANEL columns, as wide as three vectors of the processor. For up to eight
rows and one panel, a tile, all sums stay in registers while the panel is read once. Numba does not arrive at
this from plain loops, so the tile is written as vector instructions; it is as fast as BLAS is for large
products.

The sums of a row are taken in the same order whatever rows are beside it.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from biatt.compiled import compiled, compiled_fast

Floats = NDArray[np.float32]


def _lanes() -> int:
    """How many numbers one vector register holds."""
    features = llvm.get_host_cpu_features()
    return 16 if features.get("avx512f") else 8 if features.get("avx") else 4


LANES = _lanes()
VECTORS = 3
PANEL = VECTORS * LANES
TALLEST = 4 if LANES == 8 else 8  # rows of a tile: AVX has half the registers of the others


def _tile(rows: int) -> Any:
    """A function that adds a[i : i + rows] @ w[p] to panel p of those rows of c, or of zeros if `fresh`."""

    @intrinsic
    def tile(typing: Any, a: Any, i: Any, w: Any, p: Any, c: Any, fresh: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            (a, w, c), (i, p, fresh) = arguments[::2], arguments[1::2]
            a, w, c = (
                context.make_array(kind)(context, builder, array)
                for kind, array in zip(signature.args[::2], (a, w, c), strict=True)
            )
            _emit_tile(builder, rows, a, i, w, p, c, fresh)
            return context.get_dummy_value()

        return types.void(a, types.int64, w, types.int64, c, types.boolean), generate

    return tile


def _emit_tile(b: Any, rows: int, a: Any, i: Any, w: Any, p: Any, c: Any, fresh: Any) -> None:
    whole, number, byte = ir.IntType(64), ir.FloatType(), ir.IntType(8).as_pointer()
    vector = ir.VectorType(number, LANES)
    zero = ir.Constant(vector, [0.0] * LANES)
    undefined = ir.Constant(vector, ir.Undefined)
    lane_zero = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

    def at(pointer: Any, offset: Any, kind: Any) -> Any:
        return b.bitcast(b.gep(b.bitcast(pointer, byte), [offset]), kind.as_pointer())

    def first_stride(array: Any, dimensions: int) -> Any:
        return cgutils.unpack_tuple(b, array.strides, dimensions)[0]

    lines = [b.add(i, whole(row)) for row in range(rows)]
    a_rows = [at(a.data, b.mul(line, first_stride(a, 2)), number) for line in lines]
    column = b.mul(p, whole(PANEL * 4))
    c_rows = [at(c.data, b.add(b.mul(line, first_stride(c, 2)), column), vector) for line in lines]
    panel = b.gep(b.bitcast(w.data, byte), [b.mul(p, first_stride(w, 3))])
    inputs = cgutils.unpack_tuple(b, w.shape, 3)[1]
    cells = [(row, k) for row in range(rows) for k in range(VECTORS)]

    def cell(row: int, k: int) -> Any:
        return b.gep(c_rows[row], [whole(k)])

    before = {key: b.select(fresh, zero, b.load(cell(*key), align=4)) for key in cells}
    entry, loop, end = b.block, b.append_basic_block("inputs"), b.append_basic_block("done")
    b.branch(loop)
    b.position_at_end(loop)
    step = b.phi(whole)
    step.add_incoming(whole(0), entry)
    sums = {}
    for key in cells:
        sums[key] = b.phi(vector)
        sums[key].add_incoming(before[key], entry)
    w_row = at(panel, b.mul(step, whole(PANEL * 4)), vector)
    w_vectors = [b.load(b.gep(w_row, [whole(k)]), align=4) for k in range(VECTORS)]
    after = {}
    for row in range(rows):
        one = b.insert_element(undefined, b.load(b.gep(a_rows[row], [step])), whole(0))
        everywhere = b.shuffle_vector(one, undefined, lane_zero)
        for k in range(VECTORS):
            product = b.fmul(everywhere, w_vectors[k], flags=("contract",))
            after[row, k] = b.fadd(sums[row, k], product, flags=("contract",))
    following = b.add(step, whole(1))
    step.add_incoming(following, loop)
    for key in cells:
        sums[key].add_incoming(after[key], loop)
    b.cbranch(b.icmp_signed("<", following, inputs), loop, end)
    b.position_at_end(end)
    for key in cells:
        b.store(after[key], cell(*key), align=4)


_tile_1, _tile_2, _tile_3, _tile_4, _tile_5, _tile_6, _tile_7, _tile_8 = map(_tile, range(1, 9))


@compiled
def multiply(a: Floats, w: Floats, c: Floats, rows: int, fresh: bool) -> None:
    """c[:rows] = a[:rows] @ w, or += unless `fresh`; w is packed, c as wide as its panels."""
    for p in range(len(w)):
        i = 0
        while rows - i >= TALLEST:
            if TALLEST == 8:
                _tile_8(a, i, w, p, c, fresh)
            else:
                _tile_4(a, i, w, p, c, fresh)
            i += TALLEST
        left = rows - i
        if left == 1:
            _tile_1(a, i, w, p, c, fresh)
        elif left == 2:
            _tile_2(a, i, w, p, c, fresh)
        elif left == 3:
            _tile_3(a, i, w, p, c, fresh)
        elif left == 4:
            _tile_4(a, i, w, p, c, fresh)
        elif left == 5:
            _tile_5(a, i, w, p, c, fresh)
        elif left == 6:
            _tile_6(a, i, w, p, c, fresh)
        elif left == 7:
            _tile_7(a, i, w, p, c, fresh)


def padded(width: int) -> int:
    """The width of whole panels that hold so many columns."""
    return -(-width // PANEL) * PANEL


def pack(w: Floats) -> Floats:
    """(inputs, outputs) → (panels, inputs, PANEL), zeros beyond the outputs; w may be transposed."""
    inputs, outputs = w.shape
    panels = aligned(padded(outputs) // PANEL, inputs, PANEL)
    _fill_panels(w, panels)
    return panels


@compiled_fast
def _fill_panels(w: Floats, panels: Floats) -> None:
    inputs, outputs = w.shape
    for p in range(len(panels)):
        first = p * PANEL
        width = min(PANEL, outputs - first)
        for i in range(inputs):
            row = panels[p, i]
            for j in range(width):
                row[j] = w[i, first + j]
            for j in range(width, PANEL):
                row[j] = np.float32(0)


def aligned(*shape: int) -> Floats:
    """An empty array that starts where a cache line does: loads of vectors from it never straddle two."""
    size = 4 * int(np.prod(shape))
    memory = np.empty(size + 63, np.uint8)
    start = -memory.ctypes.data % 64
    array: Floats = memory[start : start + size].view(np.float32).reshape(shape)
    return array
