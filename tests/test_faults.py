"""Short versions of scripts/faults, and the table of its results in the documentation."""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from biatt.parser import Parser
from builders import random_parser, random_tokeniser

FOLDER = Path(__file__).parents[1] / "benchmarks"

pytestmark = [
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not part of the package"),
    pytest.mark.skipif(sys.platform == "win32", reason="kill -9, limits on files"),
]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("matplotlib", reason="the benchmarks need the extra `bench`")
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("faults")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parser = random_parser()
    parser.tokeniser = random_tokeniser()
    folder = tmp_path_factory.mktemp("faults") / "model"
    parser.save(folder)
    return folder


@pytest.fixture
def without_training(faults: ModuleType, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sections parse less, with a random model instead of one that they train, and without kernels.

    To load these is most of what a worker does that is killed before it has parsed much.
    """
    for name in ("fault_disk", "fault_kills"):
        monkeypatch.setattr(importlib.import_module(name), "small_model", lambda _: model)
    monkeypatch.setattr(importlib.import_module("fault_kills"), "DOCUMENTS", 20)
    monkeypatch.setenv("BIATT_KERNELS", "plain")  # for the workers


def options(**values: object) -> argparse.Namespace:
    return argparse.Namespace(**{"seed": 7, "model": "en", "before": {}, **values})


def last(found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return list(found)[-1]


def test_changed_inputs_are_refused_in_one_sentence_or_round_trip(faults: ModuleType, tmp_path: Path) -> None:
    found = faults.SECTIONS["inputs"](options(inputs=1500), tmp_path)
    assert found["correct"] == found["tried"] == 1500


def test_a_fault_in_a_reader_would_be_seen(
    faults: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module("fault_inputs")
    monkeypatch.setattr(module, "read_text", lambda _: ["other text"])
    found = faults.SECTIONS["inputs"](options(inputs=30), tmp_path)
    assert 0 < found["correct"] < 30
    assert "AssertionError" in capsys.readouterr().out


def test_changes_are_repeatable_and_of_every_kind(faults: ModuleType) -> None:
    changed = importlib.import_module("fault_inputs").changed
    data = b"some bytes of an input"
    results = [changed(data, random.Random(seed)) for seed in range(200)]
    assert results == [changed(data, random.Random(seed)) for seed in range(200)]
    assert min(map(len, results)) < len(data) < max(map(len, results))


def test_texts_of_every_script_are_rebuilt(
    faults: ModuleType, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("fault_inputs")
    texts = module._texts
    monkeypatch.setattr(
        module, "_texts", lambda *arguments: [text for text in texts(*arguments) if len(text) < 500][::9]
    )
    found = faults.SECTIONS["unicode"](options(model=model, strings=300), tmp_path)
    assert found["correct"] == found["tried"] > 40


def test_text_that_is_not_rebuilt_would_be_seen(faults: ModuleType, model: Path) -> None:
    module = importlib.import_module("fault_inputs")
    document = Parser.load(model)("The dog sleeps.")
    assert module._not_rebuilt("The dog sleeps.", document) == ""
    document.text = "The dog sleeps!"
    assert "differs" in module._not_rebuilt("The dog sleeps.", document)
    document.sentences.pop()
    document.text = "The dog sleeps."
    assert module._not_rebuilt("The dog sleeps.", document)


@pytest.mark.slow
@pytest.mark.parametrize(("section", "kills"), [("kill_training", 2), ("kill_corpus", 3)])
@pytest.mark.usefixtures("without_training")
def test_what_was_killed_is_resumed_and_so_are_the_kills(
    faults: ModuleType, tmp_path: Path, section: str, kills: int
) -> None:
    before = {"tried": 1, "correct": 1, "kills": {"the process": 1}}
    found = last(faults.SECTIONS[section](options(kills=kills, before=before), tmp_path))
    assert found["correct"] == found["tried"] == sum(found["kills"].values()) == kills


@pytest.mark.slow
def test_a_run_that_gives_something_else_would_be_seen(
    faults: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module("fault_kills")
    finished = module.finished

    def other(action: Any) -> Any:
        done = finished(action)
        (tmp_path / "model" / "config.json").write_text("{}")
        return done

    monkeypatch.setattr(module, "finished", other)
    found = last(faults.SECTIONS["kill_training"](options(kills=1), tmp_path))
    assert (found["tried"], found["correct"]) == (1, 0)
    assert "kill 0 (the process)" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("without_training")
def test_a_full_disk_is_one_sentence_and_the_old_files_stay(
    faults: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("fault_disk")
    cases = module._cases
    monkeypatch.setattr(
        module, "_cases", lambda folder: {k: v for k, v in cases(folder).items() if k in ("save", "corpus")}
    )
    monkeypatch.setattr(module, "MOST_LIMITS", 2)
    found = last(faults.SECTIONS["disk"](options(before={"tried": 1, "correct": 1}), tmp_path))
    assert found["correct"] == found["tried"] > 6
    assert all(found["figures"].values())


def test_limits_are_below_the_size_of_every_file(faults: ModuleType) -> None:
    limits = importlib.import_module("fault_disk").limits
    assert limits({"a": bytes(1000), "b": bytes(7)}) == [0, 1, 3, 6, 100, 500, 999]


@pytest.mark.slow
def test_one_parser_can_be_shared(
    faults: ModuleType, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("fault_memory"), "TEXTS", 10)
    found = faults.SECTIONS["sharing"](options(model=str(model)), tmp_path)
    assert found["correct"] == found["tried"] == 10


def test_memory_that_grows_is_not_flat(faults: ModuleType) -> None:
    flat = importlib.import_module("fault_memory")._flat
    assert flat([100.0, 101.0, 102.0, 104.0], {})["correct"] == 1
    assert flat([100.0, 101.0, 102.0, 107.0], {})["correct"] == 0


def test_the_documentation_has_the_table_of_the_results(faults: ModuleType) -> None:
    results = json.loads((FOLDER / "faults.json").read_text(encoding="utf-8"))
    page = faults.PAGE.read_text(encoding="utf-8")
    assert page.partition(faults.BEGIN)[2].partition(faults.END)[0] == faults.table(results)
    assert set(results) <= set(faults.SECTIONS)
