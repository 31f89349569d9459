"""From text to sentences: words that are already apart, one sentence a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from biatt.conll import Sentence
from biatt.errors import FormatError
from biatt.files import name_of, reading


def read_tokens(source: str | Path | BinaryIO) -> Iterator[Sentence]:
    """A sentence for each line of words between spaces; "-" is standard input, empty lines are skipped."""
    name = name_of(source)
    with reading(source) as file:
        for number, line in enumerate(file, 1):
            try:
                words = line.decode("utf-8").split()
            except UnicodeDecodeError as error:
                raise FormatError(f"bad UTF-8 ({error.reason}).", source=name, line=number) from None
            if words:
                sentence = Sentence.from_words(words)
                sentence.source, sentence.line = name, number
                yield sentence
