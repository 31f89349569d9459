"""Drawing dependency trees: box-drawing lines for a terminal, arcs over words as SVG."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import escape
from itertools import count
from typing import NamedTuple

from biatt.conll import Sentence
from biatt.errors import FormatError

# Control characters would move the cursor or colour the terminal; the others are not allowed in XML.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")

# Where the line of a word meets a stem, by whether the stem goes on (upwards, downwards).
_AT_DEPENDENT = {(False, True): "╭", (True, True): "├", (True, False): "╰"}
_AT_HEAD = {(False, True): "┬", (True, True): "┼", (True, False): "┴"}

# SVG lengths, in pixels.
_WORD_SIZE, _TAG_SIZE, _LABEL_SIZE = 18, 11, 12
_LEVEL = 27  # from one arc to the next above it: room for a label
_CORNER = 10  # radius
_PORT = 8  # between two arcs at one word
_GAP = 22  # between two words
_MARGIN = 20

_STYLE = f"""\
text {{ font-family: "Helvetica Neue", Helvetica, Arial, "Noto Sans", sans-serif; text-anchor: middle }}
.word {{ font-size: {_WORD_SIZE}px; fill: #111827 }}
.tag {{ font-size: {_TAG_SIZE}px; fill: #4b5563; letter-spacing: 0.4px }}
.label {{ font-size: {_LABEL_SIZE}px; fill: #1d4ed8; stroke: #ffffff; stroke-width: 4px; paint-order: stroke }}
.arc {{ fill: none; stroke: #4b5563; stroke-width: 1.4px }}
.arrow {{ fill: #4b5563 }}"""


class _Arc(NamedTuple):
    head: int
    dependent: int

    @property
    def left(self) -> int:
        return min(self)

    @property
    def right(self) -> int:
        return max(self)

    @property
    def length(self) -> int:
        return self.right - self.left


def tree(sentence: Sentence) -> str:
    """The tree as lines of text, one for each word: branches, form, universal tag, relation.

    Every head has a stem, which spans the rows of the head and its dependents. The line of a word
    begins at the stem of its head, or at the margin if it is a root, and its own stem hangs on that line
    at ┬, ┴ or ┼. A stem that the line only crosses, which takes a non-projective tree, stays │.

        ╭─ the       DET   det
      ╭─┴─ gardener  NOUN  nsubj
    ──┼─── saw       VERB  root
      ╰─── birds     NOUN  obj
    """
    heads = _heads(sentence)
    stems = _stems(heads)
    levels = _stem_levels(heads, stems)
    width = 2 * max(levels.values(), default=0) + 2
    column = {head: width - 2 * level for head, level in levels.items()}

    drawings = []
    for word, head in enumerate(heads, 1):
        start = column[head] if head else 0
        cells = [" "] * start + ["─"] * (width - start)
        for stem, (first, last) in stems.items():
            if first <= word <= last:
                up_down = (first < word, word < last)
                cells[column[stem]] = (
                    _AT_HEAD[up_down] if stem == word else _AT_DEPENDENT[up_down] if stem == head else "│"
                )
        drawings.append("".join(cells))

    columns = [drawings, _padded(sentence.forms)]
    if set(sentence.upos) != {"_"}:
        columns.append(_padded(sentence.upos))
    columns.append(_padded(sentence.deprels))
    return "\n".join(f"{cells[0]} {'  '.join(cells[1:])}".rstrip() for cells in zip(*columns, strict=True))


def _heads(sentence: Sentence) -> list[int]:
    """The heads, once it is sure that every word hangs below 0."""
    heads = sentence.heads
    below: dict[int, list[int]] = {}
    for word, head in enumerate(heads, 1):
        below.setdefault(head, []).append(word)
    reached, agenda = 0, [0]
    while agenda:
        dependents = below.get(agenda.pop(), [])
        reached += len(dependents)
        agenda += dependents
    if reached < len(heads):
        fault = f"the sentence cannot be drawn, because its heads form no tree: {heads}."
        raise FormatError(fault, source=sentence.source, line=sentence.line)
    return heads


def _stems(heads: list[int]) -> dict[int, tuple[int, int]]:
    """The first and last row that the stem of each head touches."""
    stems: dict[int, tuple[int, int]] = {}
    for word, head in enumerate(heads, 1):
        if head:
            first, last = stems.get(head, (head, head))
            stems[head] = (min(first, word), max(last, word))
    return stems


def _stem_levels(heads: list[int], stems: dict[int, tuple[int, int]]) -> dict[int, int]:
    """How far each stem stands from the words: beyond those of its dependents, and meeting no other."""
    depths = _depths(heads)
    levels: dict[int, int] = {}
    taken: dict[int, list[tuple[int, int]]] = {}
    for head in sorted(stems, key=lambda head: -depths[head]):
        first, last = stems[head]
        lowest = 1 + max((levels.get(word, 0) for word, h in enumerate(heads, 1) if h == head), default=0)
        levels[head] = next(
            level
            for level in count(lowest)
            if all(last < other_first or other_last < first for other_first, other_last in taken.get(level, ()))
        )
        taken.setdefault(levels[head], []).append((first, last))
    return levels


def _depths(heads: list[int]) -> list[int]:
    """How many arcs lead from 0 to each word; entry 0 is 0 itself."""
    depths = [0] + [-1] * len(heads)
    for start in range(1, len(depths)):
        path = [start]
        while depths[path[-1]] < 0:
            path.append(heads[path[-1] - 1])
        for depth, word in enumerate(reversed(path), depths[path[-1]]):
            depths[word] = depth
    return depths


def _padded(values: Iterable[str]) -> list[str]:
    shown = [_UNPRINTABLE.sub("�", value) for value in values]
    width = max(map(_cells, shown), default=0)
    return [value + " " * (width - _cells(value)) for value in shown]


def _cells(text: str) -> int:
    """How many cells of a terminal the text fills."""
    return sum(_cells_of(character) for character in text)


def _cells_of(character: str) -> int:
    # Vowels and final consonants of decomposed Hangul join the syllable that the first consonant began.
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def svg(sentence: Sentence) -> str:
    """The tree as a standalone SVG picture: arcs from heads to dependents above the words."""
    heads = _heads(sentence)
    arcs = sorted((_Arc(head, word) for word, head in enumerate(heads, 1) if head), key=lambda arc: arc.length)
    levels = _arc_levels(arcs)
    ports = _ports(heads, arcs)
    centres, width = _centres(sentence, arcs, ports)
    top = max(levels.values(), default=0)
    base = _MARGIN + _LABEL_SIZE + _LEVEL * (top + 1)  # where arrows end, above the words

    parts = []
    for arc in reversed(arcs):  # long ones first, so that the labels of short ones stay on top
        start = centres[arc.head] + ports[arc.head, arc.dependent]
        end = centres[arc.dependent] + ports[arc.dependent, arc.head]
        height = base - _LEVEL * levels[arc]
        bend = _CORNER if start < end else -_CORNER
        parts.append(
            f'<path class="arc" d="M{start:g} {base:g} V{height + _CORNER:g} Q{start:g} {height:g} '
            f'{start + bend:g} {height:g} H{end - bend:g} Q{end:g} {height:g} {end:g} {height + _CORNER:g} '
            f'V{base - 4:g}"/>'
        )
        parts += _arrow_and_label(end, base, (start + end) / 2, height, sentence.deprels[arc.dependent - 1])
    for word, head in enumerate(heads, 1):
        if not head:
            x, height = centres[word] + ports[word, 0], base - _LEVEL * (top + 1)
            parts.append(f'<path class="arc" d="M{x:g} {height:g} V{base - 4:g}"/>')
            parts += _arrow_and_label(x, base, x, height, sentence.deprels[word - 1])
        row = sentence.rows[word - 1]
    for x, form, tag in zip(centres[1:], sentence.forms, sentence.upos, strict=True):
        parts.append(_text("word", x, base + _WORD_SIZE + 4, form))
        if tag != "_":
            parts.append(_text("tag", x, base + _WORD_SIZE + _TAG_SIZE + 12, tag))

    bottom = base + _WORD_SIZE + _TAG_SIZE + 12 + _MARGIN
    title = _escaped(sentence.text or " ".join(sentence.forms))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{bottom:g}" '
            f'viewBox="0 0 {width:g} {bottom:g}">',
            f"<title>{title}</title>",
            f"<desc>{_escaped(_description(sentence))}</desc>",
            f"<style>\n{_STYLE}\n</style>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )
