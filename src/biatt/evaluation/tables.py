"""Tables of results, printed on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from biatt.data.visible import visible
from biatt.evaluation.results import Table


def print_tables(tables: Iterable[Table]) -> None:
    """Print tables: numbers aligned to the right, long texts folded."""
    console = Console(highlight=False, markup=False, emoji=False)  # a relation may look like markup
    # Captured and written here, since rich's own writing turns a closed pipe into exit code 1.
    with console.capture() as drawn:
        for table in tables:
            console.print(_drawn(table))
    sys.stdout.write(drawn.get())
    sys.stdout.flush()


def _drawn(table: Table) -> RichTable:
    drawn = RichTable(title=visible(table.title), title_justify="left", box=box.SIMPLE_HEAD)
    for i, column in enumerate(table.columns):
        is_text = all(isinstance(row[i], str) for row in table.rows)
        if i and is_text:
            drawn.add_column(column, overflow="fold")
        else:
            drawn.add_column(column, justify="left" if is_text else "right", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*map(_cell, row))
    return drawn


def _cell(value: str | int | float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else visible(value)
