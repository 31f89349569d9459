"""A network that gives every word labels of several kinds: token embeddings, memory, a softmax for each kind.

A tagger labels the words of a sentence, a tokeniser the characters of a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.config import Settings
from biatt.encoding.batches import Batch, in_batches, word_positions
from biatt.encoding.vocabulary import Encoded, Indices
from biatt.kernels.forward import FusedEncoder
from biatt.weights import labeller_shapes

NO_LABEL = -1  # of a word that the loss ignores


class Labels:
    """The labels of each kind; a network scores those of all kinds side by side."""

    def __init__(self, kinds: Mapping[str, Sequence[str]]) -> None:
        self.kinds = {name: list(labels) for name, labels in kinds.items()}
        ends = list(accumulate((len(labels) for labels in self.kinds.values()), initial=0))
        self.size = ends[-1]
        self.slices = [slice(start, end) for start, end in pairwise(ends)]
        self._numbers = [{label: i for i, label in enumerate(labels)} for labels in self.kinds.values()]

    def encode(self, *columns: Sequence[str | None]) -> Indices:
        """(n, kinds): the numbers of the labels in a column for each kind; NO_LABEL for unknown ones."""
        numbers = [
            [number_of.get(label, NO_LABEL) if label is not None else NO_LABEL for label in column]
            for number_of, column in zip(self._numbers, columns, strict=True)
        ]
        return np.array(numbers, np.int32).reshape(len(self.kinds), -1).T


class FusedLabeller(FusedEncoder):
    """A trained labeller without torch."""

    def __init__(
        self, config: Settings, labels: Labels, weights: Mapping[str, NDArray[Any]], *, rows: int
    ) -> None:
        super().__init__(config.model, weights, labeller_shapes(config.model, rows=rows, labels=labels.size))
        self.labels = labels

    def best(self, batch: Batch) -> Indices:
        """(N, kinds): the best label of every kind."""
        _, m = self.encode(batch)
        scores = m[word_positions(batch.words)] @ self.weights["out"] + self.weights["out_bias"]
        return best_labels(scores, self.labels)

    def label(self, sentences: Sequence[Encoded], *, batch_words: int) -> list[Indices]:
        """(n, kinds) for each sentence; the network sees about `batch_words` words at a time."""

        def score(batch: Batch, _: list[int]) -> list[Indices]:
            return np.split(self.best(batch), np.cumsum(batch.words)[:-1])

        return in_batches(sentences, score, batch_words=batch_words)


def best_labels(scores: NDArray[np.float32], labels: Labels) -> Indices:
    """(N, all labels) → (N, kinds)."""
    return np.stack([scores[:, part].argmax(-1) for part in labels.slices], -1).astype(np.int32)
