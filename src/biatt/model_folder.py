"""A model on disk: a folder with its settings, its symbols and its weights; nothing in it is executed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from biatt.config import Config
from biatt.data.files import replacing
from biatt.data.scores import Temperature
from biatt.errors import ConfigError, ModelError

FORMAT_VERSION = 1  # a folder of a later version is refused, not guessed at
SCALE = "E.scale"  # of packed embeddings
SETTINGS, SYMBOLS, WEIGHTS = "config.json", "vocabulary.json", "model.safetensors"


class Stored(NamedTuple):
    config: Config
    temperature: Temperature
    symbols: Any
    weights: dict[str, NDArray[Any]]


def read_model(folder: str | Path, format: str) -> Stored:
    """What is in a folder that calls itself by this name."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError(f"There is no model folder {folder}.")
    description = _read_json(folder / SETTINGS)
    version = description.get("version") if isinstance(description, dict) else None
    if not isinstance(version, int) or description.get("format") != format:
        raise ModelError(f"{folder / SETTINGS} does not describe a {format} model.")
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{folder} holds a model of version {version}, but this biatt reads up to {FORMAT_VERSION}: "
            "upgrade it."
        )
    try:
        config = Config.from_json(description)
        temperature = Temperature(**description.get("temperature", {}))
        if not all(math.isfinite(value) and value > 0 for value in temperature):
            raise ConfigError("temperatures must be above 0.")
    except (KeyError, TypeError, AttributeError, ConfigError) as error:
        raise ModelError(f"{folder / SETTINGS} holds settings that this biatt does not know.") from error
    symbols = _read_json(folder / SYMBOLS)
    path = folder / WEIGHTS
    if not path.is_file():
        raise ModelError(f"{folder} has no {WEIGHTS}: its training has not finished an epoch.")
    try:
        return Stored(config, temperature, symbols, unpacked(load_file(path)))
    except (SafetensorError, OSError, TypeError, AttributeError, ValueError) as error:
        # the last three: no such numbers, or a scale that does not fit
        raise ModelError(f"{path} is damaged or cut short ({error}).") from error


def write_model(
    folder: str | Path,
    format: str,
    description: Mapping[str, Any],
    symbols: Mapping[str, Any],
    weights: Mapping[str, NDArray[Any]],
) -> None:
    """Write a model folder; the weights come last, so that a folder with weights is whole."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"{folder} cannot be a folder for a model: {error.strerror}.") from error
    head = {"format": format, "version": FORMAT_VERSION}
    for name, data in ((SETTINGS, {**head, **description}), (SYMBOLS, symbols)):
        with replacing(folder / name) as file:
            file.write(json.dumps(data, ensure_ascii=False, indent=1).encode() + b"\n")
    with replacing(folder / WEIGHTS) as file:
        # Of an array that is not in one piece, safetensors would write the rows in the wrong order.
        file.write(save({name: np.ascontiguousarray(value) for name, value in weights.items()}))


def packed(weights: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The weights in a third of the space: the embeddings in 8 bits, with a scale a row, the rest in 16."""
    small: dict[str, NDArray[Any]] = {name: value.astype(np.float16) for name, value in weights.items()}
    table = weights["E.weight"].astype(np.float32)
    scale = np.maximum(np.abs(table).max(1), 1e-6) / 127
    return {**small, "E.weight": np.round(table / scale[:, None]).astype(np.int8), SCALE: scale}


def unpacked(weights: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The weights as a network wants them, packed or not."""
    if SCALE not in weights:
        return weights
    scale = weights.pop(SCALE).astype(np.float32)
    return {**weights, "E.weight": weights["E.weight"] * scale[:, None]}


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path.parent} is not a model folder: it has no {path.name}.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged or cut short ({error}).") from error
