"""Tables of results as HTML, which notebooks show."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from biatt.data.visible import visible
from biatt.evaluation.results import Table


def tables_html(tables: Iterable[Table]) -> str:
    """The tables one after the other: numbers aligned to the right."""
    return "\n".join(_table(table) for table in tables)


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(visible(column))}</th>" for column in table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return (
        f"<table><caption>{escape(visible(table.title))}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _cell(value: str | int | float | None) -> str:
    if isinstance(value, str):
        return f'<td style="text-align: left">{escape(visible(value))}</td>'
    text = "–" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
    return f'<td style="text-align: right">{text}</td>'
