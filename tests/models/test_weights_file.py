"""Reading weights: which tables stay in their file until their rows are used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from biatt.models import weights_file
from biatt.models.weights import EMBEDDINGS, SCALE, pack, row_scale
from biatt.models.weights_file import read_weights
from biatt.parser import load
from builders import TREEBANK, random_parser

SHAPES = {EMBEDDINGS: (7, 3), "bias": (4,)}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    weights = {name: draw.normal(0, 1, shape).astype(np.float32) for name, shape in SHAPES.items()}
    save_file(pack(weights), tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_weights_are_those_of_the_file(packed: Path) -> None:
    weights, scale = read_weights(packed, SHAPES)
    stored = load_file(packed)
    assert np.array_equal(scale, stored[SCALE])
    assert np.array_equal(weights[EMBEDDINGS], stored[EMBEDDINGS] * stored[SCALE][:, None])
    assert np.array_equal(weights["bias"], stored["bias"].astype(np.float32))


def test_systems_without_mapped_files_read_the_same(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mapped, _ = read_weights(packed, SHAPES)
    monkeypatch.setattr(weights_file.os, "name", "nt")
    read, _ = read_weights(packed, SHAPES)
    assert all(np.array_equal(mapped[name], read[name]) for name in SHAPES)


def test_table_without_numbers_is_read(tmp_path: Path) -> None:
    shapes = {EMBEDDINGS: (7, 0)}
    tables = {EMBEDDINGS: np.empty((7, 0), np.int8), SCALE: np.ones(7, np.float32)}
    save_file(tables, tmp_path / "model.safetensors")
    assert read_weights(tmp_path / "model.safetensors", shapes)[0][EMBEDDINGS].shape == (7, 0)


def test_model_that_is_in_use_can_be_replaced(tmp_path: Path) -> None:
    """Its own folder is written again, and then another model takes its place: it parses as before."""
    first, other = random_parser(seed=1), random_parser(seed=2)
    for parser in (first, other):
        parser.scale = row_scale(parser.weights[EMBEDDINGS])
    first.save(tmp_path / "model")
    parser = load(tmp_path / "model")
    expected = [sentence.heads for sentence in parser.parse(TREEBANK[:9])]
    parser.save(tmp_path / "model")
    again = load(tmp_path / "model")
    other.save(tmp_path / "model")
    for loaded in (parser, again):
        assert [sentence.heads for sentence in loaded.parse(TREEBANK[:9])] == expected
