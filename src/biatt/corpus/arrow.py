"""Parquet by Arrow: rows of the input, and the schema of parsed documents; the only place of pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from biatt.data.columns import DEPREL, DEPS, FEATS, FORM, HEAD, LEMMA, MISC, UPOS, XPOS
from biatt.data.document import Document
from biatt.data.sentence import Sentence
from biatt.data.visible import json_text
from biatt.errors import ConfigError, FormatError

if TYPE_CHECKING:
    from biatt.corpus.records import Record

ROWS = 1024  # that are read at once
VERSION = "1"  # of the schema
TEXT_COLUMNS = {
    "lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS, "deprel": DEPREL, "deps": DEPS, "misc": MISC,
}  # fmt: skip
PROBABILITIES = ("confidence", "head_probability", "relation_probability")


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ConfigError("Parquet needs pyarrow: pip install 'biatt[parquet]'.") from None
    return pyarrow


def schema() -> Any:
    """The Arrow schema of parsed documents: a row for each, with nested sentences and words."""
    pa = _pyarrow()
    place = [
        pa.field("start_char", pa.int64(), nullable=False),
        pa.field("end_char", pa.int64(), nullable=False),
    ]
    word = pa.struct(
        [
            pa.field("id", pa.int32(), nullable=False),
            pa.field("form", pa.string(), nullable=False),
            *(pa.field(name, pa.string()) for name in ("lemma", "upos", "xpos", "feats")),
            pa.field("head", pa.int32()),
            *(pa.field(name, pa.string()) for name in ("deprel", "deps", "misc")),
            *place,
            *(pa.field(name, pa.float32()) for name in PROBABILITIES),
        ]
    )
    token = pa.struct(
        [
            pa.field("first", pa.int32(), nullable=False),
            pa.field("last", pa.int32(), nullable=False),
            pa.field("form", pa.string(), nullable=False),
            *place,
        ]
    )
    sentence = pa.struct(
        [
            pa.field("sent_id", pa.string()),
            pa.field("text", pa.string(), nullable=False),
            *place,
            pa.field("log_probability", pa.float64()),
            pa.field("entropy", pa.float64()),
            pa.field("words", pa.list_(word), nullable=False),
            pa.field("multiword_tokens", pa.list_(token), nullable=False),
        ]
    )
    document = [
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("columns", pa.string()),  # the other fields of the input, as a JSON object
        pa.field("text", pa.string(), nullable=False),
        pa.field("sentences", pa.list_(sentence), nullable=False),
    ]
    return pa.schema(document, metadata={"biatt.schema": VERSION})


class ParquetShard:
    """Collects parsed documents as Arrow, which takes less memory than objects, and writes them at once."""

    def __init__(self, stream: BinaryIO) -> None:
        self._pa, self._stream = _pyarrow(), stream
        self._schema = schema()
        self._batches: list[Any] = []

    def add(self, documents: Sequence[tuple[Record, Document]]) -> None:
        rows = [_row(record, document) for record, document in documents]
        self._batches.append(self._pa.RecordBatch.from_pylist(rows, schema=self._schema))

    def finish(self) -> None:
        import pyarrow.parquet as pq

        table = self._pa.Table.from_batches(self._batches, schema=self._schema)
        data = io.BytesIO()  # so that a full disk is an error of the stream, not one of Arrow
        pq.write_table(table.combine_chunks(), data, compression="zstd")
        self._stream.write(data.getbuffer())


def _row(record: Record, document: Document) -> dict[str, Any]:
    return {
        "id": record.id,
        "source": record.source,
        "columns": json_text(jsonable(record.columns)) if record.columns else None,
        "text": document.text,
        "sentences": [_sentence(sentence) for sentence in document],
    }


def _sentence(sentence: Sentence) -> dict[str, Any]:
    confidence = sentence.confidence
    known = {} if confidence is None else confidence.columns
    probabilities = {name: known[name].tolist() for name in PROBABILITIES if name in known}
    words = []
    for i, (row, (start, end)) in enumerate(zip(sentence.rows, sentence.word_places, strict=True)):
        word: dict[str, Any] = {
            name: None if row[column] == "_" else row[column] for name, column in TEXT_COLUMNS.items()
        }
        word |= {"id": i + 1, "form": row[FORM], "start_char": start, "end_char": end}
        word["head"] = None if row[HEAD] == "_" else int(row[HEAD])
        words.append(word | {name: values[i] for name, values in probabilities.items()})
    return {
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "start_char": sentence.start_char,
        "end_char": sentence.end_char,
        "log_probability": None if confidence is None else confidence.log_probability,
        "entropy": None if confidence is None else confidence.entropy,
        "words": words,
        "multiword_tokens": [
            {
                "first": token.start + 1,
                "last": token.end,
                "form": token.form,
                "start_char": token.start_char,
                "end_char": token.end_char,
            }
            for token in sentence.tokens
            if token.is_multiword
        ],
    }


def jsonable(value: Any) -> Any:
    """The value as JSON can hold it: dates, bytes and the like become text, infinities and NaN null."""
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


def read_rows(path: Path, column: str) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, which must have the column."""
    pa = _pyarrow()
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            if column not in file.schema_arrow.names:
                names = ", ".join(file.schema_arrow.names)
                raise FormatError(f"there is no column {column}; these are: {names}.", source=str(path))
            for batch in file.iter_batches(ROWS):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"the Parquet file cannot be read ({error}).", source=str(path)) from error
