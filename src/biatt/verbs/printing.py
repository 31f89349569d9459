"""Printing to standard output, reports, and progress on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from biatt.data.files import writing
from biatt.data.visible import json_text, visible
from biatt.options import ReportFormat

if TYPE_CHECKING:
    from biatt.display.progress import ParseProgress
    from biatt.evaluation.results import Table

LINES = "\n\t"  # what lines may contain beside what is visible
REPORT_SUFFIXES: dict[str, ReportFormat] = {".txt": "text", ".json": "json"}


def print_text(text: str) -> None:
    """Print lines that cannot steer a terminal; what its encoding does not have becomes an escape."""
    with writing("-") as stream:
        stream.write(f"{visible(text, keep=LINES)}\n".encode(sys.stdout.encoding, errors="backslashreplace"))


def write_report(
    figures: dict[str, Any], tables: Iterable[Table], target: str = "-", *, format: ReportFormat | None = None
) -> None:
    """Write figures as tables or as JSON; without `format`, the suffix of the target decides."""
    from biatt.display.output import known_suffix
    from biatt.evaluation.tables import write_tables

    format = format or REPORT_SUFFIXES.get(known_suffix(target, REPORT_SUFFIXES), "text")
    if format == "text":
        write_tables(tables, target)
    elif target == "-":
        print_text(json_text(figures, indent=1))
    else:
        with writing(target) as stream:
            stream.write(f"{json_text(figures, indent=1)}\n".encode())


def parse_progress(target: str) -> AbstractContextManager[ParseProgress | None]:
    """A bar if standard error is a terminal; what draws bars is imported only then."""
    if sys.stderr is None or not sys.stderr.isatty():
        return nullcontext()
    from biatt.display.progress import ParseProgress

    return ParseProgress(target)
