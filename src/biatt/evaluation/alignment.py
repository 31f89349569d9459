"""Alignment of the words of two tokenisations of one text, by their characters.

Apart from spaces, a gold and a system file have the same characters. A token is a range of them, and two
tokens are the same if their ranges are equal. The words of a multiword token have no ranges: they are
matched by form, as a longest common subsequence, inside the smallest range that no multiword token of
either file crosses (CoNLL 2018 shared task, https://universaldependencies.org/conll18/evaluation.html).
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from biatt.data.columns import FORM
from biatt.data.sentence import Sentence
from biatt.errors import FormatError
from biatt.evaluation.trees import line_of

Span = tuple[int, int]  # first character, one past the last


@dataclass
class Layout:
    """The positions of the sentences, tokens and words of a file in its text without spaces."""

    source: list[Sentence]
    text: str = ""
    sentences: list[Span] = field(default_factory=list)
    tokens: list[Span] = field(default_factory=list)
    words: list[Span] = field(default_factory=list)  # a word of a multiword token has the span of the token
    multiword: list[bool] = field(default_factory=list)  # whether each word is part of a multiword token
    forms: list[str] = field(default_factory=list)  # in lower case, as words of multiword tokens are matched


@lru_cache(maxsize=1 << 16)
def without_spaces(form: str) -> str:
    """The form without characters of Unicode category Zs (spaces), which tokenisers may keep or drop."""
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


def lay_out(sentences: Iterable[Sentence]) -> Layout:
    """The ranges of all tokens, words and sentences of a file."""
    layout = Layout(list(sentences))
    pieces: list[str] = []
    position = 0
    for sentence in layout.source:
        start = position
        for token in sentence.tokens:
            visible = without_spaces(token.form)
            if not visible:
                raise FormatError(
                    f"the form {token.form!r} is made of spaces only, so it cannot be aligned with the text; "
                    "a visible form was expected.",
                    source=sentence.source,
                    line=line_of(sentence, token.start),
                )
            span = position, position + len(visible)
            pieces.append(visible)
            layout.tokens.append(span)
            words = [row[FORM] for row in sentence.rows[token.start : token.end]]
            layout.words += [span] * len(words)
            layout.multiword += [token.is_multiword] * len(words)
            layout.forms += [form.lower() for form in (words if token.is_multiword else [visible])]
            position = span[1]
        layout.sentences.append((start, position))
    layout.text = "".join(pieces)
    return layout


def align(gold: Layout, system: Layout) -> list[tuple[int, int]]:
    """Pairs (gold word, system word), both counted from 0 through the whole file, in ascending order."""
    _check_same_text(gold, system)
    pairs: list[tuple[int, int]] = []
    g = s = 0
    while g < len(gold.words) and s < len(system.words):
        if gold.multiword[g] or system.multiword[s]:
            g_first, s_first, g, s = _multiword_range(gold, system, g, s)
            matches = common_subsequence(gold.forms[g_first:g], system.forms[s_first:s])
            pairs += [(g_first + i, s_first + j) for i, j in matches]
        elif gold.words[g] == system.words[s]:
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif gold.words[g][0] <= system.words[s][0]:
            g += 1
        else:
            s += 1
    return pairs


def common_subsequence(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Index pairs of a longest common subsequence; of several, one that skips in left before right."""
    # longest[i][j]: length of the longest common subsequence of left[i:] and right[j:]
    longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            if left[i] == right[j]:
                longest[i][j] = 1 + longest[i + 1][j + 1]
            else:
                longest[i][j] = max(longest[i + 1][j], longest[i][j + 1])
    pairs = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] == longest[i][j]:
            i += 1
        else:
            j += 1
    return pairs


def _multiword_range(gold: Layout, system: Layout, g: int, s: int) -> tuple[int, int, int, int]:
    """The words g_first..g and s_first..s to match by form, where gold[g] or system[s] is multiword.

    The order of steps decides which words that cross an end of the range are included. The shared task's
    description leaves that open; this is the order of its program, so that scores agree.
    """
    if gold.multiword[g]:
        end = gold.words[g][1]
        s += not system.multiword[s] and system.words[s][0] < gold.words[g][0]
    else:
        end = system.words[s][1]
        g += gold.words[g][0] < system.words[s][0]
    g_first, s_first = g, s
    while _is_inside(gold, g, end) or _is_inside(system, s, end):
        gold_is_next = s == len(system.words) or (
            g < len(gold.words) and gold.words[g][0] <= system.words[s][0]
        )
        side, word = (gold, g) if gold_is_next else (system, s)
        if side.multiword[word]:
            end = max(end, side.words[word][1])
        g, s = g + gold_is_next, s + (not gold_is_next)
    return g_first, s_first, g, s


def _is_inside(layout: Layout, word: int, end: int) -> bool:
    if word == len(layout.words):
        return False
    # A multiword token that begins inside the range widens it; any other word must end inside.
    return layout.words[word][0] < end if layout.multiword[word] else layout.words[word][1] <= end


def _check_same_text(gold: Layout, system: Layout) -> None:
    if gold.text == system.text:
        return
    shorter = min(len(gold.text), len(system.text))
    differing = (at for at in range(shorter) if gold.text[at] != system.text[at])
    at = next(differing, shorter)
    source, line = _place(system, at)
    gold_source, gold_line = _place(gold, at)
    raise FormatError(
        f"the text {_excerpt(system, at)} where that of {gold_source}, line {gold_line}, "
        f"{_excerpt(gold, at)}; apart from spaces, the same text was expected.",
        source=source,
        line=line,
    )


def _place(layout: Layout, at: int) -> tuple[str, int]:
    """File and line of the word that contains the character, or of the last word."""
    word = bisect_right(layout.words, at, key=lambda span: span[0]) - 1
    for sentence in layout.source:
        if word < len(sentence):
            return sentence.source, line_of(sentence, max(word, 0))
        word -= len(sentence)
    return "an empty file", 1


def _excerpt(layout: Layout, at: int) -> str:
    return f"continues {layout.text[at : at + 20]!r}" if at < len(layout.text) else "ends"
