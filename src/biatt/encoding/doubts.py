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

    def of_words(self, chosen: NDArray[np.bool_]) -> Doubts:
        """The doubts of some words of a batch, in which heads are counted from the ROOT of their sentence."""
        numbers, stays = np.cumsum(chosen, dtype=np.int32) - 1, chosen[self.words]
        return Doubts(
            numbers[self.words[stays]], self.kinds[stays], self.choices[stays], self.probabilities[stays]
        )

    def without(self, dropped: NDArray[np.bool_]) -> Doubts:
        """The doubts of a sentence without those of its words, and those heads, that are `dropped` (n,)."""
        kept = np.concatenate([[True], ~dropped])  # by position; 0 is ROOT
        numbers = np.cumsum(kept, dtype=np.int32) - 1  # of the positions that are kept
        heads = self.kinds == HEAD
        as_heads = np.where(heads, self.choices, 0)
        stays = kept[self.words + 1] & kept[as_heads]
        words, heads = numbers[self.words[stays] + 1] - 1, heads[stays]
        choices = np.where(heads, numbers[as_heads[stays]], self.choices[stays]).astype(np.int16)
        probabilities = self.probabilities[stays].astype(np.float32)
        totals = np.bincount(words[heads], probabilities[heads], minlength=len(dropped))
        probabilities[heads] /= totals[words[heads]]
        return Doubts(words, self.kinds[stays], choices, probabilities.astype(np.float16))


def concatenated(sentences: Sequence[Doubts | None], words: NDArray[np.int32]) -> Doubts | None:
    """The doubts of the sentences of a batch, if there are any; `words` has the number of words of each."""
    first_words = np.cumsum(words, dtype=np.int32) - words
    shifted = [
        doubts._replace(words=doubts.words + first)
        for doubts, first in zip(sentences, first_words, strict=True)
        if doubts is not None
    ]
    return Doubts(*(np.concatenate(arrays) for arrays in zip(*shifted, strict=True))) if shifted else None
