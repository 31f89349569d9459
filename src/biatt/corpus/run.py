"""Parse a corpus: what `biatt corpus` does."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import biatt
from biatt.corpus.manifest import Manifest, checksum_of, described_inputs, open_manifest
from biatt.corpus.ray_engine import by_ray
from biatt.corpus.records import FIELDS, Failure, Fields, Record, input_files, read_records
from biatt.corpus.shards import Manner, Shard, Task, parse_shard
from biatt.errors import ConfigError
from biatt.kernel_choice import expect_much_work
from biatt.named_models import find_model
from biatt.options import CorpusFormat, CorpusInput, Engine, OnError, ParseOptions, check_names
from biatt.parsed_sources import NoProgress, Progress
from biatt.parser import load
from biatt.threads import windows
from biatt.workers import Workers, number_of_workers

if TYPE_CHECKING:
    from typing_extensions import Unpack

SHARD_CHARACTERS = 1_000_000  # about 180,000 words: half a minute of one core
MOST_DOCUMENTS = 50_000  # of a shard


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
    if shard_characters < 1:
        raise ConfigError(f"A shard must have at least 1 character, not {shard_characters}.")
    folder, files = Path(folder).absolute(), input_files(inputs)
    _check_apart(folder, files)
    chosen = options.get("confidence", False)
    options["confidence"] = chosen or format != "conllu"
    manner = Manner(folder, format, on_error, options, chosen, offsets)
    reading = {"input": input, "fields": list(fields), "shard_characters": shard_characters}
    run = {
        "biatt": biatt.__version__,
        "model": _described_model(find_model(model)),
        "options": {**reading, "format": format, "on_error": on_error, "offsets": offsets, **options},
        "inputs": described_inputs(files),
    }
    with open_manifest(folder, run, resume=resume) as manifest:
        reader = Reader(files, input, fields, progress or NoProgress())
        tasks = _tasks(reader.records(), manner, shard_characters, manifest)
        run_tasks = by_ray if engine == "ray" else by_processes
        with closing(run_tasks(find_model(model).resolve(), tasks, workers)) as shards:
            for shard in shards:
                manifest.add(shard)
                reader.advance(shard.words)
        manifest.close()
        return _totals(manifest)


def by_processes(model: Path, tasks: Iterator[Task], workers: int) -> Generator[Shard, None, None]:
    """The finished shards, as they are finished."""
    count, parser = number_of_workers(workers), load(model)
    if count == 1:
        for task in tasks:
            yield parse_shard(parser, task)
        return
    if expect_much_work():
        parser.pack()
    with Workers(parser, count) as pool:
        running: set[Future[Shard]] = set()
        for task in tasks:
            running.add(pool.submit(parse_shard, task))
            while len(running) > count:  # one waits for the first that is free
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from map(pool.result, done)
        for future in running:
            yield pool.result(future)


def _check_apart(folder: Path, files: Iterable[Path]) -> None:
    inside = folder.resolve()
    for file in files:
        if file.resolve().is_relative_to(inside):
            raise ConfigError(f"{file} is in {folder}, where the output goes: name another folder.")


def _described_model(folder: Path) -> dict[str, str]:
    """The checksum of each file of a model: a run is resumed with the same model, wherever it is."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): checksum_of(path) for path in files}


class Reader:
    """Reads all documents, and tells the progress how much of the inputs has been read."""

    def __init__(
        self, files: Sequence[Path], kind: CorpusInput | None, fields: Fields, progress: Progress
    ) -> None:
        self._files, self._kind, self._fields, self._progress = files, kind, fields, progress
        self._read = 0  # bytes of the present file

    def records(self) -> Iterator[Record | Failure]:
        sizes = [file.stat().st_size for file in self._files]
        self._progress.begin_all(len(sizes), sum(sizes))
        for file, size in zip(self._files, sizes, strict=True):
            self._progress.start(str(file), size)
            yield from read_records(file, self._kind, fields=self._fields, on_read=self._note)
            self._note(size)
            self.advance(0)

    def _note(self, bytes_read: int) -> None:
        self._read = bytes_read

    def advance(self, words: int) -> None:
        """So many words more have been parsed."""
        self._progress.advance(words, self._read)


def _tasks(
    records: Iterator[Record | Failure], manner: Manner, characters: int, manifest: Manifest
) -> Iterator[Task]:
    """The shards that are missing."""
    shards = windows(records, most=MOST_DOCUMENTS, size=lambda record: record.size, largest=characters)
    for number, shard in enumerate(shards, 1):
        if number not in manifest.finished:
            yield Task(number, shard, manner)


def _totals(manifest: Manifest) -> Totals:
    shards = [manifest.finished[number] for number in sorted(manifest.finished)]
    failures = [failure for shard in shards for failure in shard.failures]
    documents, sentences, words = (
        sum(getattr(shard, name) for shard in shards) for name in ("documents", "sentences", "words")
    )
    return Totals(len(shards), documents, sentences, words, failures)
