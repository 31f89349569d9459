"""Checkpoints: the state of a run, its tensors and those of its best epoch, in one file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from biatt.data.files import replacing
from biatt.errors import ConfigError, ModelError


@dataclass
class State:
    """The progress of a run; with the tensors of a checkpoint, everything that resuming it needs."""

    fingerprint: str  # of everything that determines the weights
    rate: float
    epoch: int = 0
    drops: int = 0
    best_epoch: int = 0
    best_score: float = -math.inf  # of the figure that epochs are compared by
    finished: bool = False
    search: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)


def save_checkpoint(path: Path, state: State, groups: Sequence[Mapping[str, Tensor]]) -> None:
    """Write the state and groups of tensors: those of the last epoch, of the best epoch, and any others."""
    tensors = {f"{i}.{name}": value for i, group in enumerate(groups) for name, value in group.items()}
    with replacing(path) as file:
        file.write(save(tensors, {"state": json.dumps(asdict(state))}))


def load_checkpoint(path: Path, fingerprint: str) -> tuple[Any, ...]:
    """The state of the run with this fingerprint, and its groups of tensors."""
    try:
        with safe_open(path, "pt") as file:
            state = State(**json.loads(file.metadata()["state"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} is damaged ({error}): start over in another folder.") from error
    if state.fingerprint != fingerprint:
        raise ConfigError(
            f"{path} belongs to a run with other data, settings, seed or threads, or on another number of "
            "processes: repeat its options."
        )
    count = 1 + max(int(name.partition(".")[0]) for name in tensors)
    return state, *(with_prefix(f"{i}.", tensors) for i in range(count))


def with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
