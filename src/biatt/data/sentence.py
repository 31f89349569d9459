"""A sentence: its words with their columns, and the other lines of the file that belong to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from biatt.data.arcs import is_projective
from biatt.data.columns import DEPREL, DEPS, FEATS, FORM, HEAD, ID, LEMMA, MISC, PDEPREL, PHEAD, UPOS, XPOS
from biatt.data.noun_chunks import noun_chunks
from biatt.data.places import Places, parts_of, places_of
from biatt.data.words import Span, Token, Word, part_of
from biatt.errors import FormatError
from biatt.options import WORD_LINES, WRAP, ConllFormat, Theme, WordLine

if TYPE_CHECKING:  # a sentence only carries them
    from biatt.data.scores import Confidence, HeadProbabilities, Scores
    from biatt.data.search import Match

NO_HEAD = -1  # where the file has "_"
SENT_ID, TEXT = "# sent_id = ", "# text = "
NO_FILE = ("<words>", "<text>")  # the source of sentences that come from no file


class Sentence:
    """The words of a sentence with their ten columns, and the other lines of the file that belong to it.

    It is a sequence of words: sentence[0] is the first, sentence[2:5] a span, and a loop goes over all. A
    block of comments without words, with which some files end, is a sentence of length 0.
    """

    __slots__ = (
        *("_lead", "_returns", "_tail", "format", "line", "rows", "source", "verbatim"),
        *("_edited", "_places", "_word_places", "confidence", "scores"),
    )

    def __init__(
        self,
        rows: list[list[str]],
        verbatim: list[tuple[int, str]],
        format: ConllFormat = "conllu",
        source: str = NO_FILE[0],
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
        self._edited = False  # whether a word has been changed, so that the sentence is checked when written
        self._places: Places | None = None  # of the tokens, given by the tokeniser or found when needed
        self._word_places: list[tuple[int, int]] | None = None  # found when needed

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
        if isinstance(forms, (str, bytes)) or not isinstance(forms, Iterable):
            kind = f"of the string {forms!r}" if isinstance(forms, str) else f"of {type(forms).__name__}"
            raise TypeError(f"A sentence is made of a list of words, not {kind}.")
        rows = [[str(i), form, *"________"] for i, form in enumerate(forms, 1)]
        for row in rows:
            if not isinstance(row[FORM], str):
                raise TypeError(f"A word is a string, not {type(row[FORM]).__name__}.")
        numbers = None if heads is None else ["_" if head == NO_HEAD else str(head) for head in heads]
        given = {LEMMA: lemmas, UPOS: upos, XPOS: xpos, FEATS: feats, HEAD: numbers, DEPREL: deprels}
        for column, values in given.items():
            if values is not None:
                if len(values) != len(rows):
                    raise ValueError(f"A column has {len(values)} values for {len(rows)} words.")
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
        copy._edited = self._edited
        if self._places is not None and self._places.given:
            copy._places = self._places
        return copy

    def copy(self) -> Sentence:
        """A copy, which can be changed without changing the sentence."""
        copy = self.with_rows([row[:] for row in self.rows])
        copy.confidence, copy.scores = self.confidence, self.scores
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
        if self._places is not None and len(self._places.starts) == len(rows):  # without multiword tokens
            copy._places = self._places
        return copy

    def with_comment(self, line: str) -> Sentence:
        """A copy with another comment, after those before the first word."""
        copy = self.copy()
        copy._insert_comment(sum(k == 0 and text.startswith("#") for k, text in self.verbatim), line)
        return copy

    def _insert_comment(self, place: int, line: str) -> None:
        self.verbatim.insert(place, (0, line))
        if self._returns:
            self._returns = frozenset(i + (i >= place) for i in self._returns) | {place}

    def to_text(self) -> str:
        """The sentence as in a file, with the blank line after it."""
        lines = self.lines()
        for i in self._returns:
            lines[i] += "\r"
        return self._lead + "\n".join(lines) + self._tail

    def lines(self) -> list[str]:
        """The lines of the sentence in a file, without their ends."""
        lines = ["\t".join(row) for row in self.rows]
        for k, line in reversed(self.verbatim):  # from the end, so that earlier places keep their numbers
            lines.insert(k, line)
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The sentence as a dictionary that JSON can hold (`data.as_json`)."""
        from biatt.data.as_json import sentence_to_dict

        return sentence_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sentence:
        """The sentence of a dictionary that `to_dict` has made."""
        from biatt.data.from_json import sentence_from_dict

        return sentence_from_dict(data)

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

    def svg(
        self,
        *,
        wrap: float | None = WRAP,
        show: Sequence[WordLine] = WORD_LINES,
        theme: Theme = "auto",
    ) -> str:
        """A picture of the tree, which notebooks show.

        It has rows of up to `wrap` pixels; None keeps it in one row. `show` names what is below the words:
        "lemma", "upos", "xpos". The theme "auto" follows the reader's colour scheme.
        """
        from biatt.display.svg import tree_picture

        return tree_picture(self, wrap=wrap, show=show).svg(theme=theme)

    def png(
        self,
        *,
        wrap: float | None = WRAP,
        show: Sequence[WordLine] = WORD_LINES,
        theme: Theme = "light",
    ) -> bytes:
        """The same picture as PNG; needs biatt[png]."""
        from biatt.display.png import to_png
        from biatt.display.svg import tree_picture

        return to_png(tree_picture(self, wrap=wrap, show=show), theme=theme)

    def _repr_html_(self) -> str:
        from biatt.display.notebook import sentence_html

        return sentence_html(self)

    def find(self, pattern: str) -> list[Match]:
        """All matches of a dependency pattern in Semgrex's notation, such as {upos:VERB} >nsubj {}=subject.

        They are ordered by the word of the pattern's first node.
        """
        from biatt.data.search import search

        return list(search(pattern).find(self))

    @property
    def words(self) -> list[Word]:
        """The syntactic words."""
        return list(self)

    @property
    def tokens(self) -> list[Token]:
        """The tokens of the text, each of one word or, for a multiword token, of several."""
        multiword = {}
        for start, line in self.verbatim:
            if not line.startswith("#") and "-" in (row := line.split("\t"))[ID]:
                multiword[start] = int(row[ID].partition("-")[2]), row
        result: list[Token] = []
        at = 0
        while at < len(self.rows):
            end, row = multiword.get(at) or (at + 1, self.rows[at])
            result.append(Token(self, len(result), at, end, row))
            at = end
        return result

    @property
    def root(self) -> Word | None:
        """The first word whose head is 0."""
        return next((Word(self, i) for i, row in enumerate(self.rows) if row[HEAD] == "0"), None)

    @property
    def noun_chunks(self) -> list[Span]:
        """Noun phrases without their clauses and prepositional phrases (`data.noun_chunks`)."""
        return list(noun_chunks(self))

    @property
    def is_projective(self) -> bool:
        """Whether no two arcs cross, including the arcs from ROOT."""
        return is_projective(self.heads)

    @property
    def comments(self) -> list[str]:
        return [line for _, line in self.verbatim if line.startswith("#")]

    @property
    def text(self) -> str:
        """The sentence as its text has it: between its first and its last token.

        For a sentence of a file it is the comment `# text` if the tokens are in it, else the tokens with the
        space that MISC gives.
        """
        places = self.token_places
        return places.text[places.starts[0] : places.ends[-1]] if len(self) else ""

    @property
    def start_char(self) -> int:
        """Where the sentence begins in the text of its document; 0 for a sentence without document."""
        places = self.token_places
        return places.base + places.starts[0] if len(self) else 0

    @property
    def end_char(self) -> int:
        """One past the last character of the sentence in the text of its document."""
        places = self.token_places
        return places.base + places.ends[-1] if len(self) else 0

    @property
    def token_places(self) -> Places:
        if self._places is None:
            tokens = [(token.form, token.row[MISC]) for token in self.tokens]
            self._places = places_of(tokens, self._comment(TEXT))
        return self._places

    @property
    def word_places(self) -> list[tuple[int, int]]:
        """Start and end of each word in the text of the document."""
        if self._word_places is None:
            self._word_places = [
                place
                for token in self.tokens
                for place in parts_of(token.text, token.start_char, [word.form for word in token.words])
            ]
        return self._word_places

    def place_in(self, places: Places) -> None:
        """Say where the tokens are in a text."""
        self._places, self._word_places = places, None

    def mark_edited(self) -> None:
        """Note that a column has changed."""
        self._edited, self._word_places = True, None
        if self._places is not None and not self._places.given:
            self._places = None

    @property
    def sent_id(self) -> str | None:
        """The name of the sentence, if a comment gives it."""
        return self._comment(SENT_ID)

    @sent_id.setter
    def sent_id(self, name: str | None) -> None:
        if name is not None and (not isinstance(name, str) or "\n" in name or "\r" in name):
            raise TypeError(f"The sent_id of a sentence is a string without line ends or None, not {name!r}.")
        place = next((i for i, (_, line) in enumerate(self.verbatim) if line.startswith(SENT_ID)), None)
        if place is not None and name is not None:
            self.verbatim[place] = self.verbatim[place][0], SENT_ID + name
        elif name is not None:
            self._insert_comment(0, SENT_ID + name)
        elif place is not None:
            line = self.verbatim[place][0] + place  # in the sentence
            del self.verbatim[place]
            self._returns = frozenset(i - (i > line) for i in self._returns if i != line)

    def _comment(self, mark: str) -> str | None:
        return next((line[len(mark) :] for line in self.comments if line.startswith(mark)), None)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Word: ...

    @overload
    def __getitem__(self, place: slice) -> Span: ...

    def __getitem__(self, place: int | slice) -> Word | Span:
        return part_of(self, place, 0, len(self.rows))

    def __iter__(self) -> Iterator[Word]:
        return (Word(self, i) for i in range(len(self.rows)))

    def __eq__(self, other: object) -> bool:
        """Equal in every word, comment and other line; source and line number do not count."""
        if not isinstance(other, Sentence):
            return NotImplemented
        return (self.rows, self.verbatim, self.format) == (other.rows, other.verbatim, other.format)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        words = " ".join(self.forms[:6]) + (" ..." if len(self) > 6 else "")
        place = "" if self.source in NO_FILE else f", {self.source}, line {self.line}"
        return f"<Sentence of {len(self)} words{place}: {words}>"
