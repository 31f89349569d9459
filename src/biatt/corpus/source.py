"""What a run reads, and how it is cut into shards: the same ones wherever and however often it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from biatt.corpus.records import Failure, Fields, Record, read_records
from biatt.corpus.shards import Manner, Place, Task
from biatt.machine.threads import windows
from biatt.options import CorpusInput
from biatt.parsing.parsed_sources import Progress

MOST_DOCUMENTS = 50_000  # of a shard


class Source(NamedTuple):
    """The files of a run and what is missing of it; it can be sent to another process."""

    files: Sequence[Path]
    kind: CorpusInput | None
    fields: Fields
    manner: Manner
    characters: int  # of a shard, about
    finished: frozenset[int]  # numbers of shards

    def tasks(self) -> Iterator[Task]:
        """The shards that are missing."""
        shards = windows(
            self._records(), most=MOST_DOCUMENTS, size=lambda item: item[0].size, largest=self.characters
        )
        for number, shard in enumerate(shards, 1):
            if number not in self.finished:
                yield Task(number, [record for record, _ in shard], self.manner, shard[-1][1])

    def _records(self) -> Iterator[tuple[Record | Failure, Place]]:
        """The documents, and how far the files have been read with each of them."""
        for number, file in enumerate(self.files):
            read = [0]
            for record in read_records(file, self.kind, fields=self.fields, on_read=read.append):
                yield record, Place(number, read[-1])
                del read[:-1]


class Reading:
    """Tells the progress how much of the inputs has been parsed, in whatever order shards are finished."""

    def __init__(self, files: Sequence[Path], progress: Progress) -> None:
        self._sizes = [(str(file), file.stat().st_size) for file in files]
        self._progress, self._place, self._started = progress, Place(0, 0), 0
        progress.begin_all(len(files), sum(size for _, size in self._sizes))

    def advance(self, place: Place, words: int) -> None:
        """Note that a shard is finished, and where in the inputs it ends."""
        self._place = max(self._place, place)
        while self._started <= self._place.file:
            if self._started:
                self._progress.advance(0, self._sizes[self._started - 1][1])
            self._progress.start(*self._sizes[self._started])
            self._started += 1
        self._progress.advance(words, self._place.bytes)

    def close(self) -> None:
        """All has been parsed; files at the end can be empty, or finished before."""
        self.advance(Place(len(self._sizes) - 1, self._sizes[-1][1]), 0)
