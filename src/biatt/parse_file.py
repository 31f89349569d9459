"""Parse a file into a file: what `biatt parse` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from biatt.data.conll import read
from biatt.data.doubts import NO_MISC
from biatt.data.files import InputStream, name_of, reading
from biatt.data.sentence import Sentence
from biatt.data.text import is_conll, read_text, read_tokens
from biatt.display.output import format_for, write_parsed
from biatt.errors import ConfigError
from biatt.options import Decoder, InputFormat, OutputFormat, Roots
from biatt.parser import Parser


def parse_file(
    parser: Parser,
    source: str | Path | BinaryIO,
    target: str | Path = "-",
    *,
    input: InputFormat | None = None,
    format: OutputFormat | None = None,
    decoder: Decoder = "mst",
    roots: Roots | None = None,
    confidence: bool = False,
    probabilities: bool = False,
    k_best: int = 1,
    fill_deps: bool = False,
    retag: bool = False,
    keep_heads: bool = False,
    threads: int = 1,
    max_size: int | None = None,
    name: str | None = None,
) -> None:
    """Parse a text or CoNLL file, "-" (standard input) or a binary stream; write the trees to a file or "-".

    Without `input`, the content tells what the source holds. Without `format`, the suffix of the target tells
    what to write; "-" is a drawing on a terminal, else CoNLL. Of a pipe, a sentence is parsed and written as
    soon as it is complete and nothing more has arrived. `k_best` above 1 writes that many trees of each
    sentence. A source of more than `max_size` bytes, after decompression, is refused. `name` is what error
    messages call the source. The other options are those of `Parser.parse`.
    """
    _check_options(source, str(target), decoder=decoder, k_best=k_best, probabilities=probabilities)
    terminal = sys.stdout is not None and sys.stdout.isatty()
    format = format or format_for(str(target), terminal=terminal)
    if probabilities and format == "conllx":
        raise ConfigError(NO_MISC)
    name = name or name_of(source)
    with reading(source, name=name, max_size=max_size) as stream:
        sentences = _sentences(parser, stream, input, name)
        if k_best > 1:
            confidence = True
            ranked = parser.parse_k_best(
                sentences,
                k_best,
                roots=roots,
                threads=threads,
                fill_deps=fill_deps,
                retag=retag,
                keep_heads=keep_heads,
            )
            parsed = _numbered(ranked)
        else:
            parsed = parser.parse(
                sentences,
                decoder=decoder,
                roots=roots,
                threads=threads,
                fill_deps=fill_deps,
                retag=retag,
                keep_heads=keep_heads,
                confidence=confidence or format in ("json", "attention"),
                probabilities=probabilities,
            )
        write_parsed(parsed, str(target), format, confidence=confidence)


def _check_options(
    source: str | Path | BinaryIO, target: str, *, decoder: Decoder, k_best: int, probabilities: bool
) -> None:
    if k_best < 1:
        raise ConfigError(f"The number of trees must be at least 1, not {k_best}.")
    if k_best > 1 and decoder != "mst":
        raise ConfigError(f"Several trees of a sentence are found by the decoder mst only, not by {decoder}.")
    if k_best > 1 and probabilities:
        raise ConfigError("Probabilities of choices are written for the best tree, not for several.")
    if isinstance(source, (str, Path)) and "-" not in (str(source), target):
        paths = (source, target)
        if all(map(os.path.exists, paths)) and os.path.samefile(*paths):
            raise ConfigError(f"{target} is both the input and the output: choose another output.")


def _sentences(
    parser: Parser, stream: InputStream, input: InputFormat | None, name: str
) -> Iterator[Sentence]:
    """The sentences of a stream, not yet parsed."""
    if input is None:
        conll, stream = is_conll(stream, name=name)
        if conll:
            return read(stream, name=name)
    elif input == "tokens":
        return read_tokens(stream, name=name)
    elif input != "text":
        return read(stream, format=input, name=name)
    return parser.sentences(read_text(stream, name=name))


def _numbered(ranked: Iterable[list[Sentence]]) -> Iterator[Sentence]:
    """The trees of all sentences one after the other, each with a comment that has its rank."""
    for trees in ranked:
        for rank, tree in enumerate(trees, 1):
            yield tree.with_comment(f"# k_best = {rank}")
