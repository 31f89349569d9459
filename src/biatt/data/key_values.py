"""FEATS and MISC as mappings: Number=Sing|Person=3 is {"Number": "Sing", "Person": "3"}."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping

_NOT_IN_NAME = re.compile(r"[=|\t\n\r]")
_NOT_IN_VALUE = re.compile(r"[|\t\n\r]")


class KeyValues(MutableMapping[str, str]):
    """The items of a FEATS or MISC column, as a view: changing it changes the word or token that it is of.

    What is not changed is written as it was read. An item without "=" has the value "", and of several items
    with the same name the first one counts. A new item of FEATS goes to its place in the alphabet, one of
    MISC to the end. `str()` gives the column as the file has it.
    """

    __slots__ = ("_column", "_ordered", "_write")

    def __init__(self, column: str, write: Callable[[str], None], *, ordered: bool) -> None:
        self._column, self._write, self._ordered = column, write, ordered

    def _items(self) -> list[str]:
        return [] if self._column == "_" else self._column.split("|")

    def _replace(self, items: list[str]) -> None:
        self._column = "|".join(items) or "_"
        self._write(self._column)

    def __getitem__(self, name: str) -> str:
        for item in self._items():
            key, _, value = item.partition("=")
            if key == name:
                return value
        raise KeyError(name)

    def __setitem__(self, name: str, value: str) -> None:
        new = joined({name: value})
        items = self._items()
        places = [i for i, item in enumerate(items) if item.partition("=")[0] == name]
        if places:
            items = [item for i, item in enumerate(items) if i not in places[1:]]
            items[places[0]] = new
        else:
            later = (i for i, item in enumerate(items) if item.partition("=")[0].lower() > name.lower())
            items.insert(next(later, len(items)) if self._ordered else len(items), new)
        self._replace(items)

    def __delitem__(self, name: str) -> None:
        items = self._items()
        kept = [item for item in items if item.partition("=")[0] != name]
        if kept == items:
            raise KeyError(name)
        self._replace(kept)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(item.partition("=")[0] for item in self._items()))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __str__(self) -> str:
        return self._column

    def __repr__(self) -> str:
        return repr(dict(self))


def joined(values: Mapping[str, str]) -> str:
    """The column that holds these values; "_" for none."""
    for name, value in values.items():
        if not isinstance(name, str) or not isinstance(value, str):
            kind = type(name if not isinstance(name, str) else value).__name__
            raise TypeError(f"Names and values of FEATS and MISC are strings, not {kind}.")
        if not name or _NOT_IN_NAME.search(name) or _NOT_IN_VALUE.search(value):
            raise ValueError(
                f"{name!r} with the value {value!r} cannot be an item of FEATS or MISC: "
                "a name is not empty and has no '=', and neither has '|', tabs or line ends."
            )
    return "|".join(f"{name}={value}" if value else name for name, value in values.items()) or "_"
