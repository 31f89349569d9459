"""Doubts as numbers: the probabilities that a teacher gives to the choices of words (`data.doubts`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

HEAD, RELATION, FIRST_LABEL = 0, 1, 2  # kinds of choices; those of labels follow each other from the third on


class Doubts(NamedTuple):
    """Choices of the words of a sentence, a batch or a text, sorted by word; one element each.

    The probabilities of a word's choices of one kind add up to 1. A word without choices of a kind is certain
    to be as it is annotated.
    """

    words: NDArray[np.int32]  # from 0
    kinds: NDArray[np.uint8]
    choices: NDArray[np.int16]  # heads, relations or labels
    probabilities: NDArray[np.float16]

    def part(self, start: int, end: int, *, first_word: int) -> Doubts:
        """The elements from start to end; words are counted from `first_word`."""
        here = slice(start, end)
        return Doubts(
            self.words[here] - np.int32(first_word),
            self.kinds[here],
            self.choices[here],
            self.probabilities[here],
        )


def concatenated(sentences: Sequence[Doubts | None], words: NDArray[np.int32]) -> Doubts | None:
    """The doubts of the sentences of a batch, if there are any; `words` has the number of words of each."""
    first_words = np.cumsum(words, dtype=np.int32) - words
    shifted = [
        doubts._replace(words=doubts.words + first)
        for doubts, first in zip(sentences, first_words, strict=True)
        if doubts is not None
    ]
    return Doubts(*(np.concatenate(arrays) for arrays in zip(*shifted, strict=True))) if shifted else None
