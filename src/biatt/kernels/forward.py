"""The trained network without torch: the forward pass of `network/model.py` on numpy arrays and kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.config import DIRECTIONS, EncoderConfig, ParserConfig
from biatt.data.scores import RelationLayer, Scores
from biatt.encoding.batches import Batch, split_vectors, word_positions
from biatt.encoding.labels import NO_LABEL
from biatt.kernels import recurrences
from biatt.kernels.components import (
    PackedGru,
    PackedLookup,
    QueryStates,
    embeddings,
    memory_states,
    query_states,
    relation_scores,
)
from biatt.kernels.products import Floats, aligned, pack
from biatt.kernels.recurrences import GruWeights, sentence_groups
from biatt.weights import (
    NO_LABELS,
    VECTOR_SCALE,
    VECTORS,
    Shapes,
    check_shapes,
    fed_labels,
    memory_layers,
    parser_shapes,
)


class FusedEncoder:
    """Token embeddings and memory. Threads may share it, and the networks that extend it."""

    def __init__(
        self,
        config: EncoderConfig,
        weights: Mapping[str, NDArray[Any]],
        expected: Shapes,
    ) -> None:
        self.config = config
        check_shapes({name: value.shape for name, value in weights.items()}, expected)
        self.weights: dict[str, Floats] = {
            name: np.ascontiguousarray(value, np.float32)
            for name, value in weights.items()
            if name != VECTORS
        }
        self.P = pack(self.weights["P"])
        self.memory = [self._packed_gru(name) for name in memory_layers(config)]

    def embed(self, batch: Batch, summand: Floats | None = None) -> Floats:
        """x (M, h); the summand (M, h) is added before the activation."""
        w = self.weights
        if summand is None:
            summand = np.empty((0, len(w["P_bias"])), np.float32)
        return embeddings(w["E.weight"], batch.rows, batch.offsets, self.P, w["P_bias"], summand)

    def encode(self, x: Floats, batch: Batch, layers: Sequence[PackedGru]) -> Floats:
        """These layers of the memory, (M, 2h), one after the other."""
        (sentences,) = sentence_groups(batch.words + 1, 1)
        for layer in layers:
            x = memory_states(x, layer, sentences)
        return x

    def _packed_gru(self, name: str, D: Floats | None = None) -> PackedGru:
        W, bias, U, first = (self.weights[f"{name}.{part}"] for part in ("W", "bias", "U", "first"))
        h, limit = first.shape[1], np.float32(self.config.state_limit)
        gates = U[..., : 2 * h] if D is None else np.concatenate([U[..., : 2 * h], D], -1)
        return PackedGru(_pack_each(W), bias, _pack_each(gates), _pack_each(U[..., 2 * h :]), first, limit)


class FusedNetwork(FusedEncoder):
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
        w = self.weights
        if config.vector_width:
            self.vectors = weights[VECTORS]
        self.fed_labels = fed_labels(labels)
        self.directions, self.W = DIRECTIONS[config.directions], _pack_each(w["W"])
        if config.feedback:
            self.query = self._packed_gru("query", w["D"])
            self.lookup = PackedLookup(
                _pack_each(np.concatenate([w["F"], w["U"]], -1)), pack(w["C"][0]), w["v"]
            )

    def score(self, batch: Batch) -> Scores:
        """The scores of all sentences of the batch, one after the other."""
        w, words = self.weights, batch.words
        is_word = word_positions(words)
        x = self._embeddings(batch, is_word)
        m, label_scores = self.encode(x, batch, self.memory[:1]), None
        if self.config.tags:
            label_scores = self._add_tags(m, batch, is_word)
        m = self.encode(m, batch, self.memory[1:])
        x = (m if self.config.query_input == "memory" else x)[is_word]
        query = self._with_feedback if self.config.feedback else self._without_feedback
        q, log_a, soft = query(x, m, words)
        logits = relation_scores(q, self.W, w["relation_bias"], soft)
        layer = None
        if self.config.pair_hidden:
            dependents = m[is_word] @ w["pair.word"] + (q @ w["pair.query"]).sum(0) + w["pair.bias"]
            layer = RelationLayer(dependents, m @ w["pair.head"], w["pair.out"])
        left = log_a[0]
        return Scores(left, left if len(log_a) == 1 else log_a[1], logits, layer, label_scores)

    def _embeddings(self, batch: Batch, is_word: NDArray[np.int64]) -> Floats:
        """x (M, h), with the summands of the settings."""
        config, w = self.config, self.weights
        if not (config.feature_layers or config.vector_width):
            return self.embed(batch)
        summand = np.zeros((len(batch.offsets) - 1, config.hidden), np.float32)
        if config.feature_layers:
            summand[is_word] = self._features(batch)
        if config.vector_width:
            batch, (positions, rows) = split_vectors(batch, rows=len(w["E.weight"]))
            vectors = self.vectors[rows] * w[VECTOR_SCALE][rows, None]
            summand[positions] += vectors @ w["vectors.P"]
        return self.embed(batch, summand)

    def _features(self, batch: Batch) -> Floats:
        """The projected features of a contextual encoder, (N, h)."""
        w = self.weights
        assert batch.features is not None
        layers = (batch.features + w["features.shift"]) * w["features.factor"]
        mix = np.exp(w["features.mix"] - w["features.mix"].max())
        projected: Floats = np.einsum("nlw,l->nw", layers, mix / mix.sum()) @ w["features.P"]
        return projected

    def _add_tags(self, m: Floats, batch: Batch, is_word: NDArray[np.int64]) -> Floats:
        """Add the expected embeddings of the tags to m; returns the scores of all labels, (N, labels)."""
        w = self.weights
        scores: Floats = m[is_word] @ w["tags.out"] + w["tags.out_bias"]
        probabilities, start = np.empty((len(scores), sum(self.fed_labels)), np.float32), 0
        for kind, size in enumerate(self.fed_labels):
            of_kind, part = (array[:, start : start + size] for array in (scores, probabilities))
            np.exp(of_kind - of_kind.max(-1)[:, None], out=part)
            part /= part.sum(-1)[:, None]
            if batch.labels is not None:
                given = np.flatnonzero(batch.labels[:, kind] != NO_LABEL)
                part[given] = 0
                part[given, batch.labels[given, kind]] = 1
            start += size
        m[is_word] += probabilities @ w["tags.embeddings"]
        return scores

    def _with_feedback(self, x: Floats, m: Floats, words: NDArray[np.int32]) -> tuple[Floats, Floats, Floats]:
        """q (d, N, h), log a (d, N, T), and the soft headwords times U, (d, N, R)."""
        d, h, relations = len(self.directions), self.config.hidden, len(self.weights["relation_bias"])
        (sentences,) = sentence_groups(words, 1)
        _, panels, _, panel = self.lookup.F_U.shape
        states = QueryStates(
            np.empty((d, len(x), h), np.float32),
            np.full((d, len(x), int(words.max()) + 1), -np.inf, np.float32),
            np.empty((d, len(x), panels * panel), np.float32),
        )
        backwards = np.array([direction == "r" for direction in self.directions])
        query_states(x, m, self.query, self.lookup, sentences, backwards, states)
        return states.q, states.log_a, states.soft[..., 3 * h : 3 * h + relations]

    def _without_feedback(
        self, x: Floats, m: Floats, words: NDArray[np.int32]
    ) -> tuple[Floats, Floats, Floats]:
        w = self.weights
        query = GruWeights(w["query.W"], w["query.bias"], w["query.U"], w["query.first"])
        x = np.ascontiguousarray(x[:, : query.W.shape[1]])
        q = recurrences.gru(x, query, words, self.directions, limit=self.config.state_limit).states
        queries = np.concatenate([*q], -1)[None] if self.config.attention == "single" else q
        attended, _ = recurrences.attention(queries @ w["D"], m @ w["U"], m @ w["C"][0], w["v"], words)
        return q, attended.log_a, attended.soft


def _pack_each(matrices: Floats) -> Floats:
    """The packed matrix of each direction."""
    packed = [pack(matrix) for matrix in matrices]
    together = aligned(len(packed), *packed[0].shape)
    together[:] = packed
    return together
