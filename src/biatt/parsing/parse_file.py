"""Parse files into a file: what `biatt parse` does."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biatt.data.doubts import NO_MARKS, NO_MISC, without_doubtful
from biatt.data.files import COMPRESSED
from biatt.data.folders import make_folder
from biatt.data.sentence import Sentence
from biatt.display.output import SUFFIXES, format_for, write_parsed
from biatt.errors import ConfigError
from biatt.machine.workers import number_of_workers
from biatt.options import Doubtful, Engine, InputFormat, OutputFormat, ParseOptions, check_names
from biatt.parser import Parser
from biatt.parsing.choose_model import ChosenParsers
from biatt.parsing.parsed_sources import Progress, Source, SourceReader, check_paths, parsed_targets
from biatt.parsing.parts import Trees

if TYPE_CHECKING:
    from typing_extensions import Unpack

CONLLX_SUFFIXES = (".conllx", ".conll")


def parse_files(
    parser: Parser | ChosenParsers,
    tasks: Sequence[tuple[Sequence[Source], str | Path]],
    *,
    input: InputFormat | None = None,
    format: OutputFormat | None = None,
    k_best: int = 1,
    min_confidence: float | None = None,
    doubtful: Doubtful = "mark",
    workers: int = 1,
    engine: Engine = "processes",
    max_size: int | None = None,
    name: str | None = None,
    offsets: bool = False,
    progress: Progress | None = None,
    **options: Unpack[ParseOptions],
) -> None:
    """Parse sources into targets: the trees of several sources one after the other into one target.

    A source is a text or CoNLL file, "-" (standard input) or a binary stream, and a target a file or "-".
    Without `input`, the content tells what a source holds. Without `format`, the suffix of the target tells
    what to write; "-" is a drawing on a terminal, else CoNLL. Of a pipe, a sentence is parsed and written as
    soon as it is complete and nothing more has arrived. A window of sentences can be of several sources, so
    that many small files are as fast as a large one; a target is complete before the next one is begun.

    `k_best` above 1 writes that many trees of each sentence. With `min_confidence`, words of less confidence
    are marked in MISC, or left without head and relation. A source of more than `max_size` bytes, after
    decompression, is refused. `name` is what error messages call the source, and `progress` is told what has
    been parsed. With `offsets`, MISC of CoNLL-U has the place of each token in the text. `workers` is the
    number of processes that parse, 0 for one on each core; what is written does not depend on it. The engine
    "ray" runs them on a cluster, whose machines share the files. `ChosenParsers` choose a parser for each
    source. The other options are those of `Parser.parse`.
    """
    check_names(options)
    _check_options(input, k_best, min_confidence, options)
    formats = _formats(tasks, format)
    for of_target in formats:
        _check_format(of_target, min_confidence, doubtful, options)
    if "attention" in formats and (number_of_workers(workers) > 1 or engine == "ray"):
        raise ConfigError("Attention is drawn by one worker: the network's scores do not leave the others.")
    confidence = options.get("confidence", False) or k_best > 1
    if {"json", "attention"} & set(formats) or min_confidence is not None:
        options["confidence"] = True
    reader = SourceReader(input, name=name, max_size=max_size)
    parsed = parsed_targets(
        parser,
        [sources for sources, _ in tasks],
        reader,
        workers=workers,
        engine=engine,
        k_best=k_best,
        progress=progress,
        **_manner(options, k_best),
    )
    with closing(parsed):
        for (_, target), of_target, trees in zip(tasks, formats, parsed, strict=True):
            sentences = _numbered(trees) if k_best > 1 else (best for best, *_ in trees)
            if min_confidence is not None:
                sentences = _without_doubtful(sentences, min_confidence, doubtful)
            write_parsed(sentences, str(target), of_target, confidence=confidence, offsets=offsets)


def _formats(
    tasks: Sequence[tuple[Sequence[Source], str | Path]], format: OutputFormat | None
) -> list[OutputFormat | None]:
    """What to write to each target; None: as CoNLL."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    for sources, target in tasks:
        check_paths(sources, str(target))
    return [format or format_for(str(target), terminal=terminal) for _, target in tasks]


def _manner(options: ParseOptions, k_best: int) -> dict[str, Any]:
    """The options that parsing takes; k best trees have confidence always, and one decoder."""
    names = ("roots", "fill_deps", "retag", "keep_heads") if k_best > 1 else ParseOptions.__optional_keys__
    return {name: value for name, value in options.items() if name in names}


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
    make_folder(folder, "output")
    return list(targets)


def _suffix_of(format: OutputFormat) -> str:
    """The first suffix that stands for a format; of JSON that of lines, of attention that of its pictures."""
    if format == "json":
        return ".jsonl"
    return next((suffix for suffix, of_suffix in SUFFIXES.items() if of_suffix == format), ".svg")


def _check_options(
    input: InputFormat | None, k_best: int, min_confidence: float | None, options: ParseOptions
) -> None:
    check_used(input, options)
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


def check_used(input: str | None, options: ParseOptions) -> None:
    """Refuse options for what input that is known to be text or tokens does not have."""
    for name, what in (("retag", "tags"), ("keep_heads", "heads")):
        if input in ("text", "tokens") and options.get(name):
            raise ConfigError(
                f"The input is {input}, which has no {what}: --{name.replace('_', '-')} is for CoNLL."
            )


def _check_format(
    format: OutputFormat | None,
    min_confidence: float | None,
    doubtful: Doubtful,
    options: ParseOptions,
) -> None:
    if options.get("probabilities") and format == "conllx":
        raise ConfigError(NO_MISC)
    if min_confidence is not None and doubtful == "mark" and format == "conllx":
        raise ConfigError(NO_MARKS)
    if min_confidence is None and doubtful == "leave-out":
        raise ConfigError("Without a least confidence, no word is doubtful, so none can be left out.")


def _without_doubtful(parsed: Iterable[Sentence], least: float, doubtful: Doubtful) -> Iterator[Sentence]:
    for sentence in parsed:
        yield without_doubtful(sentence, least, doubtful=doubtful) if len(sentence) else sentence


def _numbered(ranked: Iterable[Trees]) -> Iterator[Sentence]:
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
