"""The network's components around the compiled kernels, with packed weights; `plain.py` has them in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

import numpy as np

from biatt.config import DIRECTIONS, EncoderConfig, ParserConfig
from biatt.encoding.batches import Batch
from biatt.encoding.vocabulary import Indices
from biatt.kernels import recurrences
from biatt.kernels.components import (
    PackedGru,
    PackedLookup,
    QueryStates,
    embeddings,
    layer_inputs,
    query_states,
    recurrent_states,
    relation_scores,
)
from biatt.kernels.products import Floats, aligned, pack
from biatt.kernels.recurrences import GruWeights, sentence_groups
from biatt.kernels.token_cache import (
    FirstInputs,
    TokenCache,
    TokenWeights,
    empty_cache,
    first_inputs,
)
from biatt.models.weights import Table, memory_layers

_caching = Lock()  # one thread looks tokens up


class PackedEncoder:
    """Token embeddings and memory."""

    _cache: TokenCache | None = None  # made for the first batch

    def __init__(self, config: EncoderConfig, weights: Mapping[str, Floats], table: Table) -> None:
        self.config, self.weights = config, weights
        self.table, self.P = table.whole(), pack(weights["P"])
        self.memory = [self._packed_gru(name) for name in memory_layers(config)]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None}  # another process has a cache of its own

    def first_layer(self, batch: Batch, summand: Floats | None, lengths: Indices) -> tuple[Floats, Floats]:
        """x (M, …) and the states of the memory's first layer, (M, 2h)."""
        if summand is not None:
            x = self.embed(batch, summand)
            return x, self.encode(x, 0, lengths)
        layer, bias, positions = self.memory[0], self.weights["P_bias"], len(batch.offsets) - 1
        width = layer.W.shape[1] * layer.W.shape[3]
        out = FirstInputs(
            np.empty((positions, len(bias)), np.float32), np.empty((2, positions, width), np.float32)
        )
        with _caching:
            if self._cache is None:
                self._cache = empty_cache(len(bias), width)
            weights = TokenWeights(self.table, self.P, bias)
            first_inputs(batch.rows, batch.offsets, weights, layer, self._cache, out)
        (sentences,) = sentence_groups(lengths, 1)
        return out.x, recurrent_states(out.inputs, layer, sentences)

    def embed(self, batch: Batch, summand: Floats) -> Floats:
        """x of every position, (M, …), as `embeddings` gives it."""
        return embeddings(self.table, batch.rows, batch.offsets, self.P, self.weights["P_bias"], summand)

    def encode(self, x: Floats, layer: int, lengths: Indices) -> Floats:
        """The states of a layer of the memory, m = [hˡ; hʳ], (M, 2h)."""
        (sentences,) = sentence_groups(lengths, 1)
        return recurrent_states(layer_inputs(x, self.memory[layer]), self.memory[layer], sentences)

    def _packed_gru(self, name: str, D: Floats | None = None) -> PackedGru:
        W, bias, U, first = (self.weights[f"{name}.{part}"] for part in ("W", "bias", "U", "first"))
        h, limit = first.shape[1], np.float32(self.config.state_limit)
        gates = U[..., : 2 * h] if D is None else np.concatenate([U[..., : 2 * h], D], -1)
        return PackedGru(_pack_each(W), bias, _pack_each(gates), _pack_each(U[..., 2 * h :]), first, limit)


class PackedNetwork(PackedEncoder):
    """A parser's query components and relations as well."""

    config: ParserConfig

    def __init__(self, config: ParserConfig, weights: Mapping[str, Floats], table: Table) -> None:
        super().__init__(config, weights, table)
        w = self.weights
        self.directions, self.W = DIRECTIONS[config.directions], _pack_each(w["W"])
        if config.feedback:
            self.query = self._packed_gru("query", w["D"])
            self.lookup = PackedLookup(
                _pack_each(np.concatenate([w["F"], w["U"]], -1)), pack(w["C"][0]), w["v"]
            )

    def attend(self, x: Floats, m: Floats, words: Indices) -> tuple[Floats, Floats, Floats]:
        """q (d, N, h), log a (A, N, T), and the soft headwords times U, (A, N, R)."""
        return (self._with_feedback if self.config.feedback else self._without_feedback)(x, m, words)

    def relations(self, q: Floats, soft: Floats) -> Floats:
        """Scores of the relations before their softmax, (N, R)."""
        return relation_scores(q, self.W, self.weights["relation_bias"], soft)

    def _with_feedback(self, x: Floats, m: Floats, words: Indices) -> tuple[Floats, Floats, Floats]:
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

    def _without_feedback(self, x: Floats, m: Floats, words: Indices) -> tuple[Floats, Floats, Floats]:
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
