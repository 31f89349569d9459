"""The table of a model's card: facts about the model, which people and `biatt models` read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_ROW = re.compile(r"^\| (.+?) \| (.*) \|$", re.MULTILINE)
_PATH = re.compile(r"[^\s`|,]*/([^\s`|,/]+)")
# Rows that name files.
ABOUT_FILES = (
    *("training data", "chosen by", "begun with the weights of", "silver text", "word vectors"),
    *("contextual encoder", "command"),
)


def table_lines(rows: Mapping[str, object]) -> list[str]:
    """A Markdown table of names and values."""
    return ["| | |", "|---|---|", *(f"| {name} | {_cell(value)} |" for name, value in rows.items())]


def table_rows(card: str) -> dict[str, str]:
    """The names and values of all such tables of a card; of a name that is there twice, the first value."""
    rows: dict[str, str] = {}
    for name, value in _ROW.findall(card):
        rows.setdefault(name, value.replace("\\|", "|"))
    return rows


def without_paths(card: str) -> str:
    """A card whose rows about files have names instead of paths, which are those of the training machine."""
    return _ROW.sub(lambda row: _PATH.sub(r"\1", row[0]) if row[1] in ABOUT_FILES else row[0], card)


def without_rows(card: str, names: Collection[str]) -> str:
    """A card without the rows of these names, which another table has."""
    lines = card.splitlines(keepends=True)
    kept = [line for line in lines if (row := _ROW.match(line)) is None or row[1] not in names]
    return "".join(kept)


def _cell(value: object) -> str:
    """A value that ends neither its cell nor its row."""
    return str(value).replace("|", "\\|").replace("\n", " ")
