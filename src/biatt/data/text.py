"""Text files: words that are already apart, lines, or raw text in paragraphs, for a tokeniser to split."""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from biatt.data.conll import read
from biatt.data.files import name_of, reading, with_head
from biatt.data.sentence import Sentence
from biatt.errors import FormatError
from biatt.options import InputFormat

HEAD_BYTES = 1 << 16  # the part of a file that tells what it is
LONGEST_PARAGRAPH = 1 << 20  # characters, or bytes of a line, that are taken at once

_CONLL_WORD = re.compile(rb"[0-9]+(?:[-.][0-9]+)?\t")


def read_tokens(source: str | Path | BinaryIO, *, name: str | None = None) -> Iterator[Sentence]:
    """A sentence for each line of words between spaces; "-" is standard input, empty lines are skipped."""
    name = name or name_of(source)
    for number, words in read_lines(source, name=name):
        sentence = Sentence.from_words(words)
        sentence.source, sentence.line = name, number
        yield sentence


def read_lines(
    source: str | Path | BinaryIO, *, name: str, raw: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """The number and the words of each line that has any; in `raw` text, punctuation clings to words."""
    for number, line in _lines(source, name):
        if words := line.split():
            yield number, [piece for word in words for piece in _pieces(word)] if raw else words


def read_text(source: str | Path | BinaryIO, *, name: str | None = None) -> Iterator[str]:
    """The paragraphs of a text file, which blank lines separate; a very long one comes in parts."""
    paragraph = ""
    for _, line in _lines(source, name or name_of(source)):
        if line.strip():
            paragraph += line
        if len(paragraph) >= LONGEST_PARAGRAPH:
            whole = 1 + max(paragraph.rfind(space) for space in " \n\t")  # not in the middle of a word
            yield paragraph[: whole or None]
            paragraph = paragraph[whole:] if whole else ""
        elif paragraph and not line.strip():
            yield paragraph
            paragraph = ""
    if paragraph:
        yield paragraph


def is_conll(head: bytes) -> bool:
    """Does the first line that is not empty and no comment begin with a number and a tab?"""
    lines = head.removeprefix(codecs.BOM_UTF8).split(b"\n")
    word = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    return _CONLL_WORD.match(word) is not None


def _lines(source: str | Path | BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """The lines of a text, numbered; a line without end comes in pieces."""
    with reading(source, name=name) as file:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        number = 1
        while True:
            block = file.readline(LONGEST_PARAGRAPH)
            try:
                line = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise FormatError(f"bad UTF-8 ({error.reason}).", source=name, line=number) from None
            if line:
                yield number, line
            if not block:
                return
            number += block.endswith(b"\n")


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


def read_input(
    stream: io.BufferedReader,
    kind: InputFormat | None,
    split: Callable[[Iterable[str]], Iterator[Sentence]],
    *,
    name: str,
) -> Iterator[Sentence]:
    """The sentences of a stream; what it holds is told by its start. Raw text is left to `split`."""
    if kind == "tokens":
        return read_tokens(stream, name=name)
    if kind == "conllu" or kind == "conllx":
        return read(stream, format=kind, name=name)
    head = stream.read(HEAD_BYTES)
    rest = with_head(head, stream, name=name)
    if kind is None and is_conll(head):
        return read(rest, name=name)
    return split(read_text(rest, name=name))
