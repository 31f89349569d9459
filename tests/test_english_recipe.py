"""experiments/english.py: each step of the English models, small and on a toy treebank."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import biatt
from biatt.cli import app
from biatt.data.conll import write
from biatt.data.toy_treebank import generate
from experiment_scripts import load_experiment

TINY = (
    "hidden=4",
    "affixes=1",
    "epochs=2",
    "least_batches=0",
    "tokeniser.epochs=1",
    "tokeniser.least_batches=0",
)


@pytest.fixture
def english(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script, with networks that take a second to train."""
    module = load_experiment("english")
    for name, value in {
        "SHARED": TINY,
        "TEACHER": ("hidden=5",),
        "STUDENT": ("gold_epochs=1", "silver_min_count=1"),
        "FURTHER": ("epochs=2", "gold_epochs=1", "least_batches=0"),
        "GOLD": ("epochs=2", "least_batches=0"),
        "RESULTS": tmp_path / "results",
        "_with_encoder": lambda data: [],
        "_run": in_this_process(module._run),
    }.items():
        monkeypatch.setattr(module, name, value)
    return module


def in_this_process(run: Callable[..., None]) -> Callable[..., None]:
    """Runs `biatt` without starting a process, which would take longer than the training; others with one."""

    def command(*parts: object) -> None:
        program, *arguments = map(str, parts)
        if Path(program).name == "biatt":
            app(arguments, standalone_mode=False)
        else:
            run(*parts)

    return command


@pytest.mark.slow
def test_steps_follow_each_other_and_are_not_repeated(
    english: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data, runs = tmp_path / "data", tmp_path / "runs"
    data.mkdir()
    for seed, (split, size) in enumerate({"train": 12, "dev": 200, "test": 12}.items()):
        write(generate(size, seed=seed), data / f"x-{split}.conllu")
    sentences = generate(6, seed=7)
    (data / "amalgum.tokens.txt.xz").write_text("".join(" ".join(s.forms) + "\n" for s in sentences))
    (data / "wikipedia.txt.xz").write_text("".join(" ".join(s.forms) + "\n" for s in generate(6, seed=8)))
    options = ["--treebank", str(data), "--text", str(data), "--encoder", str(data), "--runs", str(runs)]
    options += ["--bundled", str(tmp_path / "en"), "--processes", "1"]
    english.main(["joint", "teacher", "silver", "student", "further", "gold", "bundle", "noise", *options])
    for text in ("amalgum", "wikipedia"):
        assert len(list(runs.glob(f"silver/{text}/*.conllu.gz"))) == 1
    results = [json.loads(line) for line in (tmp_path / "results" / "results.jsonl").read_text().splitlines()]
    names = ["joint", "teacher", "student", "further", "gold", "bundle", "noise-0.1", "noise-0"]
    assert [result["name"] for result in results] == names
    assert all(result["dev"]["gold tokens"]["Words"] == 100 for result in results)
    table = (tmp_path / "results" / "RESULTS.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in table[-len(names) :]] == [f"| {name}" for name in names]
    assert "silver text" in (runs / "student" / "README.md").read_text().lower()
    bundled = biatt.load(tmp_path / "en")
    assert bundled("We laughed.")[0].forms[0] == "We"
    assert bundled.tags is not None
    assert bundled.tags.known_lemmas is not None
    assert bundled.card is not None
    assert bundled.card.startswith("# English")
    capfd.readouterr()
    english.main(["student", *options])
    assert "is already trained" in "".join(capfd.readouterr())
    assert len((tmp_path / "results" / "results.jsonl").read_text().splitlines()) == len(names)


def test_unknown_step_is_refused(english: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        english.main(["bake", "--treebank", ".", "--text", ".", "--encoder", "."])
    assert "invalid choice: 'bake'" in capsys.readouterr().err
