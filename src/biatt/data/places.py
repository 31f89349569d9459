"""Where tokens and words are in their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from biatt.data.spaces import space_after, text_in


class Places(NamedTuple):
    """The places of a sentence's tokens in a text."""

    text: str
    starts: Sequence[int]  # the first character of each token, counted from 0 in the text
    ends: Sequence[int]  # one past its last character
    base: int = 0  # where the text begins, if it is a part of a document that is read in parts
    given: bool = True  # whether it is the text that was parsed, not one put together from the tokens


def places_of(tokens: Sequence[tuple[str, str]], comment: str | None) -> Places:
    """The places of tokens, (FORM, MISC) each, in the sentence's comment `# text`, if they are there.

    Else the text is put together from the tokens and the space that MISC gives.
    """
    texts = [text_in(form, misc) for form, misc in tokens]
    if comment is not None and (starts := _starts_in(texts, comment)) is not None:
        ends = [start + len(text) for start, text in zip(starts, texts, strict=True)]
        return Places(comment, starts, ends, given=False)
    pieces, starts, ends, at = [], [], [], 0
    for text, (_, misc) in zip(texts, tokens, strict=True):
        after = space_after(misc)
        piece = text + (" " if after is None else after)
        pieces.append(piece)
        starts.append(at)
        ends.append(at + len(text))
        at += len(piece)
    return Places("".join(pieces)[: ends[-1] if ends else 0], starts, ends, given=False)


def _starts_in(texts: Sequence[str], whole: str) -> list[int] | None:
    """Where the texts begin, if they follow each other in the whole with only space between them."""
    starts, at = [], 0
    for text in texts:
        while whole[at : at + 1].isspace() and not whole.startswith(text, at):
            at += 1
        if not whole.startswith(text, at):
            return None
        starts.append(at)
        at += len(text)
    return None if whole[at:].strip() else starts


def parts_of(token: str, start: int, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The place of each word of a token: of its part, or of the whole where the words are not its parts."""
    if "".join(words) != token:
        yield from [(start, start + len(token))] * len(words)
        return
    for word in words:
        yield start, start + len(word)
        start += len(word)
