"""The labels that a network chooses from for every word, of several kinds: tags, features, lemma rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.encoding.vocabulary import Indices

NO_LABEL = -1  # of a word whose label is not known


class Labels:
    """The labels of each kind; a network scores those of all kinds side by side.

    `combinations`, (c, first kinds), are the numbers of labels that words of the treebank have together.
    """

    def __init__(
        self, kinds: Mapping[str, Sequence[str]], combinations: Sequence[Sequence[int]] = ()
    ) -> None:
        self.combinations = np.array(combinations, np.int32)
        self.kinds = {name: list(labels) for name, labels in kinds.items()}
        ends = list(accumulate((len(labels) for labels in self.kinds.values()), initial=0))
        self.size = ends[-1]
        self.slices = [slice(start, end) for start, end in pairwise(ends)]
        self._numbers = [{label: i for i, label in enumerate(labels)} for labels in self.kinds.values()]

    @property
    def sizes(self) -> dict[str, int]:
        """The number of labels of each kind."""
        return {name: len(labels) for name, labels in self.kinds.items()}

    def encode(self, *columns: Sequence[str | None]) -> Indices:
        """(n, kinds): the numbers of the labels in a column for each kind; NO_LABEL for unknown ones."""
        numbers = [
            [number_of.get(label, NO_LABEL) if label is not None else NO_LABEL for label in column]
            for number_of, column in zip(self._numbers, columns, strict=True)
        ]
        return np.array(numbers, np.int32).reshape(len(self.kinds), -1).T

    def constrained(self, scores: NDArray[Any], given: Indices) -> NDArray[Any]:
        """(n, all labels): the scores, −inf for labels that occur with none of those that are given.

        `given` (n, kinds) has NO_LABEL for what is not given. Labels that never occur together constrain
        nothing.
        """
        if not len(self.combinations):
            return scores
        given = given[:, : self.combinations.shape[1]]
        missing = given == NO_LABEL
        partly = missing.any(-1) & ~missing.all(-1)
        if not partly.any():
            return scores
        scores = scores.copy()
        for labels in np.unique(given[partly], axis=0):
            fitting = self.combinations[((labels == NO_LABEL) | (self.combinations == labels)).all(-1)]
            if not len(fitting):
                continue
            words = np.flatnonzero((given == labels).all(-1))
            for kind in np.flatnonzero(labels == NO_LABEL):
                part = self.slices[kind]
                excluded = np.setdiff1d(np.arange(part.start, part.stop), part.start + fitting[:, kind])
                scores[np.ix_(words, excluded)] = -np.inf
        return scores

    def best(self, scores: NDArray[np.floating]) -> Indices:
        """(n, all labels) → (n, kinds): the number of the best label of every kind."""
        return np.stack([scores[:, part].argmax(-1) for part in self.slices], -1).astype(np.int32)
