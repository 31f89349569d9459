"""Recipes: whatever is wrong with one is one sentence that names the file and the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from biatt.errors import ConfigError
from biatt.recipes.recipe import Experiment, read_recipe

RUN = '[[run]]\nname = "x"\ntrain = ["t"]\nseeds = [1]\n'


def recipe(folder: Path, text: str) -> Path:
    path = folder / "r.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_recipe_is_read(tmp_path: Path) -> None:
    text = RUN + 'preset = "paper"\nsettings = ["hidden=32"]\n' + RUN.replace('"x"', '"y.2-é"')
    first, second = read_recipe(recipe(tmp_path, text))
    assert first == Experiment("x", ("t",), (1,), preset="paper", settings=("hidden=32",))
    assert first.config().model.hidden == 32
    assert second == Experiment("y.2-é", ("t",), (1,), preset="best")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"there is no \[\[run\]\] table\.$"),
        ("[[run]", "not a TOML file: "),
        ('run = "x"', r"there is no \[\[run\]\] table\.$"),
        ("run = [1]", r"there is no \[\[run\]\] table\.$"),
        ('[run]\nname = "x"\n', r"there is no \[\[run\]\] table\.$"),
        ("[[runs]]\n" + RUN, r"'runs' is unknown; a recipe consists of \[\[run\]\] tables\.$"),
        ('[[run]]\nname = "x"\ntrain = ["t"]\n', r"run 'x': the key 'seeds' is missing\.$"),
        ("[[run]]\nseeds = [1]\n", r"run 1: the key 'name' is missing\.$"),
        (RUN + "hidden = 3\n", r"run 'x': the key 'hidden' is unknown; the keys are name, train, "),
        ("[[run]]\nname = 3\n", r"run 1: name is 3; a text was expected\.$"),
        ('[[run]]\nname = ""\n', r"run '': name is ''; a text was expected\.$"),
        (RUN.replace('["t"]', '"t"'), r"run 'x': train is 't'; a list of file names was expected\.$"),
        (RUN.replace('["t"]', "[]"), r"run 'x': train is \[\]; a list of file names was expected\.$"),
        (RUN.replace('["t"]', "[1]"), r"run 'x': train is \[1\]; a list of file names was expected\.$"),
        (RUN.replace("[1]", "1"), r"run 'x': seeds is 1; a list of different numbers, "),
        (RUN.replace("[1]", "[]"), r"run 'x': seeds is \[\]; a list of different numbers, "),
        (RUN.replace("[1]", "[true]"), r"run 'x': seeds is \[True\]; a list of different numbers, "),
        (RUN.replace("[1]", "[-1]"), r"run 'x': seeds is \[-1\]; a list of different numbers, none below 0"),
        (RUN.replace("[1]", "[2, 2]"), r"run 'x': seeds is \[2, 2\]; a list of different numbers, "),
        (RUN + "test = 1\n", r"run 'x': test is 1; a text was expected\.$"),
        (RUN + "beside = 1.5\n", r"run 'x': beside is 1.5; a text was expected\.$"),
        (RUN + 'style = "conll"\n', r"run 'x': style is 'conll'; one of conllx, ud was expected\.$"),
        (RUN + "style = []\n", r"run 'x': style is \[\]; one of conllx, ud was expected\.$"),
        (
            RUN + 'punctuation = "no"\n',
            r"run 'x': punctuation is 'no'; one of ignore, include was ",
        ),
        (RUN + 'preset = "big"\n', r"run 'x': preset is 'big'; one of paper, best, fast was expected\.$"),
        (
            RUN + 'settings = "a=1"\n',
            r"run 'x': settings is 'a=1'; a list of texts of the form ",
        ),
        (RUN + 'settings = ["hiden=1"]\n', r"run 'x': There is no setting 'hiden'"),
        (RUN + 'settings = ["hidden=0"]\n', r"run 'x': hidden must be at least 1"),
        (RUN + RUN, r"run 'x': an earlier run has the same name\.$"),
        (RUN + 'against = "x"\n', r"run 'x': it is compared with 'x', which is not an earlier run\.$"),
        (
            RUN + RUN.replace('"x"', '"y"').replace("[1]", "[1, 2]") + 'against = "x"\ntest = "u"\n',
            r"run 'y': it is compared with 'x', which has no seed 2\.$",
        ),
        (
            RUN + RUN.replace('"x"', '"y"') + 'against = "x"\n',
            r"run 'y': it is compared with 'x', but has no test file\.$",
        ),
    ],
)
def test_fault_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=rf"r\.toml: {message}"):
        read_recipe(recipe(tmp_path, text))


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".x", "-x", "a b", "a\\\\b", "a\\nb", "\\u001b"])
def test_name_that_could_leave_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="its name may only have letters, digits"):
        read_recipe(recipe(tmp_path, RUN.replace('"x"', f'"{name}"')))


def test_recipe_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read: no such file"):
        read_recipe(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'[[run]]\nname = "\xe9"\n')
    with pytest.raises(ConfigError, match=r"latin\.toml: not a TOML file"):
        read_recipe(tmp_path / "latin.toml")


def test_recipes_of_the_experiments_can_be_read() -> None:
    recipes = list((Path(__file__).parents[2] / "experiments").glob("*.toml"))
    assert recipes
    for path in recipes:
        assert read_recipe(path)
