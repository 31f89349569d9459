"""benchmarks/given_columns.py measures what given columns are worth."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

from biatt.data.conll import write
from biatt.data.toy_treebank import generate
from builders import random_parser

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "given_columns.py"

pytestmark = pytest.mark.skipif(not BENCHMARK.is_file(), reason="benchmarks are not part of the package")


@pytest.mark.slow
def test_every_subset_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random_parser().save(tmp_path / "model")
    write(generate(20, seed=7), tmp_path / "gold.conllu")
    arguments = [f"--gold={tmp_path / 'gold.conllu'}", f"--model={tmp_path / 'model'}", f"--out={tmp_path}"]
    monkeypatch.setattr(sys, "argv", [str(BENCHMARK), *arguments])
    monkeypatch.setattr(sys, "path", [str(BENCHMARK.parent), *sys.path])
    assert runpy.run_path(str(BENCHMARK))["main"]() == 0
    results = json.loads((tmp_path / "given_columns.json").read_text())
    assert len(results["las"]) == 1 + 15 * 3
    assert results["sentences"] == 20


def test_the_largest_loss_is_that_of_one_more_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARK.parent), *sys.path])
    benchmark = runpy.run_path(str(BENCHMARK))
    monkeypatch.setitem(benchmark["scores"].__globals__, "_las", lambda *_: 80.0)
    las = benchmark["scores"](None, [])
    las["UPOS of 100% of the words"] = 80.5
    las["UPOS+XPOS of 100% of the words"] = 79.0
    expected = 1.5, "UPOS of 100% of the words", "UPOS+XPOS of 100% of the words"
    assert benchmark["largest_loss"](las) == expected
