"""The sentences of files, parsed: sources are read ahead, in windows that can have parts of several."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from biatt.data.conll import read
from biatt.data.files import InputStream, check_not_input, name_of, reading
from biatt.data.sentence import SENT_ID
from biatt.data.text import beginning, is_conll, read_text, read_tokens
from biatt.errors import ConfigError
from biatt.machine.threads import Arriving, mapped, windows, with_pauses
from biatt.options import Engine, InputFormat
from biatt.parser import Parser
from biatt.parsing.choose_model import ChosenParsers
from biatt.parsing.parts import (
    WINDOW_CHARACTERS,
    WINDOW_SENTENCES,
    Part,
    Trees,
    checked,
    parsed_parts,
    parts_by_ray,
    size_of_part,
)

Source = str | Path | BinaryIO


class Progress(Protocol):
    def begin_all(self, files: int, size: int | None) -> None:
        """`files` files will be opened, which have `size` bytes together; None if that is not known."""

    def start(self, name: str, size: int | None) -> None:
        """A file of `size` bytes is opened; None if its size is not known."""

    def advance(self, words: int, bytes_read: int) -> None:
        """Words have been parsed; `bytes_read` are all bytes of the file that were read for them."""


class NoProgress:
    """Shows nothing."""

    def begin_all(self, files: int, size: int | None) -> None:
        pass

    def start(self, name: str, size: int | None) -> None:
        pass

    def advance(self, words: int, bytes_read: int) -> None:
        pass


def parsed_targets(
    parser: Parser | ChosenParsers,
    targets: Sequence[Sequence[Source]],
    reader: SourceReader,
    *,
    workers: int = 1,
    engine: Engine = "processes",
    k_best: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Generator[Iterator[Trees], None, None]:
    """Of the sources of each target, the trees of their sentences; each must be used up before the next."""
    progress = progress or NoProgress()
    if engine == "ray":
        _check_files(parser, targets)
    _begin(progress, targets)
    if isinstance(parser, ChosenParsers):
        for sources in targets:
            with closing(_chosen(parser, sources, reader, progress, workers, k_best, options)) as trees:
                yield trees
        return
    manner = {"workers": workers, "k_best": k_best, **options}
    stream = (
        parts_by_ray(parser, partial(reader.windows, targets), **manner)
        if engine == "ray"
        else parsed_parts(parser, reader.windows(targets), **manner)
    )
    with closing(stream):  # which ends the workers
        parts = _in_turn(stream)
        for _ in targets:
            yield _trees_of_target(parts, progress)


def _check_files(parser: Parser | ChosenParsers, targets: Sequence[Sequence[Source]]) -> None:
    """Refuse what a task of Ray, perhaps on another machine, could not read or parse."""
    if isinstance(parser, ChosenParsers):
        raise ConfigError("The engine ray takes one model for all files, not auto: name it.")
    if any(not isinstance(source, (str, Path)) or str(source) == "-" for of in targets for source in of):
        raise ConfigError("The engine ray reads files: standard input and --text are for processes.")


def _begin(progress: Progress, targets: Sequence[Sequence[Source]]) -> None:
    sizes = [_size_of(source) for sources in targets for source in sources]
    known = [size for size in sizes if size is not None]
    progress.begin_all(len(sizes), sum(known) if len(known) == len(sizes) else None)


def _chosen(
    parsers: ChosenParsers,
    sources: Sequence[Source],
    reader: SourceReader,
    progress: Progress,
    workers: int,
    k_best: int,
    options: dict[str, Any],
) -> Generator[Trees, None, None]:
    """The trees of all sentences of a target, those of each source by the parser of its language."""
    count = 0  # sentences so far
    for source in sources:
        name = reader.name or name_of(source)
        with reading(source, name=name, max_size=reader.max_size) as stream:
            text, whole = beginning(stream, name=name)
            parser = parsers.parser_of(text, name=name)
            windows = SourceReader(reader.input, name=name).windows([[whole]])
            parsed = parsed_parts(parser, windows, workers=workers, k_best=k_best, **options)
            with closing(parsed):
                for trees in _trees_of_target(_in_turn(parsed), progress, count):
                    count += 1
                    yield trees


class Origin(NamedTuple):
    """Where a part of the input comes from."""

    name: str
    size: int | None  # of the source, in bytes
    bytes_read: int
    base: int | None  # of a raw text: its characters before this part; None: the part is a sentence


class SourceReader:
    """Reads sources of several targets as windows of parts; the origin of each part stays beside it."""

    def __init__(
        self, input: InputFormat | None = None, *, name: str | None = None, max_size: int | None = None
    ) -> None:
        self.input, self.name, self.max_size = input, name, max_size

    def windows(
        self, targets: Sequence[Sequence[Source]]
    ) -> Arriving[tuple[list[Origin | None], list[Part]]]:
        """Windows of parts, and of each part its origin; None instead is the end of a target's input."""
        items = Arriving(self._items(targets))
        parts = windows(
            items,
            most=WINDOW_SENTENCES,
            size=lambda item: size_of_part(item[1]) if item[0] else 0,
            largest=WINDOW_CHARACTERS,
        )
        return mapped(_origins_and_parts, parts)

    def _items(self, targets: Sequence[Sequence[Source]]) -> Iterator[tuple[Origin | None, Part] | None]:
        for sources in targets:
            for source in sources:
                yield from self._parts(source)
            yield None, ""

    def _parts(self, source: Source) -> Iterator[tuple[Origin, Part] | None]:
        name = self.name or name_of(source)
        with reading(source, name=name, max_size=self.max_size) as stream:
            base = 0
            size = _size_of(source)
            for part in with_pauses(_parts_of(stream, self.input, name)):
                if part is None:
                    yield None
                elif isinstance(part, str):
                    yield Origin(name, size, stream.bytes_read(), base), part
                    base += len(part)
                else:
                    yield Origin(name, size, stream.bytes_read(), None), checked(part)


def _origins_and_parts(
    window: list[tuple[Origin | None, Part]],
) -> tuple[list[Origin | None], list[Part]]:
    return [origin for origin, _ in window], [part for origin, part in window if origin]


def _in_turn(
    stream: Iterator[tuple[list[Origin | None], list[list[Trees] | Exception]]],
) -> Iterator[tuple[Origin, list[Trees] | Exception] | None]:
    """The parsed parts with their origins, and None where the input of a target ends."""
    for origins, parsed in stream:
        parts = iter(parsed)
        for origin in origins:
            yield origin and (origin, next(parts))


def _trees_of_target(
    parts: Iterator[tuple[Origin, list[Trees] | Exception] | None], progress: Progress, count: int = 0
) -> Iterator[Trees]:
    """The trees of each sentence up to the end of the target's input; those of raw text are numbered.

    `count` sentences of the target were before.
    """
    name = None
    for part in parts:
        if part is None:
            return
        origin, sentences = part
        if isinstance(sentences, Exception):
            raise sentences
        if origin.name != name:
            name = origin.name
            progress.start(name, origin.size)
        for trees in sentences:
            count += 1
            progress.advance(len(trees[0]), origin.bytes_read)
            if origin.base is not None:
                for tree in trees:
                    tree.place_in(tree.token_places._replace(base=origin.base))
                if len(trees) == 1:
                    trees[0].verbatim.insert(0, (0, f"{SENT_ID}{count}"))
            yield trees


def _size_of(source: Source) -> int | None:
    if not isinstance(source, (str, Path)) or not os.path.isfile(source):
        return None
    return os.stat(source).st_size


def _parts_of(stream: InputStream, input: InputFormat | None, name: str) -> Iterator[Part]:
    """The sentences of a stream, or the paragraphs of raw text."""
    if input is None:
        conll, stream = is_conll(stream, name=name)
        if conll:
            return read(stream, name=name)
    elif input == "tokens":
        return read_tokens(stream, name=name)
    elif input != "text":
        return read(stream, format=input, name=name)
    return read_text(stream, name=name)


def check_paths(sources: Sequence[Source], target: str) -> None:
    """Refuse what is known to fail before the first sentence is parsed."""
    paths = [source for source in sources if isinstance(source, (str, Path)) and str(source) != "-"]
    for path in paths:
        if os.path.isdir(path):
            raise ConfigError(f"{path} is a folder: name its files, or parse all of them with biatt corpus.")
        if not os.path.exists(path):
            with reading(path):  # which says why it cannot be read
                pass
    check_not_input(target, paths)
