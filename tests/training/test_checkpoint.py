"""Checkpoints: everything comes back, and a damaged or foreign one is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from biatt.errors import ConfigError, ModelError
from biatt.training.checkpoint import State, load_checkpoint, save_checkpoint


def saved(path: Path) -> tuple[State, list[dict[str, torch.Tensor]]]:
    state = State("a", rate=0.01, epoch=2, best_score=-3.5, history=[{"epoch": 1, "dev_las": 0.5}])
    groups = [{"w": torch.arange(3.0)}, {"w": torch.ones(2), "a.b": torch.zeros(1)}]
    save_checkpoint(path, state, groups)
    return state, groups


def test_state_and_tensors_come_back(tmp_path: Path) -> None:
    state, groups = saved(tmp_path / "c")
    loaded_state, *loaded = load_checkpoint(tmp_path / "c", "a")
    assert loaded_state == state
    assert [group.keys() for group in loaded] == [group.keys() for group in groups]
    for group, expected in zip(loaded, groups, strict=True):
        assert all(torch.equal(group[name], value) for name, value in expected.items())


def test_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "c")
    with pytest.raises(ConfigError, match="other data, settings, seed or threads"):
        load_checkpoint(tmp_path / "c", "b")


def test_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c"
    saved(path)
    whole = path.read_bytes()
    for damage in (whole[:-4], b"", whole[20:]):
        path.write_bytes(damage)
        with pytest.raises(ModelError, match="c is damaged"):
            load_checkpoint(path, "a")
    for metadata in ({}, {"state": "{"}, {"state": json.dumps({"colour": 1})}):
        save_file({"0.w": torch.ones(1)}, path, metadata)
        with pytest.raises(ModelError, match="c is damaged"):
            load_checkpoint(path, "a")
