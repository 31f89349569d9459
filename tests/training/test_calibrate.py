"""Measuring and fitting the confidence of a model folder, as `biatt calibrate` does."""

from __future__ import annotations

from pathlib import Path

import pytest

import biatt
from biatt.data.toy_treebank import generate
from biatt.training.calibrate import calibrate_model
from builders import random_parser


@pytest.fixture
def model(tmp_path: Path) -> Path:
    random_parser().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    biatt.write(generate(250, seed=3), tmp_path / "gold.conllu")
    return tmp_path / "gold.conllu"


def test_figures_are_those_of_the_parsed_sentences(model: Path, gold: Path) -> None:
    parsed = biatt.load(model).parse(biatt.read(gold), confidence=True)
    measured = calibrate_model(model, gold)
    assert measured.fitted == biatt.calibrate(biatt.read(gold), parsed).fitted
    assert measured.unfitted == measured.fitted  # the confidence of this model is not fitted


def test_only_a_fit_changes_the_folder(model: Path, gold: Path) -> None:
    before = {file.name: file.read_bytes() for file in model.iterdir()}
    calibrate_model(model, gold)
    assert {file.name: file.read_bytes() for file in model.iterdir()} == before
    measured = calibrate_model(model, gold, fit=True)
    assert biatt.load(model).temperature == measured.temperature != (1.0, 1.0)
    changed = {file.name for file in model.iterdir() if file.read_bytes() != before[file.name]}
    assert changed == {"config.json"}
