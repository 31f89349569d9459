"""Reliability and calibration error, in numbers and as a picture."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.scores import Temperature
from biatt.data.toy_treebank import generate
from biatt.errors import BiattError
from biatt.evaluation.calibration import Bin, calibrate, calibration_error, draw, reliability
from builders import random_parser

PARSER = random_parser(seed=3)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60), st.integers(1, 12))
def test_calibration_error_equals_its_slow_twin(pairs: list[tuple[float, bool]], bins: int) -> None:
    found = reliability(*zip(*pairs, strict=True), bins=bins)
    expected = 0.0
    for k in range(bins):
        inside = [(p, right) for p, right in pairs if min(int(p * bins), bins - 1) == k]
        if inside:
            expected += abs(sum(right for _, right in inside) - sum(p for p, _ in inside))
    assert calibration_error(found) == pytest.approx(expected / len(pairs))
    assert sum(one.words for one in found) == len(pairs)


def test_reliability_of_two_bins() -> None:
    found = reliability([0.1, 0.3, 0.9, 1.0], [False, True, True, True], bins=2)
    assert found == [Bin(2, pytest.approx(0.2), 0.5), Bin(2, pytest.approx(0.95), 1.0)]


def test_what_is_said_of_words_is_compared_with_gold() -> None:
    gold = generate(12, seed=4)
    found = calibrate(PARSER, gold)
    assert found.words == sum(map(len, gold))
    parsed = list(PARSER.parse(gold, confidence=True))
    right = [
        a == b
        for one, other in zip(gold, parsed, strict=True)
        for a, b in zip(one.heads, other.heads, strict=True)
    ]
    assert sum(one.words * one.accuracy for one in found.fitted["arc"]) == pytest.approx(sum(right))
    assert sum(one.words for one in found.fitted["relation"]) == sum(right)
    sure = np.concatenate([sentence.confidence.words for sentence in parsed if sentence.confidence])
    assert sum(one.words * one.confidence for one in found.fitted["word"]) == pytest.approx(sure.sum())
    assert json.loads(json.dumps(found.as_dict()))["fitted"]["arc"]["error"] == calibration_error(
        found.fitted["arc"]
    )
    assert [table.rows for table in found.tables()]


def test_temperature_changes_what_is_fitted_only_and_stays_with_the_parser() -> None:
    plain = calibrate(PARSER, generate(5, seed=4))
    assert plain.fitted == plain.unfitted
    PARSER.temperature = Temperature(5.0, 5.0)
    try:
        found = calibrate(PARSER, generate(5, seed=4))
        assert PARSER.temperature == found.temperature == Temperature(5.0, 5.0)
    finally:
        PARSER.temperature = Temperature()
    assert found.unfitted == plain.unfitted
    assert found.fitted != plain.fitted


def test_nothing_to_look_at_is_an_error() -> None:
    with pytest.raises(BiattError, match="no sentence"):
        calibrate(PARSER, [])


def test_reliability_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the picture needs the extra `bench`")
    draw(calibrate(PARSER, generate(5, seed=4)), tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
