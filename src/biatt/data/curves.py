"""Curves from the probability that a network gives to the share that is correct at that probability.

A probability of 0 stays 0 and one of 1 stays 1. Between them, a curve is piecewise linear and rises strictly,
so that it never changes which of two words is the more certain one. Only the most probable choice of a word
is read off the curve. The other choices share what is left in proportion, and none passes the first: the
probabilities of a word still add up to 1, and their order is that of the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from biatt.data.scores import Floats

GROUP = 100  # words, neighbours by probability, whose share of correct ones is one measurement
ROUNDING = 1e-12  # what is nearer to 0 or 1 counts as that


@dataclass(frozen=True)
class Curve:
    """The inner points of a curve, both coordinates rising, all between 0 and 1."""

    probabilities: tuple[float, ...]
    shares: tuple[float, ...]  # of correct choices

    @cached_property
    def _points(self) -> tuple[Floats, Floats]:
        return np.array([0.0, *self.probabilities, 1.0]), np.array([0.0, *self.shares, 1.0])

    def at(self, probabilities: npt.ArrayLike) -> Floats:
        """The curve's values."""
        values: Floats = np.interp(np.asarray(probabilities, np.float64), *self._points)
        return values

    def of_choices(self, rows: Floats, chosen: npt.NDArray[np.integer[Any]]) -> Floats:
        """The values of `on_rows` for one choice of each row, (n,)."""
        words = np.arange(len(rows))
        best = rows.max(-1)
        values = self.at(best)
        # Other choices, and those that a second choice could pass, are few.
        unusual = np.flatnonzero((rows[words, chosen] < best) | (values < 0.5))
        if len(unusual):
            values[unusual] = self.on_rows(rows[unusual])[np.arange(len(unusual)), chosen[unusual]]
        return values

    def on_rows(self, rows: Floats) -> Floats:
        """Calibrated probabilities (n, choices) of probabilities that sum to 1 in each row."""
        if rows.shape[-1] < 2:
            return rows
        ordered = np.partition(rows, -2, axis=-1)
        second, best = ordered[:, -2], ordered[:, -1]
        rest = np.maximum(1 - best, second)  # rounding can make it smaller
        certain = second == 0
        share = np.where(certain, 0.0, second / np.where(certain, 1.0, rest))
        # With a share of the rest, the second is at most as probable as the best from share / (1 + share) on.
        of_best = np.where(certain, 1.0, np.maximum(self.at(best), share / (1 + share)))
        scale = np.where(certain, 0.0, (1 - of_best) / np.where(certain, 1.0, rest))
        result: Floats = rows * scale[:, None]
        at = np.arange(len(rows)), rows.argmax(-1)
        result[at] = of_best
        return result


Curves = Mapping[str, Curve]  # by what is chosen: head, arc, relation, upos, …
NO_CURVES: Curves = MappingProxyType({})


def calibrated(rows: Floats, curve: Curve | None) -> Floats:
    """The rows of probabilities on a curve, or as they are if there is none."""
    return rows if curve is None else curve.on_rows(rows)


def calibrated_choices(rows: Floats, chosen: npt.NDArray[np.integer[Any]], curve: Curve | None) -> Floats:
    """The probability of one choice of each row, (n,), on a curve or as it is."""
    return rows[np.arange(len(rows)), chosen] if curve is None else curve.of_choices(rows, chosen)


def fitted_curve(probabilities: npt.ArrayLike, correct: npt.ArrayLike) -> Curve:
    """The rising curve that is nearest to the share of correct choices, by isotonic regression.

    Words are sorted by probability and taken in groups. Neighbouring groups are pooled until the shares rise
    (pool adjacent violators), and each pool is one point of the curve. Words of probability 0 or 1 say
    nothing about what lies between.
    """
    x, y = np.asarray(probabilities, np.float64), np.asarray(correct, np.float64)
    inside = (x > ROUNDING) & (x < 1 - ROUNDING)
    x, y = x[inside], y[inside]
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    pools: list[tuple[int, float, float]] = []  # words, the sum of their probabilities, correct ones
    for start in range(0, len(x), GROUP):
        part = slice(start, start + GROUP)
        pool = len(x[part]), float(x[part].sum()), float(y[part].sum())
        while pools and not _rises(pools[-1], pool):
            before = pools.pop()
            pool = before[0] + pool[0], before[1] + pool[1], before[2] + pool[2]
        pools.append(pool)
    # No curve reaches 0 or 1 before the probability does: half a word of all is the least doubt.
    doubt = 0.5 / max(len(x), 1)
    points = [(total / words, min(max(right / words, doubt), 1 - doubt)) for words, total, right in pools]
    return Curve(tuple(p for p, _ in points), tuple(share for _, share in points))


def _rises(before: tuple[int, float, float], after: tuple[int, float, float]) -> bool:
    """Whether both the mean probability and the share of correct words are higher in the second pool."""
    return before[1] / before[0] < after[1] / after[0] and before[2] / before[0] < after[2] / after[0]
