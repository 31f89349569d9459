"""The floor plan: which part of the package may import which (docs/design.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import biatt
from biatt.models.model_folder import FILES, LOCK

PACKAGE = Path(biatt.__file__).parent

# The room of each module directly below the package; all others are in the room that their folder names.
MODULES = {
    **dict.fromkeys(["errors", "config", "options", "presets"], "base"),
    "parser": "parsing",
    **dict.fromkeys(["cli", "process", "spacy", "spacy_component", "__init__", "__main__"], "entrance"),
}

BASE = {"base", "machine", "models"}
ENCODED = BASE | {"data", "encoding"}
BELOW_TRAINING = ENCODED | {"kernels", "network", "decode", "annotate", "display", "parsing"}
MAY_IMPORT = {
    "base": {"base"},
    "machine": {"base", "machine"},
    "models": {"base", "models"},
    "data": BASE | {"data"},
    "encoding": ENCODED,
    "kernels": ENCODED | {"kernels"},
    "network": ENCODED | {"kernels", "network"},
    "decode": BASE | {"data", "decode"},
    "evaluation": BASE | {"data", "evaluation"},
    "display": BASE | {"data", "display"},
    "annotate": ENCODED | {"kernels", "annotate"},
    "parsing": BELOW_TRAINING,
    "corpus": BELOW_TRAINING - {"network"} | {"corpus"},
    "training": BELOW_TRAINING - {"display"} | {"evaluation", "training"},
    "recipes": BELOW_TRAINING | {"evaluation", "training", "recipes"},
    "service": BELOW_TRAINING - {"network"} | {"service"},
    "verbs": BELOW_TRAINING | {"evaluation", "training", "recipes", "service", "corpus", "verbs"},
    "entrance": BELOW_TRAINING | {"evaluation", "training", "recipes", "verbs"},
}
# (module, what it imports): why it may all the same.
EXCEPTIONS = {
    ("spacy", "spacy"): "the library of the same name",
    ("spacy_component", "spacy"): "the component and the conversion write the same Docs",
    ("__main__", "cli"): "python -m biatt is the command line",
    ("cli", "process"): "exit codes and signals are apart from the options",
    ("models.model_folder", "data.files"): "a model folder is files",
    ("models.model_folder", "data.folders"): "which are replaced whole",
    ("models.named_models", "data.folders"): "a model that is being replaced has its folder beside it",
    ("models.wheel", "data.files"): "a wheel is a file",
    ("data.sentence", "display"): "a sentence draws itself, imported when it is asked to",
    ("data.document", "display"): "and so does a document",
}

# Which rooms may import these libraries.
LIBRARIES = {
    "torch": {"network", "training"},
    "numba": {"machine", "kernels", "decode"},
    "pyarrow": {"corpus", "machine"},
    "ray": {"machine"},
    **{library: {"service"} for library in ("fastapi", "pydantic", "starlette", "uvicorn")},
}
WITHOUT_NUMPY = {"data.conll", "data.files", "options", "errors", "cli", "process"}


class Import(NamedTuple):
    importer: str
    imported: str  # below biatt, or the name of a library
    inside: bool  # within a function: only when that is called
    line: int


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def room_of(module: str) -> str:
    first = module.partition(".")[0]
    return MODULES.get(first, first)


def is_module(name: str) -> bool:
    path = PACKAGE.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imports_of(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            below = [name for name in whole if is_module(name.partition(".")[2])]
            names = below if node.module == "biatt" or below else [node.module]
        for name in names:
            package, _, rest = name.partition(".")
            yield Import(
                name_of(path), rest if package == "biatt" else package, id(node) in inside, node.lineno
            )


IMPORTS = [item for path in sorted(PACKAGE.rglob("*.py")) for item in imports_of(path)]


def own(item: Import) -> bool:
    return bool(item.imported) and is_module(item.imported)


def allowed_by_exception(item: Import) -> bool:
    return any(
        item.importer == importer and f"{item.imported}.".startswith(f"{imported}.")
        for importer, imported in EXCEPTIONS
    )


def test_every_module_has_a_room() -> None:
    rooms = {room_of(name_of(path)) for path in PACKAGE.rglob("*.py")}
    assert rooms == set(MAY_IMPORT)


def test_imports_follow_the_floor_plan() -> None:
    wrong = [
        f"{item.importer}, line {item.line}, imports {item.imported}"
        for item in IMPORTS
        if own(item)
        and room_of(item.imported) not in MAY_IMPORT[room_of(item.importer)]
        and not allowed_by_exception(item)
    ]
    assert wrong == []


@pytest.mark.parametrize("pair", EXCEPTIONS, ids=" ".join)
def test_each_exception_is_needed(pair: tuple[str, str]) -> None:
    assert any(allowed_by_exception(item) and item.importer == pair[0] for item in IMPORTS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_stay_in_their_rooms(library: str) -> None:
    users = {item.importer for item in IMPORTS if item.imported == library}
    assert {user for user in users if room_of(user) not in LIBRARIES[library]} == set()


def test_reading_files_does_not_wait_for_numpy() -> None:
    users = {item.importer for item in IMPORTS if item.imported == "numpy"}
    assert users & WITHOUT_NUMPY == set()
    assert {user for user in users if room_of(user) == "verbs"} == set()


def test_torch_is_imported_by_the_parser_only_when_asked_for() -> None:
    eager = [
        item for item in IMPORTS if own(item) and room_of(item.imported) == "network" and not item.inside
    ]
    assert {room_of(item.importer) for item in eager} <= {"network", "training"}


@pytest.mark.parametrize("library", ["pyarrow", "ray"])
def test_libraries_of_corpora_are_imported_only_when_they_are_used(library: str) -> None:
    users = [item for item in IMPORTS if item.imported == library]
    assert users
    assert all(item.inside for item in users)


def test_the_service_is_imported_only_when_it_is_started() -> None:
    users = [item for item in IMPORTS if own(item) and room_of(item.imported) == "service"]
    outside = [item for item in users if room_of(item.importer) != "service"]
    assert {item.importer for item in outside} == {"verbs.serve"}
    assert all(item.inside for item in outside)


def test_nothing_imports_the_entrances() -> None:
    users = {item.importer for item in IMPORTS if item.imported in ("cli", "spacy_component")}
    assert users == {"__main__"}
    users = {item.importer for item in IMPORTS if own(item) and room_of(item.imported) == "verbs"}
    assert {user for user in users if room_of(user) != "verbs"} == {"cli"}


def test_no_module_is_over_400_lines_and_no_function_over_60() -> None:
    """One that is longer does a second thing, which has a place of its own."""
    long = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 400:
            long.append(name_of(path))
        long += [
            f"{name_of(path)}.{node.name}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and (node.end_lineno or 0) - node.lineno >= 60
        ]
    assert long == []


def test_train_reads_as_a_plan() -> None:
    """The function that trains a model, without its parameters and its docstring, has up to 40 lines."""
    tree = ast.parse((PACKAGE / "training" / "train.py").read_text(encoding="utf-8"))
    (train,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "train")
    last = train.body[-1].end_lineno
    assert last is not None
    assert last - train.body[1].lineno < 40


def test_only_the_model_folder_knows_its_files() -> None:
    """Those of a contextual encoder's folder, which others define, are known to its module."""
    names = {*FILES, LOCK}
    users = {
        name_of(path)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert users == {"models.model_folder", "models.encoder_folder"}


def test_the_design_page_names_every_room() -> None:
    page = PACKAGE.parents[1] / "docs" / "design.md"
    if not page.is_file():
        pytest.skip("the documentation is not installed")
    text = page.read_text(encoding="utf-8")
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert {room for room in rooms if f"`{room}/`" not in text} == set()
    assert {module for module in MODULES if module != "__init__" and f"`{module}" not in text} == set()
