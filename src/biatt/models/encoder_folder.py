"""The folder of a contextual encoder: its three files, and the checksum that names them.

config.json         what the network is
tokenizer.json      how words become subwords
model.safetensors   its weights; the only *.safetensors of the folder may have another name
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from biatt.errors import ModelError

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
FILES = (CONFIG, TOKENIZER, WEIGHTS)
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class EncoderReference:
    """The encoder that a parser was trained with, as the parser's model folder names it."""

    checksum: str
    folder: Path
    bundled: bool = False  # inside the model folder: copies of the model have copies of it


class EncoderFiles(NamedTuple):
    config: Path
    tokenizer: Path
    weights: Path

    def checksum(self) -> str:
        """SHA-256 of the content of the three files, whatever their names."""
        digest = hashlib.sha256()
        for path in self:
            try:
                with open(path, "rb") as file:
                    while block := file.read(_BLOCK_BYTES):
                        digest.update(block)
            except OSError as error:
                raise ModelError(
                    f"{path} cannot be read: {(error.strerror or str(error)).lower()}."
                ) from error
        return digest.hexdigest()


def find_encoder(folder: str | Path) -> EncoderFiles:
    """The files of an encoder's folder; ModelError says what is missing."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError(f"There is no encoder folder {folder}.")
    for name in (CONFIG, TOKENIZER):
        if not (folder / name).is_file():
            raise ModelError(f"{folder} is not an encoder: it has no {name}.")
    weights = folder / WEIGHTS
    if not weights.is_file():
        weight_files = sorted(folder.glob("*.safetensors"))
        if len(weight_files) != 1:
            wrong = f"{len(weight_files)} files with weights and none is" if weight_files else "no"
            raise ModelError(f"{folder} is not an encoder: it has {wrong} {WEIGHTS}.")
        weights = weight_files[0]
    return EncoderFiles(folder / CONFIG, folder / TOKENIZER, weights)


def copy_encoder(source: Path, target: Path) -> None:
    """Copy the three files into a folder, under their usual names."""
    target.mkdir(parents=True, exist_ok=True)
    for path, name in zip(find_encoder(source), FILES, strict=True):
        shutil.copyfile(path, target / name)
