"""Word vectors from files: word2vec text and binary, GloVe, fastText `.vec`; compressed or not."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.errors import FormatError
from biatt.files import reading

_LONGEST_WORD = 10_000  # bytes; past this a binary file is not what it says


class WordVectors:
    """Words and their vectors; a form that is missing is looked up in lower case."""

    def __init__(self, words: list[str], vectors: NDArray[np.float32]) -> None:
        self.vectors = vectors
        self._index: dict[str, int] = {}
        for i, word in enumerate(words):
            self._index.setdefault(word, i)  # files in the wild repeat words; the first one counts

    def get(self, form: str) -> NDArray[np.float32] | None:
        i = self._index.get(form, self._index.get(form.lower()))
        return None if i is None else self.vectors[i]


def read_vectors(path: str | Path) -> WordVectors:
    with reading(path) as file:
        first = file.readline()
        size = _header(first)
        if size is None:
            return _read_text(first, file, str(path), first_line=1, width=None)
        start = file.peek(1 << 16)[: 1 << 16]
        if _is_text(start, width=size[1]):
            return _read_text(file.readline(), file, str(path), first_line=2, width=size[1])
        return _read_binary(file, str(path), *size)


def _header(line: bytes) -> tuple[int, int] | None:
    """`count width`, which word2vec and fastText write and GloVe does not."""
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        return int(parts[0]), int(parts[1])
    return None


def _is_text(start: bytes, *, width: int) -> bool:
    """Is what follows a header a line of a word and `width` numbers (as far as it is in sight)?"""
    line, newline, _ = start.partition(b"\n")
    numbers = line.rstrip().split(b" ")[-width:] if newline else line.split(b" ")[1:-1]
    try:
        for number in numbers:
            float(number)
    except ValueError:
        return False
    return True


def _read_text(
    line: bytes, file: io.BufferedReader, name: str, *, first_line: int, width: int | None
) -> WordVectors:
    words: list[str] = []
    rows: list[NDArray[Any]] = []
    number = first_line
    while line:
        # Some files hold words with spaces, so the numbers are taken from the right.
        parts = line.rstrip().split(b" ")
        if width is None:
            width = len(parts) - 1
        if width < 1 or len(parts) <= width:
            raise FormatError(
                f"expected a word and {width} numbers, found {len(parts)} fields.", source=name, line=number
            )
        try:
            rows.append(np.array(parts[-width:], np.float32))
            words.append(b" ".join(parts[:-width]).decode())
        except ValueError:
            raise FormatError(
                f"expected a word in UTF-8 and {width} numbers.", source=name, line=number
            ) from None
        line, number = file.readline(), number + 1
    if width is None:
        raise FormatError("the file is empty.", source=name)
    return WordVectors(words, np.stack(rows) if rows else np.zeros((0, width), np.float32))


def _read_binary(file: io.BufferedReader, name: str, count: int, width: int) -> WordVectors:
    words: list[str] = []
    vectors = np.empty((count, width), np.float32)
    for i in range(count):
        word = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte or len(word) > _LONGEST_WORD:
                raise FormatError(f"the binary vectors end after {i} of {count} words.", source=name)
            word += byte
        data = file.read(4 * width)
        if len(data) < 4 * width:
            raise FormatError(f"the binary vectors end after {i} of {count} words.", source=name)
        vectors[i] = np.frombuffer(data, "<f4")
        words.append(word.lstrip(b"\n").decode(errors="replace"))
    return WordVectors(words, vectors)
