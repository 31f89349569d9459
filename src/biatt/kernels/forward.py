"""The trained network without torch: `model.py`'s forward pass on numpy arrays and the fused kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.config import DIRECTIONS, EncoderConfig, ParserConfig
from biatt.data.scores import RelationLayer, Scores
from biatt.encoding.batches import Batch, word_positions
from biatt.kernels import gru_attention as kernels
from biatt.kernels import recurrences
from biatt.kernels.gru_attention import Floats
from biatt.kernels.products import aligned, pack
from biatt.kernels.recurrences import Cell, shares
from biatt.weights import Shapes, check_shapes, memory_layers, parser_shapes


class FusedEncoder:
    """Token embeddings and memory; safe to share between threads, as is all that is built on it."""

    def __init__(
        self,
        config: EncoderConfig,
        weights: Mapping[str, NDArray[Any]],
        expected: Shapes,
    ) -> None:
        self.config = config
        check_shapes({name: value.shape for name, value in weights.items()}, expected)
        w: dict[str, Floats] = {
            name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()
        }
        self.weights, self.P = w, pack(w["P"])
        self.memory = [_gru(w, name) for name in memory_layers(config)]

    def encode(self, batch: Batch) -> tuple[Floats, Floats]:
        """x (M, h) and m (M, 2h)."""
        w, after = self.weights, self.config.reset == "after"
        ((starts, lengths, _),) = shares(batch.words + 1, 1)
        m = x = kernels.embeddings(w["E.weight"], batch.rows, batch.offsets, self.P, w["P_bias"])
        for layer in self.memory:
            m = kernels.memory_states(m, *layer, starts, lengths, after)
        return x, m


class FusedNetwork(FusedEncoder):
    """Weights, as training saved them, ready to score batches."""

    config: ParserConfig

    def __init__(
        self, config: ParserConfig, weights: Mapping[str, NDArray[Any]], *, rows: int, relations: int
    ) -> None:
        super().__init__(config, weights, parser_shapes(config, rows=rows, relations=relations))
        w, self.directions, self.W = self.weights, DIRECTIONS[config.directions], _pack(self.weights["W"])
        if config.feedback:
            # What multiplies the same thing is packed side by side: the state, and the soft headword.
            self.query = _gru(w, "query", w["D"])
            self.lookup = _pack(np.concatenate([w["F"], w["U"]], -1)), _pack(w["C"]), w["v"]

    def score(self, batch: Batch) -> Scores:
        """The scores of all sentences of the batch, one after the other."""
        w, words = self.weights, batch.words
        x, m = self.encode(batch)
        is_word = word_positions(words)
        x = (m if self.config.query_input == "memory" else x)[is_word]
        query = self._with_feedback if self.config.feedback else self._without_feedback
        q, log_a, soft = query(x, m, words)
        logits = kernels.relation_scores(q, self.W, w["relation_bias"], soft)
        layer = None
        if self.config.pair_hidden:
            own = m[is_word] @ w["pair.word"] + (q @ w["pair.query"]).sum(0) + w["pair.bias"]
            layer = RelationLayer(own, m @ w["pair.head"], w["pair.out"])
        left = log_a[0]
        return Scores(left, left if len(log_a) == 1 else log_a[1], logits, layer)

    def _with_feedback(self, x: Floats, m: Floats, words: NDArray[np.int32]) -> tuple[Floats, Floats, Floats]:
        F_V, _, v = self.lookup
        h, relations = self.config.hidden, len(self.weights["relation_bias"])
        (share,) = shares(words, 1)
        q = np.empty((len(v), len(x), h), np.float32)
        log_a = np.full((len(v), len(x), int(words.max()) + 1), -np.inf, np.float32)
        soft = np.empty((len(v), len(x), F_V.shape[1] * F_V.shape[3]), np.float32)
        backwards = np.array([direction == "r" for direction in self.directions])
        after = self.config.reset == "after"
        kernels.query_states(x, m, words, *self.query, *self.lookup, *share, backwards, after, q, log_a, soft)
        return q, log_a, soft[..., 3 * h : 3 * h + relations]

    def _without_feedback(
        self, x: Floats, m: Floats, words: NDArray[np.int32]
    ) -> tuple[Floats, Floats, Floats]:
        w, after = self.weights, self.config.reset == "after"
        cell = Cell(w["query.W"], w["query.bias"], w["query.U"], w["query.first"])
        x = np.ascontiguousarray(x[:, : cell.W.shape[1]])
        q = recurrences.gru(x, cell, words, self.directions, after=after).states
        seen = np.concatenate([*q], -1)[None] if self.config.attention == "single" else q
        found = recurrences.attention(seen @ w["D"], m @ w["U"], m @ w["C"], w["v"], words)
        return q, found.log_a, found.soft


def _gru(w: Mapping[str, Floats], name: str, D: Floats | None = None) -> tuple[Floats, ...]:
    """A GRU's W, bias, U of the gates (and D beside it), U of the candidate, and first state."""
    U, h = w[f"{name}.U"], w[f"{name}.U"].shape[1]
    gates = U[..., : 2 * h] if D is None else np.concatenate([U[..., : 2 * h], D], -1)
    return _pack(w[f"{name}.W"]), w[f"{name}.bias"], _pack(gates), _pack(U[..., 2 * h :]), w[f"{name}.first"]


def _pack(matrices: Floats) -> Floats:
    """The packed matrix of each direction, side by side."""
    packed = [pack(matrix) for matrix in matrices]
    together = aligned(len(packed), *packed[0].shape)
    together[:] = packed
    return together
