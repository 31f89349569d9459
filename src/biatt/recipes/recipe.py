"""Recipes: TOML files that list experiments, read and checked as a whole.

A recipe has one table for each experiment:

    [[run]]
    name = "danish"                                # of its results: letters, digits, . _ and -
    train = ["danish-conllx/train.conllx.xz"]      # files below the folder of treebanks
    test = "danish-conllx/test.conllx.xz"          # optional: without it, there are dev scores only
    dev = "…"                                      # optional: without it, 5 % of train is held out
    settings = ["hidden=176"]                      # optional: as for `biatt train --set`
    preset = "paper"                               # optional: best
    seeds = [1, 2, 3]                              # one model is trained for each
    style = "conllx"                               # optional: how to score
    punctuation = "ignore"                         # optional
    embeddings = "vectors.txt"                     # optional: word vectors, a file beside the recipe
    encoder = "mpnet"                              # optional: contextual encoder, a folder beside the recipe
    beside = "paper 91.56 / 85.53"                 # optional: a figure for the last column of the table
    against = "danish-paper"                       # optional: an earlier run to compare with, seed by seed
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from biatt.config import Config, with_settings
from biatt.errors import ConfigError
from biatt.options import DEFAULT_PRESET, PresetName, Punctuation, Style
from biatt.presets import preset

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_SAFE_NAME = re.compile(r"\w[\w.-]*")  # becomes part of folder names


@dataclass(frozen=True)
class Experiment:
    """One table of a recipe."""

    name: str
    train: tuple[str, ...]
    seeds: tuple[int, ...]
    test: str | None = None
    dev: str | None = None
    preset: PresetName = DEFAULT_PRESET
    settings: tuple[str, ...] = ()
    style: Style | None = None
    punctuation: Punctuation | None = None
    embeddings: str | None = None
    encoder: str | None = None
    beside: str = ""
    against: str | None = None

    def config(self) -> Config:
        """The settings of its training; wrong settings are a ConfigError."""
        return with_settings(preset(self.preset), self.settings)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_seeds(value: Any) -> bool:
    is_list = isinstance(value, list) and all(type(seed) is int and seed >= 0 for seed in value)
    return is_list and 0 < len(value) == len(set(value))


_REQUIRED = [field.name for field in fields(Experiment) if field.default is MISSING]
_CHOICES = {"preset": PresetName, "style": Style, "punctuation": Punctuation}
_LISTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "train": (lambda value: _is_texts(value) and value != [], "a list of file names"),
    "seeds": (_is_seeds, "a list of different numbers, none below 0,"),
    "settings": (_is_texts, "a list of texts of the form key=value"),
}


def read_recipe(path: str | Path) -> list[Experiment]:
    """The experiments of a recipe, in order; whatever is wrong with it is a ConfigError."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}.") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not a TOML file: {error}.") from error
    tables = content.pop("run", [])
    if content:
        raise ConfigError(f"{path}: '{next(iter(content))}' is unknown; a recipe consists of [[run]] tables.")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{path}: there is no [[run]] table.")
    experiments: dict[str, Experiment] = {}
    for number, table in enumerate(tables, 1):
        named = f"run '{table['name']}'" if isinstance(table.get("name"), str) else f"run {number}"
        try:
            experiment = _experiment(table)
            if experiment.name in experiments:
                raise ConfigError("an earlier run has the same name.")
            _check_against(experiment, experiments)
        except ConfigError as error:
            raise ConfigError(f"{path}: {named}: {error}") from error
        experiments[experiment.name] = experiment
    return list(experiments.values())


def _experiment(table: Mapping[str, Any]) -> Experiment:
    known = [field.name for field in fields(Experiment)]
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"the key '{key}' is unknown; the keys are {', '.join(known)}.")
        _check_type(key, value)
    for key in _REQUIRED:
        if key not in table:
            raise ConfigError(f"the key '{key}' is missing.")
    if not _SAFE_NAME.fullmatch(table["name"]):
        raise ConfigError("its name may only have letters, digits, '_', '.' and '-', the last two not first.")
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
    }
    experiment = Experiment(**values)
    experiment.config()  # checks the settings
    return experiment


def _check_type(key: str, value: Any) -> None:
    if key in _CHOICES:
        choices = get_args(_CHOICES[key])
        is_valid, expected = value in choices, f"one of {', '.join(choices)}"
    elif key in _LISTS:
        check, expected = _LISTS[key]
        is_valid = check(value)
    else:
        is_valid, expected = _is_text(value), "a text"
    if not is_valid:
        raise ConfigError(f"{key} is {value!r}; {expected} was expected.")


def _check_against(experiment: Experiment, earlier: Mapping[str, Experiment]) -> None:
    """A run is compared with the model of an earlier run that has the same seed, on its test file."""
    if experiment.against is None:
        return
    if experiment.against not in earlier:
        raise ConfigError(f"it is compared with '{experiment.against}', which is not an earlier run.")
    missing = set(experiment.seeds) - set(earlier[experiment.against].seeds)
    if missing:
        raise ConfigError(f"it is compared with '{experiment.against}', which has no seed {min(missing)}.")
    if experiment.test is None:
        raise ConfigError(f"it is compared with '{experiment.against}', but has no test file.")
