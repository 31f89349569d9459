"""Reading the weights of a model from their file, all of it checked."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from biatt.errors import ModelError
from biatt.models.model_check import check_header, check_numbers
from biatt.models.weights import EMBEDDINGS, SCALE, Shapes, unpack

LARGEST_HEADER = 1 << 20


def check_size(path: Path, limit: int) -> None:
    """A device or a pipe could be read for ever, and a large file fill the memory."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ModelError("it is not a regular file.")
    if status.st_size > limit:
        raise ModelError(f"it has {status.st_size:,} bytes; it can have up to {limit:,}.")


def read_weights(path: Path, shapes: Shapes) -> tuple[Mapping[str, NDArray[Any]], NDArray[np.float32] | None]:
    """The weights in float32, and the scale of the embeddings if they were packed."""
    numbers = sum(int(np.prod(shape, dtype=object)) for shape in shapes.values())
    check_size(path, LARGEST_HEADER + 4 * numbers)
    with safe_open(path, "np") as file:
        header = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        check_header(
            {name: item.get_dtype() for name, item in header.items()},
            {name: item.get_shape() for name, item in header.items()},
            shapes,
        )
        mapped = _mapped(path, [name for name, item in header.items() if item.get_dtype() == "I8"])
        stored = {name: file.get_tensor(name) for name in header if name not in mapped} | mapped
    if SCALE not in stored:
        check_numbers(stored)
        return stored, None
    check_numbers({SCALE: stored[SCALE]})  # which makes the embeddings finite too
    weights = unpack(stored)
    check_numbers({name: weights[name] for name in weights if name != EMBEDDINGS})
    return weights, stored[SCALE]


def _mapped(path: Path, names: Sequence[str]) -> dict[str, NDArray[np.int8]]:
    """Tables of 8-bit numbers as views of the file, in which only the rows that are used are read.

    Windows replaces no file that is mapped: there, they are read like all others. A file that was opened by
    safetensors has a header without faults: its length in 8 bytes, and JSON.
    """
    if os.name == "nt" or not names:
        return {}
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    tables = {}
    for name in names:
        shape, first = tuple(header[name]["shape"]), header[name]["data_offsets"][0]
        if 0 not in shape:  # nothing cannot be mapped
            table = np.memmap(path, np.int8, "c", 8 + length + first, shape)  # writing changes no file
            tables[name] = table.view(np.ndarray)
    return tables
