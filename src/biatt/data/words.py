"""Words, tokens and spans: views of a sentence, made when they are asked for.

They hold a sentence and a place in it, so that a sentence that is only parsed and written never makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, overload

from biatt.data.columns import DEPREL, DEPS, FEATS, FORM, HEAD, ID, LEMMA, MISC, UPOS, XPOS
from biatt.data.key_values import KeyValues, joined

if TYPE_CHECKING:
    from biatt.data.sentence import Sentence


class _Text:
    """A column whose value is text."""

    def __init__(self, column: int) -> None:
        self.column = column

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, word: None, owner: type) -> _Text: ...

    @overload
    def __get__(self, word: Word, owner: type) -> str: ...

    def __get__(self, word: Word | None, owner: type) -> str | _Text:
        return self if word is None else word._row[self.column]

    def __set__(self, word: Word, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError(f"The {self.name} of a word is a string, not {type(value).__name__}.")
        word._set(self.column, value)


class Word:
    """A syntactic word of a sentence; changing it changes the sentence.

    Types are checked at once, values when the sentence is written: heads are words of the sentence and form
    no cycle, and no column is empty. A missing value is "_", a missing head None. Words are equal if they are
    the same word of the same sentence object.
    """

    __slots__ = ("_index", "sentence")

    form = _Text(FORM)
    lemma = _Text(LEMMA)
    upos = _Text(UPOS)
    xpos = _Text(XPOS)
    deprel = _Text(DEPREL)
    deps = _Text(DEPS)

    def __init__(self, sentence: Sentence, index: int) -> None:
        self.sentence, self._index = sentence, index

    @property
    def _row(self) -> list[str]:
        return self.sentence.rows[self._index]

    def _set(self, column: int, value: str) -> None:
        self._row[column] = value
        self.sentence.mark_edited()

    @property
    def id(self) -> int:
        """The number of the word, from 1; sentence[word.id - 1] is the word."""
        return self._index + 1

    @property
    def head(self) -> int | None:
        """The number of the head; 0 for the root, None where the file has "_"."""
        head = self._row[HEAD]
        return None if head == "_" else int(head)

    @head.setter
    def head(self, head: int | None) -> None:
        try:
            value = "_" if head is None else str(index(head))
        except TypeError:
            kind = type(head).__name__
            raise TypeError(f"The head of a word is the number of a word, 0 or None, not {kind}.") from None
        self._set(HEAD, value)

    @property
    def feats(self) -> KeyValues:
        """The features as a mapping: word.feats["Number"]."""
        return KeyValues(self._row[FEATS], lambda value: self._set(FEATS, value), ordered=True)

    @feats.setter
    def feats(self, values: str | Mapping[str, str]) -> None:
        self._set(FEATS, _column_of(values, "feats"))

    @property
    def misc(self) -> KeyValues:
        """The column MISC as a mapping: word.misc["SpaceAfter"]."""
        return KeyValues(self._row[MISC], lambda value: self._set(MISC, value), ordered=False)

    @misc.setter
    def misc(self, values: str | Mapping[str, str]) -> None:
        self._set(MISC, _column_of(values, "misc"))

    @property
    def confidence(self) -> float | None:
        """The parser's probability that head and relation are both right, if it was asked for."""
        confidence = self.sentence.confidence
        return None if confidence is None else float(confidence.words[self._index])

    @property
    def tag_confidence(self) -> dict[str, float]:
        """The model's probabilities of the upos, xpos, feats and lemma that it has written, if asked for.

        What the input had has none.
        """
        confidence = self.sentence.confidence
        tags = {} if confidence is None else confidence.tags
        values = {kind: float(column[self._index]) for kind, column in tags.items()}
        return {kind: value for kind, value in values.items() if value == value}

    @property
    def start_char(self) -> int:
        """Where the word begins in the text.

        The words of a multiword token have their own places if they are the token's parts ("can't" is "ca"
        and "n't"), else all have that of the token.
        """
        return self.sentence.word_places[self._index][0]

    @property
    def end_char(self) -> int:
        """One past the word's last character in the text."""
        return self.sentence.word_places[self._index][1]

    @property
    def token(self) -> Token:
        """The token of the text that the word is, or is a part of."""
        return next(token for token in self.sentence.tokens if token.start <= self._index < token.end)

    @property
    def head_word(self) -> Word | None:
        """The head; None for the root and for a word whose head is missing."""
        return Word(self.sentence, self.head - 1) if self.head else None

    @property
    def children(self) -> list[Word]:
        """The words whose head this word is, from left to right."""
        number, rows = str(self.id), self.sentence.rows
        return [Word(self.sentence, i) for i, row in enumerate(rows) if row[HEAD] == number]

    @property
    def left_children(self) -> list[Word]:
        return [child for child in self.children if child._index < self._index]

    @property
    def right_children(self) -> list[Word]:
        return [child for child in self.children if child._index > self._index]

    @property
    def subtree(self) -> list[Word]:
        """The word and all that depends on it, from left to right."""
        children = children_of(self.sentence.heads)
        places, seen = [self.id], {self.id}
        for place in places:
            places += (new := [child for child in children[place] if child not in seen])
            seen.update(new)
        return [Word(self.sentence, place - 1) for place in sorted(places)]

    @property
    def ancestors(self) -> list[Word]:
        """The head, the head of the head and so on, up to the root."""
        heads = self.sentence.heads
        places = [self.id]
        while (head := heads[places[-1] - 1]) > 0 and head not in places:  # a file can have a cycle
            places.append(head)
        return [Word(self.sentence, place - 1) for place in places[1:]]

    @property
    def depth(self) -> int:
        """The number of ancestors, 0 for the root."""
        return len(self.ancestors)

    def is_ancestor_of(self, other: Word) -> bool:
        """Whether the other word is below this one in the tree."""
        return self in other.ancestors

    def path_to(self, other: Word) -> list[Word]:
        """The words on the way through the tree, both ends included; empty if no way leads there.

        It goes up to the nearest word that is above both, and down from there.
        """
        up, down = [self, *self.ancestors], [other, *other.ancestors]
        top = next((word for word in up if word in down), None)
        if top is None:
            return []
        return [*up[: up.index(top) + 1], *reversed(down[: down.index(top)])]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Word):
            return NotImplemented
        return self.sentence is other.sentence and self._index == other._index

    def __hash__(self) -> int:
        return hash((id(self.sentence), self._index))

    def __str__(self) -> str:
        return self.form

    def __repr__(self) -> str:
        tag = "" if self.upos == "_" else f" {self.upos}"
        arc = "" if self.head is None else f" {self.deprel} of {self.head}"
        return f"<Word {self.id} {self.form}{tag}{arc}>"


class Token:
    """A token of the text: one word, or several for a multiword token such as "can't"."""

    __slots__ = ("_number", "end", "row", "sentence", "start")

    def __init__(self, sentence: Sentence, number: int, start: int, end: int, row: list[str]) -> None:
        self.sentence = sentence
        self._number = number  # among the tokens of the sentence, from 0
        self.start = start  # its first word, from 0
        self.end = end  # one past its last
        self.row = row  # its ten columns; that of a word is the sentence's own

    @property
    def form(self) -> str:
        return self.row[FORM]

    @property
    def text(self) -> str:
        """The token as the text has it; the form can have other space, in languages with space in tokens."""
        places = self.sentence.token_places
        return places.text[places.starts[self._number] : places.ends[self._number]]

    @property
    def start_char(self) -> int:
        """Where the token begins in the text of the document, or of a sentence without document."""
        places = self.sentence.token_places
        return places.base + places.starts[self._number]

    @property
    def end_char(self) -> int:
        """One past the token's last character in the text."""
        places = self.sentence.token_places
        return places.base + places.ends[self._number]

    @property
    def words(self) -> Span:
        return Span(self.sentence, self.start, self.end)

    @property
    def is_multiword(self) -> bool:
        return "-" in self.row[ID]

    @property
    def misc(self) -> KeyValues:
        """The column MISC as a mapping."""

        def write(value: str) -> None:
            old = "\t".join(self.row)
            self.row[MISC] = value
            if self.is_multiword:
                at = self.sentence.verbatim.index((self.start, old))
                self.sentence.verbatim[at] = self.start, "\t".join(self.row)
            self.sentence.mark_edited()

        return KeyValues(self.row[MISC], write, ordered=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Token):
            return NotImplemented
        return self.sentence is other.sentence and self.start == other.start

    def __hash__(self) -> int:
        return hash((id(self.sentence), self.start))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Token {self.row[ID]} {self.form}>"


class Span(Sequence[Word]):
    """Words of a sentence that follow each other, such as sentence[2:5]."""

    __slots__ = ("end", "sentence", "start")

    def __init__(self, sentence: Sentence, start: int, end: int) -> None:
        self.sentence = sentence
        self.start = start  # the first word, from 0
        self.end = end  # one past the last

    @property
    def text(self) -> str:
        """The words as the text has them, with the space between them."""
        if not len(self):
            return ""
        places = self.sentence.token_places
        return places.text[self.start_char - places.base : self.end_char - places.base]

    @property
    def start_char(self) -> int:
        return self.sentence.word_places[self.start][0] if len(self) else self._empty_place()

    @property
    def end_char(self) -> int:
        return self.sentence.word_places[self.end - 1][1] if len(self) else self._empty_place()

    def _empty_place(self) -> int:
        words = self.sentence.word_places
        return words[self.start][0] if self.start < len(words) else self.sentence.end_char

    @property
    def root(self) -> Word | None:
        """The word whose head is outside of the span; of several, the first of those nearest to the root."""
        numbers = {word.id for word in self}
        return min((word for word in self if word.head not in numbers), key=lambda w: w.depth, default=None)

    def __len__(self) -> int:
        return self.end - self.start

    @overload
    def __getitem__(self, place: int) -> Word: ...

    @overload
    def __getitem__(self, place: slice) -> Span: ...

    def __getitem__(self, place: int | slice) -> Word | Span:
        return part_of(self.sentence, place, self.start, self.end)

    def __iter__(self) -> Iterator[Word]:
        return (Word(self.sentence, i) for i in range(self.start, self.end))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Span):
            return NotImplemented
        return self.sentence is other.sentence and (self.start, self.end) == (other.start, other.end)

    def __hash__(self) -> int:
        return hash((id(self.sentence), self.start, self.end))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Span {self.start}:{self.end} {self.text}>"


def part_of(sentence: Sentence, place: int | slice, start: int, end: int) -> Word | Span:
    """The word at a place between start and end, or the span of a slice."""
    size = end - start
    if isinstance(place, slice):
        first, last, step = place.indices(size)
        if step != 1:
            raise ValueError(f"A span is made of words that follow each other: its step is 1, not {step}.")
        return Span(sentence, start + first, start + max(first, last))
    try:
        number = index(place)
    except TypeError:
        kind = type(place).__name__
        raise TypeError(f"Words are taken by their place or by a slice, not by {kind}.") from None
    if not -size <= number < size:
        raise IndexError(f"There is no word {number} among {size}.")
    return Word(sentence, start + number % size)


def children_of(heads: Sequence[int]) -> list[list[int]]:
    """The numbers of the children of each word; entry 0 has those of ROOT."""
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        if 0 <= head < len(children):
            children[head].append(word)
    return children


def _column_of(values: str | Mapping[str, str], name: str) -> str:
    if isinstance(values, str):
        return values
    if isinstance(values, Mapping):
        return joined(values)
    raise TypeError(f"The {name} of a word are a mapping or a string, not {type(values).__name__}.")
