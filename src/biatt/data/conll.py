"""Reading and writing CoNLL-U and CoNLL-X files, byte for byte.

A file is read in blocks, cut into sentences at its blank lines, and checked sentence by sentence: a fast
check accepts nearly all of them, and `_complain` finds the first fault of the others. What the parser does
not use (comments, multiword tokens, empty nodes, line ends) is kept, so that `write(read(file))` gives back
the bytes that were read, except blank lines that follow no sentence: those of a file without sentences, and
those that a pipe sends some time after its last sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain
from operator import eq
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from biatt.data.arcs import cycle
from biatt.data.columns import HEAD, ID, UPOS, WIDTH
from biatt.data.document import Document, sentences_in
from biatt.data.files import blocks, name_of, reading, writing
from biatt.data.sentence import NO_HEAD, Sentence
from biatt.errors import ConfigError, FormatError
from biatt.machine.threads import Arriving
from biatt.options import ConllFormat

# UD 2's universal tags, and CONJ, which UD 1 has for CCONJ.
UPOS_TAGS = frozenset(
    {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "CONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN"}
    | {"PUNCT", "SCONJ", "SYM", "VERB", "X"}
)

Sentences = Sentence | Document | Iterable[Sentence | Document]
Trees = bool | Literal["partial"]  # must heads form trees? "partial": trees in which heads may be missing

_FORMAT_HEAD_BYTES = 1 << 16  # the part of a file that tells its format
_LONGEST_SENTENCE = 1 << 22  # characters: far beyond any sentence, small enough for any memory

_BLANK = " \r\n"
_SEPARATOR = re.compile(r"\n(?:[ \r]*\n)+")
_LEAD = re.compile(r"\ufeff?(?:[ \r]*\n)*")
_BLANK_LINES = re.compile(r"(?:[ \r]*\n)*")
_WHOLE_SENTENCE = re.compile(rb"^[^#\s](?:.*\n)+?[ \r]*\n", re.MULTILINE)
_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]*)\.([1-9][0-9]*)")

_NOT_A_HEAD = 1 << 60
_IDS: list[str] = []  # "1", "2", ...
_HEADS = {"_": NO_HEAD, "0": 0}  # a dictionary is faster than int(), and refuses " 3", "+3", "٣"


def read(
    source: str | Path | BinaryIO,
    *,
    format: ConllFormat | None = None,
    trees: Trees = False,
    name: str | None = None,
) -> Iterator[Sentence]:
    """The sentences of a file, "-" (standard input) or a binary stream, as they arrive.

    Without `format`, the first 64 KiB decide, or of a pipe what has arrived with its first sentence. With
    `trees`, the heads of each sentence must form a tree; several words may have head 0. With "partial", they
    must form a part of a tree: heads may be missing. `name` is what error messages call the source.
    """
    if format is not None and format not in get_args(ConllFormat):
        choices = " or ".join(get_args(ConllFormat))
        raise ConfigError(f"The format of a CoNLL file is {choices}, not {format!r}.")
    return Arriving(_read(source, format, trees, name or name_of(source)))


def _read(
    source: str | Path | BinaryIO, format: ConllFormat | None, trees: Trees, name: str
) -> Iterator[Sentence | None]:
    with reading(source, name=name) as stream:
        arriving = blocks(stream)
        if format is None:
            head = _head(arriving)
            format = format_of(b"".join(filter(None, head))[:_FORMAT_HEAD_BYTES])
            arriving = chain(head, arriving)
        line = 1
        for part in _cut(_whole_lines(arriving, name)):
            if part is None:
                yield None
                continue
            lead, body, tail = part
            line += lead.count("\n")
            sentence = _parse(body, format, name, line, trees)
            if len(body) + len(tail) > _LONGEST_SENTENCE:
                fault = f"no other sentence begins within {_LONGEST_SENTENCE:,} characters."
                raise FormatError(fault, source=name, line=line)
            sentence._lead, sentence._tail = lead, tail
            line += body.count("\n") + tail.count("\n")
            yield sentence


def reads(text: str, *, format: ConllFormat | None = None, trees: Trees = False) -> list[Sentence]:
    """The sentences of a string in CoNLL-U or CoNLL-X; options as for `read`."""
    if not isinstance(text, str):
        raise TypeError(f"reads takes a string, not {type(text).__name__}; read takes a file.")
    data = BytesIO(text.encode("utf-8", "surrogatepass"))
    return list(read(data, format=format, trees=trees, name="<string>"))


def write(sentences: Sentences, target: str | Path | BinaryIO) -> int:
    """Write sentences or documents to a file, "-" (standard output) or a binary stream.

    Returns the number of sentences. Those whose words have been changed are checked: what is written can be
    read.
    """
    count = 0
    with writing(target) as stream:
        for sentence, text in _written(sentences):
            try:
                stream.write(text.encode())
            except UnicodeEncodeError as error:
                fault = f"{error.object[error.start]!r} is half a character and cannot be written as UTF-8."
                raise FormatError(fault, source=sentence.source, line=sentence.line) from error
            count += 1
    return count


def dumps(sentences: Sentences) -> str:
    """Sentences or documents as a string: what `write` writes."""
    return "".join(text for _, text in _written(sentences))


def _written(source: Sentences) -> Iterator[tuple[Sentence, str]]:
    """Each sentence and its text in the file."""
    missing = None
    for sentence in sentences_in(source):
        if sentence._edited:
            _check(sentence)
        text = sentence.to_text()
        if missing is not None:  # it may have been the first of its file, and the one before it the last
            text = missing + text.removeprefix("\ufeff")
        missing = missing_after(sentence._tail)
        yield sentence, text


def _check(sentence: Sentence) -> None:
    """Refuse a sentence that could not be read again as it is, or whose heads form a cycle."""
    body = "\n".join(sentence.lines())
    again = _parse(body, sentence.format, sentence.source, sentence.line, "partial")
    if (again.rows, again.verbatim) != (sentence.rows, sentence.verbatim):
        fault = "a column or comment holds a line end, so that the sentence would be read as another one."
        raise FormatError(fault, source=sentence.source, line=sentence.line)


def missing_after(tail: str) -> str:
    """What is missing between a sentence and the next: the end of its last line, or a blank line."""
    ended = tail if tail.endswith("\n") else tail + "\n"
    return (ended if ended.count("\n") > 1 else ended + "\n")[len(tail) :]


def _head(arriving: Iterator[bytes | None]) -> list[bytes | None]:
    """The first blocks: enough to tell the format, and of a pipe no more than its first sentence needs."""
    head: list[bytes | None] = []
    size = 0
    for block in arriving:
        head.append(block)
        size += len(block or b"")
        if size >= _FORMAT_HEAD_BYTES or (
            block is None and _WHOLE_SENTENCE.search(b"".join(filter(None, head)))
        ):
            break
    return head


def format_of(head: bytes) -> ConllFormat:
    """Which format the start of a file has.

    Comments, multiword tokens and empty nodes only exist in CoNLL-U. Without them, it is CoNLL-X if most tags
    are not universal: most, because some treebanks have a few mistakes. X does not count, because CoNLL-X tag
    sets can have it, too.
    """
    universal = other = 0
    for line in head.decode(errors="ignore").removeprefix("\ufeff").split("\n"):
        row = line.split("\t")
        if line.startswith("#") or _RANGE.fullmatch(row[ID]) or _EMPTY_NODE.fullmatch(row[ID]):
            return "conllu"
        if len(row) == WIDTH and row[UPOS] not in ("_", "X"):
            universal += row[UPOS] in UPOS_TAGS
            other += row[UPOS] not in UPOS_TAGS
    return "conllx" if other > universal else "conllu"


def _whole_lines(blocks: Iterable[bytes | None], name: str) -> Iterator[str | None]:
    """The text in blocks that end where a line ends; only the last may end elsewhere."""
    line, pending = 1, b""
    for block in blocks:
        if block is None:
            yield None
            continue
        end = block.rfind(b"\n") + 1
        pending += block
        if end:
            end += len(pending) - len(block)
            data, pending = pending[:end], pending[end:]
            yield from _decode(data, name, line)
            line += data.count(b"\n")
        if len(pending) > _LONGEST_SENTENCE:
            raise FormatError(f"the line is longer than {_LONGEST_SENTENCE:,} bytes.", source=name, line=line)
    yield from _decode(pending, name, line)


def _decode(data: bytes, name: str, line: int) -> Iterator[str]:
    try:
        yield data.decode()
    except UnicodeDecodeError as error:
        yield data[: data.rfind(b"\n", 0, error.start) + 1].decode()  # the sentences before the fault
        fault = f"byte 0x{data[error.start]:02x} is not UTF-8, the only encoding of CoNLL files."
        line += data.count(b"\n", 0, error.start)
        raise FormatError(fault, source=name, line=line) from error


def _cut(texts: Iterable[str | None]) -> Iterator[tuple[str, str, str] | None]:
    """Cut text at its blank lines into (what stands before, the lines of a sentence, what follows them)."""
    buffer, searched = "", 0
    lead: str | None = None
    leading = _LEAD
    for text in texts:
        buffer += text or ""
        start, solid = 0, len(buffer.rstrip(_BLANK))
        if lead is None and solid > buffer.startswith("\ufeff") and (match := leading.match(buffer)):
            lead, start, leading = match.group(), match.end(), _BLANK_LINES
        if lead is not None:
            for match in _SEPARATOR.finditer(buffer, max(start, searched)):
                at_end = match.end() > solid
                if at_end and text is not None:
                    break  # the next block may begin with more blank lines
                yield lead, buffer[start : match.start()], match.group()
                lead, start = "", match.end()
                if at_end:
                    lead = None  # blank lines that arrive after a pause belong to the next sentence
                    break
        buffer, searched = buffer[start:], max(0, solid - start)
        if text is None:
            yield None
        if len(buffer) > _LONGEST_SENTENCE:
            yield lead or "", buffer[:searched], buffer[searched:]
            return
    if lead is not None and searched:
        end = buffer.find("\n", searched)
        end = len(buffer) if end < 0 else end
        yield lead, buffer[:end], buffer[end:]


def _parse(body: str, format: ConllFormat, name: str, first: int, trees: Trees) -> Sentence:
    """The sentence of these lines, checked; `first` is the number of the first line."""
    lines = body.split("\n")
    rows: list[list[str]] = []
    sentence = Sentence(rows, [], format, name, first)
    if "\r" in body:
        sentence._returns = frozenset(i for i, line in enumerate(lines) if line.endswith("\r"))
        lines = [line.removesuffix("\r") for line in lines]
    tokens = False  # whether there are multiword tokens or empty nodes
    for line in lines:
        if line[:1] == "#":
            sentence.verbatim.append((len(rows), line))
            continue
        row = line.split("\t")
        if "-" in row[ID] or "." in row[ID]:
            sentence.verbatim.append((len(rows), line))
            tokens = True
        else:
            rows.append(row)

    n = len(rows)
    _count_to(n)
    empty = "\t\t" in body or "\t\n" in body or "\t\r" in body or body[-1:] == "\t"
    if tokens or empty or [row[ID] for row in rows] != _IDS[:n] or any(len(row) != WIDTH for row in rows):
        _complain(lines, n, name, first, trees)
    heads = [_HEADS.get(row[HEAD], _NOT_A_HEAD) for row in rows]
    missing = trees is True and min(heads, default=0) < 0
    if rows and (max(heads) > n or missing or any(map(eq, heads, range(1, n + 1)))):
        _complain(lines, n, name, first, trees)
    if trees == "partial":  # a word without a head is in no cycle
        heads = [max(head, 0) for head in heads]
    if trees and (words := cycle(heads)):
        above = sum(1 for k, _ in sentence.verbatim if k < words[0])
        shown = ", ".join(map(str, words[:10])) + (", ..." if len(words) > 10 else "")
        fault = f"the heads form a cycle through words {shown}."
        raise FormatError(fault, source=name, line=first + above + words[0] - 1)
    return sentence


def _count_to(n: int) -> None:
    """Make the tables of IDs and heads reach n."""
    for i in range(len(_IDS) + 1, n + 1):
        _IDS.append(str(i))
        _HEADS[str(i)] = i


def _complain(lines: list[str], n: int, name: str, first: int, trees: Trees) -> None:
    """Raise a FormatError for the first line at fault; n is the number of words."""
    # Words so far, the last word of a multiword token, empty nodes since the last word.
    words = covered = nodes = 0
    for number, line in enumerate(lines, first):
        if line[:1] == "#":
            continue
        row = line.split("\t")
        fault = ""
        if len(row) == 1:
            fault = f"the line has no tab; {WIDTH} columns separated by tabs were expected"
        elif len(row) != WIDTH:
            fault = f"the line has {len(row)} columns separated by tabs, not {WIDTH}"
        elif "" in row:
            fault = f"column {row.index('') + 1} is empty; a missing value is written _"
        elif words and (row[ID] == "1" or row[ID].startswith("1-")):
            fault = f"ID is {_shown(row[ID])} after word {words}: a blank line seems to be missing before it"
        elif match := _RANGE.fullmatch(row[ID]):
            end = _HEADS.get(match[2], _NOT_A_HEAD)
            if match[1] != str(words + 1) or not words < end <= n or covered > words:
                wanted = f"a range from {words + 1} to at most {n} that meets no other"
                fault = f"the multiword token is {_shown(row[ID])} where {wanted} was expected"
            covered = end
        elif _EMPTY_NODE.fullmatch(row[ID]):
            nodes += 1
            if row[ID] != f"{words}.{nodes}":
                fault = f"the empty node is {_shown(row[ID])} where {words}.{nodes} was expected"
        else:
            words, nodes = words + 1, 0
            head = _HEADS.get(row[HEAD], _NOT_A_HEAD)
            if row[ID] != str(words):
                fault = f"ID is {_shown(row[ID])} where {words} was expected"
            elif head > n or (trees is True and head < 0):
                wanted = f"a number from 0 to {n}" + ("" if trees is True else " or _")
                fault = f"HEAD is {_shown(row[HEAD])} where {wanted} was expected"
            elif head == words:
                fault = f"word {words} is its own head"
        if fault:
            raise FormatError(fault + ".", source=name, line=number)


def _shown(value: str) -> str:
    return repr(value if len(value) <= 40 else value[:37] + "...")


_count_to(256)
