"""Products of a few rows with a matrix that stays the same: what every step of a recurrence waits for.

A matrix is packed into panels of PANEL columns, which are three vector registers wide. For a few rows and one
panel, a tile, all sums stay in registers while the panel is read once. numba does not compile plain loops to
this, so the tile is written as vector instructions; it is as fast as BLAS is for large products.

Training multiplies numbers with a point (`pack`). Parsing multiplies whole numbers (`pack_whole`, and
`rounding.py` for what they stand for), which is about twice as fast; its rows are rounded on the way. The
type of the packed matrix says which of both it is.

The sums of a row are taken in the same order whatever rows are beside it, and whatever the vector width is.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from biatt.kernels.elements import round_rows
from biatt.kernels.rounding import COLUMN_LIMIT, INPUTS, Floats, whole_columns
from biatt.machine.compiled import INLINED, LANES, REGISTERS, compiled, compiled_fast

Numbers = NDArray[np.int16]
Packed = Floats | Numbers  # a matrix

VECTORS = 3
PANEL = VECTORS * LANES

# A tile needs a register for each sum, for each vector of the panel, for a number of the row, and, without
# fused multiply-add (SSE), for a product. Time of products of 1 to 16 rows with matrices of 176 × 176, 352
# and 528 for tiles of rows × vectors, measured with code for each instruction set on one processor:
#   SSE, 16 registers:      3×3 0.83  2×4 0.84  4×2 0.84  2×3 0.85  6×2 0.87  8×3 1     4×3 1.05  3×4 1.72
#   AVX2, 16 registers:     4×3 1     6×2 1.03  3×3 1.10  5×2 1.10  7×2 1.74  8×3 2.02  3×4 2.06
#   AVX-512, 32 registers:  8×3 1     12×2 1    6×3 1.01  4×3 1.02  6×4 1.05
TILE_ROWS = 8 if REGISTERS == 32 else 4 if LANES == 8 else 3

# The same of whole numbers, whose product is an instruction apart from the sum but with AVX-512's VNNI:
#   SSE, 16 registers:      3×3 0.95  6×2 0.98  4×2 1     3×2 1.02
#   AVX2, 16 registers:     3×3 0.98  6×2 0.99  4×2 0.99  5×2 1     8×1 1.23  4×3 1.63
#   AVX-512, 32 registers:  12×2 0.98 8×3 1     4×3 1     6×3 1.01  6×4 1.02
WHOLE_TILE_ROWS = 8 if REGISTERS == 32 else 3
PARALLEL = INPUTS // 2  # steps, each of two inputs, that a tile of one row takes at once
HEADER = 2  # rows of a panel of whole numbers before those of the matrix: the scales, and how many inputs


@compiled
def multiply(a: Floats, w: Packed, c: Floats, rows: int, fresh: bool) -> None:
    """c[:rows] = a[:rows] @ w, or += unless `fresh`; w is packed, c as wide as its panels."""
    _multiply(a, w, c, rows, fresh)


def _multiply(a: Floats, w: Packed, c: Floats, rows: int, fresh: bool) -> None:
    """What `multiply` does for the type of w; only compiled functions can call it."""


@overload(_multiply, jit_options=INLINED, strict=False)
def _multiply_for_types(a: Any, w: Any, c: Any, rows: Any, fresh: Any) -> Any:
    def floats(a: Floats, w: Floats, c: Floats, rows: int, fresh: bool) -> None:
        # Tiles of about the same size: the few sums of one or two rows wait for each other.
        tiles = (rows + TILE_ROWS - 1) // TILE_ROWS
        for p in range(len(w)):
            i = 0
            for left in range(tiles, 0, -1):
                count = (rows - i + left - 1) // left
                _add_tile(a, i, w, p, c, count, fresh)  # type: ignore[call-arg]
                i += count

    def whole(a: Floats, w: Numbers, c: Floats, rows: int, fresh: bool) -> None:
        numbers, scales = round_rows(a, w[0, 1, 0], rows)
        for p in range(len(w)):
            for i in range(0, rows, WHOLE_TILE_ROWS):
                _add_whole_tile(  # type: ignore[call-arg]
                    numbers, scales, i, w, p, c, min(rows - i, WHOLE_TILE_ROWS), fresh
                )

    return floats if w.dtype == types.float32 else whole


@compiled
def empty_products(rows: int, w: Packed) -> Floats:
    """An empty array for the products of this many rows with a packed matrix."""
    return np.empty((rows, len(w) * PANEL), np.float32)


@compiled
def affine(x: Floats, w: Packed, bias: Floats, out: Floats) -> None:
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
        kinds = signature.args
        a, w, c = (_array(context, builder, kinds[k], arguments[k]) for k in (0, 2, 4))
        tile = _FloatTile(builder, a, arguments[1], w, arguments[3], c, arguments[6])
        _emit_for_rows(builder, tile, arguments[5], TILE_ROWS)
        return context.get_dummy_value()

    return types.void(a, types.int64, w, types.int64, c, types.int64, types.boolean), generate


@intrinsic
def _add_whole_tile(
    typing: Any, a: Any, scales: Any, i: Any, w: Any, p: Any, c: Any, rows: Any, fresh: Any
) -> Any:
    """The same of whole numbers; `a` and `scales` come from `round_rows`, rows ≤ WHOLE_TILE_ROWS."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        a, scales, w, c = (_array(context, builder, kinds[k], arguments[k]) for k in (0, 1, 3, 5))
        tile = _WholeTile(builder, a, arguments[2], w, arguments[4], c, arguments[7], scales)
        _emit_for_rows(builder, tile, arguments[6], WHOLE_TILE_ROWS)
        return context.get_dummy_value()

    arguments = a, scales, types.int64, w, types.int64, c, types.int64, types.boolean
    return types.void(*arguments), generate


def _array(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.make_array(kind)(context, builder, value)


def _emit_for_rows(b: Any, tile: _FloatTile, rows: Any, most: int) -> None:
    """Emit a tile for each number of rows, and the choice among them."""
    end = b.append_basic_block("end")
    switch = b.switch(rows, end)
    for count in range(1, most + 1):
        block = b.append_basic_block(f"rows_{count}")
        switch.add_case(count, block)
        b.position_at_end(block)
        tile.emit(count)
        b.branch(end)
    b.position_at_end(end)


WHOLE, NUMBER, BYTE = ir.IntType(64), ir.FloatType(), ir.IntType(8)
SHORTS, INTEGERS = ir.VectorType(ir.IntType(16), 2 * LANES), ir.VectorType(ir.IntType(32), LANES)
VECTOR = ir.VectorType(NUMBER, LANES)
STEP = 4 * PANEL  # bytes of a panel that a step of a tile reads: a row of numbers, or two of whole numbers


class _FloatTile:
    """The instructions for a tile: a loop over the inputs with all sums in registers."""

    inputs: Any = NUMBER  # what a step reads of a row
    weights: Any = VECTOR  # and of the panel
    sums: Any = VECTOR
    zero: Any = ir.Constant(VECTOR, [0.0] * LANES)
    header = 0  # rows of a panel before its numbers

    def __init__(self, b: Any, a: Any, i: Any, w: Any, p: Any, c: Any, fresh: Any) -> None:
        self.b, self.a, self.i, self.c, self.fresh = b, a, i, c, fresh
        self.column = b.mul(p, WHOLE(PANEL * 4))
        self.panel = self.at(w.data, b.mul(p, self.first_stride(w, 3)), BYTE)
        self.steps = b.sub(cgutils.unpack_tuple(b, w.shape, 3)[1], WHOLE(self.header))

    def at(self, pointer: Any, offset: Any, kind: Any) -> Any:
        b = self.b
        return b.bitcast(b.gep(b.bitcast(pointer, BYTE.as_pointer()), [offset]), kind.as_pointer())

    def first_stride(self, array: Any, dimensions: int) -> Any:
        return cgutils.unpack_tuple(self.b, array.strides, dimensions)[0]

    def line(self, row: int) -> Any:
        return self.b.add(self.i, WHOLE(row))

    def emit(self, rows: int) -> None:
        b, cells = self.b, [(row, k) for row in range(rows) for k in range(VECTORS)]
        a_stride, c_stride = self.first_stride(self.a, 2), self.first_stride(self.c, 2)
        a_rows = [self.at(self.a.data, b.mul(self.line(row), a_stride), self.inputs) for row in range(rows)]
        c_rows = [
            self.at(self.c.data, b.add(b.mul(self.line(row), c_stride), self.column), VECTOR)
            for row in range(rows)
        ]
        out = {(row, k): b.gep(c_rows[row], [WHOLE(k)]) for row, k in cells}
        parallel = self.parallel(rows)
        before = {(*key, 0): self.before(out[key]) for key in cells}
        before |= {(*key, part): self.zero for key in cells for part in range(1, parallel)}
        entry, loop, end = b.block, b.append_basic_block("inputs"), b.append_basic_block("done")
        b.branch(loop)
        b.position_at_end(loop)
        step = b.phi(WHOLE)
        step.add_incoming(WHOLE(0), entry)
        sums, after = {}, {}
        for key, start in before.items():
            sums[key] = b.phi(self.sums)
            sums[key].add_incoming(start, entry)
        for part in range(parallel):
            place = b.add(step, WHOLE(part))
            offset = b.mul(b.add(place, WHOLE(self.header)), WHOLE(STEP))
            w_row = self.at(self.panel, offset, self.weights)
            w_vectors = [b.load(b.gep(w_row, [WHOLE(k)]), align=4) for k in range(VECTORS)]
            for row in range(rows):
                value = self.in_all_lanes(b.load(b.gep(a_rows[row], [place]), align=4))
                for k in range(VECTORS):
                    after[row, k, part] = self.added(sums[row, k, part], value, w_vectors[k])
        following = b.add(step, WHOLE(parallel))
        step.add_incoming(following, loop)
        for key in before:
            sums[key].add_incoming(after[key], loop)
        b.cbranch(b.icmp_signed("<", following, self.steps), loop, end)
        b.position_at_end(end)
        self.store({key: self.total([after[(*key, part)] for part in range(parallel)]) for key in cells}, out)

    def parallel(self, rows: int) -> int:
        """How many inputs a step takes, each with sums of its own."""
        return 1

    def total(self, parts: list[Any]) -> Any:
        (only,) = parts
        return only

    def in_all_lanes(self, value: Any) -> Any:
        kind = ir.VectorType(value.type, LANES)
        undefined = ir.Constant(kind, ir.Undefined)
        vector = self.b.insert_element(undefined, value, WHOLE(0))
        return self.b.shuffle_vector(vector, undefined, ir.Constant(INTEGERS, [0] * LANES))

    def before(self, out: Any) -> Any:
        """What a sum begins with."""
        return self.b.select(self.fresh, _FloatTile.zero, self.b.load(out, align=4))

    def added(self, total: Any, value: Any, weights: Any) -> Any:
        product = self.b.fmul(value, weights, flags=("contract",))
        return self.b.fadd(total, product, flags=("contract",))

    def store(self, sums: dict[tuple[int, int], Any], out: dict[tuple[int, int], Any]) -> None:
        for key, pointer in out.items():
            self.b.store(sums[key], pointer, align=4)


class _WholeTile(_FloatTile):
    """The same of 16-bit whole numbers: a step multiplies two of a row, and adds both products."""

    inputs, weights, sums = ir.IntType(32), SHORTS, INTEGERS
    zero = ir.Constant(INTEGERS, [0] * LANES)
    header = HEADER

    def __init__(self, b: Any, a: Any, i: Any, w: Any, p: Any, c: Any, fresh: Any, scales: Any) -> None:
        super().__init__(b, a, i, w, p, c, fresh)
        self.scales = scales

    def before(self, out: Any) -> Any:
        return self.zero

    def parallel(self, rows: int) -> int:
        # A sum waits for the one before it. The sums of few rows are too few to keep the processor busy.
        return {1: PARALLEL, 2: PARALLEL // 2}.get(rows, 1)

    def total(self, parts: list[Any]) -> Any:
        return reduce(self.b.add, parts)

    def added(self, total: Any, value: Any, weights: Any) -> Any:
        # LLVM makes one instruction of this, pmaddwd, or with the sum vpdpwssd.
        b, wide = self.b, ir.VectorType(ir.IntType(32), 2 * LANES)
        products = b.mul(b.sext(b.bitcast(value, SHORTS), wide), b.sext(weights, wide))
        undefined = ir.Constant(wide, ir.Undefined)
        halves = [
            b.shuffle_vector(products, undefined, ir.Constant(INTEGERS, list(range(first, 2 * LANES, 2))))
            for first in (0, 1)
        ]
        return b.add(total, b.add(*halves))

    def store(self, sums: dict[tuple[int, int], Any], out: dict[tuple[int, int], Any]) -> None:
        """Multiply the sums by the scales, and add what was there unless the product is fresh."""
        b, of_columns = self.b, self.at(self.panel, WHOLE(0), VECTOR)
        columns = [b.load(b.gep(of_columns, [WHOLE(k)]), align=4) for k in range(VECTORS)]
        rows = {}
        for (row, k), pointer in out.items():
            if row not in rows:
                of_row = b.load(b.gep(self.scales.data, [self.line(row)]))
                rows[row] = self.in_all_lanes(of_row)
            scaled = b.fmul(b.sitofp(sums[row, k], VECTOR), b.fmul(rows[row], columns[k]))
            b.store(b.fadd(super().before(pointer), scaled), pointer, align=4)


def padded(width: int) -> int:
    """The width of the whole panels that hold this many columns."""
    return -(-width // PANEL) * PANEL


def pack(w: Floats) -> Floats:
    """(inputs, outputs) → (panels, inputs, PANEL), zeros beyond the outputs; w may be transposed."""
    inputs, outputs = w.shape
    panels: Floats = aligned((padded(outputs) // PANEL, inputs, PANEL), np.float32)
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


def pack_whole(w: Floats) -> Numbers:
    """(inputs, outputs) → (panels, HEADER + pairs of inputs, 2 PANEL): the two inputs of a pair alternate.

    Zeros fill up to a whole number of steps. The first row of a panel has the scales of its columns, as the
    bits of numbers with a point; the second begins with the number of inputs.
    """
    inputs, outputs = w.shape
    if not 1 <= inputs <= COLUMN_LIMIT:
        raise ValueError(f"A matrix of {inputs} inputs cannot be packed.")
    whole, pairs, width = whole_columns(w), -(-inputs // INPUTS) * INPUTS // 2, padded(outputs)
    numbers, scales = np.zeros((2 * pairs, width), np.int16), np.zeros(width, np.float32)
    numbers[:inputs, :outputs], scales[:outputs] = whole
    panels: Numbers = aligned((width // PANEL, HEADER + pairs, 2 * PANEL), np.int16)
    panels[:, 0] = scales.reshape(-1, PANEL).view(np.int16)
    panels[:, 1] = 0
    panels[:, 1, 0] = inputs
    alternating = numbers.reshape(pairs, 2, -1, PANEL).transpose(2, 0, 3, 1)
    panels[:, HEADER:] = alternating.reshape(len(panels), pairs, 2 * PANEL)
    return panels


def aligned(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """An empty array that starts at a cache line, so that no vector of it lies in two cache lines."""
    size = np.dtype(kind).itemsize * math.prod(shape)
    memory = np.empty(size + 63, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(kind).reshape(shape)
