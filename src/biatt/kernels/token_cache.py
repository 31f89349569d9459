"""A cache of what the first layer of the memory computes for a token before its recurrence.

x and W x + b depend on the token's rows of E alone, and most tokens of a text occur again and again: words of
a sentence, and even more so the characters of a text. The recurrence reads W x + b where it lies in the
cache. Before a batch that it may have no room for, a cache forgets the tokens that came last and keeps those
that came first, because frequent tokens come early. The products of a row do not depend on the rows beside it
(`products.py`), so the cache changes no bit of a result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.kernels.components import PackedGru
from biatt.kernels.elements import embed, leaky
from biatt.kernels.products import Numbers, affine, empty_products, multiply
from biatt.kernels.rounding import Floats
from biatt.machine.compiled import compiled

NUMBERS = 1 << 21  # that a cache has room for, about: 8 MB
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
    P: Numbers
    P_bias: Floats


def empty_cache(hidden: int, packed_width: int, *, positions: int) -> TokenCache:
    """With room for a batch of these positions. `packed_width` is that of a product with W, at least 3h."""
    capacity = max(positions, NUMBERS // (hidden + 2 * packed_width))
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
    x: Floats,
) -> NDArray[np.int64]:
    """The token number of every position: the place of its W x + b in the cache, which has room for all.

    Fills x, which is (M, h), or has no rows.
    """
    count = len(offsets) - 1
    numbers, new = np.empty(count, np.int64), np.empty(BLOCK, np.int64)
    capacity = len(cache.bags)
    if cache.tokens[0] + count > capacity:
        forget_later(cache, min(capacity // 2, capacity - count))
    for start in range(0, count, BLOCK):
        first, news = cache.tokens[0], 0
        for i in range(start, min(start + BLOCK, count)):
            numbers[i] = find_or_add(rows, offsets[i], offsets[i + 1], cache)
            if numbers[i] == first + news:
                new[news] = i
                news += 1
        add_tokens(rows, offsets, new[:news], first, weights, layer, cache)
    for i in range(len(x)):
        for j in range(x.shape[1]):
            x[i, j] = cache.x[numbers[i], j]
    return numbers


@compiled
def forget_later(cache: TokenCache, kept: int) -> None:
    """Forget all tokens but so many that came first."""
    cache.tokens[0] = min(kept, cache.tokens[0])
    cache.slots[:] = 0
    for number in range(cache.tokens[0]):
        bag = cache.bags[number]
        if bag[0] <= LONGEST:
            cache.slots[slot_of(bag, 1, 1 + bag[0], cache)] = number + 1


@compiled
def find_or_add(rows: NDArray[np.int32], start: int, end: int, cache: TokenCache) -> int:
    """The number of the token with these rows; that of a new token is the number of tokens before it."""
    number, size = int(cache.tokens[0]), end - start
    if size <= LONGEST:
        slot = slot_of(rows, start, end, cache)
        if cache.slots[slot] > 0:
            return int(cache.slots[slot]) - 1
        cache.slots[slot] = number + 1
        for k in range(size):
            cache.bags[number, 1 + k] = rows[start + k]
    cache.bags[number, 0] = size
    cache.tokens[0] += 1
    return number


@compiled
def slot_of(rows: NDArray[np.int32], start: int, end: int, cache: TokenCache) -> int:
    """The slot of the token with these rows, or the empty one where it belongs."""
    mask, size, key = len(cache.slots) - 1, end - start, end - start
    for k in range(start, end):
        key = (key ^ rows[k]) * 0x9E3779B97F4A7C1
    slot = (key ^ (key >> 32)) & mask
    while cache.slots[slot] > 0:
        bag = cache.bags[cache.slots[slot] - 1]
        same = bag[0] == size
        for k in range(size):
            same &= bag[1 + k] == rows[start + k]
        if same:
            break
        slot = (slot + 1) & mask
    return slot


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
    for i in range(count):
        embed(weights.table, rows, offsets[positions[i] : positions[i] + 2], sums[i : i + 1])
    multiply(sums, weights.P, x, count, True)
    leaky(x, weights.P_bias)
    for i in range(count):
        for j in range(cache.x.shape[1]):
            cache.x[first + i, j] = x[i, j]
    for k in range(2):
        affine(x, layer.W[k], layer.bias[k], cache.inputs[k, first : first + count])
