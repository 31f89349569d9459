"""experiments/pipelines.py: pipelines of two checkouts, small and on a toy treebank."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from biatt.cli import app
from biatt.data.conll import write
from biatt.data.toy_treebank import generate
from experiment_scripts import ROOT, TINY, load_experiment


@pytest.fixture
def pipelines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script, with networks that take a second to train, in this process."""
    module = load_experiment("pipelines")

    def biatt(code: Path, arguments: list[object], times: Path | None = None) -> None:
        app(list(map(str, arguments)), standalone_mode=False)
        if times is not None:
            with times.open("a") as file:
                file.write("90\n")

    monkeypatch.setattr(module, "_biatt", biatt)
    monkeypatch.setattr(module, "_commit", lambda code: "1234567")
    monkeypatch.setattr(module, "SETTINGS", TINY)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    return module


@pytest.mark.slow
def test_each_treebank_has_a_row_for_each_checkout_and_is_trained_once(
    pipelines: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy").mkdir()
    for seed, split in enumerate(("train", "dev")):
        write(generate(12, seed=seed), tmp_path / "toy" / f"{split}.conllu")
    options = ["toy", "--treebanks", str(tmp_path), "--against", str(ROOT)]
    pipelines.main([*options, "--runs", str(tmp_path / "runs")])
    lines = (tmp_path / "results" / "results.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    assert [result["code"] for result in results] == ["before", "after"]
    assert results[0]["dev"] == results[1]["dev"]  # of the same code, settings and seed
    assert results[0]["dev"].keys() == set(pipelines.METRICS)
    table = (tmp_path / "results" / "RESULTS.md").read_text().splitlines()
    assert [line.split(" | ")[1] for line in table[-2:]] == ["before", "after"]
    assert table[-1].endswith("| 2 |")  # minutes
    monkeypatch.setattr(pipelines, "_train", None)  # a further training would fail
    pipelines.main([*options, "--runs", str(tmp_path / "runs")])


@pytest.mark.slow
def test_processor_time_of_interrupted_trainings_is_added_up(pipelines: ModuleType, tmp_path: Path) -> None:
    treebank = tmp_path / "toy.conllu"
    write(generate(12, seed=1), treebank)
    (tmp_path / "model.processor-seconds").write_text("30\n")
    assert pipelines._train(ROOT, treebank, treebank, tmp_path / "model") == 120
