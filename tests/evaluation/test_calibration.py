"""Reliability and calibration error, in numbers and as a picture."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.scores import Confidence, Temperature
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.decode.confidence import unfitted_confidence
from biatt.errors import ConfigError, FormatError
from biatt.evaluation.calibration import (
    BINS,
    Bin,
    Calibration,
    calibrate,
    calibration_error,
    draw,
    reliability,
)
from builders import random_parser

GOLD = generate(12, seed=4)


def parsed(temperature: Temperature) -> list[Sentence]:
    return list(random_parser(temperature=temperature).parse(GOLD, confidence=True))


def calibrated(temperature: Temperature) -> Calibration:
    sentences = parsed(temperature)
    return calibrate(GOLD, sentences, unfitted=[unfitted_confidence(s, roots="single") for s in sentences])


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_calibration_error_equals_its_slow_twin(pairs: list[tuple[float, bool]]) -> None:
    bins = reliability(*zip(*pairs, strict=True))
    expected = 0.0
    for number in range(BINS):
        inside = [(p, correct) for p, correct in pairs if min(int(p * BINS), BINS - 1) == number]
        if inside:
            expected += abs(sum(correct for _, correct in inside) - sum(p for p, _ in inside))
    assert calibration_error(bins) == pytest.approx(expected / len(pairs))
    assert sum(bin.words for bin in bins) == len(pairs)


def test_reliability_of_two_bins() -> None:
    bins = reliability([0.12, 0.18, 0.93, 1.0], [False, True, True, True])
    assert bins == [Bin(2, pytest.approx(0.15), 0.5), Bin(2, pytest.approx(0.965), 1.0)]


def test_confidence_of_words_is_compared_with_gold() -> None:
    sentences = parsed(Temperature(1.5, 2.0))
    result = calibrate(GOLD, sentences)
    assert result.words == sum(map(len, GOLD))
    correct = [
        a == b
        for gold, sentence in zip(GOLD, sentences, strict=True)
        for a, b in zip(gold.heads, sentence.heads, strict=True)
    ]
    assert sum(bin.words * bin.accuracy for bin in result.fitted["arc"]) == pytest.approx(sum(correct))
    assert sum(bin.words for bin in result.fitted["relation"]) == sum(correct)
    words = np.concatenate([s.confidence.words for s in sentences if s.confidence])
    assert sum(bin.words * bin.confidence for bin in result.fitted["word"]) == pytest.approx(words.sum())
    assert result.unfitted is None
    assert [row[-1] for row in result.tables()[0].rows] == [None] * 4
    plain = result.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["fitted"]["arc"]["error"] == calibration_error(result.fitted["arc"])
    assert plain["temperature"] == {"arcs": 1.5, "relations": 2.0}


def test_unfitted_figures_are_those_of_temperature_1() -> None:
    hot, plain = calibrated(Temperature(5.0, 5.0)), calibrated(Temperature())
    assert hot.temperature == (5.0, 5.0)
    assert hot.unfitted == plain.unfitted == plain.fitted
    assert hot.fitted != plain.fitted


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(FormatError, match="no sentence"):
        calibrate([], [])
    with pytest.raises(ConfigError, match="have no confidence"):
        calibrate(GOLD, GOLD)
    with pytest.raises(FormatError, match="the same words were expected"):
        calibrate(GOLD, parsed(Temperature())[::-1])


def test_confidence_without_scores_cannot_be_recomputed() -> None:
    with pytest.raises(ConfigError, match="carries no scores"):
        unfitted_confidence(GOLD[0], roots="single")
    (sentence, *_) = parsed(Temperature())
    again = unfitted_confidence(sentence, roots="single")
    assert isinstance(sentence.confidence, Confidence)
    assert again.words.tolist() == sentence.confidence.words.tolist()


def test_reliability_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the picture needs the extra `bench`")
    pictures = []
    for result in (calibrated(Temperature(2, 2)), calibrate(GOLD, parsed(Temperature(2, 2)))):
        draw(result, tmp_path / "r.png")
        pictures.append((tmp_path / "r.png").read_bytes())
        assert pictures[-1].startswith(b"\x89PNG")
    assert pictures[0] != pictures[1]  # the second has no lines without temperature
