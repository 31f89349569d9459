"""Models by name: those inside biatt, and those that were installed as packages of their own.

A package registers its model as an entry point of the group `biatt.models`: the name is the model's, the
value the package's folder. The folder is found by the files of the installed distribution; the package is not
imported, so that nothing in it is executed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple

from biatt import __version__
from biatt.data.folders import present_folder
from biatt.errors import ModelError
from biatt.models.model_folder import SETTINGS, readable

MODELS = Path(__file__).parent  # those inside biatt are beside this module
GROUP = "biatt.models"  # of entry points
AUTO = "auto"  # the name that stands for any model, chosen by the text

_MODULE = re.compile(r"\w+(?:\.\w+)*")
_REQUIREMENT = re.compile(r"biatt(?![\w-])\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)")
_CLAUSE = re.compile(r"(>=|<)\s*(\d+(?:\.\d+)*)")


class NamedModel(NamedTuple):
    name: str
    folder: Path | None  # None if the package does not have it
    package: str  # the name and the version of the package
    problem: str | None = None  # why the model cannot be loaded

    def checked(self) -> Path:
        """The folder, or the error that says why the model cannot be loaded."""
        if self.problem or self.folder is None:
            raise ModelError(self.problem or f"The package {self.package} has no model.")
        return self.folder


def find_model(model: str | Path) -> Path:
    """The folder of a model: a path, or the name of a model of biatt or of a package; a path comes first."""
    with readable(model):
        if (Path(model) / SETTINGS).is_file():
            return Path(model)
        inside = {item.name: item for item in _models_inside()}
        if str(model) in inside:
            return inside[str(model)].checked()
        installed = [item for item in _installed_models() if item.name == str(model)]
        if len(installed) > 1:
            packages = " and ".join(item.package for item in installed)
            raise ModelError(f"The packages {packages} both have a model {model}: uninstall one.")
        if installed:
            return installed[0].checked()
        if (folder := present_folder(Path(model))).is_dir():
            return folder  # reading it raises the error that says what is missing
    if str(model) == AUTO:
        where = "only biatt parse and requests to biatt serve choose one by a text"
        raise ModelError(f"{AUTO} is no model that can be loaded: {where}.")
    names = ", ".join(sorted({item.name for item in named_models()}))
    raise ModelError(f"There is no model folder {model}, nor a model of that name (models: {names}).")


def is_auto(model: str) -> bool:
    """Whether a name stands for any model, and not for a folder that is called so."""
    return model == AUTO and not (Path(model) / SETTINGS).is_file()


def named_models() -> list[NamedModel]:
    """All models that can be loaded by name, those inside biatt first.

    A package cannot replace a model of biatt: one with such a name is left out.
    """
    inside = list(_models_inside())
    names = {model.name for model in inside}
    return [*inside, *sorted(model for model in _installed_models() if model.name not in names)]


def _models_inside() -> Iterator[NamedModel]:
    for folder in sorted(MODELS.glob("*")):
        if (folder / SETTINGS).is_file():
            yield NamedModel(folder.name, folder, f"biatt {__version__}")


def _installed_models() -> Iterator[NamedModel]:
    for entry in entry_points(group=GROUP):
        if entry.dist is not None:  # it always has one where installed packages were searched
            yield _installed_model(entry, entry.dist)


def _installed_model(entry: EntryPoint, distribution: Distribution) -> NamedModel:
    package = f"{distribution.metadata['Name']} {distribution.version}"
    needed = _needed_versions(distribution)
    if needed and not _fits(__version__, needed):
        problem = (
            f"The package {package} needs biatt {needed}, and this is biatt {__version__}: install "
            "such a biatt, or another version of the package."
        )
        return NamedModel(entry.name, None, package, problem)
    return NamedModel(entry.name, _folder_of(entry, distribution), package)


def _folder_of(entry: EntryPoint, distribution: Distribution) -> Path | None:
    """The folder that an entry point names.

    It lies beside the distribution's metadata; only that of an editable installation is elsewhere.
    """
    if not _MODULE.fullmatch(entry.value):
        return None
    parts = entry.value.split(".")
    for place in (distribution.locate_file(""), *sys.path):
        folder = Path(str(place)).joinpath(*parts)
        if (folder / SETTINGS).is_file():
            return folder
    return None


def _needed_versions(distribution: Distribution) -> str:
    """The versions of biatt that a package needs, such as ">=0.1,<2"; empty for all."""
    matches = (_REQUIREMENT.match(text) for text in distribution.requires or ())
    return ",".join(match[1].strip() for match in matches if match)


def _fits(version: str, needed: str) -> bool:
    """Whether a version is in the range; of other clauses than >= and <, pip has taken care."""
    number = _number(version)
    return all(
        number >= _number(limit) if relation == ">=" else number < _number(limit)
        for relation, limit in _CLAUSE.findall(needed)
    )


def _number(version: str) -> tuple[int, ...]:
    """The release number as a tuple, without zeros at its end: 1.0 and 1 are the same."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in match[0].split(".")] if match else [0]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
