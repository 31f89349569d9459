"""Temperatures: the search, and the temperature that gold trees were drawn with."""

from __future__ import annotations

import numpy as np
import pytest

from biatt.data.scores import Scores, Temperature, log_softmax
from biatt.decode.arc_scores import head_distribution
from biatt.decode.temperature import HIGHEST, LOWEST, fitted, lowest_point
from biatt.parser import Parser
from builders import random_parser


def random_scores(n: int, *, seed: int) -> Scores:
    draw = np.random.default_rng(seed)
    left, right = log_softmax(draw.normal(0, 2, (2, n, n + 1)))
    return Scores(left, right, draw.normal(size=(n, 3)))


@pytest.mark.parametrize("lowest", [0.2, 1.0, 2.5])
def test_lowest_point_is_that_of_a_parabola(lowest: float) -> None:
    assert lowest_point(lambda t: (np.log(t) - np.log(lowest)) ** 2) == pytest.approx(lowest, rel=1e-3)


@pytest.mark.parametrize(("sign", "end"), [(1, LOWEST), (-1, HIGHEST)])
def test_lowest_point_of_a_slope_is_at_its_end(sign: int, end: float) -> None:
    assert lowest_point(lambda t: sign * t) == pytest.approx(end, rel=1e-3)


@pytest.mark.parametrize(("arcs", "relations"), [(0.5, 2.0), (3.0, 0.7)])
def test_temperature_that_gold_trees_were_drawn_with_is_fitted(arcs: float, relations: float) -> None:
    draw = np.random.default_rng(1)
    scores = [random_scores(20, seed=seed) for seed in range(150)]

    def drawn(log_probabilities: np.ndarray) -> np.ndarray:
        noise = draw.gumbel(size=log_probabilities.shape)
        return np.argmax(log_probabilities + noise, -1)  # Gumbel-max: a draw from each row

    gold = [
        (drawn(head_distribution(sentence, arcs)), drawn(sentence.logits / relations)) for sentence in scores
    ]
    temperature = fitted(scores, gold)
    # The standard errors are about 1 % and 3 %.
    assert temperature.arcs == pytest.approx(arcs, rel=0.1)
    assert temperature.relations == pytest.approx(relations, rel=0.2)


def test_words_without_gold_are_ignored() -> None:
    scores = random_scores(4, seed=0)
    known = fitted([scores], [([0, 1, 2, 3], [0, 1, 2, 0])])
    more = Scores(*(np.vstack([part, part[:1]]) for part in scores[:3]))
    wider = Scores(
        *(np.hstack([part, np.full((5, 1), -np.inf)]) for part in (more.left, more.right)), more.logits
    )
    assert fitted([wider], [([0, 1, 2, 3, -1], [0, 1, 2, 0, -1])]) == known


def test_temperature_is_saved_with_the_model(tmp_path: object) -> None:
    parser = random_parser(temperature=Temperature(1.5, 0.75))
    parser.save(f"{tmp_path}/model")
    assert Parser.load(f"{tmp_path}/model").temperature == Temperature(1.5, 0.75)
