"""Doubts of sentences, of a text and of a batch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from biatt.encoding.doubts import HEAD, RELATION, Doubts, concatenated


def doubts_of(words: list[int]) -> Doubts:
    size = len(words)
    return Doubts(
        np.array(words, np.int32),
        np.zeros(size, np.uint8),
        np.arange(size, dtype=np.int16),
        np.full(size, 0.5, np.float16),
    )


def test_a_batch_counts_the_words_of_all_sentences() -> None:
    sentences = [doubts_of([0, 0]), None, doubts_of([]), doubts_of([2])]
    batch = concatenated(sentences, np.array([4, 3, 1, 5], np.int32))
    assert batch is not None
    assert batch.words.tolist() == [0, 0, 10]
    assert batch.choices.tolist() == [0, 1, 0]
    assert [array.dtype for array in batch] == [array.dtype for array in doubts_of([])]
    assert concatenated([None, None], np.array([4, 3], np.int32)) is None


def test_a_part_counts_words_from_its_own_first() -> None:
    part = doubts_of([1, 4, 4, 6]).part(1, 3, first_word=3)
    assert part.words.tolist() == [1, 1]
    assert part.choices.tolist() == [1, 2]


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.integers(0, 99))
def test_words_are_dropped_as_dependents_and_as_heads(dropped: list[bool], seed: int) -> None:
    draw, n = np.random.default_rng(seed), len(dropped)
    elements = [
        (word, kind, choice, p)
        for word in range(n)
        for kind, size in ((HEAD, n + 1), (RELATION, 3))
        for choice, p in zip(draw.permutation(size)[:2], (0.75, 0.25), strict=True)
    ]
    columns = zip(*elements, strict=True)
    types = (np.int32, np.uint8, np.int16, np.float16)
    doubts = Doubts(*(np.array(column, kind) for column, kind in zip(columns, types, strict=True)))
    kept = [word for word in range(n) if not dropped[word]]
    position = {0: 0, **{word + 1: new for new, word in enumerate(kept, 1)}}  # by that of before
    expected = []
    for word, kind, choice, p in elements:
        if word in kept and kind == RELATION:
            expected.append((position[word + 1] - 1, kind, choice, p))
        elif word in kept and choice in position:
            total = sum(q for w, k, c, q in elements if (w, k) == (word, kind) and c in position)
            expected.append((position[word + 1] - 1, kind, position[choice], p / total))
    found = doubts.without(np.array(dropped))
    assert [array.dtype for array in found] == [array.dtype for array in doubts]
    assert list(zip(*(array.tolist() for array in found), strict=True)) == expected
