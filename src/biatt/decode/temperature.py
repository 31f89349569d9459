"""Fit the temperatures of a trained network on dev data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from biatt.data.scores import Floats, Scores, Temperature, log_softmax
from biatt.decode.arc_scores import without_self_arcs

LOWEST, HIGHEST = 0.1, 10.0  # temperatures to choose from
GOLDEN = (np.sqrt(5) - 1) / 2
ROUNDS = 30  # of the search: more than four digits


def fitted(scores: Iterable[Scores], gold: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]) -> Temperature:
    """The temperatures at which gold heads, and relations given gold heads, are most probable.

    `gold` has the heads and the numbers of the relations of each sentence, -1 where they are unknown.
    """
    arcs, relations = [], []
    for sentence_scores, (heads, labels) in zip(scores, gold, strict=True):
        heads, labels = np.asarray(heads), np.asarray(labels)
        known = (heads >= 0) & (heads != np.arange(len(heads)) + 1)
        arcs.append((without_self_arcs(sentence_scores.agreement)[known], heads[known]))
        known &= labels >= 0
        given_heads = sentence_scores.relation_scores(np.maximum(heads, 0))
        relations.append((given_heads[known], labels[known]))
    return Temperature(lowest_point(_loss(arcs)), lowest_point(_loss(relations)))


def _loss(choices: Sequence[tuple[Floats, Floats]]) -> Callable[[float], float]:
    """The negative log-likelihood of gold choices as a function of the temperature."""

    def loss(temperature: float) -> float:
        return -sum(
            float(log_softmax(scores / temperature)[np.arange(len(gold)), gold].sum())
            for scores, gold in choices
        )

    return loss


def lowest_point(function: Callable[[float], float]) -> float:
    """The temperature at which a function is lowest, by golden-section search over its logarithm."""
    low, high = np.log(LOWEST), np.log(HIGHEST)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(np.exp(left)), function(np.exp(right))
    for _ in range(ROUNDS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(np.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(np.exp(right))
    return round(float(np.exp((low + high) / 2)), 4)
