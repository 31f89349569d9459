"""The raw text of a treebank: what a tokeniser reads, and where tokens and sentences end in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from biatt.data.sentence import Sentence

NO_SPACE = "SpaceAfter=No"  # in MISC: the next token follows without a space


class TokenEnd(NamedTuple):
    """Where a token ends."""

    character: int  # its last character, counted from 0 in the paragraph without its spaces
    multiword: bool  # whether the token has several words
    ends_sentence: bool = False


class Paragraph(NamedTuple):
    """A stretch of text after which a sentence ends."""

    chunks: list[str]  # the text between spaces
    tokens: list[TokenEnd]


def paragraphs(sentences: Iterable[Sentence]) -> Iterator[Paragraph]:
    """The paragraphs of a treebank; a comment `# newpar` or `# newdoc` begins another."""
    paragraph, size = Paragraph([], []), 0  # size in characters, without spaces
    joined = False  # whether the next token follows without a space
    for sentence in sentences:
        if any(comment.startswith(("# newpar", "# newdoc")) for comment in sentence.comments):
            if paragraph.chunks:
                yield paragraph
            paragraph, size, joined = Paragraph([], []), 0, False
        chunks, tokens = paragraph
        for token in sentence.tokens:
            parts = token.form.split()
            if not parts:  # a form of nothing but space, which no text shows
                continue
            if joined:
                chunks[-1] += parts[0]
            chunks += parts[1:] if joined else parts
            size += sum(map(len, parts))
            tokens.append(TokenEnd(size - 1, token.multiword))
            joined = NO_SPACE in token.misc.split("|")
        if tokens:
            tokens[-1] = tokens[-1]._replace(ends_sentence=True)
    if paragraph.chunks:
        yield paragraph


def raw_text(sentences: Iterable[Sentence]) -> str:
    """The text of a treebank: each paragraph on a line, with blank lines between them."""
    return "\n\n".join(" ".join(paragraph.chunks) for paragraph in paragraphs(sentences)) + "\n"
