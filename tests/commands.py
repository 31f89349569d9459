"""The command line as tests call it: in this process, or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from biatt.cli import app

SOURCE = Path(__file__).parents[1] / "src"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "200", "NO_COLOR": "1"}
MAIN = [sys.executable, "-c", "import sys; sys.argv[0] = 'biatt'; from biatt.cli import main; main()"]
FAST = ["--preset", "paper", "--hidden", "16", "--set", "epochs=2", "--set", "rate=0.01"]


def biatt_process(*words: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*MAIN, *map(str, words)], capture_output=True, env=ENVIRONMENT, **options)


def invoke(*words: object) -> str:
    """What a verb prints, run in this process."""
    result = _run(words)
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal(*words: object) -> str:
    """The sentence of a verb that refuses its input or its options, run in this process."""
    result = _run(words)
    assert result.exit_code == 2, result.output
    return result.stderr


def _run(words: tuple[object, ...]) -> Result:
    return CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200", "NO_COLOR": "1"})
