"""What the tests of all verbs share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import biatt
from builders import random_parser
from commands import FAST, invoke


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Treebanks, what one of them looks like unparsed, and a model with random weights."""
    folder = tmp_path_factory.mktemp("verbs")
    for name, seed in (("a", 1), ("b", 2), ("c", 3)):
        invoke("generate", 20, "--seed", seed, "-o", folder / f"{name}.conllu")
    blank = [s.with_tree(["_"] * len(s), ["_"] * len(s)) for s in biatt.read(folder / "a.conllu")]  # type: ignore[list-item]
    biatt.write(blank, folder / "blank.conllu")
    random_parser().save(folder / "model")
    return folder


@pytest.fixture(scope="session")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that `biatt train` has trained on all three treebanks."""
    model = tmp_path_factory.mktemp("trained") / "model"
    files = [str(data / f"{name}.conllu") for name in "abc"]
    command = ["train", "--train", *files, "--output", str(model), "--licence", "CC0", *FAST]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sys, "argv", ["biatt", *command])  # the model card has the command
        invoke(*command)
    return model
