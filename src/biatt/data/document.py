"""A document: a text and its sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, overload

from biatt.data.places import Places
from biatt.data.raw_text import RawText
from biatt.data.sentence import Sentence
from biatt.data.words import Token, Word

if TYPE_CHECKING:
    from biatt.data.search import Match


class Document:
    """A text and its sentences.

    A loop over it goes over its sentences. text[token.start_char:token.end_char] is the text of each token,
    and the same holds for sentences and spans.
    """

    __slots__ = ("sentences", "text")

    def __init__(self, text: str, sentences: Iterable[Sentence]) -> None:
        self.text = text  # as it was given
        self.sentences = list(sentences)

    @classmethod
    def from_sentences(cls, sentences: Iterable[Sentence]) -> Document:
        """The document of sentences, for example of a file; `start_char` and `end_char` then count in it.

        Its text is what `biatt raw` writes: the tokens with the space that MISC gives.
        """
        kept, raw = list(sentences_in(sentences)), RawText()
        places = [raw.add(sentence) for sentence in kept]
        text = raw.text()
        for sentence, (starts, ends) in zip(kept, places, strict=True):
            sentence.place_in(Places(text, starts, ends))
        return cls(text, kept)

    @property
    def words(self) -> list[Word]:
        """The words of all sentences."""
        return [word for sentence in self.sentences for word in sentence]

    @property
    def tokens(self) -> list[Token]:
        """The tokens of all sentences."""
        return [token for sentence in self.sentences for token in sentence.tokens]

    def find(self, pattern: str) -> list[Match]:
        """All matches of a dependency pattern, sentence by sentence, as `Sentence.find` gives them."""
        return [match for sentence in self.sentences for match in sentence.find(pattern)]

    def copy(self) -> Document:
        """A copy, which can be changed without changing the document."""
        return Document(self.text, [sentence.copy() for sentence in self.sentences])

    def to_dict(self) -> dict[str, Any]:
        """The document as a dictionary that JSON can hold (`data.as_json`)."""
        from biatt.data.as_json import document_to_dict

        return document_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Document:
        """The document of a dictionary that `to_dict` has made."""
        from biatt.data.from_json import document_from_dict

        return document_from_dict(data)

    @overload
    def __getitem__(self, place: int) -> Sentence: ...

    @overload
    def __getitem__(self, place: slice) -> list[Sentence]: ...

    def __getitem__(self, place: int | slice) -> Sentence | list[Sentence]:
        return self.sentences[place]

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Document):
            return NotImplemented
        return (self.text, self.sentences) == (other.text, other.sentences)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from biatt.display.notebook import document_html

        return document_html(self)

    def __repr__(self) -> str:
        shown = " ".join(self.text[:60].split())
        return f"<Document of {len(self)} sentences: {shown}{' ...' if len(self.text) > 60 else ''}>"


def sentences_in(source: Sentence | Document | Iterable[Sentence | Document]) -> Iterator[Sentence]:
    """The sentences of one or several sentences or documents."""
    if isinstance(source, Sentence):
        yield source
        return
    if not isinstance(source, Iterable) or isinstance(source, (str, bytes)):
        raise TypeError(f"Sentences or documents were expected, not {type(source).__name__}.")
    for item in source:
        if isinstance(item, Document):
            yield from item
        elif isinstance(item, Sentence):
            yield item
        else:
            raise TypeError(f"Sentences or documents were expected, not {type(item).__name__}.")
