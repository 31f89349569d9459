"""The raw text of a treebank: what a tokeniser reads, and where tokens and sentences end in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from biatt.data.columns import MISC
from biatt.data.sentence import Sentence
from biatt.data.spaces import space_after, space_before, text_in

NEW_PARAGRAPH, NEW_DOCUMENT = "# newpar", "# newdoc"  # comments


class TokenEnd(NamedTuple):
    """Where a token ends."""

    character: int  # its last character, counted from 0 in the paragraph without its spaces
    multiword: bool  # whether the token has several words
    ends_sentence: bool = False


class Paragraph(NamedTuple):
    """A stretch of text after which a sentence ends."""

    chunks: list[str]  # the text between spaces
    tokens: list[TokenEnd]
    line_ends: list[int]  # the chunks after which another line begins

    @classmethod
    def from_text(cls, text: str) -> Paragraph:
        """A paragraph whose tokens are not known."""
        chunks: list[str] = []
        line_ends = []
        for line in text.split("\n"):
            if in_line := line.split():
                chunks += in_line
                line_ends.append(len(chunks) - 1)
        return cls(chunks, [], line_ends[:-1])

    @property
    def text(self) -> str:
        starts = [0, *(end + 1 for end in self.line_ends), len(self.chunks)]
        return "\n".join(" ".join(self.chunks[start:end]) for start, end in pairwise(starts))


def paragraphs(sentences: Iterable[Sentence]) -> Iterator[Paragraph]:
    """The paragraphs of a treebank; a comment `# newpar` or `# newdoc` begins another."""
    paragraph, size = Paragraph([], [], []), 0  # size in characters, without spaces
    joined = False  # whether the next token follows without a space
    broken = False  # whether it begins a line
    for sentence in sentences:
        if begins_paragraph(sentence):
            if paragraph.chunks:
                yield paragraph
            paragraph, size, joined, broken = Paragraph([], [], []), 0, False, False
        chunks, tokens, line_ends = paragraph
        for token in sentence.tokens:
            parts = token.form.split()
            if not parts:  # the form is only space, which cannot be seen in a text
                continue
            if broken:
                line_ends.append(len(chunks) - 1)
            if joined:
                chunks[-1] += parts[0]
            chunks += parts[1:] if joined else parts
            size += sum(map(len, parts))
            tokens.append(TokenEnd(size - 1, token.is_multiword))
            after = space_after(token.row[MISC])
            joined, broken = after == "", after is not None and "\n" in after
        if tokens:
            tokens[-1] = tokens[-1]._replace(ends_sentence=True)
    if paragraph.chunks:
        yield paragraph


def begins_paragraph(sentence: Sentence) -> bool:
    return any(comment.startswith((NEW_PARAGRAPH, NEW_DOCUMENT)) for comment in sentence.comments)


class RawText:
    """The text of sentences, put together one by one.

    Space is that of MISC. Where MISC has none, it is a blank, before a new paragraph a blank line, and at the
    end a line break. A paragraph always begins after a blank line.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0  # in characters
        self._begins_paragraph = False  # whether the next token does
        self._after: str | None = ""  # the space after the last token; None if MISC says nothing about it

    def add(self, sentence: Sentence) -> tuple[list[int], list[int]]:
        """Add a sentence; start and end of each of its tokens in the text."""
        self._begins_paragraph |= bool(self._size) and begins_paragraph(sentence)
        starts, ends = [], []
        for token in sentence.tokens:
            misc = token.row[MISC]
            text = text_in(token.form, misc)
            if text.strip():  # else it is only space
                space = (" " if self._after is None else self._after) + space_before(misc)
                if self._begins_paragraph and space.count("\n") < 2:
                    space = "\n\n"
                self._add(space)
                self._add(text)
                self._after, self._begins_paragraph = space_after(misc), False
            starts.append(self._size - len(text) if text.strip() else self._size)
            ends.append(self._size)
        return starts, ends

    def _add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._size += len(piece)

    def text(self) -> str:
        return "".join(self._pieces) + ("\n" if self._after is None else self._after)


def raw_text(sentences: Iterable[Sentence]) -> str:
    """The text of a treebank, with a blank line between paragraphs, and with the space that MISC gives."""
    text = RawText()
    for sentence in sentences:
        text.add(sentence)
    return text.text()
