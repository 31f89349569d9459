"""Irregular words: scripts/lemmas gives a model their lemmas, and benchmarks/lemmas.py scores them."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from biatt.annotate.known_lemmas import KnownLemmas
from biatt.data.conll import write
from biatt.data.sentence import Sentence
from biatt.parser import load
from builders import TREEBANK, random_parser

ROOT = Path(__file__).parents[1]
SCRIPT, BENCHMARK = ROOT / "scripts" / "lemmas", ROOT / "benchmarks" / "lemmas.py"
IRREGULAR = ROOT / "experiments" / "english_irregular.tsv"
SENTENCES = Path(__file__).parent / "data" / "irregular_english.tsv"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="scripts are not part of the package")


def benchmark(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run benchmarks/lemmas.py with these arguments; its exit code."""
    monkeypatch.setattr(sys, "argv", [str(BENCHMARK), *map(str, arguments)])
    code: int = runpy.run_path(str(BENCHMARK))["main"]()
    return code


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A parser with random weights: swam and mice have their lemmas, whatever their tags are."""
    upos = sorted({tag for sentence in TREEBANK for tag in sentence.upos})
    known = KnownLemmas({tag: {"swam": ["swim"], "mice": ["mouse"], "ran": ["ran"]} for tag in upos})
    random_parser({"tags": True, "columns": ("form",)}, known_lemmas=known).save(tmp_path / "model")
    return tmp_path / "model"


def test_right_and_wrong_lemmas_are_counted(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["# comment", "swam\tswim\tWe swam .", "mice\tmouse\tThe mice ran .", "ran\trun\tMice ran ."]
    (tmp_path / "words.tsv").write_text("\n".join(lines))
    options = ["--model", model, "--words", tmp_path / "words.tsv", "--out", tmp_path]
    assert benchmark(monkeypatch, *options) == 0
    assert capsys.readouterr().out == "ran: ran instead of run\n2 of 3 lemmas are right: 66.7 %\n"
    result = json.loads((tmp_path / "lemmas.json").read_text("utf-8"))
    assert (result["words"], result["right"], result["wrong"]) == (3, 2, [["ran", "run", "ran"]])


@pytest.mark.parametrize("line", ["swam\tswim", "swam\tswim\tWe ran .", "ran\trun\tran ran", "# no words"])
def test_malformed_words_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    (tmp_path / "words.tsv").write_text(line)
    assert benchmark(monkeypatch, "--words", tmp_path / "words.tsv", "--out", tmp_path) == 2
    message = capsys.readouterr().err
    assert message.startswith(str(tmp_path / "words.tsv"))
    assert len(message.splitlines()) == 1
    assert not (tmp_path / "lemmas.json").exists()


@pytest.mark.slow
def test_words_of_the_treebank_come_before_further_words(tmp_path: Path, model: Path) -> None:
    write([Sentence.from_words(["We", "swam"], upos=["PRON", "VERB"], lemmas=["we", "dive"])], tmp_path / "t")
    (tmp_path / "words.tsv").write_text("# comment\nswim\tVERB\tswam swum\nmouse\tNOUN\tmice\n")
    command = [sys.executable, SCRIPT, model, tmp_path / "new", tmp_path / "t", tmp_path / "words.tsv"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == f"{tmp_path / 'new'}: 4 forms have lemmas\n"
    tags = load(tmp_path / "new").tags
    assert tags is not None
    assert tags.known_lemmas is not None
    assert tags.known_lemmas.table == {
        "NOUN": {"mice": ["mouse"]},
        "PRON": {"We": ["we"]},
        "VERB": {"swam": ["dive"], "swum": ["swim"]},
    }


def test_two_hundred_different_forms_are_scored() -> None:
    lines = [line.split("\t") for line in SENTENCES.read_text("utf-8").splitlines() if line[0] != "#"]
    assert len(lines) == len({form for form, _, _ in lines}) == 200
    assert all(form != lemma and sentence.split().count(form) == 1 for form, lemma, sentence in lines)


def test_no_irregular_form_has_two_lemmas() -> None:
    lines = [line.split("\t") for line in IRREGULAR.read_text("utf-8").splitlines() if line[0] != "#"]
    forms = [(upos, form) for _, upos, part in lines for form in part.split()]
    assert len(set(forms)) == len(forms)
    assert {upos for upos, _ in forms} == {"NOUN", "VERB"}
