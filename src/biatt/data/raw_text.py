"""The raw text of a treebank: what a tokeniser reads, and where tokens and sentences end in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from biatt.data.columns import MISC
from biatt.data.sentence import Sentence
from biatt.data.spaces import space_after

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
            if not parts:  # a form of nothing but space, which no text shows
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


def raw_text(sentences: Iterable[Sentence]) -> str:
    """The text of a treebank, with a blank line between paragraphs.

    A paragraph is on one line unless MISC has line breaks.
    """
    return "\n\n".join(paragraph.text for paragraph in paragraphs(sentences)) + "\n"
