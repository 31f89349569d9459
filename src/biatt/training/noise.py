"""Noise: gold sentences as text in the wild has them, with trees that still hold.

| kind | what becomes of a paragraph |
|---|---|
| lower | all lower case |
| upper | all upper case |
| unended | no sentence has final punctuation; each is on a line of its own, as in a list |
| headline | unended, and every word begins with a capital |
| bare | lower case without any punctuation |
| wrapped | lines are broken between words |
| joined | only a line break separates it from the paragraph before |

The first five change words, the last two spaces. Punctuation stays where the tree needs it (it has dependents
or is the root) and where words would run together without it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from biatt.data.columns import DEPS, FORM, HEAD, ID, MISC, UPOS
from biatt.data.conll import read, write
from biatt.data.files import check_not_input
from biatt.data.raw_text import NEW_DOCUMENT, NEW_PARAGRAPH, begins_paragraph
from biatt.data.sentence import TEXT, Sentence
from biatt.data.spaces import LINE_BREAK, NO_SPACE, SPACES_AFTER
from biatt.errors import ConfigError

OfWords = Literal["lower", "upper", "unended", "headline", "bare"]
OfSpaces = Literal["wrapped", "joined"]
OF_WORDS: tuple[OfWords, ...] = get_args(OfWords)
OF_SPACES: tuple[OfSpaces, ...] = get_args(OfSpaces)
KINDS: tuple[OfWords | OfSpaces, ...] = (*OF_WORDS, *OF_SPACES)
LONGEST_STRETCH = 10  # sentences: a longer paragraph gets noise in parts
WIDTHS = 45, 100  # characters in a line of wrapped text

_HEAD_NUMBER = re.compile(r"(?:(?<=\|)|^)\d+(?=[.:]|$)")  # in DEPS, or a PHEAD


def noise_kinds(text: str) -> list[OfWords | OfSpaces]:
    """The kinds in a comma-separated list."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in KINDS:
            raise ConfigError(f"There is no noise '{name}'; there are {', '.join(KINDS)}.")
    return [kind for kind in KINDS if kind in names]


def write_noisy(
    source: str | Path,
    target: str | Path,
    *,
    rate: float = 1.0,
    seed: int = 1,
    kinds: Sequence[OfWords | OfSpaces] = KINDS,
) -> None:
    """Write a noisy copy of a CoNLL-U file."""
    check_not_input(target, [source])
    write(noisy(list(read(source)), rate=rate, generator=np.random.default_rng(seed), kinds=kinds), target)


def noisy(
    sentences: Sequence[Sentence],
    *,
    rate: float,
    generator: np.random.Generator,
    kinds: Sequence[OfWords | OfSpaces] = KINDS,
) -> list[Sentence]:
    """The sentences with noise in this share of their paragraphs.

    A paragraph can get one of the kinds that change words, and one of those that change spaces.
    """
    of_words = [kind for kind in OF_WORDS if kind in kinds]
    of_spaces = [kind for kind in OF_SPACES if kind in kinds]
    result: list[Sentence] = []
    for stretch in _stretches(sentences):
        if of_words and generator.random() < rate:
            kind = of_words[generator.integers(len(of_words))]
            stretch = [with_noise(sentence, kind) for sentence in stretch]
            if kind in ("unended", "headline"):
                stretch = [*map(_ending_its_line, stretch[:-1]), stretch[-1]]
        if of_spaces and generator.random() < rate:
            if of_spaces[generator.integers(len(of_spaces))] == "wrapped":
                stretch = wrapped(stretch, width=int(generator.integers(*WIDTHS)))
            elif result:
                result[-1], stretch[0] = joined(result[-1], stretch[0])
        result += stretch
    return result


def with_noise(sentence: Sentence, kind: OfWords) -> Sentence:
    """The sentence with one of the kinds of noise that change words."""
    draft = _Draft(sentence)
    if kind == "upper":
        draft.change_forms(str.upper)
    elif kind in ("lower", "bare"):
        draft.change_forms(str.lower)
    elif kind == "headline":
        draft.capitalise()
    if kind not in ("lower", "upper"):
        draft.drop_punctuation(final_only=kind != "bare")
    return draft.sentence()


def wrapped(sentences: Sequence[Sentence], *, width: int) -> list[Sentence]:
    """The sentences with line breaks where the next word would make a line longer than `width`."""
    drafts = [_Draft(sentence) for sentence in sentences]
    length = chunk = 0  # of the line up to the last space, and of what follows it
    before: _Surface | None = None  # the last token before a space
    for token in (token for draft in drafts for token in draft.tokens()):
        chunk += len(token.form)
        if before is not None and length + chunk > width:
            before.set_space(LINE_BREAK)
            length, before = 0, None
        if token.has_space_after:
            length, chunk, before = length + chunk + 1, 0, token
    return [draft.sentence() for draft in drafts]


def joined(before: Sentence, after: Sentence) -> tuple[Sentence, Sentence]:
    """The last sentence of a paragraph and the first of the next, with a line break between them only.

    A document is not joined to the one before.
    """
    if any(line.startswith(NEW_DOCUMENT) for line in after.comments):
        return before, after
    draft = _Draft(after)
    draft.others = [(k, row) for k, row in draft.others if not row[0].startswith(NEW_PARAGRAPH)]
    return _ending_its_line(before), draft.sentence()


def _ending_its_line(sentence: Sentence) -> Sentence:
    draft = _Draft(sentence)
    for token in draft.tokens()[-1:]:
        token.set_space(LINE_BREAK)
    return draft.sentence()


def _stretches(sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    """The paragraphs, the long ones in parts."""
    stretch: list[Sentence] = []
    for sentence in sentences:
        if stretch and (begins_paragraph(sentence) or len(stretch) >= LONGEST_STRETCH):
            yield stretch
            stretch = []
        stretch.append(sentence)
    if stretch:
        yield stretch


class _Surface(NamedTuple):
    """A token of the text."""

    row: list[str]  # of its only word, or of the multiword token
    words: list[list[str]]  # the rows of its words

    @property
    def form(self) -> str:
        return self.row[FORM]

    @property
    def has_space_after(self) -> bool:
        return NO_SPACE not in self.row[MISC].split("|")

    def set_space(self, field: str = "") -> None:
        """Let a space follow: a blank, or what the field of MISC says."""
        fields = [
            other
            for other in self.row[MISC].split("|")
            if other not in ("_", NO_SPACE) and SPACES_AFTER not in other
        ]
        self.row[MISC] = "|".join([*fields, field] if field else fields) or "_"


class _Draft:
    """A sentence whose lines can be changed."""

    def __init__(self, sentence: Sentence) -> None:
        self.origin = sentence
        self.rows = [row[:] for row in sentence.rows]
        self.others = [(k, line.split("\t")) for k, line in sentence.verbatim]

    def tokens(self) -> list[_Surface]:
        multiword = {k: row for k, row in self.others if re.fullmatch(r"\d+-\d+", row[ID])}
        tokens: list[_Surface] = []
        at = 0
        while at < len(self.rows):
            row = multiword.get(at, self.rows[at])
            end = int(row[ID].partition("-")[2] or at + 1)
            tokens.append(_Surface(row, self.rows[at:end]))
            at = end
        return tokens

    def change_forms(self, change: Callable[[str], str]) -> None:
        for token in self.tokens():
            token.row[FORM] = change(token.form)
            if token.row is not token.words[0]:
                for word in token.words:
                    word[FORM] = change(word[FORM])

    def capitalise(self) -> None:
        """Begin every word that follows a space with a capital."""
        after_space = True
        for token in self.tokens():
            if after_space:
                for row in (token.row, token.words[0]):
                    row[FORM] = row[FORM][:1].upper() + row[FORM][1:]
            after_space = token.has_space_after

    def drop_punctuation(self, *, final_only: bool) -> None:
        """Drop final punctuation, or all of it, where the sentence allows it."""
        fixed, tokens = self._fixed(), self.tokens()
        dropped = set()
        last = True  # whether all tokens after this one have been dropped
        for at in reversed(range(len(tokens))):
            before, token = tokens[at - 1] if at else None, tokens[at]
            runs_on = before is not None and not before.has_space_after and not token.has_space_after
            if token.row[ID] in fixed or not _is_punctuation(token.row) or (runs_on and not last):
                if final_only:
                    break
                last = False
                continue
            dropped.add(token.row[ID])
            if before is not None and not before.has_space_after:
                before.set_space()
        self._drop(dropped)

    def _fixed(self) -> set[str]:
        """The numbers of words that cannot be dropped.

        These are heads, the root, parts of multiword tokens, and words that an empty node follows.
        """
        fixed = {row[HEAD] for row in self.rows} | {row[ID] for row in self.rows if row[HEAD] == "0"}
        fixed.update(number for row in self._all_rows() for number in _HEAD_NUMBER.findall(row[DEPS]))
        fixed.update(row[ID] for token in self.tokens() if "-" in token.row[ID] for row in token.words)
        return fixed | {row[ID].partition(".")[0] for row in self._all_rows() if "." in row[ID]}

    def _all_rows(self) -> list[list[str]]:
        """The rows of words, multiword tokens and empty nodes."""
        return [*self.rows, *(row for _, row in self.others if not row[0].startswith("#"))]

    def _drop(self, dropped: set[str]) -> None:
        """Remove the words with these numbers, and number everything anew."""
        if not dropped:
            return
        kept = [row[ID] not in dropped for row in self.rows]
        places = [0, *np.cumsum(kept).tolist()]
        self.rows = [row for row in self.rows if row[ID] not in dropped]
        self.others = [(places[k], row) for k, row in self.others]

        def renumbered(match: re.Match[str]) -> str:
            return str(places[int(match[0])])

        for row in self.rows:
            row[HEAD] = re.sub(r"\d+", renumbered, row[HEAD])
        for row in self._all_rows():
            row[ID] = re.sub(r"^\d+|(?<=-)\d+", renumbered, row[ID])
            row[DEPS] = _HEAD_NUMBER.sub(renumbered, row[DEPS])

    def sentence(self) -> Sentence:
        text = "".join(token.form + " " * token.has_space_after for token in self.tokens()).rstrip()
        for _, row in self.others:
            if row[0].startswith(TEXT):
                row[:] = [TEXT + text]
        verbatim = [(k, "\t".join(row)) for k, row in self.others]
        origin = self.origin
        return Sentence(self.rows, verbatim, origin.format, origin.source, origin.line)


def _is_punctuation(row: list[str]) -> bool:
    is_punctuation = all(unicodedata.category(character).startswith("P") for character in row[FORM])
    return is_punctuation and row[UPOS] in ("PUNCT", "_")
