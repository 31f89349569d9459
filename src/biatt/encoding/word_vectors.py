"""Word vectors, read from files: word2vec text and binary, GloVe, fastText `.vec`."""

from __future__ import annotations

import codecs
import io
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.data.files import reading
from biatt.errors import FormatError
from biatt.models.weights import VECTOR_SCALE, VECTORS, packed_rows

HEAD_BYTES = 1 << 16  # the part of a file that tells text from binary vectors
_BLOCK_BYTES = 1 << 20  # far more than a word and its vector
_CONTROLS = bytes(range(32)).translate(None, b"\t\n\r")  # bytes that occur in binary vectors and not in text


class WordVectors:
    """Words and their vectors; a form that is missing is looked up in lower case."""

    def __init__(self, words: list[str], vectors: NDArray[np.float32]) -> None:
        self.vectors = vectors
        self._index: dict[str, int] = {}
        for i, word in enumerate(words):
            self._index.setdefault(word, i)  # some files repeat words; the first vector counts

    @property
    def words(self) -> list[str]:
        return list(self._index)

    def frozen(self, rows: int) -> tuple[list[str], dict[str, NDArray[Any]]]:
        """The first words, which are the most frequent ones, and their vectors as weights of a network."""
        words = self.words[:rows]
        vectors, scale = packed_rows(self.vectors[[self._index[word] for word in words]])
        return words, {VECTORS: vectors, VECTOR_SCALE: scale}

    def get(self, form: str) -> NDArray[np.float32] | None:
        i = self._index.get(form, self._index.get(form.lower()))
        return None if i is None else self.vectors[i]


def read_vectors(path: str | Path) -> WordVectors:
    with reading(path) as file:
        first = file.readline()
        size = _header(first)
        if size is None:
            return _read_text(first, file, str(path), first_line=1, count=0, width=None)
        count, width = size
        # peek would return what is in the buffer, which can be a single byte.
        start = file.read(HEAD_BYTES)
        if _is_text(start, width=width):
            return _read_text(start, file, str(path), first_line=2, count=count, width=width)
        return _read_binary(start, file, str(path), count, width)


def _header(line: bytes) -> tuple[int, int] | None:
    """`count width`, which word2vec and fastText write and GloVe does not."""
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() and len(part) < 100 for part in parts):
        return int(parts[0]), int(parts[1])
    return None


def _is_text(start: bytes, *, width: int) -> bool:
    """Whether a word with `width` numbers follows the header, or at least readable text."""
    line, newline, _ = start.partition(b"\n")
    whole = newline or len(start) < HEAD_BYTES
    try:
        for number in line.rstrip().split(b" ")[-width:] if whole else line.split(b" ")[1:-1]:
            float(number)
    except ValueError:  # text with an error, which is reported with its line, or binary vectors
        return len(start.translate(None, _CONTROLS)) == len(start) and _is_utf8(start)
    return True


def _is_utf8(start: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


def _read_text(
    start: bytes, file: io.BufferedReader, name: str, *, first_line: int, count: int, width: int | None
) -> WordVectors:
    """At least `count` lines, of which `start` has been read already."""
    words: list[str] = []
    rows: list[NDArray[Any]] = []
    number = first_line - 1
    if not start.endswith(b"\n"):
        start += file.readline()
    for number, line in enumerate(chain(io.BytesIO(start), file), first_line):
        # Some words contain spaces, so the numbers are taken from the right.
        parts = line.rstrip().split(b" ")
        if width is None:
            width = max(len(parts) - 1, 1)
        if width < 1 or len(parts) <= width:
            raise FormatError(
                f"expected a word and {width} numbers, found {len(parts)} fields.", source=name, line=number
            )
        try:
            with np.errstate(
                over="ignore"
            ):  # a number that is too large becomes infinite and is refused below
                rows.append(np.array(parts[-width:], np.float32))
            words.append(b" ".join(parts[:-width]).decode())
        except ValueError:
            raise FormatError(
                f"expected a word in UTF-8 and {width} numbers.", source=name, line=number
            ) from None
        if not np.isfinite(rows[-1]).all():
            raise FormatError(f"a number of '{words[-1]}' is not finite.", source=name, line=number)
    if len(words) < count:
        raise FormatError(
            f"the file ends after {len(words)} of {count} words.", source=name, line=max(number, 1)
        )
    if not words:
        raise FormatError("the file holds no vectors.", source=name)
    return WordVectors(words, np.stack(rows))


def _read_binary(start: bytes, file: io.BufferedReader, name: str, count: int, width: int) -> WordVectors:
    """`count` times a word, a space and `width` floats, of which `start` has been read already."""
    words: list[str] = []
    try:
        vectors = np.empty((count, width), np.float32)
    except (MemoryError, ValueError):
        raise FormatError(
            f"{count} vectors of {width} numbers do not fit into memory.", source=name, line=1
        ) from None
    block, at = start, 0
    for i in range(count):
        space = block.find(b" ", at)
        if space < 0 or len(block) <= space + 4 * width:
            block, at = block[at:] + file.read(_BLOCK_BYTES + 4 * width), 0
            space = block.find(b" ")
            if space < 0 or len(block) <= space + 4 * width:
                raise FormatError(f"the binary vectors end after {i} of {count} words.", source=name)
        words.append(block[at:space].lstrip(b"\n").decode(errors="replace"))
        vectors[i] = np.frombuffer(block, "<f4", width, space + 1)
        at = space + 1 + 4 * width
    if not np.isfinite(vectors).all():
        word = words[int(np.argmin(np.isfinite(vectors).all(1)))]
        raise FormatError(f"a number of '{word}' is not finite.", source=name)
    return WordVectors(words, vectors)
