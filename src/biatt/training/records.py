"""The records of a run: a line of JSON for each epoch, in metrics.jsonl."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from biatt.data.files import replacing
from biatt.models.model_folder import METRICS

Record = dict[str, Any]


def write_records(folder: Path, records: Sequence[Record]) -> None:
    with replacing(folder / METRICS) as file:
        file.write("".join(json.dumps(record) + "\n" for record in records).encode())


def read_records(folder: Path) -> list[Record]:
    return [json.loads(line) for line in (folder / METRICS).read_text(encoding="utf-8").splitlines()]


def best_record(folder: Path) -> Record:
    """The record of the epoch whose weights a run kept."""
    return next(record for record in reversed(read_records(folder)) if record.get("best"))
