"""A cache of what the first layer of the memory computes for a token before its recurrence.

x and W x + b depend on the token's rows of E alone, and most tokens of a text occur again and again: words of
a sentence, and even more so the characters of a text. A cache is emptied when it is full. The products of a
row do not depend on the rows beside it (`products.py`), so the cache changes no bit of a result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.kernels.components import PackedGru
from biatt.kernels.elements import embed, leaky
from biatt.kernels.products import Floats, affine, empty_products, multiply
from biatt.machine.compiled import compiled

NUMBERS = 1 << 21  # that a cache holds, about: 8 MB
LONGEST = 23  # rows of a token that is found again
BLOCK = 256  # tokens that are looked up at once


class TokenCache(NamedTuple):
    """Tokens are numbered as they come."""

    tokens: NDArray[np.int64]  # (1,): how many there are
    slots: NDArray[np.int32]  # a hash table, larger than the number of tokens: 1 + a token's number, or 0
    bags: NDArray[np.int32]  # (capacity, 1 + LONGEST): how many rows a token has, and the rows
    x: Floats  # (capacity, h)
    inputs: Floats  # (2, capacity, 3h): W x + b of each direction


class TokenWeights(NamedTuple):
    """The weights between the rows of E and the recurrence; P is packed."""

    table: Floats
    P: Floats
    P_bias: Floats


class FirstInputs(NamedTuple):
    """x (M, h) and W x + b (2, M, 3h) of every position."""

    x: Floats
    inputs: Floats


def empty_cache(hidden: int, packed_width: int) -> TokenCache:
    """`packed_width` is that of a product with W, which is at least 3h."""
    capacity = max(BLOCK, NUMBERS // (hidden + 2 * packed_width))
    return TokenCache(
        np.zeros(1, np.int64),
        np.zeros(1 << (2 * capacity - 1).bit_length(), np.int32),
        np.empty((capacity, 1 + LONGEST), np.int32),
        np.empty((capacity, hidden), np.float32),
        np.empty((2, capacity, packed_width), np.float32),
    )


@compiled
def first_inputs(
    rows: NDArray[np.int32],
    offsets: NDArray[np.int32],
    weights: TokenWeights,
    layer: PackedGru,
    cache: TokenCache,
    out: FirstInputs,
) -> None:
    """Fill `out`, from the cache where it has the token, and add the other tokens to the cache."""
    numbers, new = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for start in range(0, len(out.x), BLOCK):
        end = min(start + BLOCK, len(out.x))
        if cache.tokens[0] + end - start > len(cache.bags):
            cache.tokens[0] = 0
            cache.slots[:] = 0
        first, news = cache.tokens[0], 0
        for i in range(start, end):
            number = find_or_add(rows, offsets[i], offsets[i + 1], cache)
            numbers[i - start] = number
            if number == first + news:
                new[news] = i
                news += 1
        add_tokens(rows, offsets, new[:news], first, weights, layer, cache)
        for i in range(start, end):
            number = numbers[i - start]
            for j in range(out.x.shape[1]):
                out.x[i, j] = cache.x[number, j]
            for k in range(2):
                row, cached = out.inputs[k, i], cache.inputs[k, number]
                for j in range(len(row)):
                    row[j] = cached[j]


@compiled
def find_or_add(rows: NDArray[np.int32], start: int, end: int, cache: TokenCache) -> int:
    """The number of the token with these rows; that of a new token is the number of tokens before it."""
    mask, size, key = len(cache.slots) - 1, end - start, end - start
    for k in range(start, end):
        key = (key ^ rows[k]) * 0x9E3779B97F4A7C1
    slot = (key ^ (key >> 32)) & mask
    if size <= LONGEST:
        while cache.slots[slot] > 0:
            number: int = cache.slots[slot] - 1
            bag = cache.bags[number]
            same = bag[0] == size
            for k in range(size):
                same &= bag[1 + k] == rows[start + k]
            if same:
                return number
            slot = (slot + 1) & mask
    number = int(cache.tokens[0])
    cache.tokens[0] += 1
    if size <= LONGEST:
        cache.slots[slot] = number + 1
        cache.bags[number, 0] = size
        for k in range(size):
            cache.bags[number, 1 + k] = rows[start + k]
    return number


@compiled
def add_tokens(
    rows: NDArray[np.int32],
    offsets: NDArray[np.int32],
    positions: NDArray[np.int64],
    first: int,
    weights: TokenWeights,
    layer: PackedGru,
    cache: TokenCache,
) -> None:
    """Compute the tokens at these positions, which are numbered from `first` on."""
    count = len(positions)
    sums, x = np.empty((count, weights.table.shape[1]), np.float32), empty_products(count, weights.P)
    inputs = empty_products(count, layer.W[0])
    for i in range(count):
        embed(weights.table, rows, offsets[positions[i] : positions[i] + 2], sums[i : i + 1])
    multiply(sums, weights.P, x, count, True)
    leaky(x, weights.P_bias)
    for i in range(count):
        for j in range(cache.x.shape[1]):
            cache.x[first + i, j] = x[i, j]
    for k in range(2):
        affine(x, layer.W[k], layer.bias[k], inputs)
        for i in range(count):
            for j in range(inputs.shape[1]):
                cache.inputs[k, first + i, j] = inputs[i, j]
