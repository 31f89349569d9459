"""A shard: documents that are parsed together and written to one file, whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from biatt.corpus.arrow import ParquetShard, jsonable
from biatt.corpus.records import NEW_DOCUMENT, Failure, Record, new_document
from biatt.data.conll import missing_after, write
from biatt.data.document import Document
from biatt.data.files import writing
from biatt.data.sentence import SENT_ID, Sentence
from biatt.data.visible import json_text, visible
from biatt.display.output import with_confidence_columns, with_token_ranges
from biatt.errors import BiattError, FormatError
from biatt.machine.threads import windows
from biatt.options import CorpusFormat, OnError, ParseOptions
from biatt.parser import Parser
from biatt.parsing.parts import (
    WINDOW_CHARACTERS,
    WINDOW_SENTENCES,
    Part,
    Trees,
    checked,
    parsed_parts,
    size_of_part,
)

SUFFIXES: dict[CorpusFormat, str] = {"conllu": ".conllu", "json": ".jsonl", "parquet": ".parquet"}


class Manner(NamedTuple):
    """How the shards of a run are parsed and written."""

    folder: Path
    format: CorpusFormat
    on_error: OnError
    options: ParseOptions
    confidence: bool = False  # whether CoNLL-U has it, too
    offsets: bool = False


class Place(NamedTuple):
    """How far the inputs have been read."""

    file: int  # from 0
    bytes: int  # of this file


class Task(NamedTuple):
    number: int  # of the shard, from 1
    records: Sequence[Record | Failure]
    manner: Manner
    place: Place  # of its end


class Shard(NamedTuple):
    """What the manifest says about a finished shard."""

    number: int
    file: str
    documents: int
    sentences: int
    words: int
    bytes: int
    sha256: str
    failures: list[Failure]


class Done(NamedTuple):
    shard: Shard
    place: Place


def parse_shard(parser: Parser, task: Task) -> Shard:
    """Parse the documents of a shard and write its file."""
    manner, failures, counts = task.manner, list[Failure](), Counts()
    target = manner.folder / f"part-{task.number:06}{SUFFIXES[manner.format]}"
    with writing(target) as stream:
        writer = _writer(stream, manner)
        for done in _parsed(parser, task.records, manner.options):
            documents = [item for item in done if not isinstance(item, Failure)]
            failures += (item for item in done if isinstance(item, Failure))
            if failures and manner.on_error == "stop":
                raise failures[0].error()
            writer.add(documents)
            counts.add(documents)
        writer.finish()
    data = target.read_bytes()
    checksum = hashlib.sha256(data).hexdigest()
    return Shard(task.number, target.name, *counts.all, len(data), checksum, failures)


class Counts:
    def __init__(self) -> None:
        self.all = 0, 0, 0

    def add(self, documents: Sequence[tuple[Record, Document]]) -> None:
        sentences = [len(document) for _, document in documents]
        words = [len(sentence) for _, document in documents for sentence in document]
        self.all = self.all[0] + len(documents), self.all[1] + sum(sentences), self.all[2] + sum(words)


def _parsed(
    parser: Parser, records: Sequence[Record | Failure], options: ParseOptions
) -> Iterator[list[tuple[Record, Document] | Failure]]:
    """The documents of the records and the failures, in order, as many as a window completes."""
    items = windows(
        _parts(records),
        most=WINDOW_SENTENCES,
        size=lambda item: size_of_part(item[2]),
        largest=WINDOW_CHARACTERS,
    )
    pairs = ((window, [part for _, _, part in window]) for window in items)
    begun: list[Sentence] = []
    failure: Exception | None = None
    for window, results in parsed_parts(parser, pairs, **options):
        done: list[tuple[Record, Document] | Failure] = []
        for (record, last, _), result in zip(window, results, strict=True):
            if isinstance(record, Failure):
                done.append(record)
                continue
            if isinstance(result, Exception):
                failure = failure or result
            else:
                begun += _lean(result)
            if last:
                done.append(_failed(record, failure) if failure else (record, _document(record, begun)))
                begun, failure = [], None
        yield done


def _parts(records: Sequence[Record | Failure]) -> Iterator[tuple[Record | Failure, bool, Part]]:
    """The parts of each record, and whether each is its last one."""
    for record in records:
        if isinstance(record, Failure):
            yield record, True, ""
            continue
        if isinstance(record.content, str):
            yield record, True, record.content
            continue
        try:
            sentences = [checked(sentence) for sentence in record.content]
        except BiattError as error:
            yield _failed(record, error), True, ""
            continue
        for i, sentence in enumerate(sentences, 1):
            yield record, i == len(sentences), sentence


def _lean(sentences: Sequence[Trees]) -> list[Sentence]:
    """The sentences without the network's scores: those of a whole shard would fill the memory."""
    best = [trees[0] for trees in sentences]
    for sentence in best:
        sentence.scores = None
        if sentence.confidence is not None:
            len(sentence.confidence.tags)  # computed from the scores when first used
    return best


def _failed(record: Record, error: Exception) -> Failure:
    if isinstance(error, FormatError) and error.source == record.source:
        return Failure(record.id, record.source, error.line, error.message)
    return Failure(record.id, record.source, record.line, str(error) or type(error).__name__)


def _document(record: Record, sentences: list[Sentence]) -> Document:
    if not isinstance(record.content, str):
        return Document.from_sentences(sentences)
    for number, sentence in enumerate(sentences, 1):
        sentence.verbatim.insert(0, (0, f"{SENT_ID}{visible(record.id)}-{number}"))
    return Document(record.content, sentences)


class ConlluShard:
    """CoNLL-U. A comment `# newdoc` begins each document, and another has its columns.

    Where sentences that were read have such a comment, theirs stays.
    """

    def __init__(self, stream: BinaryIO, *, confidence: bool, offsets: bool) -> None:
        self._stream, self._confidence, self._offsets = stream, confidence, offsets

    def add(self, documents: Sequence[tuple[Record, Document]]) -> None:
        for record, document in documents:
            sentences = [sentence.as_format("conllu") for sentence in document]
            if not isinstance(record.content, str):  # documents of several files follow each other
                first, last = sentences[0], sentences[-1]
                first._lead = ""
                last._tail += missing_after(last._tail)
                if not record.continues and new_document(first) is None:
                    first.verbatim.insert(0, (0, _newdoc(record)))
            else:
                first = sentences[0] if sentences else Sentence([], [])
                comments = [_newdoc(record)]
                if record.columns:
                    comments.append(f"# columns = {json_text(jsonable(record.columns))}")
                first.verbatim[:0] = [(0, comment) for comment in comments]
                sentences[:1] = [first]
            if self._confidence:
                sentences = [with_confidence_columns(s) if len(s) else s for s in sentences]
            write(with_token_ranges(sentences) if self._offsets else sentences, self._stream)

    def finish(self) -> None:
        pass


def _newdoc(record: Record) -> str:
    return f"{NEW_DOCUMENT} id = {visible(record.id)}"


class JsonShard:
    """A line for each document: its id, source and columns, and what `Document.to_dict` gives."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def add(self, documents: Sequence[tuple[Record, Document]]) -> None:
        for record, document in documents:
            line: dict[str, Any] = {"id": record.id, "source": record.source}
            line |= {"columns": jsonable(record.columns), **document.to_dict()}
            self._stream.write(f"{json_text(line)}\n".encode())

    def finish(self) -> None:
        pass


def _writer(stream: BinaryIO, manner: Manner) -> ConlluShard | JsonShard | ParquetShard:
    if manner.format == "conllu":
        return ConlluShard(stream, confidence=manner.confidence, offsets=manner.offsets)
    return JsonShard(stream) if manner.format == "json" else ParquetShard(stream)
