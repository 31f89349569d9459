"""The documents of a corpus: files, folders and globs become records with ids and columns.

| kind | a document is |
|---|---|
| `text` | a file; one of more than LARGEST_DOCUMENT characters is cut between paragraphs |
| `tokens`, `conllu`, `conllx` | the sentences from a comment `# newdoc` to the next, at most MOST_SENTENCES |
| `jsonl` | a line, a JSON object whose field has the text |
| `parquet` | a row, whose column has the text |

What cannot be read is a failure, in its place among the records.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from biatt.corpus.arrow import read_rows
from biatt.data.conll import read
from biatt.data.files import COMPRESSED, InputStream, reading
from biatt.data.sentence import Sentence
from biatt.data.text import is_conll, read_text, read_tokens
from biatt.errors import BiattError, ConfigError, FormatError
from biatt.options import CorpusInput

LARGEST_DOCUMENT = 200_000  # characters of a text file that are one document
MOST_SENTENCES = 1000  # of a file of sentences that are one document
NEW_DOCUMENT = "# newdoc"
SUFFIXES: dict[str, CorpusInput] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


class Record(NamedTuple):
    """A document of the input."""

    id: str
    content: str | list[Sentence]
    columns: dict[str, Any]  # the other fields that the input has for it
    source: str
    line: int | None = None  # where it is in the source: a line, or a row from 1
    continues: bool = False  # a document of the source, which is too long for one record

    @property
    def size(self) -> int:
        """Its characters, about."""
        if isinstance(self.content, str):
            return len(self.content)
        return sum(len(form) + 1 for sentence in self.content for form in sentence.forms)


class Content(NamedTuple):
    """A document of a file of text or sentences."""

    id: str | None
    text_or_sentences: str | list[Sentence]
    continues: bool = False


class Failure(NamedTuple):
    """A document, or the rest of a source, that was not parsed, and why."""

    id: str
    source: str
    line: int | None
    reason: str

    @property
    def size(self) -> int:
        return 0

    def error(self) -> BiattError:
        if self.line is None:
            return BiattError(self.reason if self.id == self.source else f"{self.id}: {self.reason}")
        return FormatError(self.reason, source=self.source, line=self.line)


class Fields(NamedTuple):
    """What the fields or columns of documents are called."""

    text: str = "text"
    id: str = "id"


FIELDS = Fields()


def input_files(inputs: Sequence[str | Path]) -> list[Path]:
    """The files that paths, folders and patterns such as data/**/*.txt name, each once.

    Those of a folder or a pattern are sorted by name; in a folder, names that begin with . or _ are left out.
    """
    files: dict[Path, Path] = {}
    for given in inputs:
        path = Path(given)
        if path.is_dir():
            named = sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file, path))
        elif str(given) == "-" or (path.exists() and not path.is_file()):
            raise ConfigError(f"{given} is not a file; inputs are read twice, once for their checksums.")
        elif path.exists() or not glob.has_magic(str(given)):
            with reading(path):  # which says why it cannot be read
                named = [path]
        else:
            named = sorted(
                file for file in map(Path, glob.iglob(str(given), recursive=True)) if file.is_file()
            )
        if not named:
            raise ConfigError(f"{given} has no files to parse.")
        for file in named:
            files.setdefault(file.resolve(), file)
    return list(files.values())


def _hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def read_records(
    path: Path,
    kind: CorpusInput | None = None,
    *,
    fields: Fields = FIELDS,
    on_read: Callable[[int], None] = lambda _: None,
) -> Iterator[Record | Failure]:
    """The documents of a file; without `kind`, its suffix or its content tells what it holds.

    `on_read` is told, at each document, how many bytes of the file have been read.
    """
    name = str(path)
    stem = path.with_suffix("") if path.suffix in COMPRESSED else path
    kind = kind or SUFFIXES.get(stem.suffix.lower())
    try:
        if kind == "parquet":
            yield from _rows(path, fields)
            return
        with reading(path) as file:
            for record in _in_stream(file, name, kind, fields):
                on_read(file.bytes_read())
                yield record
    except BiattError as error:
        if isinstance(error, FormatError) and error.line is not None:
            yield Failure(name, name, error.line, error.message)
        else:
            yield Failure(name, name, None, str(error))


def _in_stream(
    stream: InputStream, name: str, kind: CorpusInput | None, fields: Fields
) -> Iterator[Record | Failure]:
    if kind is None:
        conll, stream = is_conll(stream, name=name)
        if conll:
            return _numbered(_sentences(read(stream, name=name)), name)
    if kind == "jsonl":
        return _json_lines(stream, name, fields)
    if kind == "tokens":
        return _numbered(_sentences(read_tokens(stream, name=name)), name)
    if kind == "conllu" or kind == "conllx":
        return _numbered(_sentences(read(stream, format=kind, name=name)), name)
    return _numbered(_texts(read_text(stream, name=name)), name)


def _numbered(contents: Iterator[Content], name: str) -> Iterator[Record]:
    """Records of documents; those without an id are called after their file, and numbered if several."""
    waiting: Record | None = None  # the first without an id, until a second comes
    number = 0
    try:
        for id, content, continues in contents:
            number += id is None
            if id is None and number == 1:
                waiting = Record(name, content, {}, name, continues=continues)
                continue
            if waiting:
                yield waiting._replace(id=f"{name}#1") if number > 1 else waiting
                waiting = None
            yield Record(f"{name}#{number}" if id is None else id, content, {}, name, continues=continues)
    except BiattError:  # in the document after it
        if waiting:
            yield waiting
        raise
    if waiting:
        yield waiting


def _texts(paragraphs: Iterator[str]) -> Iterator[Content]:
    parts: list[str] = []
    size = 0
    for paragraph in paragraphs:
        if parts and size + len(paragraph) > LARGEST_DOCUMENT:
            yield Content(None, "".join(parts))
            parts, size = [], 0
        parts.append(paragraph)
        size += len(paragraph)
    yield Content(None, "".join(parts))


def _sentences(sentences: Iterator[Sentence]) -> Iterator[Content]:
    """Documents; the second part of one that is too long and has the id x is called x#2."""
    id: str | None = None
    begun, part = False, 1  # whether `# newdoc` has begun the document, and its part
    document: list[Sentence] = []

    def content() -> Content:
        return Content(f"{id}#{part}" if id and part > 1 else id, document, begun and part > 1)

    for sentence in sentences:
        new = new_document(sentence)
        if document and (new is not None or len(document) == MOST_SENTENCES):
            yield content()
            document, part = [], part + 1
        if new is not None:
            id, begun, part = new.partition("=")[2].strip() or None, True, 1
        document.append(sentence)
    if document:
        yield content()


def new_document(sentence: Sentence) -> str | None:
    """The comment by which a document begins with this sentence."""
    return next((line for line in sentence.comments if line.startswith(NEW_DOCUMENT)), None)


def _json_lines(stream: InputStream, name: str, fields: Fields) -> Iterator[Record | Failure]:
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Failure(f"{name}:{number}", name, number, f"the line is not JSON ({error}).")
            continue
        if isinstance(value, dict):
            yield _record(value, name, number, fields)
        else:
            yield Failure(f"{name}:{number}", name, number, "the line is not a JSON object.")


def _rows(path: Path, fields: Fields) -> Iterator[Record | Failure]:
    for number, row in enumerate(read_rows(path, fields.text), 1):
        yield _record(row, str(path), number, fields)


def _kind(value: object) -> str:
    """What a value is, as JSON and Parquet call it."""
    if isinstance(value, bool):
        return "true or false"
    kinds = {int: "a number", float: "a number", list: "an array", dict: "an object", bytes: "bytes"}
    return kinds.get(type(value), f"of the type {type(value).__name__}")


def _record(values: dict[str, Any], name: str, number: int, fields: Fields) -> Record | Failure:
    columns = {key: value for key, value in values.items() if key not in (fields.text, fields.id)}
    id = values.get(fields.id)
    id = f"{name}:{number}" if id is None else str(id)
    text = values.get(fields.text)
    reason = ""
    if not isinstance(text, str):
        state = "missing" if text is None else f"{_kind(text)}, not a text"
        reason = f"the field {fields.text} is {state}."
    else:
        try:
            text.encode(), id.encode()
        except UnicodeEncodeError as error:
            reason = f"{error.object[error.start]!r} is half a character."
    if reason or not isinstance(text, str):
        return Failure(id.encode(errors="backslashreplace").decode(), name, number, reason)
    return Record(id, text, columns, name, number)
