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

from biatt.config import Config, Settings, setting_names
from biatt.data.files import replacing
from biatt.data.scores import Temperature
from biatt.errors import ConfigError, ModelError
from biatt.weights import SCALE, unpack

FORMAT_VERSION = 1  # a folder of a later version is refused, not guessed at

MODELS = Path(__file__).parent / "models"  # bundled with the package

# Files and folders of a model.
SETTINGS, SYMBOLS, WEIGHTS, CARD = "config.json", "vocabulary.json", "model.safetensors", "README.md"
TAGGER, TOKENISER, ENSEMBLE = "tagger", "tokeniser", "ensemble"
# Files and folders of a training run, which writes its model into the same folder.
CHECKPOINT, METRICS, FINGERPRINT, FOLDS = (
    "checkpoint.safetensors",
    "metrics.jsonl",
    "fingerprint.txt",
    "folds",
)


# Settings of earlier versions. None changes how a trained model parses, so reading ignores them.
REMOVED_SETTINGS = frozenset(
    {"rate_step", "beta1", "epsilon", "distillation", "agreement", "deviation", "first_state"}
)


class Stored(NamedTuple):
    config: Any
    temperature: Temperature
    symbols: Any
    weights: dict[str, NDArray[Any]]


def find_model(model: str | Path) -> Path:
    """The folder of a model: a path, or the name of a bundled model; a path comes first."""
    if (Path(model) / SETTINGS).is_file():
        return Path(model)
    bundled = sorted(folder.name for folder in MODELS.glob("*") if (folder / SETTINGS).is_file())
    if str(model) in bundled:
        return MODELS / str(model)
    if Path(model).is_dir():
        return Path(model)  # reading it raises the error that says what is missing
    raise ModelError(
        f"There is no model folder {model}, nor a bundled model of that name (bundled: {', '.join(bundled)})."
    )


def member_folder(folder: str | Path, number: int) -> Path:
    """The folder of an ensemble's member; the first member is in `folder` itself, the others are 2, 3, …"""
    return Path(folder) / ENSEMBLE / str(number)


def member_folders(folder: str | Path) -> list[Path]:
    """The folders of the further members that contain weights, in order."""
    paths = [path for path in (Path(folder) / ENSEMBLE).glob("*") if (path / WEIGHTS).is_file()]
    return sorted((path for path in paths if path.name.isdecimal()), key=lambda path: int(path.name))


def is_finished(folder: Path) -> bool:
    """Does the folder contain a model that needs no more training?"""
    return (folder / WEIGHTS).exists() and not (folder / CHECKPOINT).exists()


def is_begun(folder: Path) -> bool:
    """Does the folder contain a model, a training run, or a part of one?"""
    return any((folder / name).exists() for name in (WEIGHTS, CHECKPOINT, TAGGER, TOKENISER, ENSEMBLE))


def read_model(folder: str | Path, format: str, kind: type[Settings]) -> Stored:
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
        config = kind.from_json(_present(description, kind))
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
        weights = load_file(path)
        weights = unpack(weights) if SCALE in weights else weights
        return Stored(config, temperature, symbols, weights)
    except (SafetensorError, OSError, TypeError, AttributeError, ValueError) as error:
        # the last three: no such numbers, or a scale that does not fit
        raise ModelError(f"{path} is damaged or cut short ({error}).") from error


def _present(description: Mapping[str, Any], kind: type[Settings]) -> dict[str, dict[str, Any]]:
    """The settings of a folder of version 1 without those that this kind of model no longer has."""
    removed = REMOVED_SETTINGS | setting_names(Config) - setting_names(kind)
    return {
        part: {name: value for name, value in description[part].items() if name not in removed}
        for part in ("model", "training")
    }


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


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path.parent} is not a model folder: it has no {path.name}.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged or cut short ({error}).") from error
