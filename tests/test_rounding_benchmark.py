"""benchmarks/rounding.py compares trees with and without rounding."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from biatt.data.conll import write
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from builders import random_parser

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "rounding.py"

pytestmark = pytest.mark.skipif(not BENCHMARK.is_file(), reason="benchmarks are not part of the package")


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(sys, "path", [str(BENCHMARK.parent), *sys.path])
    pytest.importorskip("matplotlib", reason="the benchmarks need the extra `bench`")
    return runpy.run_path(str(BENCHMARK))


@pytest.mark.slow
def test_every_way_is_scored_and_compared_with_the_others(benchmark: dict[str, Any], tmp_path: Path) -> None:
    random_parser(deviation=0.3).save(tmp_path / "model")
    write(generate(20, seed=7), tmp_path / "gold.conllu")
    benchmark["main"]([f"{tmp_path / 'model'}={tmp_path / 'gold.conllu'}", f"--out={tmp_path}"])
    found = json.loads((tmp_path / "rounding.json").read_text())["model"]
    assert found["words"] == sum(map(len, generate(20, seed=7)))
    assert {"UPOS", "UAS", "LAS"} == set(found["compiled"]) == set(found["plain"]) == set(found["torch"])
    assert set(found["compiled and torch"]) == {"different_heads", "different_arcs"}
    assert set(found) == {
        *("file", "words", "compiled", "plain", "torch"),
        *("compiled and plain", "compiled and torch", "plain and torch"),
    }


def test_a_word_with_another_head_or_relation_has_another_arc(benchmark: dict[str, Any]) -> None:
    some = Sentence.from_words(["a", "b", "c"], heads=[2, 0, 2], deprels=["x", "root", "y"])
    others = Sentence.from_words(["a", "b", "c"], heads=[3, 0, 2], deprels=["x", "root", "z"])
    assert benchmark["different"]([some], [others]) == {"different_heads": 1, "different_arcs": 2}
    assert benchmark["different"]([some], [some]) == {"different_heads": 0, "different_arcs": 0}
