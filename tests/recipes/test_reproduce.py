from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import mean, stdev

import pytest

from biatt import write
from biatt.data.toy_treebank import generate
from biatt.errors import ConfigError
from biatt.recipes.plots import curves
from biatt.recipes.reproduce import best_record, read_recipe, reproduce
from biatt.training.run import Silent

RECIPE = """
[[run]]
name = "small"
train = ["toy/train.conllu"]
test = "toy/test.conllu"
settings = ["hidden=8", "epochs=2"]
seeds = [1, 2]

[[run]]
name = "form-only"
train = ["toy/train.conllu"]
dev = "toy/test.conllu"
test = "toy/test.conllu"
settings = ["hidden=8", "epochs=1", "columns=form"]
seeds = [3]
style = "conllx"
punctuation = "ignore"
"""


WITHOUT_TEST = """
[[run]]
name = "chosen"
train = ["toy/train.conllu"]
dev = "toy/test.conllu"
settings = ["hidden=8", "epochs=2", "schedule=linear"]
seeds = [1, 2]
"""


class Names(list[str]):
    """Makes silent listeners and keeps the names that they were made for."""

    def __call__(self, name: str) -> Silent:
        self.append(name)
        return Silent()


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "toy").mkdir()
    write(generate(20, seed=1), tmp_path / "toy" / "train.conllu")
    write(generate(5, seed=2), tmp_path / "toy" / "test.conllu")
    path = tmp_path / "trial.toml"
    path.write_text(RECIPE)
    return path


def run(recipe: Path, **options: object) -> tuple[list[Path], Names]:
    names = Names()
    folder = recipe.parent
    paths = reproduce(recipe, treebanks=folder, models=folder / "models", listener=names, **options)  # type: ignore[arg-type]
    return paths, names


def test_each_run_and_seed_leaves_all_that_is_needed_to_repeat_it(recipe: Path) -> None:
    paths, names = run(recipe)
    assert names == ["small-seed1", "small-seed2", "form-only-seed3"]
    assert [path.stem for path in paths] == names
    one = json.loads(paths[0].read_text())
    assert one["seed"] == 1
    assert one["config"]["model"]["hidden"] == 8
    assert set(one["data"]) == {"toy/train.conllu", "toy/test.conllu"}
    assert set(one["versions"]) == {"biatt", "torch", "numpy", "numba"}
    assert [record["epoch"] for record in one["history"]] == [1, 2]
    assert set(one["test"]) == {"mst", "argmax", "projective"}
    assert one["test"]["mst"]["style"] == "ud"
    assert json.loads(paths[2].read_text())["test"]["mst"]["style"] == "conllx"
    table = (recipe.parent / "trial" / "RESULTS.md").read_text()
    assert "| small | 1, 2 | 2, 2 |" in table
    assert "| form-only | 3 | 1 |" in table
    assert "| dev UAS | dev LAS | UAS mst | LAS mst |" in table


def test_run_without_a_test_file_is_scored_on_dev_only(recipe: Path) -> None:
    recipe.write_text(WITHOUT_TEST)
    paths, names = run(recipe)
    assert names == ["chosen-seed1", "chosen-seed2"]
    found = [json.loads(path.read_text()) for path in paths]
    for one in found:
        assert one["test"] == {}
        assert set(one["data"]) == {"toy/train.conllu", "toy/test.conllu"}
    best = [max(one["history"], key=lambda record: record["dev_las"]) for one in found]  # the first of these
    cells = [
        f"{100 * mean(values):.2f} ± {100 * stdev(values):.2f}"
        for values in ([record[score] for record in best] for score in ("dev_uas", "dev_las"))
    ]
    *_, header, _, row = (recipe.parent / "trial" / "RESULTS.md").read_text().splitlines()
    assert header == "| run | seeds | epochs | dev UAS | dev LAS |"
    assert row == f"| chosen | 1, 2 | 2, 2 | {cells[0]} | {cells[1]} |"


def test_dev_scores_are_those_of_the_last_epoch_that_was_best() -> None:
    history = [
        {"search": True, "rate": 0.1},
        {"epoch": 1, "best": True},
        {"epoch": 2, "best": True},
        {"epoch": 3, "best": False},
    ]
    assert best_record({"history": history})["epoch"] == 2


def test_what_has_a_result_is_not_run_again(recipe: Path) -> None:
    paths, _ = run(recipe, only=["small"])
    before = paths[0].read_bytes()
    paths[1].unlink()
    paths, names = run(recipe)
    assert names == ["small-seed2", "form-only-seed3"]
    assert paths[0].read_bytes() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no \\[\\[run\\]\\]"),
        ("[[run]", "not a TOML file"),
        ('[[run]]\nname = "x"\ntrain = []\ntest = "y"\n', "lacks 'seeds'"),
        ('[[run]]\nname = "x"\nhidden = 3\n', "no 'hidden'"),
    ],
)
def test_bad_recipe_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_recipe(path)


def test_missing_recipe_and_unknown_run_are_named(recipe: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        read_recipe(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="'other'"):
        run(recipe, only=["other"])


def test_recipes_of_the_experiments_can_be_read() -> None:
    recipes = list((Path(__file__).parents[2] / "experiments").glob("*.toml"))
    assert recipes
    for path in recipes:
        assert read_recipe(path)


COMPARED = """
[[run]]
name = "base"
train = ["toy/train.conllu"]
test = "toy/test.conllu"
settings = ["hidden=4", "epochs=1"]
seeds = [1]

[[run]]
name = "more"
train = ["toy/train.conllu"]
test = "toy/test.conllu"
settings = ["hidden=8", "embedding=4", "epochs=2", "schedule=linear"]
embeddings = "vectors.txt"
seeds = [1]
beside = "41.0 / 42.0"
against = "base"
"""


def test_run_is_compared_with_an_earlier_one_and_stands_beside_a_figure(recipe: Path) -> None:
    recipe.write_text(COMPARED)
    (recipe.parent / "vectors.txt").write_text("1 4\nthe 1 2 3 4\n")
    models = recipe.parent / "models"
    done = reproduce(recipe, treebanks=recipe.parent, models=models, listener=Names())
    base, more = (json.loads(path.read_text()) for path in done)
    assert "against" not in base
    gain = more["against"]["LAS"]["difference"]
    assert gain == pytest.approx(more["test"]["mst"]["las"] - base["test"]["mst"]["las"])
    assert more["command"].endswith("--embeddings vectors.txt")
    table = (recipe.with_suffix("") / "RESULTS.md").read_text().splitlines()
    header, row = (line.split(" | ") for line in (table[5], table[-1]))
    assert header[-3:] == ["gain in UAS, p", "gain in LAS, p", "beside it |"]
    assert row[-2].startswith(f"{100 * gain:+.2f} (")
    assert row[-1] == "41.0 / 42.0 |"


def test_run_can_only_be_compared_with_an_earlier_one(recipe: Path) -> None:
    recipe.write_text(COMPARED.replace('against = "base"', 'against = "more"'))
    with pytest.raises(ConfigError, match="'more' is compared with 'more', which is no earlier run"):
        read_recipe(recipe)


def test_model_that_a_run_needs_is_named_where_it_is_missing(recipe: Path) -> None:
    recipe.write_text(COMPARED)
    run(recipe, only=["base"])
    shutil.rmtree(recipe.parent / "models")
    needed = "base-seed1"
    with pytest.raises(ConfigError, match=rf"needs the model .*{needed}: .* remove .*{needed}\.json"):
        run(recipe)


def test_results_are_drawn(recipe: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need the extra `bench`")
    reproduce(recipe, treebanks=recipe.parent, models=recipe.parent / "models", listener=Names())
    for name in ("curves.png", "arcs.png", "relations.png"):
        assert (recipe.with_suffix("") / name).read_bytes().startswith(b"\x89PNG")


def test_no_two_runs_have_the_same_line() -> None:
    pytest.importorskip("matplotlib", reason="plots need the extra `bench`")
    history = [{"epoch": 1, "dev_las": 0.5}, {"epoch": 2, "dev_las": 0.6}]
    figure = curves({f"run {i}": [{"history": history}] for i in range(40)})
    lines = figure.axes[0].get_lines()
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 40
    assert [list(line.get_ydata()) for line in lines] == 40 * [[50, 60]]


def test_reproduce_says_so_when_it_cannot_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from biatt.recipes import reproduce as module

    monkeypatch.setattr(module, "draw", lambda *_: [])
    monkeypatch.setattr(module, "results_of", lambda *_: [{}])
    monkeypatch.setattr(module, "measure", lambda *_, **__: {})
    monkeypatch.setattr(module, "summary", lambda *_: "")
    told: list[str] = []

    class Listener(Silent):
        def message(self, text: str) -> None:
            told.append(text)

    (tmp_path / "r.toml").write_text(RECIPE)
    reproduce(tmp_path / "r.toml", treebanks=tmp_path, models=tmp_path, listener=lambda name: Listener())
    assert any("matplotlib" in text for text in told)
