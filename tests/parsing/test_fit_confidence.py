"""Fitting confidence: curves undo what makes a parser too sure, on sentences that they were not fitted to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from biatt.data.scores import Temperature
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.errors import ConfigError, ModelError
from biatt.evaluation.calibration import Calibration, calibrate, calibration_error
from biatt.parser import Parser, load
from biatt.parsing.fit_confidence import FOLDS, LEAST_WORDS, ConfidenceFit
from builders import random_parser

GOLD = generate(400, seed=9)
TAGGING = {"tags": True, "columns": ("form",)}


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(TAGGING, temperature=Temperature(0.5, 0.5))


@pytest.fixture(scope="module")
def fit(parser: Parser) -> ConfidenceFit:
    return ConfidenceFit(parser, GOLD)


def errors(calibration: Calibration) -> dict[str, float]:
    return {claim: calibration_error(bins) for claim, bins in calibration.fitted.items()}


@pytest.mark.slow
def test_curves_make_probabilities_true_of_the_sentences_that_they_were_fitted_to(
    parser: Parser, fit: ConfidenceFit
) -> None:
    assert parser.curves == {}  # fitting does not change the parser
    before = errors(calibrate(GOLD, parser.parse(GOLD, confidence=True, retag=True)))
    fitted = random_parser(TAGGING)
    fit.apply(fitted)
    assert (fitted.temperature, fitted.curves) == (fit.temperature, fit.curves)
    after = errors(calibrate(GOLD, fitted.parse(GOLD, confidence=True, retag=True)))
    assert list(after) == ["head", "arc", "relation", "word", "upos", "xpos", "feats", "lemma"]
    assert set(fit.curves) == set(after)
    for claim in fit.curves:
        assert after[claim] < 0.06, claim  # random networks are right too rarely for a fine curve
        assert after[claim] < before[claim], claim


@pytest.mark.slow
def test_cross_validated_confidence_comes_from_other_sentences(fit: ConfidenceFit, parser: Parser) -> None:
    sentences = fit.cross_validated()
    fitted = random_parser(TAGGING)
    fit.apply(fitted)
    same = list(fitted.parse(GOLD, confidence=True, retag=True))
    assert sentences == same
    without_fold = ConfidenceFit(parser, [s for i, s in enumerate(GOLD) if i % FOLDS != 1])
    fitted.curves = {**without_fold.curves}
    for i in (1, 1 + FOLDS):
        expected = fitted.parse(GOLD[i], confidence=True, retag=True).confidence
        confidence = sentences[i].confidence
        assert expected is not None
        assert confidence is not None
        # The temperatures differ a little: those of the cross-validation come from all sentences.
        np.testing.assert_allclose(confidence.words, expected.words, atol=0.1)
        np.testing.assert_allclose(confidence.tags["upos"], expected.tags["upos"], atol=1e-3)


@pytest.mark.slow
def test_fit_is_stored_in_the_folder_and_nothing_else_changes(fit: ConfidenceFit, tmp_path: Path) -> None:
    parser = random_parser(TAGGING)
    parser.save(tmp_path / "model")
    before = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    fit.apply(parser)
    parser.write_confidence(tmp_path / "model")
    after = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == ["config.json"]
    loaded = load(tmp_path / "model")
    assert (loaded.temperature, loaded.curves) == (fit.temperature, fit.curves)


def test_model_in_training_is_left_alone(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "model")
    (tmp_path / "model" / "checkpoint.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="in training"):
        parser.write_confidence(tmp_path / "model")


def test_few_words_give_temperatures_but_no_curves(parser: Parser) -> None:
    few = GOLD[:10]
    assert sum(map(len, few)) < LEAST_WORDS
    fit = ConfidenceFit(parser, few)
    assert fit.curves == {}
    assert fit.temperature != Temperature()
    with pytest.raises(ConfigError, match="at least 2,000 words"):
        fit.cross_validated()


def test_sentences_without_trees_are_refused(parser: Parser) -> None:
    with pytest.raises(ConfigError, match="have none"):
        ConfidenceFit(parser, [Sentence.from_words(["a", "b"])])


@pytest.mark.slow
def test_words_without_a_gold_head_are_left_out(parser: Parser) -> None:
    unknown = [
        Sentence.from_words(s.forms, heads=[-1] * len(s), deprels=["_"] * len(s), upos=s.upos)
        for s in generate(30, seed=2)
    ]
    some, more = ConfidenceFit(parser, GOLD), ConfidenceFit(parser, [*GOLD, *unknown])
    # Other sentences make other batches, so that scores differ by rounding.
    np.testing.assert_allclose(more.temperature, some.temperature, rtol=1e-3)
    grid = np.linspace(0, 1, 101)
    for kind in ("head", "arc", "relation", "word"):
        np.testing.assert_allclose(more.curves[kind].at(grid), some.curves[kind].at(grid), atol=0.01)
