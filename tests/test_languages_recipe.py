"""experiments/languages.py: a small model of a language, its package and its row."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import biatt
from biatt.cli import app
from biatt.data.toy_treebank import generate
from experiment_scripts import TINY, load_experiment


@pytest.fixture
def languages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with networks that take a second to train, in this process."""
    module = load_experiment("languages")
    monkeypatch.setattr(module, "_biatt", lambda *words: app(list(map(str, words)), standalone_mode=False))
    monkeypatch.setattr(module, "SETTINGS", TINY)
    return module


def test_missing_splits_and_spaces_are_made_up_for(languages: ModuleType, tmp_path: Path) -> None:
    sentences = generate(20, seed=1)
    biatt.write(sentences, tmp_path / "dev.conllu")
    bare = [s.as_format("conllx") for s in generate(5, seed=2)]
    biatt.write(bare, tmp_path / "test.conllx")
    files = languages.prepared(tmp_path, tmp_path / "out")
    assert list(biatt.read(files["train"])) == sentences[:-2]
    assert list(biatt.read(files["dev"])) == sentences[-2:]
    assert "SpaceAfter=No" in files["test"].read_text(encoding="utf-8")
    assert languages.prepared(tmp_path / "absent", tmp_path / "out") == files  # not written again


@pytest.mark.slow
def test_language_is_trained_measured_and_packaged_once(
    languages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "treebanks" / languages.TREEBANKS["ga"].folder
    folder.mkdir(parents=True)
    for seed, split in enumerate(("train", "dev", "test")):
        biatt.write(generate(12, seed=seed), folder / f"{split}.conllu")
    runs, packages = tmp_path / "runs", tmp_path / "packages"
    options = ["ga", "--treebanks", str(folder.parent), "--runs", str(runs), "--packages", str(packages)]
    options += ["--results", str(tmp_path / "results")]
    assert languages.main(options) == 0
    (result,) = map(json.loads, (tmp_path / "results" / "results.jsonl").read_text().splitlines())
    assert result["code"] == "ga"
    assert set(result["test"]) == set(languages.METRICS)
    assert result["words/s"] > 0
    row = (tmp_path / "results" / "RESULTS.md").read_text().splitlines()[-1]
    assert row.startswith("| Irish | UD Irish IDT 2.6 | ")
    parser = biatt.load(packages / "biatt-ga" / "biatt_ga")
    assert parser.card is not None
    assert f"LAS {result['test']['LAS']:.2f} |" in parser.card
    assert "| licence | CC BY-SA 3.0 |" in parser.card
    assert parser.profile is not None
    before = {path: path.read_bytes() for path in packages.rglob("*") if path.is_file()}
    assert languages.main([*options, "--cards"]) == 0
    assert {path: path.read_bytes() for path in packages.rglob("*") if path.is_file()} == before
    too_large = languages._options([*options, "--packages", str(tmp_path / "too-large")])
    monkeypatch.setattr(languages, "LARGEST", 10)
    with pytest.raises(biatt.BiattError, match="bytes, more than 10"):
        languages.packaged("ga", runs / "ga" / "model", result["test"], too_large)
    assert not (tmp_path / "too-large").exists()
    monkeypatch.setattr(languages, "trained", None)  # a further training would fail
    assert languages.main(options) == 0
    udpipe = {"test": {"LAS": 12.345}, "words/s": 6789.0}
    monkeypatch.setattr(languages, "udpipe", lambda *_: udpipe)
    assert languages.main([*options, "--environment", "peers"]) == 0
    assert "| 12.35 | 6,789 |" in (tmp_path / "results" / "RESULTS.md").read_text()
    monkeypatch.setattr(languages, "udpipe", None)  # nor is UDPipe trained twice
    assert languages.main([*options, "--environment", "peers"]) == 0


def test_language_that_fails_is_named_and_the_others_go_on(
    languages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = []

    def made(code: str, *_: object) -> dict[str, object]:
        tried.append(code)
        raise biatt.BiattError("no such treebank.")

    monkeypatch.setattr(languages, "made", made)
    options = ["--treebanks", str(tmp_path), "--results", str(tmp_path / "results"), "ga", "da"]
    assert languages.main(options) == 1
    assert tried == ["ga", "da"]
    assert capsys.readouterr().err == "ga: no such treebank.\nda: no such treebank.\nNot made: ga, da.\n"


def test_settings_of_a_language_replace_those_of_all(languages: ModuleType) -> None:
    assert languages.settings_of("ga", ["epochs=2"]) == ["hidden=4", "epochs=2", *TINY[2:]]
    assert languages.settings_of("ko", []) == [*TINY, "embedding=48", "tokeniser.embedding=24"]
    assert languages.settings_of("ko", ["embedding=8"]) == [*TINY, "embedding=8", "tokeniser.embedding=24"]


def test_time_of_a_training_is_known_unless_a_part_of_it_was_killed(
    languages: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = dict.fromkeys(("train", "dev", "test"), tmp_path / "a.conllu")
    arguments = (files, tmp_path / "model", "CC0", [])
    monkeypatch.setattr(languages, "_biatt", lambda *_: None)
    times = iter([10.0, 13.0, 20.0, 24.0, 30.0, 35.0])
    monkeypatch.setattr(languages, "_children_seconds", lambda: next(times))
    assert languages.trained(*arguments) == 3
    assert languages.trained(*arguments) == 7
    (tmp_path / languages.SECONDS).write_text("3.0\nnan\n")
    assert languages.trained(*arguments) is None


def test_table_of_the_documentation_is_that_of_the_results(languages: ModuleType, tmp_path: Path) -> None:
    """`experiments/languages.py --treebanks FOLDER` writes it anew, and trains nothing that has a result."""
    tables = sys.modules["language_tables"]
    page = tmp_path / "results.md"
    page.write_text(tables.PAGE.read_text("utf-8"), encoding="utf-8")
    tables.write_page(languages.read_results(languages.RESULTS), page)
    assert page.read_text("utf-8") == tables.PAGE.read_text("utf-8")


def test_table_has_no_score_of_what_a_treebank_lacks(languages: ModuleType) -> None:
    tables = sys.modules["language_tables"]
    rows = [
        line.split(" | ") for line in tables.table(languages.read_results(languages.RESULTS)).splitlines()
    ]
    lemmas = {row[0].removeprefix("| "): row[rows[0].index("Lemmas")] for row in rows[2:]}
    assert lemmas["Danish"] == lemmas["Swedish"] == ""
    assert float(lemmas["English"]) > 90


def test_every_treebank_has_authors_and_an_address(languages: ModuleType) -> None:
    for code, treebank in languages.TREEBANKS.items():
        assert treebank.source.startswith("https://"), code
        assert treebank.authors, code
        assert (treebank.licence == "LGPL-LR") == treebank.whole_licence, code


def test_unknown_language_is_refused(languages: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        languages.main(["xx", "--treebanks", "."])
    assert "invalid choice: 'xx'" in capsys.readouterr().err
