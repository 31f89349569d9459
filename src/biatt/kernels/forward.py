"""The trained network without torch: the forward pass of `network/model.py` on numpy arrays and kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.config import DIRECTIONS, EncoderConfig, ParserConfig
from biatt.data.scores import RelationLayer, Scores
from biatt.encoding.batches import Batch, word_positions
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
from biatt.weights import Shapes, check_shapes, memory_layers, parser_shapes


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
            name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()
        }
        self.P = pack(self.weights["P"])
        self.memory = [_packed_gru(self.weights, name) for name in memory_layers(config)]

    def encode(self, batch: Batch) -> tuple[Floats, Floats]:
        """x (M, h) and m (M, 2h)."""
        w = self.weights
        (sentences,) = sentence_groups(batch.words + 1, 1)
        m = x = embeddings(w["E.weight"], batch.rows, batch.offsets, self.P, w["P_bias"])
        for layer in self.memory:
            m = memory_states(m, layer, sentences)
        return x, m


class FusedNetwork(FusedEncoder):
    """A trained parser's network."""

    config: ParserConfig

    def __init__(
        self, config: ParserConfig, weights: Mapping[str, NDArray[Any]], *, rows: int, relations: int
    ) -> None:
        super().__init__(config, weights, parser_shapes(config, rows=rows, relations=relations))
        w = self.weights
        self.directions, self.W = DIRECTIONS[config.directions], _pack_each(w["W"])
        if config.feedback:
            self.query = _packed_gru(w, "query", w["D"])
            self.lookup = PackedLookup(
                _pack_each(np.concatenate([w["F"], w["U"]], -1)), pack(w["C"][0]), w["v"]
            )

    def score(self, batch: Batch) -> Scores:
        """The scores of all sentences of the batch, one after the other."""
        w, words = self.weights, batch.words
        x, m = self.encode(batch)
        is_word = word_positions(words)
        x = (m if self.config.query_input == "memory" else x)[is_word]
        query = self._with_feedback if self.config.feedback else self._without_feedback
        q, log_a, soft = query(x, m, words)
        logits = relation_scores(q, self.W, w["relation_bias"], soft)
        layer = None
        if self.config.pair_hidden:
            dependents = m[is_word] @ w["pair.word"] + (q @ w["pair.query"]).sum(0) + w["pair.bias"]
            layer = RelationLayer(dependents, m @ w["pair.head"], w["pair.out"])
        left = log_a[0]
        return Scores(left, left if len(log_a) == 1 else log_a[1], logits, layer)

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
        q = recurrences.gru(x, query, words, self.directions).states
        queries = np.concatenate([*q], -1)[None] if self.config.attention == "single" else q
        attended, _ = recurrences.attention(queries @ w["D"], m @ w["U"], m @ w["C"][0], w["v"], words)
        return q, attended.log_a, attended.soft


def _packed_gru(weights: Mapping[str, Floats], name: str, D: Floats | None = None) -> PackedGru:
    W, bias, U, first = (weights[f"{name}.{part}"] for part in ("W", "bias", "U", "first"))
    h = first.shape[1]
    gates = U[..., : 2 * h] if D is None else np.concatenate([U[..., : 2 * h], D], -1)
    return PackedGru(_pack_each(W), bias, _pack_each(gates), _pack_each(U[..., 2 * h :]), first)


def _pack_each(matrices: Floats) -> Floats:
    """The packed matrix of each direction."""
    packed = [pack(matrix) for matrix in matrices]
    together = aligned(len(packed), *packed[0].shape)
    together[:] = packed
    return together
