"""The network's components around the compiled kernels, with packed weights; `plain.py` has them in numpy.

Products are of whole numbers (`rounding.py`), but for queries without feedback, which only ablations have.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import local
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
    sum_of_products,
)
from biatt.kernels.products import PANEL, Numbers, aligned, pack_whole
from biatt.kernels.recurrences import GruWeights, sentence_groups
from biatt.kernels.rounding import Floats
from biatt.kernels.token_cache import (
    TokenCache,
    TokenWeights,
    empty_cache,
    first_inputs,
)
from biatt.models.weights import Table, memory_layers

# What `product` multiplies with: labels, the layer of relations, tags.
PRODUCTS = ("out", "W", "pair.word", "pair.query", "pair.head", "tags.out", "tags.embeddings")


class PackedEncoder:
    """Token embeddings and memory."""

    def __init__(self, config: EncoderConfig, weights: Mapping[str, Floats], table: Table) -> None:
        self.config, self.weights, self._caches = config, weights, local()
        self.table, self.P = table.whole(), pack_whole(weights["P"])
        products = {name: weights[name] for name in PRODUCTS if name in weights}
        self.matrices = {name: _packed_product(W) for name, W in products.items() if W.size}
        self.memory = [self._packed_gru(name) for name in memory_layers(config)]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_caches": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _caches=local())  # another process has caches of its own

    def first_layer(
        self, batch: Batch, summand: Floats | None, lengths: Indices, *, with_x: bool
    ) -> tuple[Floats, Floats]:
        """x (M, …), or nothing of it, and the states of the memory's first layer, (M, 2h)."""
        if summand is not None:
            x = self.embed(batch, summand)
            return x, self.encode(x, 0, lengths)
        layer, bias, positions = self.memory[0], self.weights["P_bias"], len(batch.offsets) - 1
        x, cache = np.empty((positions if with_x else 0, len(bias)), np.float32), self._cache(positions)
        weights = TokenWeights(self.table, self.P, bias)
        places = first_inputs(batch.rows, batch.offsets, weights, layer, cache, x)
        (sentences,) = sentence_groups(lengths, 1)
        return x, recurrent_states(cache.inputs, places, layer, sentences)

    def _cache(self, positions: int) -> TokenCache:
        """This thread's cache, or, for a batch that it has no room for, one that is not kept."""
        cache: TokenCache | None = getattr(self._caches, "kept", None)
        if cache is None or positions > len(cache.bags):
            width = self.memory[0].W.shape[1] * PANEL
            new = empty_cache(len(self.weights["P_bias"]), width, positions=positions)
            if cache is not None:
                return new
            self._caches.kept = cache = new
        return cache

    def embed(self, batch: Batch, summand: Floats) -> Floats:
        """x of every position, (M, …), as `embeddings` gives it."""
        return embeddings(self.table, batch.rows, batch.offsets, self.P, self.weights["P_bias"], summand)

    def encode(self, x: Floats, layer: int, lengths: Indices) -> Floats:
        """The states of a layer of the memory, m = [hˡ; hʳ], (M, 2h)."""
        (sentences,) = sentence_groups(lengths, 1)
        return recurrent_states(layer_inputs(x, self.memory[layer]), None, self.memory[layer], sentences)

    def product(self, x: Floats, name: str) -> Floats:
        """x W (N, …); where there are several x (d, N, …) and W, the sum of their products."""
        packed, outputs = self.matrices[name], self.weights[name].shape[-1]
        products: Floats = sum_of_products(x.reshape(len(packed), -1, x.shape[-1]), packed)
        return products[:, :outputs]

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
        self.directions = DIRECTIONS[config.directions]
        if config.feedback:
            self.query = self._packed_gru("query", w["D"])
            self.lookup = PackedLookup(
                _pack_each(np.concatenate([w["F"], w["U"]], -1)), pack_whole(w["C"][0]), w["v"]
            )

    def attend(self, x: Floats, m: Floats, words: Indices) -> tuple[Floats, Floats, Floats]:
        """q (d, N, h), log a (A, N, T), and the soft headwords times U, (A, N, R)."""
        return (self._with_feedback if self.config.feedback else self._without_feedback)(x, m, words)

    def relations(self, q: Floats, soft: Floats) -> Floats:
        """Scores of the relations before their softmax, (N, R)."""
        scores: Floats = self.product(q, "W") + self.weights["relation_bias"] + soft.sum(0)
        return scores

    def _with_feedback(self, x: Floats, m: Floats, words: Indices) -> tuple[Floats, Floats, Floats]:
        d, h, relations = len(self.directions), self.config.hidden, len(self.weights["relation_bias"])
        (sentences,) = sentence_groups(words, 1)
        states = QueryStates(
            np.empty((d, len(x), h), np.float32),
            np.full((d, len(x), int(words.max()) + 1), -np.inf, np.float32),
            np.empty((d, len(x), self.lookup.F_U.shape[1] * PANEL), np.float32),
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


def _packed_product(W: Floats) -> Numbers:
    """A matrix, or one for each direction."""
    return _pack_each(W[None] if W.ndim == 2 else W)


def _pack_each(matrices: Floats) -> Numbers:
    """The packed matrix of each direction."""
    packed = [pack_whole(matrix) for matrix in matrices]
    together: Numbers = aligned((len(packed), *packed[0].shape), np.int16)
    together[:] = packed
    return together
