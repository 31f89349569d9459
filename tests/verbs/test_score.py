"""evaluate, compare, calibrate: what is printed is what the functions find."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import biatt
from biatt.cli import app
from biatt.data.toy_treebank import generate
from builders import random_parser
from commands import invoke


def test_a_report_goes_to_a_file_in_the_format_of_its_suffix(data: Path, tmp_path: Path) -> None:
    verb = ["evaluate", data / "a.conllu", data / "a.conllu"]
    for options in (["-o", tmp_path / "r.json"], ["-o", tmp_path / "r", "-f", "json"]):
        assert invoke(*verb, *options) == ""
        assert json.loads(options[1].read_text()) == json.loads(invoke(*verb, "-f", "json"))  # type: ignore[attr-defined]
    invoke(*verb, "-o", tmp_path / "r.txt")
    assert (tmp_path / "r.txt").read_text(encoding="utf-8") == invoke(*verb)


def test_compare_prints_what_the_function_finds(data: Path, tmp_path: Path) -> None:
    gold, out = data / "a.conllu", tmp_path / "parsed.conllu"
    invoke("parse", "--model", data / "model", data / "blank.conllu", "-o", out)
    result = biatt.compare(gold, out, gold, samples=100, seed=2)
    options = ["--samples", 100, "--seed", 2]
    printed = json.loads(invoke("compare", gold, out, gold, *options, "-f", "json"))
    assert printed == json.loads(json.dumps(result.as_dict()))

    found = invoke("compare", gold, out, gold, *options)
    pair = result.scores["LAS"]
    assert pair.difference is not None
    scores = rf"^ *LAS +{100 * pair.a.correct / pair.a.total:.2f} +100.00 +{100 * pair.difference:.2f} "
    assert re.search(scores, found, re.MULTILINE)
    assert found.count(", line ") == min(10, len(result.sentences))
    assert invoke("compare", gold, out, gold, *options, "--show", 2).count(", line ") == 2


def test_gold_against_itself_is_perfect(data: Path) -> None:
    found = json.loads(invoke("evaluate", data / "a.conllu", data / "a.conllu", "-f", "json"))
    assert found["scores"]["LAS"]["f1"] == 1.0


def test_relation_that_looks_like_markup_is_printed_as_it_is(tmp_path: Path) -> None:
    words = {"heads": [2, 0], "deprels": ["[red]", ":smile:"]}
    path = tmp_path / "odd.conllu"
    biatt.write([biatt.Sentence.from_words(["Ada", "sings"], **words)], path)  # type: ignore[arg-type]
    table = invoke("evaluate", path, path, "--style", "conllx")
    assert "[red]" in table
    assert ":smile:" in table


@pytest.mark.slow
def test_calibrate_fits_a_model_and_stores_the_fit(tmp_path: Path) -> None:
    model, gold = tmp_path / "model", tmp_path / "gold.conllu"
    random_parser().save(model)
    biatt.write(generate(300, seed=7), gold)
    before = json.loads(invoke("calibrate", str(gold), "--model", str(model), "-f", "json"))
    fitted = json.loads(invoke("calibrate", str(gold), "--model", str(model), "--fit", "-f", "json"))
    after = json.loads(invoke("calibrate", str(gold), "--model", str(model), "-f", "json"))
    assert list(biatt.load(model).curves) == ["head", "arc", "relation", "word"]
    for figures in (fitted, after):
        assert figures["fitted"]["arc"]["error"] < before["fitted"]["arc"]["error"]
    assert fitted["fitted"] != after["fitted"]  # the first is cross-validated
    assert fitted["temperature"] == after["temperature"] != before["temperature"]
    biatt.write(generate(5), gold)
    result = CliRunner().invoke(app, ["calibrate", str(gold), "--model", str(model), "--fit"])
    assert result.exit_code == 2
    assert "at least 2,000 words" in result.output


def test_calibrate_says_at_once_that_it_cannot_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, gold = tmp_path / "model", tmp_path / "gold.conllu"
    random_parser().save(model)
    biatt.write(generate(300, seed=7), gold)
    before = {path: path.read_bytes() for path in model.iterdir()}
    monkeypatch.setattr("biatt.evaluation.calibration.find_spec", lambda _: None)
    words = ["calibrate", str(gold), "--model", str(model), "--fit", "--plot", str(tmp_path / "a.png")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "needs matplotlib" in result.output
    assert {path: path.read_bytes() for path in model.iterdir()} == before
