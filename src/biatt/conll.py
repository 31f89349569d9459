"""Reading and writing CoNLL-U and CoNLL-X files, byte for byte.

A file is read in blocks, cut into sentences at its blank lines, and checked sentence by sentence:
one fast look accepts nearly all of them, and `_complain` finds the first fault of the others. What the
parser does not use (comments, multiword tokens, empty nodes, line ends) is kept, so that
`write(read(file))` gives back the bytes that were read. Only a file of nothing but blank lines,
which holds no sentence to keep them in, does not come back.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, get_args

from biatt.errors import FormatError
from biatt.files import BUFFER_BYTES, name_of, reading, writing

if TYPE_CHECKING:  # a sentence only carries them
    from biatt.confidence import Confidence
    from biatt.decode import Attention, Scores

Format = Literal["conllu", "conllx"]

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)  # the columns of CoNLL-U
CPOSTAG, POSTAG, PHEAD, PDEPREL = UPOS, XPOS, DEPS, MISC  # CoNLL-X names for the same places
COLUMNS = 10

# UD 2's universal tags, and CONJ, which UD 1 has for CCONJ.
UPOS_TAGS = frozenset(
    {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "CONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN"}
    | {"PUNCT", "SCONJ", "SYM", "VERB", "X"}
)

_FORMAT_HEAD_BYTES = 1 << 16  # the part of a file that tells its format
_LONGEST_SENTENCE = 1 << 22  # characters: far beyond any sentence, small enough for any memory

_BLANK = " \r\n"
_SEPARATOR = re.compile(r"\n(?:[ \r]*\n)+")
_LEAD = re.compile(r"\ufeff?(?:[ \r]*\n)*")
_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]*)\.([1-9][0-9]*)")

_NO_HEAD = -1
_NOT_A_HEAD = 1 << 60
_IDS: list[str] = []  # "1", "2", ...
_HEADS = {"_": _NO_HEAD, "0": 0}  # a look in a dictionary is faster than int(), and refuses " 3", "+3", "٣"


class Token(NamedTuple):
    """One syntactic word."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int | None  # 0 for the root, None where the file has "_"
    deprel: str
    deps: str
    misc: str
    confidence: float | None = None  # that head and relation are both right; None where no parser said so


class Surface(NamedTuple):
    """A token as it stands in the text: a word, or several in one."""

    form: str
    start: int  # its first word, from 0
    end: int  # one past its last
    misc: str
    multiword: bool = False


class Sentence:
    """The words of one sentence, and all the rest of what the file says about it.

    A block of comments without words, which some files end in, is a sentence of length 0.
    """

    __slots__ = (
        *("_lead", "_returns", "_tail", "format", "line", "rows", "source", "verbatim"),
        *("confidence", "scores"),
    )

    def __init__(
        self,
        rows: list[list[str]],
        verbatim: list[tuple[int, str]],
        format: Format = "conllu",
        source: str = "<words>",
        line: int = 1,
    ) -> None:
        self.rows = rows  # the ten columns of each syntactic word; rows[i] is word i + 1
        self.verbatim = verbatim  # (k, line): a line that is no word and stands before rows[k]
        self.format: Format = format
        self.source = source
        self.line = line  # number of the first line, from 1
        self._lead = ""  # byte order mark and blank lines before the first sentence of a file
        self._tail = "\n\n"  # from the end of the last line to the next sentence or the end of the file
        self._returns: frozenset[int] = frozenset()  # which lines end in "\r\n"
        self.confidence: Confidence | None = None  # how sure the parser was of the tree, where it was asked
        self.scores: Scores | None = None  # and what its networks said

    @classmethod
    def from_words(
        cls,
        forms: Sequence[str],
        *,
        lemmas: Sequence[str] | None = None,
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        heads: Sequence[int] | None = None,
        deprels: Sequence[str] | None = None,
        format: Format = "conllu",
    ) -> Sentence:
        """A sentence that comes from no file; a column not given is "_", and so is a head of -1."""
        rows = [[str(i), form, *"________"] for i, form in enumerate(forms, 1)]
        numbers = None if heads is None else ["_" if head == _NO_HEAD else str(head) for head in heads]
        given = {LEMMA: lemmas, UPOS: upos, XPOS: xpos, FEATS: feats, HEAD: numbers, DEPREL: deprels}
        for column, values in given.items():
            if values is not None:
                for row, value in zip(rows, values, strict=True):
                    row[column] = value
        for row in rows:
            if "" in row or any("\t" in value or "\n" in value for value in row):
                raise FormatError(
                    f"word {row[ID]} has a column that is empty or holds a tab or a line end: {row[1:]}.",
                    source="<words>",
                )
        return cls(rows, [], format)

    def with_tree(self, heads: Sequence[int], relations: Sequence[str], *, also: bool = False) -> Sentence:
        """A copy with these heads and relations; `also` sets PHEAD and PDEPREL, or in CoNLL-U DEPS, too."""
        rows = [row[:] for row in self.rows]
        for row, head, relation in zip(rows, heads, relations, strict=True):
            row[HEAD], row[DEPREL] = str(head), relation
            if also and self.format == "conllx":
                row[PHEAD], row[PDEPREL] = str(head), relation
            elif also:
                row[DEPS] = f"{head}:{relation}"
        return self.with_rows(rows)

    def with_rows(self, rows: list[list[str]]) -> Sentence:
        """A copy with other columns of the same number of words."""
        copy = Sentence(rows, self.verbatim[:], self.format, self.source, self.line)
        copy._lead, copy._tail, copy._returns = self._lead, self._tail, self._returns
        return copy

    def as_format(self, format: Format) -> Sentence:
        """The sentence in this format, which may leave out what the other one has no place for.

        CoNLL-X has no comments, multiword tokens and empty nodes, and PHEAD and PDEPREL where CoNLL-U has
        DEPS and MISC.
        """
        if format == self.format:
            return self
        rows = [[*row[:DEPS], "_", "_"] for row in self.rows]
        copy = Sentence(rows, [], format, self.source, self.line)
        copy.confidence, copy.scores = self.confidence, self.scores
        return copy

    def with_comment(self, line: str) -> Sentence:
        """A copy with one more comment, after those before the first word."""
        copy = Sentence([row[:] for row in self.rows], self.verbatim[:], self.format, self.source, self.line)
        copy._lead, copy._tail = self._lead, self._tail
        copy.confidence, copy.scores = self.confidence, self.scores
        place = sum(k == 0 and text.startswith("#") for k, text in self.verbatim)
        copy.verbatim.insert(place, (0, line))
        copy._returns = frozenset(i + (i >= place) for i in self._returns)
        if self._returns:
            copy._returns |= {place}
        return copy

    def to_text(self) -> str:
        """The sentence as it stands in a file, with the blank line after it."""
        lines = ["\t".join(row) for row in self.rows]
        for k, line in reversed(self.verbatim):  # from the end, so that earlier places keep their numbers
            lines.insert(k, line)
        for i in self._returns:
            lines[i] += "\r"
        return self._lead + "\n".join(lines) + self._tail

    @property
    def forms(self) -> list[str]:
        return [row[FORM] for row in self.rows]

    @property
    def lemmas(self) -> list[str]:
        return [row[LEMMA] for row in self.rows]

    @property
    def upos(self) -> list[str]:
        return [row[UPOS] for row in self.rows]

    @property
    def xpos(self) -> list[str]:
        return [row[XPOS] for row in self.rows]

    @property
    def feats(self) -> list[str]:
        return [row[FEATS] for row in self.rows]

    @property
    def heads(self) -> list[int]:
        """The number of each word's head, 0 for the root, -1 where the file has "_"."""
        return [_NO_HEAD if row[HEAD] == "_" else int(row[HEAD]) for row in self.rows]

    @property
    def deprels(self) -> list[str]:
        return [row[DEPREL] for row in self.rows]

    @property
    def attention(self) -> Attention | None:
        """Where each word looked for its head, where the parser was asked for its confidence."""
        return None if self.scores is None else self.scores.attention

    def tree(self) -> str:
        """A drawing of the tree for a terminal."""
        from biatt import render

        return render.tree(self)

    def svg(self) -> str:
        """A picture of the tree; a notebook shows it by itself."""
        from biatt import render

        return render.svg(self)

    _repr_svg_ = svg

    def png(self) -> bytes:
        """The same picture as PNG; needs biatt[png]."""
        from biatt import pictures, render

        return pictures.png(render.svg(self))

    @property
    def tokens(self) -> list[Surface]:
        """The tokens of the text, each of one word or, for a multiword token, of several."""
        several = {}
        for start, line in self.verbatim:
            if not line.startswith("#") and "-" in (row := line.split("\t"))[ID]:
                end = int(row[ID].partition("-")[2])
                several[start] = Surface(row[FORM], start, end, row[MISC], True)
        result: list[Surface] = []
        while (at := result[-1].end if result else 0) < len(self):
            row = self.rows[at]
            result.append(several.get(at) or Surface(row[FORM], at, at + 1, row[MISC]))
        return result

    @property
    def comments(self) -> list[str]:
        return [line for _, line in self.verbatim if line.startswith("#")]

    @property
    def text(self) -> str | None:
        """The raw text, if a comment gives it."""
        return self._said("# text = ")

    @property
    def sent_id(self) -> str | None:
        """The sentence's name, if a comment gives it."""
        return self._said("# sent_id = ")

    def _said(self, mark: str) -> str | None:
        return next((line[len(mark) :] for line in self.comments if line.startswith(mark)), None)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Token]:
        sure = [None] * len(self) if self.confidence is None else self.confidence.words.tolist()
        for row, number, confidence in zip(self.rows, self.heads, sure, strict=True):
            id, form, lemma, upos, xpos, feats, _, deprel, deps, misc = row
            head = None if number == _NO_HEAD else number
            yield Token(int(id), form, lemma, upos, xpos, feats, head, deprel, deps, misc, confidence)

    def __eq__(self, other: object) -> bool:
        """Equal in every word, comment and other line; where it was read from does not count."""
        if not isinstance(other, Sentence):
            return NotImplemented
        return (self.rows, self.verbatim, self.format) == (other.rows, other.verbatim, other.format)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        words = " ".join(self.forms[:6]) + (" ..." if len(self) > 6 else "")
        return f"<Sentence of {len(self)} words, {self.source}, line {self.line}: {words}>"


def read(
    source: str | Path | BinaryIO,
    *,
    format: Format | None = None,
    trees: bool = False,
    name: str | None = None,
) -> Iterator[Sentence]:
    """The sentences of a file, "-" (standard input) or a binary stream, as they are read.

    Without `format`, the first 64 KiB tell it. With `trees`, the heads of each sentence must form a tree
    below 0, where several words may stand. `name` is what error messages call the source.
    """
    if format is not None and format not in get_args(Format):
        raise ValueError(f"format is {format!r}, not one of {get_args(Format)}")
    name = name or name_of(source)
    with reading(source, name=name) as stream:
        head = b"" if format else stream.read(_FORMAT_HEAD_BYTES)
        found = format or format_of(head)
        line = 1
        for lead, body, tail in _cut(_whole_lines(stream, head, name)):
            line += lead.count("\n")
            sentence = _parse(body, found, name, line, trees)
            if len(body) + len(tail) > _LONGEST_SENTENCE:
                fault = f"no other sentence begins within {_LONGEST_SENTENCE:,} characters."
                raise FormatError(fault, source=name, line=line)
            sentence._lead, sentence._tail = lead, tail
            line += body.count("\n") + tail.count("\n")
            yield sentence


def write(sentences: Iterable[Sentence], target: str | Path | BinaryIO) -> int:
    """Write sentences to a file, "-" (standard output) or a binary stream; how many there were."""
    count, missing = 0, ""
    with writing(target) as stream:
        for sentence in sentences:
            text = sentence.to_text()
            if count:  # a file's first or last sentence may stand elsewhere in another file
                text = missing + text.removeprefix("\ufeff")
            missing = _missing_after(sentence._tail)
            try:
                stream.write(text.encode())
            except UnicodeEncodeError as error:
                fault = f"{error.object[error.start]!r} is half a character and cannot be written as UTF-8."
                raise FormatError(fault, source=sentence.source, line=sentence.line) from error
            count += 1
    return count


def _missing_after(tail: str) -> str:
    """What must follow the end of a sentence before another one can: a whole line end and a blank line."""
    ended = tail if tail.endswith("\n") else tail + "\n"
    return (ended if ended.count("\n") > 1 else ended + "\n")[len(tail) :]


def format_of(head: bytes) -> Format:
    """Which format the start of a file has.

    Comments, multiword tokens and empty nodes only exist in CoNLL-U. Without them, it is CoNLL-X if most tags
    are not universal: most, since some treebanks let another tag slip in. X says nothing, since CoNLL-X tag
    sets can have one of their own.
    """
    universal = other = 0
    for line in head.decode(errors="ignore").removeprefix("\ufeff").split("\n"):
        row = line.split("\t")
        if line.startswith("#") or _RANGE.fullmatch(row[ID]) or _EMPTY_NODE.fullmatch(row[ID]):
            return "conllu"
        if len(row) == COLUMNS and row[UPOS] not in ("_", "X"):
            universal += row[UPOS] in UPOS_TAGS
            other += row[UPOS] not in UPOS_TAGS
    return "conllx" if other > universal else "conllu"


def _whole_lines(stream: io.BufferedReader, head: bytes, name: str) -> Iterator[str]:
    """The text in blocks that end where a line ends; only the last may end elsewhere."""
    line, pending = 1, b""
    block = head or stream.read1(BUFFER_BYTES)
    while block:
        end = block.rfind(b"\n") + 1
        pending += block
        if end:
            end += len(pending) - len(block)
            data, pending = pending[:end], pending[end:]
            yield from _decode(data, name, line)
            line += data.count(b"\n")
        if len(pending) > _LONGEST_SENTENCE:
            raise FormatError(f"the line is longer than {_LONGEST_SENTENCE:,} bytes.", source=name, line=line)
        block = stream.read1(BUFFER_BYTES)
    yield from _decode(pending, name, line)


def _decode(data: bytes, name: str, line: int) -> Iterator[str]:
    try:
        yield data.decode()
    except UnicodeDecodeError as error:
        yield data[: data.rfind(b"\n", 0, error.start) + 1].decode()  # the good sentences come first
        fault = f"byte 0x{data[error.start]:02x} is not UTF-8, the only encoding of CoNLL files."
        line += data.count(b"\n", 0, error.start)
        raise FormatError(fault, source=name, line=line) from error


def _cut(texts: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Cut text at its blank lines into (what stands before, the lines of a sentence, what follows them)."""
    buffer, searched = "", 0
    lead: str | None = None
    for text in texts:
        buffer += text
        start, solid = 0, len(buffer.rstrip(_BLANK))
        if lead is None and solid > buffer.startswith("\ufeff") and (match := _LEAD.match(buffer)):
            lead, start = match.group(), match.end()
        if lead is not None:
            for match in _SEPARATOR.finditer(buffer, max(start, searched)):
                if match.end() > solid:
                    break  # the next block may begin with more blank lines
                yield lead, buffer[start : match.start()], match.group()
                lead, start = "", match.end()
        buffer, searched = buffer[start:], max(0, solid - start)
        if len(buffer) > _LONGEST_SENTENCE:
            yield lead or "", buffer[:searched], buffer[searched:]
            return
    if lead is not None and searched:
        end = buffer.find("\n", searched)
        end = len(buffer) if end < 0 else end
        yield lead, buffer[:end], buffer[end:]


def _parse(body: str, format: Format, name: str, first: int, trees: bool) -> Sentence:
    """The sentence that these lines hold, checked; `first` is the number of the first line."""
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
    if tokens or empty or [row[ID] for row in rows] != _IDS[:n] or any(len(row) != COLUMNS for row in rows):
        _complain(lines, n, name, first, trees)
    heads = [_HEADS.get(row[HEAD], _NOT_A_HEAD) for row in rows]
    if rows and (max(heads) > n or (trees and min(heads) < 0) or any(map(eq, heads, range(1, n + 1)))):
        _complain(lines, n, name, first, trees)
    if trees and (cycle := _cycle(heads)):
        above = sum(1 for k, _ in sentence.verbatim if k < cycle[0])
        shown = ", ".join(map(str, cycle[:10])) + (", ..." if len(cycle) > 10 else "")
        fault = f"the heads form a cycle through words {shown}."
        raise FormatError(fault, source=name, line=first + above + cycle[0] - 1)
    return sentence


def _count_to(n: int) -> None:
    """Make the tables of IDs and heads reach n."""
    for i in range(len(_IDS) + 1, n + 1):
        _IDS.append(str(i))
        _HEADS[str(i)] = i


def _cycle(heads: list[int]) -> list[int]:
    """The words of a cycle, or none: linear, since no word is walked through twice."""
    walks = [0] * (len(heads) + 1)  # which walk came through this word
    walks[0] = -1
    for start in range(1, len(heads) + 1):
        word = start
        while not walks[word]:
            walks[word] = start
            word = heads[word - 1]
        if walks[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            return cycle
    return []


def _complain(lines: list[str], n: int, name: str, first: int, trees: bool) -> None:
    """Raise a FormatError for the first line at fault; n is the number of words."""
    # Words so far, the last word of a multiword token, empty nodes since the last word.
    words = covered = nodes = 0
    for number, line in enumerate(lines, first):
        if line[:1] == "#":
            continue
        row = line.split("\t")
        fault = ""
        if len(row) != COLUMNS:
            fault = f"the line has {len(row)} columns separated by tabs, not {COLUMNS}"
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
            elif head > n or (trees and head < 0):
                wanted = f"a number from 0 to {n}" + ("" if trees else " or _")
                fault = f"HEAD is {_shown(row[HEAD])} where {wanted} was expected"
            elif head == words:
                fault = f"word {words} is its own head"
        if fault:
            raise FormatError(fault + ".", source=name, line=number)


def _shown(value: str) -> str:
    return repr(value if len(value) <= 40 else value[:37] + "...")


_count_to(256)
