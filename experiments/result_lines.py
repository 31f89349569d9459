"""The results of a script of this folder: a line of JSON for each model, and a table of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from biatt.data.files import replacing

Results = list[dict[str, Any]]


def read_results(folder: Path) -> Results:
    path = folder / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write_results(folder: Path, results: Results, table: Callable[[Results], str]) -> None:
    """Write `results.jsonl`, and the table of the results as `RESULTS.md`."""
    folder.mkdir(exist_ok=True)
    with replacing(folder / "results.jsonl") as file:
        file.write("".join(json.dumps(item) + "\n" for item in results).encode())
    with replacing(folder / "RESULTS.md") as file:
        file.write(table(results).encode())
