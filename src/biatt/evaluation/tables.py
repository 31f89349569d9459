"""Tables of results, printed or written to a file."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO, TextIOWrapper

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from biatt.data.files import writing
from biatt.data.visible import visible
from biatt.evaluation.results import Table


def write_tables(tables: Iterable[Table], target: str = "-") -> None:
    """Write tables to a file or print them: numbers aligned to the right, long texts folded."""
    # Drawn into memory and written like any other output, since rich would turn a closed pipe into exit code
    # 1, and stop at a character that the encoding of the terminal does not have.
    terminal, printed = Console(), target == "-"
    encoding = terminal.encoding if printed else "utf-8"
    drawn = BytesIO()
    console = Console(
        file=TextIOWrapper(drawn, encoding, errors="backslashreplace", write_through=True),
        width=terminal.width,
        force_terminal=printed and terminal.is_terminal,
        no_color=terminal.no_color,
        highlight=False,
        markup=False,  # a relation may look like markup
        emoji=False,
    )
    for table in tables:
        console.print(_drawn(table))
    with writing(target) as stream:
        stream.write(drawn.getvalue())


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
