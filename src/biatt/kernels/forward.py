"""The trained network without torch: the forward pass of `network/model.py`.

Its components run in compiled kernels (`packed.py`) or in numpy (`plain.py`), as `kernel_choice` says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from biatt.config import EncoderConfig, ParserConfig
from biatt.data.scores import RelationLayer, Scores
from biatt.encoding.batches import Batch, split_vectors, word_positions
from biatt.encoding.labels import NO_LABEL
from biatt.encoding.vocabulary import Indices
from biatt.kernels.plain import PlainNetwork
from biatt.kernels.rounding import Floats
from biatt.machine.kernel_choice import use_compiled
from biatt.models.weights import (
    EMBEDDINGS,
    NO_LABELS,
    VECTOR_SCALE,
    VECTORS,
    Shapes,
    StoredWeights,
    check_shapes,
    fed_labels,
    parser_shapes,
    shapes_of,
)

PLAIN_SECONDS = 2e-10  # that numpy takes for a number of a matrix and a position, about


class EncoderComponents(Protocol):
    """The methods of `PlainEncoder` and `PackedEncoder`."""

    def first_layer(
        self, batch: Batch, summand: Floats | None, lengths: Indices, *, with_x: bool
    ) -> tuple[Floats, Floats]: ...
    def encode(self, x: Floats, layer: int, lengths: Indices) -> Floats: ...
    def product(self, x: Floats, name: str) -> Floats: ...


class NetworkComponents(EncoderComponents, Protocol):
    """The methods of `PlainNetwork` and `PackedNetwork`."""

    def attend(self, x: Floats, m: Floats, words: Indices) -> tuple[Floats, Floats, Floats]: ...
    def relations(self, q: Floats, soft: Floats) -> Floats: ...


C = TypeVar("C", bound=EncoderComponents)


_packing = Lock()  # one thread makes packed components


def ignore_false_alarms() -> np.errstate:
    """A context without warnings of invalid operations.

    BLAS can set that flag in a product of finite matrices (numpy's issue 24067). Weights that are not finite
    are refused when a model is loaded.
    """
    return np.errstate(invalid="ignore")


class FusedEncoder(ABC, Generic[C]):
    """A network with token embeddings and memory. Threads may share it."""

    _packed: C | None = None  # made when this process uses compiled kernels

    def __init__(
        self,
        config: EncoderConfig,
        weights: Mapping[str, NDArray[Any]],
        expected: Shapes,
    ) -> None:
        self.config = config
        check_shapes(shapes_of(weights), expected)
        stored = StoredWeights.of(weights)
        self.table = stored.table
        self.weights: dict[str, Floats] = {
            name: np.ascontiguousarray(stored[name], np.float32)
            for name in stored
            if name not in (VECTORS, EMBEDDINGS)
        }
        self._seconds = PLAIN_SECONDS * sum(value.size for value in self.weights.values())
        self._plain = self._make_plain()

    def components(self, batch: Batch) -> C:
        """What computes the next batch."""
        if not use_compiled(self._seconds * len(batch.offsets)):
            return self._plain
        return self.pack()

    def pack(self) -> C:
        """The packed components; whoever shares the network with other processes makes them before."""
        with _packing:
            if self._packed is None:
                self._packed = self._make_packed()
        return self._packed

    @abstractmethod
    def _make_plain(self) -> C: ...

    @abstractmethod
    def _make_packed(self) -> C: ...


class FusedNetwork(FusedEncoder[NetworkComponents]):
    """A trained parser's network."""

    config: ParserConfig

    def __init__(
        self,
        config: ParserConfig,
        weights: Mapping[str, NDArray[Any]],
        *,
        rows: int,
        relations: int,
        labels: Mapping[str, int] = NO_LABELS,
    ) -> None:
        shapes = parser_shapes(config, rows=rows, relations=relations, labels=labels)
        super().__init__(config, weights, shapes)
        if config.vector_width:
            self.vectors = weights[VECTORS]
        self.fed_labels = fed_labels(labels)

    def _make_plain(self) -> NetworkComponents:
        return PlainNetwork(self.config, self.weights, self.table)

    def _make_packed(self) -> NetworkComponents:
        from biatt.kernels.packed import PackedNetwork

        return PackedNetwork(self.config, self.weights, self.table)

    def score(self, batch: Batch) -> Scores:
        """The scores of all sentences of the batch, one after the other."""
        with ignore_false_alarms():
            return self._score(batch)

    def _score(self, batch: Batch) -> Scores:
        w, words = self.weights, batch.words
        components = self.components(batch)
        is_word = word_positions(words)
        reads_m = self.config.query_input == "memory"
        x, m = components.first_layer(*self._with_summand(batch, is_word), words + 1, with_x=not reads_m)
        label_scores = None
        if self.config.tags:
            label_scores = self._add_tags(components, m, batch, is_word)
        for k in range(1, self.config.layers):
            m = components.encode(m, k, words + 1)
        of_words = m[is_word]
        x = of_words if reads_m else x[is_word]
        q, log_a, soft = components.attend(x, m, words)
        logits = components.relations(q, soft)
        layer = None
        if self.config.pair_hidden:
            product = components.product
            dependents = product(of_words, "pair.word") + product(q, "pair.query") + w["pair.bias"]
            layer = RelationLayer(dependents, product(m, "pair.head"), w["pair.out"])
        left = log_a[0]
        return Scores(left, left if len(log_a) == 1 else log_a[1], logits, layer, label_scores)

    def _with_summand(self, batch: Batch, is_word: NDArray[np.int64]) -> tuple[Batch, Floats | None]:
        """The batch with rows of E only, and what the settings add to its embeddings, (M, h)."""
        config, w = self.config, self.weights
        if not (config.feature_layers or config.vector_width):
            return batch, None
        summand = np.zeros((len(batch.offsets) - 1, config.hidden), np.float32)
        if config.feature_layers:
            summand[is_word] = self._features(batch)
        if config.vector_width:
            batch, (positions, rows) = split_vectors(batch, rows=len(self.table))
            vectors = self.vectors[rows] * w[VECTOR_SCALE][rows, None]
            summand[positions] += vectors @ w["vectors.P"]
        return batch, summand

    def _features(self, batch: Batch) -> Floats:
        """The projected features of a contextual encoder, (N, h)."""
        w = self.weights
        assert batch.features is not None
        layers = (batch.features + w["features.shift"]) * w["features.factor"]
        mix = np.exp(w["features.mix"] - w["features.mix"].max())
        projected: Floats = np.einsum("nlw,l->nw", layers, mix / mix.sum()) @ w["features.P"]
        return projected

    def _add_tags(
        self, components: NetworkComponents, m: Floats, batch: Batch, is_word: NDArray[np.int64]
    ) -> Floats:
        """Add the expected embeddings of the tags to m; returns the scores of all labels, (N, labels)."""
        scores: Floats = components.product(m[is_word], "tags.out") + self.weights["tags.out_bias"]
        if any(self.fed_labels):  # else the network chooses lemmas alone
            probabilities = softmax_of_parts(scores, self.fed_labels)
            if batch.labels is not None:
                _put_given(batch.labels, self.fed_labels, probabilities)
            m[is_word] += components.product(probabilities, "tags.embeddings")
        return scores


def softmax_of_parts(scores: Floats, sizes: Sequence[int]) -> Floats:
    """The softmax of each part of the first columns, which has so many of them."""
    starts = np.cumsum([0, *sizes[:-1]])
    scores = scores[:, : sum(sizes)]
    result: Floats = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts, axis=1), sizes, axis=1))
    result /= np.repeat(np.add.reduceat(result, starts, axis=1), sizes, axis=1)
    return result


def _put_given(labels: Indices, sizes: Sequence[int], probabilities: Floats) -> None:
    """Make the labels that are given certain; `labels` (N, kinds) has NO_LABEL for others."""
    start = 0
    for kind, size in enumerate(sizes):
        given = np.flatnonzero(labels[:, kind] != NO_LABEL)
        part = probabilities[:, start : start + size]
        part[given] = 0
        part[given, labels[given, kind]] = 1
        start += size
