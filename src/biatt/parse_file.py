"""Parse files into a file: what `biatt parse` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from biatt.data.conll import read
from biatt.data.doubts import NO_MARKS, NO_MISC, without_doubtful
from biatt.data.files import COMPRESSED, InputStream, name_of, reading
from biatt.data.sentence import Sentence
from biatt.data.text import is_conll, read_text, read_tokens
from biatt.display.output import SUFFIXES, format_for, write_parsed
from biatt.errors import BiattError, ConfigError
from biatt.options import Doubtful, InputFormat, OutputFormat, ParseOptions
from biatt.parser import Parser
from biatt.threads import Arriving, with_pauses

if TYPE_CHECKING:
    from typing_extensions import Unpack

Source = str | Path | BinaryIO
CONLLX_SUFFIXES = (".conllx", ".conll")


class Progress(Protocol):
    def start(self, name: str, size: int | None) -> None:
        """A file of `size` bytes is opened; None if its size is not known."""

    def advance(self, words: int, bytes_read: int) -> None:
        """A sentence has been read; `bytes_read` are all bytes of the file so far."""


class NoProgress:
    """Shows nothing."""

    def start(self, name: str, size: int | None) -> None:
        pass

    def advance(self, words: int, bytes_read: int) -> None:
        pass


def parse_file(
    parser: Parser,
    source: Source | list[str] | list[Path],
    target: str | Path = "-",
    *,
    input: InputFormat | None = None,
    format: OutputFormat | None = None,
    k_best: int = 1,
    min_confidence: float | None = None,
    doubtful: Doubtful = "mark",
    threads: int = 1,
    max_size: int | None = None,
    name: str | None = None,
    offsets: bool = False,
    progress: Progress | None = None,
    **options: Unpack[ParseOptions],
) -> None:
    """Parse a text or CoNLL file, "-" (standard input) or a binary stream; write the trees to a file or "-".

    Several sources are parsed one after the other into the same target. Without `input`, the content tells
    what a source holds. Without `format`, the suffix of the target tells what to write; "-" is a drawing on a
    terminal, else CoNLL. Of a pipe, a sentence is parsed and written as soon as it is complete and nothing
    more has arrived. `k_best` above 1 writes that many trees of each sentence. With `min_confidence`, words
    of less confidence are marked in MISC, or left without head and relation. A source of more than
    `max_size` bytes, after decompression, is refused. `name` is what error messages call the source, and
    `progress` is told what has been read. With `offsets`, MISC of CoNLL-U has the place of each token in the
    text. The other options are those of `Parser.parse`.
    """
    sources: Sequence[Source] = source if isinstance(source, (list, tuple)) else [source]
    _check_options(k_best, min_confidence, options)
    check_paths(sources, str(target))
    terminal = sys.stdout is not None and sys.stdout.isatty()
    format = format or format_for(str(target), terminal=terminal)
    confidence = options.get("confidence", False)
    if options.get("probabilities") and format == "conllx":
        raise ConfigError(NO_MISC)
    if min_confidence is not None and doubtful == "mark" and format == "conllx":
        raise ConfigError(NO_MARKS)
    sentences = Arriving(
        read_sources(parser, sources, input, name=name, max_size=max_size, progress=progress)
    )
    if k_best > 1:
        confidence = True
        ranked = parser.parse_k_best(
            sentences,
            k_best,
            threads=threads,
            roots=options.get("roots"),
            fill_deps=options.get("fill_deps", False),
            retag=options.get("retag", False),
            keep_heads=options.get("keep_heads", False),
        )
        parsed = _numbered(ranked)
    else:
        needed = format in ("json", "attention") or min_confidence is not None
        options["confidence"] = confidence or needed
        parsed = parser.parse(sentences, threads=threads, **options)
        if min_confidence is not None:
            parsed = _without_doubtful(parsed, min_confidence, doubtful)
    write_parsed(parsed, str(target), format, confidence=confidence, offsets=offsets)


def targets_in(
    folder: str | Path, sources: Sequence[str | Path], *, format: OutputFormat | None = None
) -> list[Path]:
    """A file for each source in the folder, which is made, with the source's name and the format's suffix.

    Without `format`, that is CoNLL-U, or CoNLL-X for sources that end in .conllx or .conll.
    """
    folder = Path(folder)
    targets: dict[Path, str | Path] = {}
    for source in sources:
        if str(source) == "-":
            raise ConfigError("Standard input has no name for a file in a folder: choose an output file.")
        path = Path(source)
        path = path.with_suffix("") if path.suffix in COMPRESSED else path
        conll: OutputFormat = "conllx" if path.suffix.lower() in CONLLX_SUFFIXES else "conllu"
        target = folder / f"{path.stem}{_suffix_of(format or conll)}"
        if target in targets:
            raise ConfigError(f"{targets[target]} and {source} would both be written to {target}.")
        targets[target] = source
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BiattError(f"{folder} cannot be a folder for output: {error.strerror or error}.") from error
    return list(targets)


def _suffix_of(format: OutputFormat) -> str:
    """The first suffix that stands for a format; of JSON that of lines, of attention that of its pictures."""
    if format == "json":
        return ".jsonl"
    return next((suffix for suffix, of_suffix in SUFFIXES.items() if of_suffix == format), ".svg")


def _check_options(k_best: int, min_confidence: float | None, options: ParseOptions) -> None:
    decoder = options.get("decoder", "mst")
    if k_best < 1:
        raise ConfigError(f"The number of trees must be at least 1, not {k_best}.")
    if k_best > 1 and decoder != "mst":
        raise ConfigError(f"Several trees of a sentence are found by the decoder mst only, not by {decoder}.")
    if k_best > 1 and options.get("probabilities"):
        raise ConfigError("Probabilities of choices are written for the best tree, not for several.")
    if min_confidence is not None and not 0 <= min_confidence <= 1:
        raise ConfigError(f"The least confidence is a probability from 0 to 1, not {min_confidence:g}.")
    if k_best > 1 and min_confidence is not None:
        raise ConfigError("A least confidence is for the best tree, not for several.")


def check_paths(sources: Sequence[Source], target: str) -> None:
    """Refuse what is known to fail before the first sentence is parsed."""
    paths = [source for source in sources if isinstance(source, (str, Path)) and str(source) != "-"]
    for path in paths:
        if not os.path.exists(path):
            with reading(path):  # which says why it cannot be read
                pass
        elif target != "-" and os.path.exists(target) and os.path.samefile(path, target):
            raise ConfigError(f"{target} is both the input and the output: choose another output.")


def read_sources(
    parser: Parser,
    sources: Sequence[Source],
    input: InputFormat | None,
    *,
    name: str | None = None,
    max_size: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Sentence | None]:
    """The sentences of all sources, not yet parsed, and None where more has to arrive."""
    count = 0
    progress = progress or NoProgress()
    for source in sources:
        source_name = name or name_of(source)
        with reading(source, name=source_name, max_size=max_size) as stream:
            progress.start(source_name, _size_of(source))
            for sentence in with_pauses(_sentences_of(parser, stream, input, source_name, first=count + 1)):
                if sentence is not None:
                    count += 1
                    progress.advance(len(sentence), stream.bytes_read())
                yield sentence


def _size_of(source: Source) -> int | None:
    if not isinstance(source, (str, Path)) or not os.path.isfile(source):
        return None
    return os.stat(source).st_size


def _sentences_of(
    parser: Parser, stream: InputStream, input: InputFormat | None, name: str, *, first: int
) -> Iterator[Sentence]:
    """The sentences of a stream; those of raw text are numbered, from `first` on."""
    if input is None:
        conll, stream = is_conll(stream, name=name)
        if conll:
            return read(stream, name=name)
    elif input == "tokens":
        return read_tokens(stream, name=name)
    elif input != "text":
        return read(stream, format=input, name=name)
    return parser.sentences(read_text(stream, name=name), first=first)


def _without_doubtful(parsed: Iterable[Sentence], least: float, doubtful: Doubtful) -> Iterator[Sentence]:
    for sentence in parsed:
        yield without_doubtful(sentence, least, doubtful=doubtful) if len(sentence) else sentence


def _numbered(ranked: Iterable[list[Sentence]]) -> Iterator[Sentence]:
    """The trees of all sentences one after the other, each with a comment that has its rank.

    Sentences without a name get one, so that no two trees of the file have the same.
    """
    for number, trees in enumerate(ranked, 1):
        nameless = trees[0].sent_id is None
        for rank, tree in enumerate(trees, 1):
            if nameless and tree.format == "conllu" and len(tree):
                tree = tree.copy()
                tree.sent_id = str(number) if rank == 1 else f"{number}-k{rank}"
            yield tree.with_comment(f"# k_best = {rank}")
