"""Running recipes: each result is measured once, recorded whole, and stands beside the others."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import biatt
from biatt.data.conll import read, write
from biatt.data.toy_treebank import generate
from biatt.errors import BiattError, ConfigError
from biatt.evaluation.metrics import evaluate
from biatt.parser import load
from biatt.recipes import plots
from biatt.recipes import reproduce as module
from biatt.recipes.recipe import Experiment, read_recipe
from biatt.recipes.records import RESULTS, Record, add_record, read_records
from biatt.recipes.report import results_table
from biatt.recipes.reproduce import reproduce, train_command
from biatt.training.listener import Silent
from builders import experiment_record
from encoders import write_encoder

pytestmark = pytest.mark.slow  # trains four small models

RECIPE = """
[[run]]
name = "base"
train = ["toy/train.conllu"]
preset = "paper"
test = "toy/test.conllu"
settings = ["hidden=4", "epochs=1"]
seeds = [1, 2]

[[run]]
name = "more"
train = ["toy/train.conllu"]
preset = "paper"
dev = "toy/test.conllu"
test = "toy/test.conllu"
settings = ["hidden=8", "embedding=4", "epochs=2", "schedule=linear"]
embeddings = "vectors.txt"
seeds = [1]
style = "conllx"
punctuation = "ignore"
beside = "41.0 / 42.0"
against = "base"

[[run]]
name = "dev-only"
train = ["toy/train.conllu"]
preset = "paper"
dev = "toy/test.conllu"
settings = ["hidden=4", "epochs=1"]
seeds = [3]
"""


class Names(list[str]):
    """Makes silent listeners and keeps the names that they were made for."""

    def __call__(self, name: str) -> Silent:
        self.append(name)
        return Silent()


def run(recipe: Path, **options: Any) -> tuple[list[Record], Names]:
    names, folder = Names(), recipe.parent
    records = reproduce(recipe, treebanks=folder, models=folder / "models", listener=names, **options)
    return records, names


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe all of whose experiments have been run."""
    folder = tmp_path_factory.mktemp("recipe")
    (folder / "toy").mkdir()
    write(generate(20, seed=1), folder / "toy" / "train.conllu")
    write(generate(5, seed=2), folder / "toy" / "test.conllu")
    (folder / "vectors.txt").write_text("1 4\nthe 1 2 3 4\n")
    recipe = folder / "trial.toml"
    recipe.write_text(RECIPE)
    records, names = run(recipe)
    assert names[:4] == ["base-seed1", "base-seed2", "more-seed1", "dev-only-seed3"]
    assert [record.name for record in records] == names[:4]
    assert records == read_records(folder / "trial")
    return recipe


@pytest.fixture
def recipe(finished: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    shutil.copytree(finished.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / finished.name


def test_record_has_all_that_is_needed_to_repeat_a_run(finished: Path) -> None:
    base, _, more, dev = read_records(finished.with_suffix(""))
    assert (base.seed, base.preset, base.settings) == (1, "paper", ["hidden=4", "epochs=1"])
    assert set(base.data) == {"toy/train.conllu", "toy/test.conllu"}
    assert set(base.versions) == {"python", "biatt", "torch", "numpy", "numba"}
    assert base.history["dev_las"] == [base.dev("dev_las")]
    assert (more.epochs, more.best_epoch in (1, 2)) == (2, True)
    assert base.test is not None
    assert more.test is not None
    assert set(base.test.scores) == {"mst", "argmax", "projective"}
    assert (base.test.style, more.test.style) == ("ud", "conllx")
    assert (base.test.punctuation, more.test.punctuation) == ("include", "ignore")
    assert dev.test is None


def test_counts_are_those_of_the_model(finished: Path) -> None:
    folder = finished.parent
    more = read_records(finished.with_suffix(""))[2]
    gold = list(read(folder / "toy" / "test.conllu"))
    parsed = list(load(folder / "models" / "trial" / "more-seed1").parse(gold))
    result = evaluate(gold, parsed, style="conllx")
    assert more.test is not None
    assert more.test.scores["mst"] == {
        name: type(score)(score.correct, score.gold, score.system) for name, score in result.scores.items()
    }
    assert result.breakdown is not None
    assert more.test.crossed == result.breakdown.crossed
    assert more.test.arc_lengths == result.breakdown.arc_lengths


def test_run_is_compared_with_the_same_seed_of_an_earlier_one(finished: Path) -> None:
    base, _, more, _ = read_records(finished.with_suffix(""))
    assert base.gain is None
    assert more.gain is not None
    folder = finished.parent
    gold = list(read(folder / "toy" / "test.conllu"))
    for metric, pair in more.gain.items():
        for model, ratio in (("base-seed1", pair.a), ("more-seed1", pair.b)):
            parsed = list(load(folder / "models" / "trial" / model).parse(gold))
            assert ratio.value == evaluate(gold, parsed, style="conllx").scores[metric].f1


def test_table_and_pictures_stand_beside_the_results(finished: Path) -> None:
    folder = finished.with_suffix("")
    table = (folder / "RESULTS.md").read_text()
    assert table == results_table("trial", read_recipe(finished), read_records(folder))
    assert "| base | 1, 2 | 1, 1 |" in table
    assert table.splitlines()[-2].endswith("| 41.0 / 42.0 |")
    if plots.can_draw():
        for name in ("curves.png", "arcs.png", "relations.png"):
            assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_what_has_a_result_is_not_run_again(recipe: Path) -> None:
    folder = recipe.with_suffix("")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    records, names = run(recipe)
    assert names == ([] if plots.can_draw() else ["pictures"])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    lines = (folder / RESULTS).read_text().splitlines()
    (folder / RESULTS).write_text("".join(f"{line}\n" for line in lines if '"seed":2' not in line))
    again, names = run(recipe, only=["base"])
    assert names[0] == "base-seed2"
    assert "base-seed1" not in names
    assert again == records[:2]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_table_follows_the_recipe(recipe: Path) -> None:
    recipe.write_text(RECIPE.replace("41.0 / 42.0", "another figure"))
    run(recipe)
    assert "another figure" in (recipe.with_suffix("") / "RESULTS.md").read_text()


def test_another_process_may_add_results_meanwhile(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one process measures a run, others finish theirs: all lines stay."""
    folder = recipe.with_suffix("")
    (folder / RESULTS).unlink()
    measured: list[str] = []

    def measure(experiment: Experiment, seed: int, folders: Any, **_: Any) -> Record:
        measured.append(experiment.name)
        if experiment.name == "base":  # the other process is done with `more`
            add_record(folders.results, experiment_record("best", 1, run="more"), order=[])
        return experiment_record("paper", seed, run=experiment.name)

    monkeypatch.setattr(module, "measure", measure)
    records, _ = run(recipe)
    assert measured == ["base", "base", "dev-only"]
    assert [record.name for record in records] == ["base-seed1", "base-seed2", "more-seed1", "dev-only-seed3"]
    assert read_records(folder) == records


def test_run_that_fails_leaves_the_results_before_it(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = recipe.with_suffix("")
    (folder / RESULTS).unlink()

    def measure(experiment: Experiment, seed: int, folders: Any, **_: Any) -> Record:
        if seed == 2:
            raise KeyboardInterrupt
        return experiment_record("paper", seed, run=experiment.name)

    monkeypatch.setattr(module, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        run(recipe)
    assert [record.name for record in read_records(folder)] == ["base-seed1"]
    assert "| base | 1 |" in (folder / "RESULTS.md").read_text()


def test_model_that_a_run_needs_is_named_if_it_is_missing(recipe: Path) -> None:
    folder = recipe.with_suffix("")
    lines = (folder / RESULTS).read_text().splitlines()
    (folder / RESULTS).write_text("".join(f"{line}\n" for line in lines if '"run":"more"' not in line))
    shutil.rmtree(recipe.parent / "models")
    with pytest.raises(ConfigError, match=r"'more-seed1' needs the model .*base-seed1: .*remove its line"):
        run(recipe)


def test_unknown_run_and_missing_file_are_named(recipe: Path) -> None:
    with pytest.raises(ConfigError, match=r"trial\.toml: there is no run 'other'\.$"):
        run(recipe, only=["other"])
    recipe.write_text(RECIPE.replace('"dev-only"', '"new"').replace('dev = "toy/test', 'dev = "toy/gone'))
    with pytest.raises(BiattError, match=r"gone\.conllu: cannot be read: no such file"):
        run(recipe, only=["new"])


def test_encoder_is_a_folder_beside_the_recipe(recipe: Path) -> None:
    write_encoder(recipe.parent / "tiny")
    base = 'name = "dev-only"'
    recipe.write_text(RECIPE.replace(base, 'name = "contextual"\nencoder = "tiny"'))
    records, _ = run(recipe, only=["contextual"])
    assert [record.name for record in records] == ["contextual-seed3"]
    parser = biatt.load(recipe.parent / "models" / "trial" / "contextual-seed3")
    assert parser.encoder is not None
    assert parser.encoder.reference.folder == (recipe.parent / "tiny").resolve()
    assert parser.card is not None
    assert "--encoder tiny`" in parser.card


def test_results_that_cannot_have_a_folder_are_one_sentence(recipe: Path, tmp_path: Path) -> None:
    shutil.rmtree(recipe.with_suffix(""))
    recipe.with_suffix("").write_text("a file")
    with pytest.raises(BiattError, match=r"trial: cannot be made a folder: file exists\.$"):
        run(recipe)


def test_pictures_need_matplotlib(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    told: list[str] = []

    class Listener(Silent):
        def message(self, text: str) -> None:
            told.append(text)

    reproduce(recipe, treebanks=recipe.parent, models=recipe.parent, listener=lambda name: Listener())
    assert told == ["Pictures need matplotlib: pip install 'biatt[bench]'."]


def test_command_trains_the_same_model() -> None:
    experiment = Experiment(
        "x", ("a b.conllu", "c.conllu"), (1,), dev="d.conllu", preset="best", settings=("hidden=8",)
    )
    assert train_command(experiment, 3, threads=2) == (
        "biatt train --train 'a b.conllu' c.conllu --preset best --seed 3 --threads 2 "
        "--set hidden=8 --dev d.conllu"
    )


def test_commit_is_that_of_the_whole_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change in any room of the package is a change of the code that gave a result."""
    package = tmp_path / "src" / "biatt"
    for file in (package / "__init__.py", package / "kernels" / "a.py", package / "recipes" / "b.py"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    monkeypatch.setattr(biatt, "__file__", str(package / "__init__.py"))
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(tmp_path)]
    assert module._commit() == "unknown"
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    commit = module._commit()
    assert len(commit) == 40
    (tmp_path / "elsewhere").write_text("")
    assert module._commit() == commit
    (package / "kernels" / "a.py").write_text("changed")
    assert module._commit() == f"{commit} with changes"


def test_line_of_a_record_is_json(finished: Path) -> None:
    for line in (finished.with_suffix("") / RESULTS).read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)
