"""The first layer of the memory with a cache of tokens, against the same kernels without."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.config import EncoderConfig
from biatt.encoding.batches import Batch, collate
from biatt.kernels import token_cache
from biatt.kernels.packed import PackedEncoder
from biatt.kernels.token_cache import BLOCK, LONGEST
from biatt.models.weights import EMBEDDINGS, Table, encoder_shapes
from builders import ROWS, encoded, random_sentences

CONFIG = EncoderConfig(hidden=5, embedding=3)


def encoder() -> PackedEncoder:
    draw = np.random.default_rng(1)
    shapes = encoder_shapes(CONFIG, rows=ROWS)
    weights = {name: draw.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return PackedEncoder(CONFIG, weights, Table(weights.pop(EMBEDDINGS)))


def check(packed: PackedEncoder, batch: Batch) -> None:
    """The first layer has the same bits as embeddings and memory without a cache."""
    x, m = packed.first_layer(batch, None, batch.words + 1, with_x=True)
    expected = packed.embed(batch, np.empty((0, CONFIG.hidden), np.float32))
    assert np.array_equal(x, expected[:, : CONFIG.hidden])
    assert np.array_equal(m, packed.encode(expected, 0, batch.words + 1))


def tokens(packed: PackedEncoder) -> int:
    """The number of tokens in the cache."""
    return int(packed._caches.kept.tokens[0])


bags = st.lists(st.integers(1, 3), max_size=3)


@given(st.lists(st.lists(st.lists(bags, min_size=1, max_size=6), min_size=1, max_size=3), max_size=3))
def test_cache_changes_no_bit(batches: list[list[list[list[int]]]]) -> None:
    packed, seen = encoder(), set()
    for sentences in batches:
        check(packed, collate([encoded(words, [0] * len(words), [0] * len(words)) for words in sentences]))
        seen |= {(0,)} | {tuple(bag) for words in sentences for bag in words}
        assert tokens(packed) == len(seen)


def test_x_is_left_out_where_nothing_reads_it() -> None:
    packed, batch = encoder(), collate(random_sentences([3, 2]))
    x, m = packed.first_layer(batch, None, batch.words + 1, with_x=False)
    assert not len(x)
    assert np.array_equal(m, packed.first_layer(batch, None, batch.words + 1, with_x=True)[1])


def test_full_cache_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "NUMBERS", 1)  # a cache has room for its first batch
    packed = encoder()
    for seed in range(3):
        batch = collate(random_sentences([2 * BLOCK, BLOCK - 10, 3], seed=seed))
        check(packed, batch)
        bags = {bytes(batch.rows[start:end]) for start, end in pairwise(batch.offsets)}
        assert tokens(packed) == len(bags)  # none of an earlier batch


def test_batch_that_the_cache_has_no_room_for_leaves_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "NUMBERS", 1)
    packed, batch = encoder(), collate(random_sentences([3]))
    check(packed, batch)
    before = tokens(packed)
    check(packed, collate(random_sentences([20, 30], seed=1)))
    assert tokens(packed) == before
    check(packed, batch)


def test_token_of_very_many_rows_is_computed_each_time() -> None:
    packed, long = encoder(), [1] * (LONGEST + 1)
    batch = collate([encoded([long, [*long, 2], long], [0, 0, 0], [0, 0, 0])])
    check(packed, batch)
    assert tokens(packed) == 4
    check(packed, batch)
    assert tokens(packed) == 7  # ROOT was known


def test_another_process_has_a_cache_of_its_own() -> None:
    packed, batch = encoder(), collate(random_sentences([3, 2]))
    check(packed, batch)
    copy = pickle.loads(pickle.dumps(packed))
    assert not hasattr(copy._caches, "kept")
    check(copy, batch)


def test_another_thread_has_a_cache_of_its_own() -> None:
    packed, batch = encoder(), collate(random_sentences([3, 2]))
    check(packed, batch)
    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(hasattr, packed._caches, "kept").result()
        pool.submit(check, packed, batch).result()
