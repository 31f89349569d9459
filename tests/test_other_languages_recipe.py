"""experiments/other_languages.py: a pipeline with default settings beside UDPipe 1."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

import biatt
from biatt.cli import app
from biatt.data.toy_treebank import generate
from experiment_scripts import TINY, load_experiment


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with networks that take a second to train, in this process."""
    module = load_experiment("other_languages")

    def train(*words: object) -> None:
        app([*map(str, words), "--set", *TINY], standalone_mode=False)

    monkeypatch.setitem(module.trained.__globals__, "_biatt", train)
    return module


@pytest.mark.slow
def test_language_is_trained_once_and_has_a_row(
    others: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "treebanks" / others.TREEBANKS["Czech"]
    folder.mkdir(parents=True)
    for seed, split in enumerate(("train", "dev", "test")):
        biatt.write(generate(12, seed=seed), folder / f"{split}.conllu")
    results = tmp_path / "results"
    options = ["Czech", "--treebanks", str(folder.parent), "--runs", str(tmp_path / "runs")]
    options += ["--results", str(results)]
    others.main(options)
    (result,) = map(json.loads, (results / "results.jsonl").read_text().splitlines())
    assert (result["language"], result["settings"]) == ("Czech", [])
    assert set(result["test"]) == set(others.METRICS)
    row = (results / "RESULTS.md").read_text().splitlines()[-1]
    assert row.startswith(f"| Czech | czech-cltt | {result['training words']:,} | ")
    assert row.endswith(" |  |  |  |  |  |  |")

    monkeypatch.setattr(others, "ours", None)  # a further training would fail
    scores = {"UPOS": 90, "UAS": 80, "LAS": 70.125}
    udpipe = {"test": scores, "words/s": 6789.0, "bytes": 2_500_000, "training_cpu_seconds": 600}
    monkeypatch.setattr(others, "udpipe", lambda *_: udpipe)
    others.main([*options, "--environment", "peers"])
    row = (results / "RESULTS.md").read_text().splitlines()[-1]
    assert row.endswith(" | 90.00 | 80.00 | 70.12 | 6,789 | 2.5 | 10 |")
    monkeypatch.setattr(others, "udpipe", None)  # nor is UDPipe trained twice
    others.main([*options, "--environment", "peers"])
