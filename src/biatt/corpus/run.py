"""Parse a corpus: what `biatt corpus` does."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import biatt
from biatt.corpus.manifest import Manifest, described_inputs, open_manifest
from biatt.corpus.records import FIELDS, Failure, Fields, input_files
from biatt.corpus.shards import Done, Manner, Place, Shard, Task, parse_shard
from biatt.corpus.source import Reading, Source
from biatt.data.files import checksum_of
from biatt.errors import ConfigError
from biatt.machine.kernel_choice import choice, require_compiled
from biatt.machine.ray_pool import by_ray
from biatt.machine.workers import Workers, number_of_workers
from biatt.models.named_models import find_model
from biatt.options import CorpusFormat, CorpusInput, Engine, OnError, ParseOptions, check_names
from biatt.parser import Parser, load
from biatt.parsing.parse_file import check_used
from biatt.parsing.parsed_sources import NoProgress, Progress

if TYPE_CHECKING:
    from typing_extensions import Unpack

SHARD_CHARACTERS = 1_000_000  # about 180,000 words: half a minute of one core


class Totals(NamedTuple):
    """What a run has written, in all of its parts."""

    shards: int
    documents: int
    sentences: int
    words: int
    failures: list[Failure]


def parse_corpus(
    inputs: Sequence[str | Path],
    folder: str | Path,
    *,
    model: str | Path = "en",
    input: CorpusInput | None = None,
    fields: Fields = FIELDS,
    format: CorpusFormat = "conllu",
    shard_characters: int = SHARD_CHARACTERS,
    workers: int = 1,
    engine: Engine = "processes",
    resume: bool = False,
    on_error: OnError = "stop",
    offsets: bool = False,
    progress: Progress | None = None,
    **options: Unpack[ParseOptions],
) -> Totals:
    """Parse the documents of files, folders and patterns into shards in a folder, with a manifest.

    A shard has consecutive documents of about `shard_characters` characters and is written by one of the
    `workers`, 0 for one on each core; its bytes do not depend on their number. With `resume`, a run that has
    ended early goes on: what is finished is not done again. A document that cannot be parsed ends the run,
    or, with on_error="skip", is noted in the manifest. The engine "ray" runs the workers on a cluster. The
    other options are those of `Parser.parse`.
    """
    check_names(options)
    check_used(input, options)
    if shard_characters < 1:
        raise ConfigError(f"A shard must have at least 1 character, not {shard_characters}.")
    folder, files = Path(folder).absolute(), input_files(inputs)
    _check_apart(folder, files)
    chosen = options.get("confidence", False)
    options["confidence"] = chosen or format != "conllu"
    manner = Manner(folder, format, on_error, options, chosen, offsets)
    reading_options = {"input": input, "fields": list(fields), "shard_characters": shard_characters}
    run = {
        "biatt": biatt.__version__,
        "model": _described_model(find_model(model)),
        "options": {**reading_options, "format": format, "on_error": on_error, "offsets": offsets, **options},
        "inputs": described_inputs(files),
    }
    with open_manifest(folder, run, resume=resume) as manifest:
        source = Source(files, input, fields, manner, shard_characters, frozenset(manifest.finished))
        reading = Reading(files, progress or NoProgress())
        path = find_model(model).resolve()
        with closing(
            by_ray(_finished, partial(load, path), source.tasks, workers=workers)
            if engine == "ray"
            else by_processes(path, source, workers)
        ) as shards:
            for shard, place in shards:
                manifest.add(shard)
                reading.advance(place, shard.words)
        reading.close()
        manifest.close()
        return _totals(manifest)


def by_processes(model: Path, source: Source, workers: int) -> Generator[Done, None, None]:
    """The finished shards, as they are finished.

    The kernels are compiled from the first document on: the bytes of a shard must not depend on what a
    process has parsed before it.
    """
    require_compiled()
    count, parser = number_of_workers(workers), load(model)
    if count == 1:
        for task in source.tasks():
            yield _finished(parser, task)
        return
    if choice().compiled:
        parser.pack()
    with Workers(parser, count) as pool:
        running: dict[Future[Shard], Place] = {}

        def finished(number_left: int) -> Iterator[Done]:
            while len(running) > number_left:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield Done(pool.result(future), running.pop(future))

        for task in source.tasks():
            running[pool.submit(parse_shard, task)] = task.place
            yield from finished(count)  # one waits for the first that is free
        yield from finished(0)


def _finished(parser: Parser, task: Task) -> Done:
    return Done(parse_shard(parser, task), task.place)


def _check_apart(folder: Path, files: Iterable[Path]) -> None:
    inside = folder.resolve()
    for file in files:
        if file.resolve().is_relative_to(inside):
            raise ConfigError(f"{file} is in {folder}, where the output goes: name another folder.")


def _described_model(folder: Path) -> dict[str, str]:
    """The checksum of each file of a model: a run is resumed with the same model, wherever it is."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): checksum_of(path) for path in files}


def _totals(manifest: Manifest) -> Totals:
    shards = [manifest.finished[number] for number in sorted(manifest.finished)]
    failures = [failure for shard in shards for failure in shard.failures]
    documents, sentences, words = (
        sum(getattr(shard, name) for shard in shards) for name in ("documents", "sentences", "words")
    )
    return Totals(len(shards), documents, sentences, words, failures)
