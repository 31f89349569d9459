"""From text to sentences: words that are already apart, or raw text, one sentence a line."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from biatt.conll import Sentence
from biatt.errors import FormatError
from biatt.files import name_of, reading


def read_tokens(source: str | Path | BinaryIO) -> Iterator[Sentence]:
    """A sentence for each line of words between spaces; "-" is standard input, empty lines are skipped."""
    name = name_of(source)
    for number, words in read_lines(source, name=name):
        sentence = Sentence.from_words(words)
        sentence.source, sentence.line = name, number
        yield sentence


def read_lines(
    source: str | Path | BinaryIO, *, name: str, raw: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """The number and the words of each line that has any; in `raw` text, punctuation clings to words."""
    with reading(source, name=name) as file:
        for number, line in enumerate(file, 1):
            try:
                words = line.decode("utf-8-sig" if number == 1 else "utf-8").split()
            except UnicodeDecodeError as error:
                raise FormatError(f"bad UTF-8 ({error.reason}).", source=name, line=number) from None
            if words:
                yield number, [piece for word in words for piece in _pieces(word)] if raw else words


@lru_cache(maxsize=1 << 16)
def _pieces(word: str) -> list[str]:
    """A word without the punctuation before and after it, and that punctuation: (owls...) is ( owls ... )."""
    marks = [unicodedata.category(character).startswith("P") for character in word]
    if all(marks):
        return _runs(word)
    start, end = marks.index(False), len(word) - marks[::-1].index(False)
    return [*_runs(word[:start]), word[start:end], *_runs(word[end:])]


def _runs(marks: str) -> list[str]:
    return ["".join(run) for _, run in groupby(marks)]
