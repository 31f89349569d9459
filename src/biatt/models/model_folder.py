"""A model on disk: the layout of its folder, and reading and writing it.

    config.json           format, version, settings, temperature, curves of confidence
    vocabulary.json       symbols, the relations or labels that the network chooses from, known lemmas
    model.safetensors     weights
    README.md             the model's card
    language.json         the language profile, by which a model is chosen for a text
    tokeniser/            a model of its own, in the folder of a parser
    ensemble/2/, …        further parsers, whose probabilities are averaged
    encoder.json          checksum of the contextual encoder, and where it was at training
    encoder/              the encoder itself, if the model holds it (`encoder_folder.py`)

No other module knows these names. Nothing in a folder is executed; `model_check.py` checks all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save

from biatt.data.files import replacing
from biatt.data.folders import present_folder, replacing_folder
from biatt.errors import ModelError
from biatt.models.encoder_folder import FILES as ENCODER_FILES
from biatt.models.encoder_folder import EncoderReference, copy_encoder
from biatt.models.language_profile import LanguageProfile
from biatt.models.model_check import (
    VERSION,
    Kind,
    Points,
    check_numbers,
    checked_settings,
    expected_shapes,
)
from biatt.models.weights import FROZEN, pack
from biatt.models.weights_file import check_size, read_weights

# Files and folders of a model.
SETTINGS, SYMBOLS, WEIGHTS, CARD = "config.json", "vocabulary.json", "model.safetensors", "README.md"
TOKENISER, ENSEMBLE = "tokeniser", "ensemble"
TAGGER = "tagger"  # of pipelines of 0.1, which are refused
REFERENCE, ENCODER = "encoder.json", "encoder"
PROFILE = "language.json"
# Files and folders of a training run, which writes its model into the same folder.
CHECKPOINT, METRICS, FINGERPRINT, LOCK = (
    "checkpoint.safetensors",
    "metrics.jsonl",
    "fingerprint.txt",
    "training.lock",
)
FILES = {SETTINGS, SYMBOLS, WEIGHTS, CARD, PROFILE, REFERENCE, CHECKPOINT, METRICS, FINGERPRINT}

LARGEST_JSON = 1 << 25  # bytes; about 2 million symbols
LARGEST_CARD = 1 << 24


@dataclass
class Model:
    """The content of a model folder."""

    kind: Kind
    config: Any  # the settings of this kind
    symbols: dict[str, Any]
    weights: Mapping[str, NDArray[Any]]
    scale: NDArray[np.float32] | None = None  # of packed embeddings; saved weights are packed again
    temperature: dict[str, float] = field(default_factory=dict)
    curves: Points = field(default_factory=dict)  # of confidence
    card: str | None = None
    tokeniser: Model | None = None
    members: list[Model] = field(default_factory=list)
    encoder: EncoderReference | None = None
    profile: LanguageProfile | None = None


# Parts


def member_folder(folder: str | Path, number: int) -> Path:
    """The folder of an ensemble's member; the first member is in `folder` itself, the others are 2, 3, …"""
    return Path(folder) / ENSEMBLE / str(number)


def member_folders(folder: str | Path) -> list[Path]:
    """The folders of the further members that contain weights, in order."""
    paths = [path for path in (Path(folder) / ENSEMBLE).glob("*") if (path / WEIGHTS).is_file()]
    return sorted((path for path in paths if _is_number(path.name)), key=lambda path: int(path.name))


def is_finished(folder: Path) -> bool:
    """Does the folder contain a model that needs no more training?"""
    return (folder / WEIGHTS).exists() and not (folder / CHECKPOINT).exists()


def is_begun(folder: Path) -> bool:
    """Does the folder contain a model, a training run, or a part of one?"""
    return any((folder / name).exists() for name in (WEIGHTS, CHECKPOINT, TOKENISER, ENSEMBLE, ENCODER))


def foreign_files(folder: Path) -> Iterator[Path]:
    """Files and folders inside that are no part of a model or of a training run."""
    for path in sorted(folder.iterdir()):
        if path.name == TOKENISER and path.is_dir():
            yield from _foreign_in_part(path)
        elif path.name == ENSEMBLE and path.is_dir():
            for part in sorted(path.iterdir()):
                if _is_number(part.name) and part.is_dir():
                    yield from _foreign_in_part(part)
                else:
                    yield part
        elif path.name == ENCODER and path.is_dir():
            yield from (part for part in sorted(path.iterdir()) if part.name not in ENCODER_FILES)
        elif path.name not in FILES or path.is_dir():
            yield path


def _foreign_in_part(folder: Path) -> Iterator[Path]:
    """The same for a folder inside that of a parser: all of it, unless it contains a model or a run."""
    if _describes_model(folder) or (folder / CHECKPOINT).is_file() or not any(folder.iterdir()):
        yield from (path for path in sorted(folder.iterdir()) if path.name not in FILES or path.is_dir())
    else:
        yield folder


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal()


# Reading


def read_model(folder: str | Path, kind: Kind = Kind.PARSER) -> Model:
    """The content of a folder, all of it checked, with a parser's tokeniser and further members."""
    with readable(folder):
        folder = present_folder(Path(folder))
        if not folder.is_dir():
            raise ModelError(f"There is no model folder {folder}.")
        if (folder / TAGGER).is_dir():
            raise ModelError(
                f"{folder} has a separate tagger, as pipelines of 0.1 had: train it again with --pipeline."
            )
        model = _read_files(folder, kind)
        if kind is Kind.PARSER:
            model.members = [_read_files(path, kind) for path in member_folders(folder)]
            if any(member.symbols != model.symbols for member in model.members):
                raise ModelError(f"{folder}: the members of the ensemble have different vocabularies.")
            if (folder / TOKENISER).is_dir():
                model.tokeniser = _read_files(folder / TOKENISER, Kind.TOKENISER)
            if model.config.model.feature_layers:
                model.encoder = _read_reference(folder)
            model.profile = read_profile(folder)
    return model


def read_profile(folder: Path) -> LanguageProfile | None:
    """The language profile of a model folder, without the rest of it; None if it has none."""
    if not (folder / PROFILE).is_file():
        return None
    with _named(folder / PROFILE):
        return LanguageProfile.from_json(_read_json(folder / PROFILE))


def _read_reference(folder: Path) -> EncoderReference:
    """The encoder of a model: the one in its folder, or the one that it points to."""
    with _named(folder / REFERENCE):
        data = _read_json(folder / REFERENCE)
        names = isinstance(data, dict) and set(data) == {"checksum", "folder"}
        if not names or not all(isinstance(value, str) for value in data.values()):
            raise ModelError("it must have the texts checksum and folder.")
    if (folder / ENCODER).is_dir():
        return EncoderReference(data["checksum"], folder / ENCODER, bundled=True)
    elsewhere = folder / data["folder"]  # usually an absolute path
    if not elsewhere.is_dir():
        raise ModelError(
            f"The encoder of {folder} is not in {elsewhere}, where it was at training: copy it to "
            f"{folder / ENCODER}."
        )
    return EncoderReference(data["checksum"], elsewhere)


def _read_files(folder: Path, kind: Kind) -> Model:
    with _named(folder / SETTINGS):
        config, temperature, curves = checked_settings(_read_json(folder / SETTINGS), kind)
    with _named(folder / SYMBOLS):
        symbols = _read_json(folder / SYMBOLS)
        shapes = expected_shapes(symbols, config, kind)
    if not (folder / WEIGHTS).exists():
        raise ModelError(f"{folder} has no {WEIGHTS}: its training has not finished an epoch.")
    with _named(folder / WEIGHTS):
        weights, scale = read_weights(folder / WEIGHTS, shapes)
    card = None
    if (folder / CARD).is_file():
        with _named(folder / CARD):
            card = _read_bytes(folder / CARD, LARGEST_CARD).decode(errors="replace")
    return Model(kind, config, symbols, weights, scale, temperature, curves, card)


@contextmanager
def readable(folder: str | Path) -> Iterator[None]:
    """Say in one sentence that the system does not let a folder be read."""
    try:
        yield
    except OSError as error:
        raise ModelError(f"{folder} cannot be read: {_reason(error)}.") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Put the name of a file before what is wrong with it."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    except FileNotFoundError:
        raise ModelError(f"{path.parent} is not a model folder: it has no {path.name}.") from None
    except (OSError, ValueError, RecursionError, MemoryError, SafetensorError) as error:
        raise ModelError(f"{path} is damaged or cut short ({error}).") from error


def _read_json(path: Path) -> Any:
    return json.loads(_read_bytes(path, LARGEST_JSON).decode(), parse_constant=_no_number)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def _read_bytes(path: Path, limit: int) -> bytes:
    check_size(path, limit)
    with open(path, "rb") as file:
        return file.read(limit)


# Writing


def write_model(folder: str | Path, model: Model) -> None:
    """Write the files of one model into a folder that belongs to it, each whole or not at all.

    A training run does this after every epoch. The weights come last, so that a folder with weights is whole.
    """
    folder = Path(folder)
    description = _description(model)
    weights = pack(model.weights, model.scale) if model.scale is not None else model.weights
    try:
        checked_settings(description, model.kind)  # what is written can be read
        expected_shapes(model.symbols, model.config, model.kind)
        check_numbers(weights)
    except ModelError as error:
        raise ModelError(f"The model cannot be written: {error}") from error
    files = {SETTINGS: _json(description, indent=1), SYMBOLS: _json(model.symbols)}
    if model.card is not None:
        files[CARD] = model.card.encode()
    if model.profile is not None:
        files[PROFILE] = _json(model.profile.to_json())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"{folder} cannot be a folder for a model: {_reason(error)}.") from error
    for name, data in files.items():
        with replacing(folder / name) as file:
            file.write(data)
    if model.scale is None:
        weights = {
            name: value if name in FROZEN else np.asarray(value, np.float32)
            for name, value in weights.items()
        }
    with replacing(folder / WEIGHTS) as file:
        # Of an array that is not in one piece, safetensors would write the rows in the wrong order.
        file.write(save({name: np.ascontiguousarray(value) for name, value in weights.items()}))


def _description(model: Model) -> dict[str, Any]:
    """The content of config.json."""
    return {
        "format": model.kind.value,
        "version": VERSION,
        **model.config.to_json(),
        **({"temperature": model.temperature} if model.temperature else {}),
        **({"curves": model.curves} if model.curves else {}),
    }


def write_settings(folder: str | Path, model: Model) -> None:
    """Replace the config.json of a model folder, which has the temperature and the curves too."""
    description = _description(model)
    checked_settings(description, model.kind)
    if (Path(folder) / CHECKPOINT).exists():
        raise ModelError(f"{folder} is in training, which writes its settings at the end.")
    try:
        with replacing(Path(folder) / SETTINGS) as file:
            file.write(_json(description, indent=1))
    except OSError as error:
        raise ModelError(f"{folder} cannot be written: {_reason(error)}.") from error


def write_reference(folder: str | Path, encoder: EncoderReference) -> None:
    """Write the checksum and the place of a model's encoder."""
    target = Path(ENCODER) if encoder.bundled else encoder.folder.resolve()
    with replacing(Path(folder) / REFERENCE) as file:
        file.write(_json({"checksum": encoder.checksum, "folder": str(target)}, indent=1))


def _json(data: Any, *, indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else None
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    if len(encoded := text.encode() + b"\n") > LARGEST_JSON:
        raise ModelError(f"The vocabulary has {len(encoded):,} bytes; it can have up to {LARGEST_JSON:,}.")
    return encoded


def save_model(folder: str | Path, model: Model) -> None:
    """Write a model with all of its parts, whole or not at all; it replaces a model that was there.

    A folder with anything else in it is refused.
    """
    try:
        _check_replaceable(Path(folder))
        with replacing_folder(Path(folder)) as new:
            for number, member in enumerate(model.members, 2):
                write_model(member_folder(new, number), member)
            if model.tokeniser:
                write_model(new / TOKENISER, model.tokeniser)
            if model.encoder:
                if model.encoder.bundled:
                    copy_encoder(model.encoder.folder, new / ENCODER)
                write_reference(new, model.encoder)
            write_model(new, model)
    except OSError as error:
        raise ModelError(f"{folder} cannot be written: {_reason(error)}.") from error


def _check_replaceable(folder: Path) -> None:
    """Raise ModelError for a folder with files that are not those of a finished model."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not folder.is_dir() or not _describes_model(folder):
        raise ModelError(f"{folder} is not a model, and not empty: name another folder.")
    for path in foreign_files(folder):
        name = path.relative_to(folder)
        raise ModelError(f"{folder} contains {name}, which is no part of a model: name another folder.")
    if (folder / CHECKPOINT).exists():
        raise ModelError(f"{folder} is in training: name another folder.")


def _describes_model(folder: Path) -> bool:
    try:
        data = _read_json(folder / SETTINGS)
    except (OSError, ValueError, RecursionError, ModelError):
        return False
    return isinstance(data, dict) and data.get("format") in [kind.value for kind in Kind]
