"""A network that labels the characters of a text: embeddings, memory, a softmax for each kind of label.

To the layers below, characters are the words of a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.config import Settings
from biatt.encoding.batches import Batch, in_batches, word_positions
from biatt.encoding.labels import Labels
from biatt.encoding.vocabulary import Encoded, Indices
from biatt.kernels.forward import EncoderComponents, FusedEncoder, ignore_false_alarms
from biatt.kernels.plain import PlainEncoder
from biatt.models.weights import labeller_shapes


class FusedLabeller(FusedEncoder[EncoderComponents]):
    """A trained labeller without torch."""

    def __init__(
        self, config: Settings, labels: Labels, weights: Mapping[str, NDArray[Any]], *, rows: int
    ) -> None:
        super().__init__(config.model, weights, labeller_shapes(config.model, rows=rows, labels=labels.size))
        self.labels = labels

    def _make_plain(self) -> EncoderComponents:
        return PlainEncoder(self.config, self.weights, self.table)

    def _make_packed(self) -> EncoderComponents:
        from biatt.kernels.packed import PackedEncoder

        return PackedEncoder(self.config, self.weights, self.table)

    def best(self, batch: Batch) -> Indices:
        """(N, kinds): the best label of every kind."""
        components = self.components(batch)
        with ignore_false_alarms():
            _, m = components.first_layer(batch, None, batch.words + 1, with_x=False)
            for layer in range(1, self.config.layers):
                m = components.encode(m, layer, batch.words + 1)
            scores = components.product(m[word_positions(batch.words)], "out") + self.weights["out_bias"]
        return self.labels.best(scores)

    def label(self, sentences: Sequence[Encoded], *, batch_words: int) -> list[Indices]:
        """(n, kinds) for each text; the network sees about `batch_words` characters at a time."""

        def score(batch: Batch, _: list[int]) -> list[Indices]:
            return np.split(self.best(batch), np.cumsum(batch.words)[:-1])

        return in_batches(sentences, score, batch_words=batch_words)
