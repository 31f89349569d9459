"""Text files: tokens (a sentence a line), lines, and raw text in paragraphs that a tokeniser splits."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from biatt.data.files import InputStream, blocks, name_of, reading, with_head
from biatt.data.sentence import Sentence
from biatt.errors import FormatError
from biatt.machine.threads import Arriving, with_pauses

LONGEST_PARAGRAPH = (
    1 << 16
)  # characters that are taken at once; workers share a text without blank lines, too
LONGEST_LINE = 1 << 20  # bytes that are taken at once

BYTE_ORDER_MARK = "\ufeff"

_LONGEST_HEAD = 1 << 22  # bytes of comments after which a file counts as CoNLL, whose reader refuses more
_BEGINNING = 1 << 16  # bytes by which the language of a text is told
_CONLL_FORM = re.compile(r"^[0-9]+(?:-[0-9]+)?\t([^\t\n]+)", re.MULTILINE)
_CONLL_WORD = re.compile(rb"[0-9]+(?:[-.][0-9]+)?\t")
_SENTENCE_AND_LINE_END = re.compile(r"""[.!?…。！？।۔؟]["'”’»)\]]*[^\S\n]*\n""")
_BLANKS_AND_COMMENTS = re.compile(rb"(?:[^\S\n]*\n|#[^\n]*\n)*")


def is_conll(stream: InputStream, *, name: str) -> tuple[bool, InputStream]:
    """Whether the first line that is neither blank nor a comment begins with a number and a tab.

    The second value is the stream with the bytes put back that were read to find out.
    """
    head = line = b""
    for block in blocks(stream):
        head += block or b""
        text = head.removeprefix(codecs.BOM_UTF8)
        match = _BLANKS_AND_COMMENTS.match(text)
        line = text[match.end() if match else 0 :]
        if b"\n" in line or len(head) > _LONGEST_HEAD:
            break
    only_comments = len(head) > _LONGEST_HEAD and (not line or line.startswith(b"#"))
    return only_comments or _CONLL_WORD.match(line) is not None, with_head(head, stream, name=name)


def beginning(stream: InputStream, *, name: str) -> tuple[str, InputStream]:
    """The first characters of a text, or the first words of a CoNLL file; and the stream as it was.

    Nothing more is waited for where a pipe has sent something.
    """
    head = b""
    for block in blocks(stream):
        if block is None and head.strip():
            break
        head += block or b""
        if len(head) >= _BEGINNING:
            break
    return words_of(head.decode(errors="ignore")), with_head(head, stream, name=name)


def words_of(text: str) -> str:
    """The forms of a CoNLL text, or the text itself if it is none."""
    forms = _CONLL_FORM.findall(text)
    return " ".join(forms) if forms else text


def read_tokens(source: str | Path | BinaryIO, *, name: str | None = None) -> Iterator[Sentence]:
    """A sentence for each line that is not empty, of the words between its spaces; "-" is standard input."""
    return Arriving(_read_tokens(source, name or name_of(source)))


def _read_tokens(source: str | Path | BinaryIO, name: str) -> Iterator[Sentence | None]:
    for line in with_pauses(read_lines(source, name=name)):
        if line is None:
            yield None
        else:
            number, words = line
            sentence = Sentence.from_words(words)
            sentence.source, sentence.line = name, number
            yield sentence


def read_lines(
    source: str | Path | BinaryIO, *, name: str, raw: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """The number and the words of each line that has any; with `raw`, punctuation is split from words."""
    return Arriving(_read_lines(source, name, raw))


def _read_lines(
    source: str | Path | BinaryIO, name: str, raw: bool
) -> Iterator[tuple[int, list[str]] | None]:
    for line in _lines(source, name):
        if line is None:
            yield None
        elif words := line[1].removeprefix(BYTE_ORDER_MARK if line[0] == 1 else "").split():
            yield line[0], [piece for word in words for piece in _pieces(word)] if raw else words


def read_text(source: str | Path | BinaryIO, *, name: str | None = None) -> Iterator[str]:
    """The paragraphs of a text file, each with the blank lines after it; a very long one comes in parts.

    Together they are the whole text. Blank lines at the beginning belong to the first paragraph, and those
    that a pipe sends some time after a paragraph to the next one.
    """
    return Arriving(_read_text(source, name or name_of(source)))


def _read_text(source: str | Path | BinaryIO, name: str) -> Iterator[str | None]:
    paragraph, begun, ended = (
        "",
        False,
        False,
    )  # whether a line with words and a blank line after it were read
    for item in _lines(source, name):
        if item is None:
            if ended:
                yield paragraph
                paragraph, begun, ended = "", False, False
            yield None
            continue
        blank = not item[1].removeprefix(BYTE_ORDER_MARK).strip()
        if ended and not blank:
            yield paragraph
            paragraph, begun, ended = "", False, False
        paragraph += item[1]
        begun, ended = begun or not blank, begun and blank
        while len(paragraph) >= LONGEST_PARAGRAPH:
            end = _end_of_part(paragraph)
            yield paragraph[:end]
            paragraph = paragraph[end:]
            begun, ended = bool(paragraph.strip()), False
    if paragraph:
        yield paragraph


def _end_of_part(paragraph: str) -> int:
    """Where to cut a very long paragraph: after a line that ends a sentence, else after a line or a word."""
    from biatt.data.graphemes import boundary_before

    beginning, half = paragraph[:LONGEST_PARAGRAPH], LONGEST_PARAGRAPH // 2
    ends = [match.end() for match in _SENTENCE_AND_LINE_END.finditer(beginning, half)]
    place = ends[-1] if ends else 1 + beginning.rfind("\n", half)
    if not place:
        place = 1 + max(beginning.rfind(space, half) for space in " \t")
    return boundary_before(paragraph, place or len(beginning) - 1)


def _lines(source: str | Path | BinaryIO, name: str) -> Iterator[tuple[int, str] | None]:
    """The lines of a text, numbered, and None where more has to arrive; a very long line comes in pieces.

    They are the whole text, with the byte order mark that a file may begin with.
    """
    with reading(source, name=name) as stream:
        decoder = codecs.getincrementaldecoder("utf-8")()
        number, rest = 1, b""

        def decoded(data: bytes, *, final: bool = False) -> Iterator[tuple[int, str]]:
            try:
                text = decoder.decode(data, final=final)
            except UnicodeDecodeError as error:
                raise FormatError(f"bad UTF-8 ({error.reason}).", source=name, line=number) from None
            if text:
                yield number, text

        for block in blocks(stream):
            if block is None:
                yield None
                continue
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield from decoded(line + b"\n")
                number += 1
            if len(rest) >= LONGEST_LINE:
                yield from decoded(rest)
                rest = b""
        yield from decoded(rest, final=True)


def text_pairs(texts: Iterable[Any], *, as_tuples: bool) -> Iterator[tuple[str, Any]]:
    """Pairs of a text and what belongs to it, checked; without `as_tuples`, nothing belongs to a text."""
    return Arriving(_text_pairs(texts, as_tuples))


def _text_pairs(texts: Iterable[Any], as_tuples: bool) -> Iterator[tuple[str, Any] | None]:
    number = 0
    for item in with_pauses(texts):
        if item is None and isinstance(texts, Arriving):
            yield None
            continue
        number += 1
        if as_tuples and not (isinstance(item, tuple) and len(item) == 2):
            raise TypeError(f"With as_tuples, pipe takes pairs of a text and a value; item {number} is none.")
        pair: Any = item if as_tuples else (item, None)
        check_text(pair[0], f"Text {number}")
        yield pair


def check_texts(texts: object, name: str) -> None:
    """Refuse a single text, whose letters would be parsed, and what is no sequence of texts at all."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        kind = type(texts).__name__
        raise TypeError(f"{name} takes several texts, such as a list of strings, not {kind}.")


def check_text(text: object, name: str) -> None:
    """Refuse what is not a string; `name` is what the error message calls it."""
    if isinstance(text, str):
        return
    hint = ""
    if isinstance(text, bytes):
        hint = "; decode it first"
    elif text is None or text != text:
        hint = "; leave missing values out or replace them"
    raise TypeError(f"{name} must be a string, not {type(text).__name__}{hint}.")


@lru_cache(maxsize=1 << 16)
def _pieces(word: str) -> list[str]:
    """The word, and the punctuation before and after it: ["(", "owls", "...", ")"] for "(owls...)"."""
    marks = [unicodedata.category(character).startswith("P") for character in word]
    if all(marks):
        return _runs(word)
    start, end = marks.index(False), len(word) - marks[::-1].index(False)
    return [*_runs(word[:start]), word[start:end], *_runs(word[end:])]


def _runs(marks: str) -> list[str]:
    return ["".join(run) for _, run in groupby(marks)]
