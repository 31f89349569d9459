"""Products of a few rows with a matrix that stays the same: what every step of a recurrence waits for.

A matrix is packed into panels of PANEL columns, which are three vector registers wide. For up to TILE_ROWS
rows and one panel, a tile, all sums stay in registers while the panel is read once. numba does not compile
plain loops to this, so the tile is written as vector instructions; it is as fast as BLAS is for large
products.

The sums of a row are taken in the same order whatever rows are beside it, and whatever the vector width is.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from biatt.machine.compiled import LANES, REGISTERS, compiled, compiled_fast

Floats = NDArray[np.float32]

VECTORS = 3
PANEL = VECTORS * LANES

# A tile needs a register for each sum, for each vector of the panel, for a number of the row, and, without
# fused multiply-add (SSE), for a product. Time of products of 1 to 16 rows with matrices of 176 × 176, 352
# and 528 for tiles of rows × vectors, measured with code for each instruction set on one processor:
#   SSE, 16 registers:      3×3 0.83  2×4 0.84  4×2 0.84  2×3 0.85  6×2 0.87  8×3 1     4×3 1.05  3×4 1.72
#   AVX2, 16 registers:     4×3 1     6×2 1.03  3×3 1.10  5×2 1.10  7×2 1.74  8×3 2.02  3×4 2.06
#   AVX-512, 32 registers:  8×3 1     12×2 1    6×3 1.01  4×3 1.02  6×4 1.05
TILE_ROWS = 8 if REGISTERS == 32 else 4 if LANES == 8 else 3


@compiled
def multiply(a: Floats, w: Floats, c: Floats, rows: int, fresh: bool) -> None:
    """c[:rows] = a[:rows] @ w, or += unless `fresh`; w is packed, c as wide as its panels."""
    for p in range(len(w)):
        for i in range(0, rows, TILE_ROWS):
            _add_tile(a, i, w, p, c, min(rows - i, TILE_ROWS), fresh)  # type: ignore[call-arg]


@compiled
def empty_products(rows: int, w: Floats) -> Floats:
    """An empty array for the products of this many rows with a packed matrix."""
    return np.empty((rows, len(w) * PANEL), np.float32)


@compiled
def affine(x: Floats, w: Floats, bias: Floats, out: Floats) -> None:
    """out = x w + b for any number of rows; w is packed."""
    # Loops, not slices: where shapes can differ, numba compiles an error message with them, for 2 seconds.
    for i in range(len(x)):
        row = out[i]
        for j in range(len(bias)):
            row[j] = bias[j]
        for j in range(len(bias), len(row)):
            row[j] = np.float32(0)
    multiply(x, w, out, len(x), False)


@intrinsic
def _add_tile(typing: Any, a: Any, i: Any, w: Any, p: Any, c: Any, rows: Any, fresh: Any) -> Any:
    """c[i : i + rows] of panel p = a[i : i + rows] @ w[p], or += unless `fresh`; 1 ≤ rows ≤ TILE_ROWS."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_types, arrays = signature.args[:5:2], arguments[:5:2]
        a, w, c = (
            context.make_array(kind)(context, builder, array)
            for kind, array in zip(array_types, arrays, strict=True)
        )
        (_, i, _, p, _, rows, fresh) = arguments
        end = builder.append_basic_block("end")
        switch = builder.switch(rows, end)
        for count in range(1, TILE_ROWS + 1):
            block = builder.append_basic_block(f"rows_{count}")
            switch.add_case(count, block)
            builder.position_at_end(block)
            _emit_tile(builder, count, a, i, w, p, c, fresh)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return types.void(a, types.int64, w, types.int64, c, types.int64, types.boolean), generate


def _emit_tile(b: Any, rows: int, a: Any, i: Any, w: Any, p: Any, c: Any, fresh: Any) -> None:
    """Emit the instructions for a tile of `rows` rows: a loop over the inputs with all sums in registers."""
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
        value = b.insert_element(undefined, b.load(b.gep(a_rows[row], [step])), whole(0))
        in_all_lanes = b.shuffle_vector(value, undefined, lane_zero)
        for k in range(VECTORS):
            product = b.fmul(in_all_lanes, w_vectors[k], flags=("contract",))
            after[row, k] = b.fadd(sums[row, k], product, flags=("contract",))
    following = b.add(step, whole(1))
    step.add_incoming(following, loop)
    for key in cells:
        sums[key].add_incoming(after[key], loop)
    b.cbranch(b.icmp_signed("<", following, inputs), loop, end)
    b.position_at_end(end)
    for key in cells:
        b.store(after[key], cell(*key), align=4)


def padded(width: int) -> int:
    """The width of the whole panels that hold this many columns."""
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
    """An empty array that starts at a cache line, so that no vector of it lies in two cache lines."""
    size = 4 * int(np.prod(shape))
    memory = np.empty(size + 63, np.uint8)
    start = -memory.ctypes.data % 64
    array: Floats = memory[start : start + size].view(np.float32).reshape(shape)
    return array
