"""The trained network without torch: `model.py`'s forward pass on numpy arrays and the fused kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt import kernels, recurrences
from biatt.batches import Batch, split_scores, word_positions
from biatt.config import DIRECTIONS, ModelConfig
from biatt.decode import Scores
from biatt.errors import ModelError
from biatt.kernels import Floats


class FusedNetwork:
    """Weights, as training saved them, ready to score batches; safe to share between threads."""

    def __init__(
        self, config: ModelConfig, weights: Mapping[str, NDArray[Any]], *, rows: int, relations: int
    ) -> None:
        self.config = config
        self.directions = DIRECTIONS[config.directions]
        expected = config.shapes(rows=rows, relations=relations)
        found = {name: value.shape for name, value in weights.items()}
        if found != expected:
            wrong = sorted(
                name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)
            )
            raise ModelError(
                f"The weights do not fit the configuration and the vocabulary ({', '.join(wrong)})."
            )
        self.weights: dict[str, Floats] = {
            name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()
        }
        self.memory = recurrences.recurrent(self.weights["memory.U"])
        self.query = recurrences.recurrent(
            self.weights["query.U"], self.weights["D"] if config.feedback else None
        )
        # What multiplies the soft headword, side by side, so that one product serves both (see `model.py`).
        parts = [self.weights[name] for name in ("F", "U") if name in self.weights]
        self.values = np.concatenate(parts, -1)

    def scores(self, batch: Batch) -> list[Scores]:
        w, after = self.weights, self.config.reset == "after"
        e = np.empty((len(batch.offsets) - 1, self.config.width), np.float32)
        kernels.embed(w["E.weight"], batch.rows, batch.offsets, e)
        x = e @ w["P"]
        kernels.leaky(x, w["P_bias"])  # (M, h)

        inputs = _affine(x, w["memory.W"], w["memory.bias"])
        states = recurrences.gru(
            inputs, self.memory, w["memory.first"], batch.words + 1, "lr", after=after
        ).states
        m = np.concatenate([states[0], states[1]], -1)  # (M, 2h)

        inputs = _affine(x[word_positions(batch.words)], w["query.W"], w["query.bias"])
        values, projected = m @ self.values, m @ w["C"]
        recurrent = self.query, w["query.first"]
        if self.config.feedback:
            saved, found = recurrences.query(
                inputs, values, projected, *recurrent, w["v"], batch.words, self.directions, after=after
            )
            q = saved.states
        else:
            q = recurrences.gru(inputs, *recurrent, batch.words, self.directions, after=after).states
            seen = np.concatenate([*q], -1)[None] if self.config.attention == "single" else q
            found = recurrences.attention(seen @ w["D"], values, projected, w["v"], batch.words)

        logits = (q @ w["W"]).sum(0) + w["relation_bias"] + found.soft[..., -len(w["relation_bias"]) :].sum(0)
        logits -= logits.max(-1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
        return split_scores(found.log_a, logits, batch.words)


def _affine(x: Floats, W: Floats, bias: Floats) -> Floats:
    result: Floats = x @ W
    result += bias[:, None]
    return result
