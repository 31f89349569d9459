"""Showing dependency trees: box-drawing lines for a terminal, arcs over words as SVG, JSON for programs."""

from __future__ import annotations

import unicodedata
from html import escape
from typing import Any, NamedTuple

from biatt.data.sentence import DEPREL, FORM, HEAD, UPOS, Sentence
from biatt.data.visible import json_text, visible
from biatt.errors import FormatError

# Where the line of a word meets a stem, by whether the stem goes on (upwards, downwards).
_AT_DEPENDENT = {(False, True): "╭", (True, True): "├", (True, False): "╰"}
_AT_HEAD = {(False, True): "┬", (True, True): "┼", (True, False): "┴"}
_CROSSING = {(True, True): "│"}

# SVG lengths, in pixels.
_WORD_SIZE, _TAG_SIZE, _LABEL_SIZE = 18, 11, 12
_LEVEL = 27  # from one arc to the next above it: room for a label
_CORNER = 10  # radius
_PORT = 8  # between two arcs at one word
_GAP = 22  # between two words
_MARGIN = 20
_ARROW = 7  # length of its head
_RISE = 6  # of a label above its line: the descender of a p or j

_STYLE = f"""\
text {{ font-family: "Helvetica Neue", Helvetica, Arial, "Noto Sans", sans-serif; text-anchor: middle }}
.word {{ font-size: {_WORD_SIZE}px; fill: #111827 }}
.tag {{ font-size: {_TAG_SIZE}px; fill: #4b5563; letter-spacing: 0.4px }}
.label {{ font-size: {_LABEL_SIZE}px; fill: #1d4ed8 }}
.label {{ stroke: #ffffff; stroke-width: 3px; paint-order: stroke }}
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
    heads, dependents = sentence.heads, _dependents(sentence)
    stems = {head: (min(head, *words), max(head, *words)) for head, words in dependents.items() if head}
    levels = _stem_levels(dependents, stems)
    width = 2 * max(levels.values(), default=0) + 2
    column = {head: width - 2 * level for head, level in levels.items()}

    branches = []
    for word, head in enumerate(heads, 1):
        start = column[head] if head else 0
        cells = [" "] * start + ["─"] * (width - start)
        for stem, (first, last) in stems.items():
            if first <= word <= last:
                shapes = _AT_HEAD if stem == word else _AT_DEPENDENT if stem == head else _CROSSING
                cells[column[stem]] = shapes[first < word, word < last]
        branches.append("".join(cells))

    annotation = [values for values in (sentence.upos, sentence.deprels) if set(values) != {"_"}]
    rows = zip(branches, *map(_padded, [sentence.forms, *annotation]), strict=True)
    return "\n".join(f"{branch} {'  '.join(values)}".rstrip() for branch, *values in rows)


def as_json(sentence: Sentence) -> str:
    """A line of JSON: the words with their columns and, where the parser said so, how sure it is of each."""
    tokens = [
        {name: value for name, value in token._asdict().items() if name != "confidence"} for token in sentence
    ]
    result: dict[str, Any] = {"sent_id": sentence.sent_id, "text": sentence.text, "tokens": tokens}
    sure = sentence.confidence
    if sure is not None:
        result["log_probability"] = round(sure.log_probability, 4)
        columns = {
            "confidence": sure.words,
            "head_probability": sure.heads,
            "arc_probability": sure.arcs,
            "agreement": sure.agreement,
            "relation_probability": sure.relations,
        }
        for i, token in enumerate(tokens):
            token |= {name: round(float(values[i]), 4) for name, values in columns.items()}
    return json_text(result)


def _dependents(sentence: Sentence) -> dict[int, list[int]]:
    """The dependents of 0 and of every other head, heads before the heads below them."""
    heads = sentence.heads
    unordered: dict[int, list[int]] = {}
    for word, head in enumerate(heads, 1):
        unordered.setdefault(head, []).append(word)
    ordered, agenda = {}, [0]
    for head in agenda:
        if head in unordered:
            ordered[head] = unordered[head]
            agenda += unordered[head]
    if len(agenda) <= len(heads):
        fault = f"the sentence cannot be drawn: its heads, {', '.join(map(str, heads))}, form no tree."
        raise FormatError(fault.replace("-1", "_"), source=sentence.source, line=sentence.line)
    return ordered


def _stem_levels(dependents: dict[int, list[int]], stems: dict[int, tuple[int, int]]) -> dict[int, int]:
    """How far each stem stands from the words: beyond those of its dependents, and clear of all others."""
    levels: dict[int, int] = {}
    taken: set[tuple[int, int]] = set()  # (level, row)
    for head in reversed(dependents):
        if head:
            first, last = stems[head]
            level = 1 + max(levels.get(word, 0) for word in dependents[head])
            while any((level, row) in taken for row in range(first, last + 1)):
                level += 1
            levels[head] = level
            taken.update((level, row) for row in range(first, last + 1))
    return levels


def _padded(values: list[str]) -> list[str]:
    shown = [visible(value) for value in values]
    width = max(map(_cells, shown), default=0)
    return [value + " " * (width - _cells(value)) for value in shown]


def _cells(text: str) -> int:
    """How many cells of a terminal the text fills."""
    return sum(map(_character_cells, text))


def _character_cells(character: str) -> int:
    # The vowels and final consonants of decomposed Hangul join the cell of the first consonant.
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def svg(sentence: Sentence) -> str:
    """The tree as a standalone SVG picture: labelled arcs from heads to dependents above the words."""
    _dependents(sentence)
    heads, relations = sentence.heads, sentence.deprels
    arcs = sorted((_Arc(h, d) for d, h in enumerate(heads, 1) if h), key=lambda arc: arc.right - arc.left)
    levels = _arc_levels(arcs)
    ports = _ports(heads, arcs)
    centres, width = _centres(sentence, arcs, ports)
    crown = max(levels.values(), default=0) + 1  # the level where root arrows begin, above all arcs
    base = _MARGIN + _LABEL_SIZE + _LEVEL * crown  # where all arrows end, above the words
    word_y = base + _WORD_SIZE + 2
    tag_y = word_y + _TAG_SIZE + 7
    height = tag_y + _MARGIN

    lines, labels = [], []
    for arc in arcs:
        start = centres[arc.head] + ports[arc.head, arc.dependent]
        end = centres[arc.dependent] + ports[arc.dependent, arc.head]
        y, bend = base - _LEVEL * levels[arc], _CORNER if start < end else -_CORNER
        lines.append(
            f'<path class="arc" d="M{start:g} {base} V{y + _CORNER} Q{start:g} {y} {start + bend:g} {y} '
            f'H{end - bend:g} Q{end:g} {y} {end:g} {y + _CORNER} V{base - _ARROW}"/>'
        )
        lines.append(_arrow(end, base))
        labels.append(_text("label", (start + end) / 2, y - _RISE, relations[arc.dependent - 1]))
    for word, head in enumerate(heads, 1):
        if not head:
            x, y = centres[word] + ports[word, 0], base - _LEVEL * crown
            lines.append(f'<path class="arc" d="M{x:g} {y} V{base - _ARROW}"/>')
            lines.append(_arrow(x, base))
            labels.append(_text("label", x, y - _RISE, relations[word - 1]))
    words = [_text("word", x, word_y, form) for x, form in zip(centres[1:], sentence.forms, strict=True)]
    tagged = ((x, tag) for x, tag in zip(centres[1:], sentence.upos, strict=True) if tag != "_")
    tags = [_text("tag", x, tag_y, tag) for x, tag in tagged]
    size = f'width="{width:g}" height="{height}" viewBox="0 0 {width:g} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>',
            f"<title>{escaped(sentence.text or ' '.join(sentence.forms))}</title>",
            f"<desc>{escaped(_description(sentence))}</desc>",
            f"<style>\n{_STYLE}\n</style>",
            f'<rect width="{width:g}" height="{height}" fill="#ffffff"/>',
            *lines,
            *labels,  # over all lines, so that a crossing line does not strike them through
            *words,
            *tags,
            "</svg>",
        ]
    )


def _description(sentence: Sentence) -> str:
    """The arcs in words, for readers who cannot see the picture."""
    names = ["the root", *(f"{form} ({i})" for i, form in enumerate(sentence.forms, 1))]
    triples = zip(names[1:], sentence.deprels, sentence.heads, strict=True)
    return "; ".join(f"{name} is {relation} of {names[head]}" for name, relation, head in triples) + "."


def _arc_levels(arcs: list[_Arc]) -> dict[_Arc, int]:
    """The height of each arc, given from short to long: above every shorter one that it overlaps."""
    levels: dict[_Arc, int] = {}
    for arc in arcs:
        below = (
            level for other, level in levels.items() if other.left < arc.right and arc.left < other.right
        )
        levels[arc] = 1 + max(below, default=0)
    return levels


def _ports(heads: list[int], arcs: list[_Arc]) -> dict[tuple[int, int], float]:
    """Where at a word the arc to another one begins or ends: (word, other) to pixels off the centre.

    From the left: arcs to the left, short before long, the root's arrow, arcs to the right, long before
    short. In any other order arcs would cross at the word.
    """
    left: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    right: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for arc in arcs:
        left[arc.right].append(arc.left)
        right[arc.left].append(arc.right)
    ports = {}
    for word, head in enumerate(heads, 1):
        others = [*left[word], *([] if head else [0]), *reversed(right[word])]
        for i, other in enumerate(others):
            ports[word, other] = _PORT * (i - (len(others) - 1) / 2)
    return ports


def _centres(
    sentence: Sentence, arcs: list[_Arc], ports: dict[tuple[int, int], float]
) -> tuple[list[float], float]:
    """The centre of each word, from entry 1 on, and the width of the picture.

    Words keep clear of each other, and stand far enough apart for the labels of the arcs between them.
    """
    halves = [0.0] * (len(sentence) + 1)
    for word, row in enumerate(sentence.rows, 1):
        halves[word] = max(pixels(row[FORM], _WORD_SIZE), pixels(row[UPOS], _TAG_SIZE)) / 2
        if row[HEAD] == "0":
            halves[word] = max(halves[word], pixels(row[DEPREL], _LABEL_SIZE) / 2)
    for (word, _), offset in ports.items():
        halves[word] = max(halves[word], abs(offset))
    ending: dict[int, list[_Arc]] = {}
    for arc in arcs:
        ending.setdefault(arc.right, []).append(arc)

    centres, edge = [0.0], float(_MARGIN)
    for word in range(1, len(halves)):
        centre = edge + halves[word]
        for arc in ending.get(word, ()):
            label = pixels(sentence.rows[arc.dependent - 1][DEPREL], _LABEL_SIZE) + _CORNER
            start = centres[arc.left] + ports[arc.left, word]
            centre = max(centre, start + label - ports[word, arc.left])
        centres.append(round(centre, 1))
        edge = centres[word] + halves[word] + _GAP
    return centres, round(edge - (_GAP if len(sentence) else 0) + _MARGIN, 1)


def pixels(text: str, size: int) -> float:
    """About the width of the text: SVG cannot measure, so a little more than an average letter is wide."""
    return 0.58 * size * _cells(visible(text))


def _arrow(x: float, y: int) -> str:
    return f'<path class="arrow" d="M{x - 3.5:g} {y - _ARROW} H{x + 3.5:g} L{x:g} {y} Z"/>'


def _text(kind: str, x: float, y: int, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y}">{escaped(text)}</text>'


def escaped(text: str) -> str:
    return escape(visible(text), quote=False)
