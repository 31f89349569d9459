"""A network that labels words, several kinds of label at once: token embeddings, memory, a softmax a kind.

The tagger labels the words of a sentence, the tokeniser the characters of a text.
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

NO_LABEL = -1  # what a word has where it teaches nothing


class Labels:
    """The labels of each kind, and where each kind stands among all of them."""

    def __init__(self, kinds: Mapping[str, Sequence[str]]) -> None:
        self.kinds = {name: list(labels) for name, labels in kinds.items()}
        ends = list(accumulate((len(labels) for labels in self.kinds.values()), initial=0))
        self.size = ends[-1]
        self.slices = [slice(start, end) for start, end in pairwise(ends)]
        self._numbers = [{label: i for i, label in enumerate(labels)} for labels in self.kinds.values()]

    def encode(self, *columns: Sequence[str | None]) -> Indices:
        """(n, kinds): the labels' numbers, from one column a kind; an unknown label teaches nothing."""
        numbers = [
            [known.get(label, NO_LABEL) if label is not None else NO_LABEL for label in column]
            for known, column in zip(self._numbers, columns, strict=True)
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
        """(n, kinds) for each sentence, in batches of about so many words."""

        def score(batch: Batch, _: list[int]) -> list[Indices]:
            return np.split(self.best(batch), np.cumsum(batch.words)[:-1])

        return in_batches(sentences, score, batch_words=batch_words)


def best_labels(scores: NDArray[np.float32], labels: Labels) -> Indices:
    """(N, all labels) → (N, kinds)."""
    return np.stack([scores[:, part].argmax(-1) for part in labels.slices], -1).astype(np.int32)
