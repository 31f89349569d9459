"""Dependency trees as SVG pictures: labelled arcs from heads to dependents above the words."""

from __future__ import annotations

from collections.abc import Collection
from html import escape
from typing import NamedTuple

from rich.cells import cell_len

from biatt.data.columns import DEPREL, FORM, HEAD, UPOS
from biatt.data.sentence import Sentence
from biatt.data.visible import visible
from biatt.display.terminal import checked_heads

# SVG lengths, in pixels.
_WORD_SIZE, _TAG_SIZE, _LABEL_SIZE = 18, 11, 12
_LEVEL = 27  # height of a level of arcs: room for a label
_CORNER = 10  # radius
_PORT = 8  # distance of two arcs at one word
_GAP = 22  # distance of two words
_MARGIN = 20
_ARROW = 7  # length of an arrowhead
_RISE = 6  # distance of a label from its line: room for the descender of a p or j

_STYLE = f"""\
text {{ font-family: "Helvetica Neue", Helvetica, Arial, "Noto Sans", sans-serif; text-anchor: middle }}
.word {{ font-size: {_WORD_SIZE}px; fill: #111827 }}
.marked {{ fill: #b91c1c; text-decoration: underline }}
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


def tree_svg(sentence: Sentence, *, marked: Collection[int] = ()) -> str:
    """The tree as a standalone SVG picture; the words with the numbers in `marked` stand out."""
    heads, relations = checked_heads(sentence), sentence.deprels
    arcs = sorted((_Arc(h, d) for d, h in enumerate(heads, 1) if h), key=lambda arc: arc.right - arc.left)
    levels = _arc_levels(arcs)
    ports = _ports(heads, arcs)
    centres, width = _centres(sentence, arcs, ports)
    crown = max(levels.values(), default=0) + 1  # the level where arrows to roots begin, above all arcs
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
    words = [
        _text("word marked" if number in marked else "word", centres[number], word_y, form)
        for number, form in enumerate(sentence.forms, 1)
    ]
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
            *labels,  # after all lines, so that no line is drawn over a label
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
    """The level of each arc, given from short to long: above every shorter arc that it overlaps."""
    levels: dict[_Arc, int] = {}
    for arc in arcs:
        below = (
            level for other, level in levels.items() if other.left < arc.right and arc.left < other.right
        )
        levels[arc] = 1 + max(below, default=0)
    return levels


def _ports(heads: list[int], arcs: list[_Arc]) -> dict[tuple[int, int], float]:
    """The position at a word where its arc to another word begins or ends, in pixels from the centre.

    Keys are (word, other word). From the left: arcs to the left, short before long, the arrow of a root, arcs
    to the right, long before short. In any other order, arcs would cross at the word.
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

    Words do not overlap, and leave enough room for the labels of the arcs between them.
    """
    halves = [0.0] * (len(sentence) + 1)
    for word, row in enumerate(sentence.rows, 1):
        halves[word] = max(text_width(row[FORM], _WORD_SIZE), text_width(row[UPOS], _TAG_SIZE)) / 2
        if row[HEAD] == "0":
            halves[word] = max(halves[word], text_width(row[DEPREL], _LABEL_SIZE) / 2)
    for (word, _), offset in ports.items():
        halves[word] = max(halves[word], abs(offset))
    ending: dict[int, list[_Arc]] = {}
    for arc in arcs:
        ending.setdefault(arc.right, []).append(arc)

    centres, edge = [0.0], float(_MARGIN)
    for word in range(1, len(halves)):
        centre = edge + halves[word]
        for arc in ending.get(word, ()):
            label = text_width(sentence.rows[arc.dependent - 1][DEPREL], _LABEL_SIZE) + _CORNER
            start = centres[arc.left] + ports[arc.left, word]
            centre = max(centre, start + label - ports[word, arc.left])
        centres.append(round(centre, 1))
        edge = centres[word] + halves[word] + _GAP
    return centres, round(edge - (_GAP if len(sentence) else 0) + _MARGIN, 1)


def text_width(text: str, font_size: int) -> float:
    """An estimate of the width in pixels, since SVG cannot measure text: a little above the average."""
    return 0.58 * font_size * cell_len(visible(text))


def _arrow(x: float, y: int) -> str:
    return f'<path class="arrow" d="M{x - 3.5:g} {y - _ARROW} H{x + 3.5:g} L{x:g} {y} Z"/>'


def _text(kind: str, x: float, y: int, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y}">{escaped(text)}</text>'


def escaped(text: str) -> str:
    """The text as the content of an SVG element."""
    return escape(visible(text), quote=False)
