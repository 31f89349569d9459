"""benchmarks/calibration.py compares ways to calibrate by sentences that they were not fitted to."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

from biatt.data.conll import write
from biatt.data.toy_treebank import generate
from builders import random_parser

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "calibration.py"

pytestmark = pytest.mark.skipif(not BENCHMARK.is_file(), reason="benchmarks are not part of the package")


@pytest.mark.slow
def test_ways_to_calibrate_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random_parser().save(tmp_path / "model")
    for name, seed in (("dev", 7), ("test", 8)):
        write(generate(300, seed=seed), tmp_path / f"{name}.conllu")
    arguments = [f"--{name}={tmp_path / name}.conllu" for name in ("dev", "test")]
    arguments += [f"--model={tmp_path / 'model'}", f"--out={tmp_path}"]
    monkeypatch.setattr(sys, "argv", [str(BENCHMARK), *arguments])
    assert runpy.run_path(str(BENCHMARK))["main"]() == 0
    results = json.loads((tmp_path / "calibration.json").read_text())
    assert len(results["dev"]) == 7
    plain, isotonic = (
        results["dev"][name] for name in ("no fit", "one temperature, isotonic curves, also of both together")
    )
    assert isotonic["arc"]["error"] < plain["arc"]["error"]
    assert sum(bin["words"] for bin in results["test"]["the model"]["word"]["bins"]) > 2000
    assert "| a temperature by relation |" in capsys.readouterr().out
