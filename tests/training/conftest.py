"""Models that several modules of this folder need, trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from biatt.data.conll import write
from biatt.data.toy_treebank import generate
from biatt.training.train import train
from trainings import LARGER, SMALL, SMALL_BEST, SMALL_PIPELINE


@pytest.fixture(scope="session")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "toy.conllu"
    write(generate(30, seed=5), path)
    return path


@pytest.fixture(scope="session")
def whole(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that nothing interrupted; tests must not change it."""
    out = tmp_path_factory.mktemp("whole") / "model"
    train(treebank, out=out, config=SMALL)
    return out


@pytest.fixture(scope="session")
def larger(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with everything beyond the paper, chosen by its training sentences."""
    out = tmp_path_factory.mktemp("larger") / "model"
    train(treebank, dev=treebank, out=out, config=LARGER)
    return out


@pytest.fixture(scope="session")
def pipeline(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a pipeline; tests must not change it."""
    out = tmp_path_factory.mktemp("pipeline") / "model"
    train(treebank, dev=treebank, out=out, config=SMALL_BEST, pipeline=SMALL_PIPELINE)
    return out
