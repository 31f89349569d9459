"""A sentence: its words with their columns, and the other lines of the file that belong to it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from biatt.data.columns import DEPREL, DEPS, FEATS, FORM, HEAD, ID, LEMMA, MISC, PDEPREL, PHEAD, UPOS, XPOS
from biatt.data.visible import visible
from biatt.errors import FormatError
from biatt.options import ConllFormat

if TYPE_CHECKING:  # a sentence only carries them
    from biatt.data.scores import Confidence, HeadProbabilities, Scores
    from biatt.data.search import Match

NO_HEAD = -1  # where the file has "_"
SENT_ID, TEXT = "# sent_id = ", "# text = "
LONGEST_SENTENCE = 5000  # words in a parsed sentence: memory grows with their square, time with their cube
LONG_SENTENCE = 3000  # words: from here on, a sentence is announced before it is parsed

log = logging.getLogger(__name__)  # INFO: that a sentence takes long; the command line shows it


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
    confidence: float | None = None  # probability that head and relation are both right, if it was asked for


class Surface(NamedTuple):
    """A token of the text: one word, or several for a multiword token."""

    form: str
    start: int  # its first word, from 0
    end: int  # one past its last
    misc: str
    multiword: bool = False


class Sentence:
    """The words of a sentence with their ten columns, and the other lines of the file that belong to it.

    A block of comments without words, with which some files end, is a sentence of length 0.
    """

    __slots__ = (
        *("_lead", "_returns", "_tail", "format", "line", "rows", "source", "verbatim"),
        *("confidence", "scores"),
    )

    def __init__(
        self,
        rows: list[list[str]],
        verbatim: list[tuple[int, str]],
        format: ConllFormat = "conllu",
        source: str = "<words>",
        line: int = 1,
    ) -> None:
        self.rows = rows  # the ten columns of each syntactic word; rows[i] is word i + 1
        self.verbatim = verbatim  # (k, line): a comment, multiword token or empty node before rows[k]
        self.format: ConllFormat = format
        self.source = source
        self.line = line  # number of the first line, from 1
        self._lead = ""  # byte order mark and blank lines before the first sentence of a file
        self._tail = "\n\n"  # from the end of the last line to the next sentence or the end of the file
        self._returns: frozenset[int] = frozenset()  # which lines end in "\r\n"
        self.confidence: Confidence | None = None  # of the parser in the tree, if it was asked for
        self.scores: Scores | None = None  # of the network, from which the confidence comes

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
        format: ConllFormat = "conllu",
    ) -> Sentence:
        """A sentence that comes from no file; a column not given is "_", and so is a head of -1."""
        if isinstance(forms, str):
            raise TypeError(f"A sentence is made of a list of words, not of the string {forms!r}.")
        rows = [[str(i), form, *"________"] for i, form in enumerate(forms, 1)]
        numbers = None if heads is None else ["_" if head == NO_HEAD else str(head) for head in heads]
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

    def with_tree(
        self, heads: Sequence[int], relations: Sequence[str], *, fill_deps: bool = False
    ) -> Sentence:
        """A copy with these heads and relations, with `fill_deps` in DEPS, or PHEAD and PDEPREL, as well."""
        rows = [row[:] for row in self.rows]
        for row, head, relation in zip(rows, heads, relations, strict=True):
            row[HEAD], row[DEPREL] = str(head), relation
            if fill_deps and self.format == "conllx":
                row[PHEAD], row[PDEPREL] = str(head), relation
            elif fill_deps:
                row[DEPS] = f"{head}:{relation}"
        return self.with_rows(rows)

    def with_rows(self, rows: list[list[str]]) -> Sentence:
        """A copy with other columns of the same number of words."""
        copy = Sentence(rows, self.verbatim[:], self.format, self.source, self.line)
        copy._lead, copy._tail, copy._returns = self._lead, self._tail, self._returns
        return copy

    def as_format(self, format: ConllFormat) -> Sentence:
        """The sentence in this format, without what only the other format has.

        CoNLL-X has no comments, multiword tokens and empty nodes, and it has PHEAD and PDEPREL in the place
        of DEPS and MISC.
        """
        if format == self.format:
            return self
        rows = [[*row[:DEPS], "_", "_"] for row in self.rows]
        copy = Sentence(rows, [], format, self.source, self.line)
        copy.confidence, copy.scores = self.confidence, self.scores
        return copy

    def with_comment(self, line: str) -> Sentence:
        """A copy with another comment, after those before the first word."""
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
        """The sentence as in a file, with the blank line after it."""
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
        return [NO_HEAD if row[HEAD] == "_" else int(row[HEAD]) for row in self.rows]

    @property
    def deprels(self) -> list[str]:
        return [row[DEPREL] for row in self.rows]

    @property
    def attention(self) -> HeadProbabilities | None:
        """Probabilities of heads, if the parser was asked for its confidence."""
        return None if self.scores is None else self.scores.attention

    def tree(self) -> str:
        """A drawing of the tree for a terminal."""
        from biatt.display.terminal import tree_text

        return tree_text(self)

    def svg(self) -> str:
        """A picture of the tree, which notebooks show."""
        from biatt.display.svg import tree_svg

        return tree_svg(self)

    _repr_svg_ = svg

    def png(self) -> bytes:
        """The same picture as PNG; needs biatt[png]."""
        from biatt.display.png import to_png

        return to_png(self.svg())

    def find(self, pattern: str) -> list[Match]:
        """All matches of a dependency pattern in Semgrex's notation, such as {upos:VERB} >nsubj {}=subject.

        They are ordered by the word of the pattern's first node.
        """
        from biatt.data.search import search

        return list(search(pattern).find(self))

    @property
    def tokens(self) -> list[Surface]:
        """The tokens of the text, each of one word or, for a multiword token, of several."""
        multiword = {}
        for start, line in self.verbatim:
            if not line.startswith("#") and "-" in (row := line.split("\t"))[ID]:
                end = int(row[ID].partition("-")[2])
                multiword[start] = Surface(row[FORM], start, end, row[MISC], True)
        result: list[Surface] = []
        while (at := result[-1].end if result else 0) < len(self):
            row = self.rows[at]
            result.append(multiword.get(at) or Surface(row[FORM], at, at + 1, row[MISC]))
        return result

    @property
    def comments(self) -> list[str]:
        return [line for _, line in self.verbatim if line.startswith("#")]

    @property
    def text(self) -> str | None:
        """The raw text, if a comment gives it."""
        return self._comment(TEXT)

    @property
    def sent_id(self) -> str | None:
        """The name of the sentence, if a comment gives it."""
        return self._comment(SENT_ID)

    def _comment(self, mark: str) -> str | None:
        return next((line[len(mark) :] for line in self.comments if line.startswith(mark)), None)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Token]:
        probabilities = [None] * len(self) if self.confidence is None else self.confidence.words.tolist()
        for row, number, confidence in zip(self.rows, self.heads, probabilities, strict=True):
            id, form, lemma, upos, xpos, feats, _, deprel, deps, misc = row
            head = None if number == NO_HEAD else number
            yield Token(int(id), form, lemma, upos, xpos, feats, head, deprel, deps, misc, confidence)

    def __eq__(self, other: object) -> bool:
        """Equal in every word, comment and other line; source and line number do not count."""
        if not isinstance(other, Sentence):
            return NotImplemented
        return (self.rows, self.verbatim, self.format) == (other.rows, other.verbatim, other.format)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        words = " ".join(self.forms[:6]) + (" ..." if len(self) > 6 else "")
        return f"<Sentence of {len(self)} words, {self.source}, line {self.line}: {words}>"


def check_length(sentence: Sentence) -> None:
    """Refuse a sentence that is too long to parse or to train on; announce one that takes long."""
    words = f"{len(sentence):,} words"
    if len(sentence) > LONGEST_SENTENCE:
        fault = f"the sentence has {words}; a parser takes up to {LONGEST_SENTENCE:,}."
        raise FormatError(fault, source=sentence.source, line=sentence.line)
    if len(sentence) >= LONG_SENTENCE:
        where = f"{visible(sentence.source)}, line {sentence.line}"
        log.info("%s: a sentence of %s, which can take a minute.", where, words)
