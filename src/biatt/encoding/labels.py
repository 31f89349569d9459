"""The labels that a network chooses from for every word, of several kinds: tags, features, lemma rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from biatt.encoding.vocabulary import Indices

NO_LABEL = -1  # of a word whose label is not known


class Labels:
    """The labels of each kind; a network scores those of all kinds side by side."""

    def __init__(self, kinds: Mapping[str, Sequence[str]]) -> None:
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

    def best(self, scores: NDArray[np.floating]) -> Indices:
        """(n, all labels) → (n, kinds): the number of the best label of every kind."""
        return np.stack([scores[:, part].argmax(-1) for part in self.slices], -1).astype(np.int32)
