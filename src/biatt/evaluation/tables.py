"""Tables of results on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table


def print_tables(tables: Iterable[Any]) -> None:
    """On standard output, wide numbers to the right, long texts folded."""
    console = Console(highlight=False, markup=False, emoji=False)  # a relation may look like either
    for table in tables:
        drawn = Table(title=table.title, title_justify="left", box=box.SIMPLE_HEAD)
        for i, column in enumerate(table.columns):
            text = all(isinstance(row[i], str) for row in table.rows)
            if i and text:
                drawn.add_column(column, overflow="fold")
            else:
                drawn.add_column(column, justify="left" if text else "right", no_wrap=True)
        for row in table.rows:
            drawn.add_row(
                *(
                    "–" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else str(cell)
                    for cell in row
                )
            )
        console.print(drawn)
