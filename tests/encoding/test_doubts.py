"""Doubts of sentences, of a text and of a batch."""

from __future__ import annotations

import numpy as np

from biatt.encoding.doubts import Doubts, concatenated


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
