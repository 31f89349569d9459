"""Where the parts of a drawn tree are: rows of words, arcs above them, levels of arcs, labels on the arcs.

Plain arithmetic on lists of numbers, without SVG and sentences, so that it can be written in another language
line by line. Words are numbered from 1. Gap g lies between word g and word g + 1 of a row.

An arc rises from its head, runs along a level, and comes down on its dependent. In a sentence of several
rows, an arc between two of them has a piece in each: it leaves a row at the right edge and enters the next
one at the left edge.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

# Lengths in pixels.
MARGIN = 16  # around the picture
GUTTER = 26  # beside the rows of a sentence that has several, for arcs that go on in another row
GAP = 20  # between two words
PORT = 8  # between two arcs at one word
CORNER = 8  # radius
LABEL_PAD = 4  # free line between a label and a corner or a stem

_ROUNDING = 0.2  # coordinates have one decimal

# What a break between two rows costs, relative to an empty row.
_ROW_COST = 0.6  # so that there are few rows
_BROKEN_ARC_COST = 0.16  # for each arc that is cut


class Arc(NamedTuple):
    """An arc from a head to a dependent; head 0 is ROOT."""

    head: int
    dependent: int
    label: float  # the width of its label, in pixels

    @property
    def left(self) -> int:
        return min(self.head, self.dependent)

    @property
    def right(self) -> int:
        return max(self.head, self.dependent)


class Piece(NamedTuple):
    """The part of an arc within one row."""

    arc: Arc
    row: int
    level: int  # from 1, the lowest
    start: float  # x at the side of the head; for an arc of ROOT, the same as `end`
    end: float  # x at the side of the dependent
    has_start: bool  # whether the head is in this row
    has_end: bool  # whether the dependent is
    label: float | None  # x of the label's centre; None if the label does not fit and is in another row


class Row(NamedTuple):
    """A row of words."""

    first: int
    last: int
    levels: int  # number of levels of arcs above it


class Layout(NamedTuple):
    """The whole picture."""

    width: float
    centres: list[float]  # x of each word; entry 0 is unused
    rows: list[Row]
    pieces: list[Piece]  # of each row from the highest level down, so that no line is drawn over a label


def lay_out(
    words: Sequence[float], arcs: Sequence[Arc], *, wrap: float | None = None, from_right: bool = False
) -> Layout:
    """Lay out words of these widths. `wrap` is the width of the picture beyond which a new row begins.

    With `from_right`, the first word is at the right, and so is the beginning of every row.
    """
    ports = arc_ports(len(words), arcs)
    halves = _half_widths(words, arcs, ports)
    centres = _centres(range(1, len(halves)), halves, arcs, ports, left=MARGIN)
    bounds = [(1, len(words))]
    if wrap is not None and len(words) > 1 and centres[-1] + halves[-1] + MARGIN > wrap:
        bounds = _row_bounds(centres, halves, arcs, max(1.0, wrap - 2 * (MARGIN + GUTTER)))
    row_arcs = _arcs_by_row(bounds, arcs)
    for (first, last), over in zip(bounds, row_arcs, strict=True):
        if len(bounds) > 1:
            row = _centres(range(first, last + 1), halves, over, ports, left=MARGIN + GUTTER)
            centres[first : last + 1] = row[1:]
        _make_room_beside_stems(first, last, over, ports, centres)
    left, right = _edges(bounds, centres, halves, arcs, ports)
    rows, pieces = [], []
    for number, ((first, last), over) in enumerate(zip(bounds, row_arcs, strict=True)):
        in_row = _row_pieces(number, (first, last), over, ports, centres, (left, right))
        rows.append(Row(first, last, max((piece.level for piece in in_row), default=0)))
        pieces += _with_labels(in_row)
    width = right + MARGIN
    layout = Layout(round(width, 1), centres, rows, pieces)
    return _mirrored(layout) if from_right else layout


def arc_ports(count: int, arcs: Sequence[Arc]) -> dict[tuple[int, int], float]:
    """The place at a word where its arc to another word begins or ends, in pixels from the word's centre.

    Keys are (word, other word). From the left: arcs to the left, short before long, the arc of ROOT, arcs to
    the right, long before short. In any other order, arcs would cross at the word.
    """
    left: list[list[int]] = [[] for _ in range(count + 1)]
    right: list[list[int]] = [[] for _ in range(count + 1)]
    roots = {arc.dependent for arc in arcs if not arc.head}
    for arc in sorted(arcs, key=lambda arc: arc.right - arc.left):
        if arc.head:
            left[arc.right].append(arc.left)
            right[arc.left].append(arc.right)
    ports = {}
    for word in range(1, count + 1):
        others = [*left[word], *([0] if word in roots else []), *reversed(right[word])]
        for i, other in enumerate(others):
            ports[word, other] = PORT * (i - (len(others) - 1) / 2)
    return ports


def arc_levels(first: int, last: int, arcs: Sequence[Arc]) -> dict[Arc, int]:
    """The level of each arc in the row of the words first … last: above all shorter arcs that it overlaps.

    The arc of ROOT comes from above; its level is that of its label, above what is at both sides of the word.
    """
    tops = [0] * (last - first + 2)  # the highest level above each gap; entry 0 is that before the first word
    levels: dict[Arc, int] = {}
    for arc in sorted(arcs, key=lambda arc: (not arc.head, arc.right - arc.left)):
        if arc.head:
            gaps = slice(max(arc.left - first + 1, 0), min(arc.right - first, last - first + 1) + 1)
            levels[arc] = 1 + max(tops[gaps])
            tops[gaps] = [levels[arc]] * len(tops[gaps])
        else:
            beside = slice(arc.dependent - first, arc.dependent - first + 2)
            levels[arc] = 1 + max(tops[beside])
    return levels


def _half_widths(
    words: Sequence[float], arcs: Sequence[Arc], ports: dict[tuple[int, int], float]
) -> list[float]:
    """Half of the room that each word needs, also for its arcs and for the label above a root."""
    halves = [0.0, *(width / 2 for width in words)]
    for (word, _), offset in ports.items():
        halves[word] = max(halves[word], abs(offset))
    for arc in arcs:
        if not arc.head:
            word = arc.dependent
            halves[word] = max(halves[word], abs(ports[word, 0]) + arc.label / 2)
    return halves


def _centres(
    words: range,
    halves: Sequence[float],
    arcs: Sequence[Arc],
    ports: dict[tuple[int, int], float],
    *,
    left: float,
) -> list[float]:
    """The centres of the words of a row, after an unused entry; labels fit between the ends of their arcs."""
    ending: dict[int, list[Arc]] = {}
    for arc in arcs:
        if arc.head and arc.left in words and arc.right in words:
            ending.setdefault(arc.right, []).append(arc)
    centres, edge = [0.0], left
    for word in words:
        centre = edge + halves[word]
        for arc in ending.get(word, ()):
            start = centres[arc.left - words.start + 1] + ports[arc.left, word]
            centre = max(centre, start + label_room(arc) - ports[word, arc.left])
        centres.append(round(centre, 1))
        edge = centres[-1] + halves[word] + GAP
    return centres


def label_room(arc: Arc) -> float:
    """The distance of the ends of an arc that has room for its label."""
    return arc.label + 2 * (CORNER + LABEL_PAD)


def _row_bounds(
    centres: Sequence[float], halves: Sequence[float], arcs: Sequence[Arc], width: float
) -> list[tuple[int, int]]:
    """First and last word of each row: few rows, evenly filled, broken where few arcs are.

    Dynamic programming over the last word of a row. A row is as wide as its part of the sentence in one line,
    or narrower, because labels of arcs to other rows need no room in it.
    """
    count = len(centres) - 1
    over = [0] * (count + 1)  # arcs over the gap after each word
    for arc in arcs:
        if arc.head:
            over[arc.left] += 1
            over[arc.right] -= 1
    for gap in range(1, count + 1):
        over[gap] += over[gap - 1]
    best, begin = [0.0] + [float("inf")] * count, [0] * (count + 1)
    for last in range(1, count + 1):
        right = centres[last] + halves[last]
        for first in range(last, 0, -1):
            filled = (right - centres[first] + halves[first]) / width
            if filled > 1 and first < last:
                break
            empty = max(0.0, 1 - filled) * (0.5 if last == count else 1.0)  # the last row may be shorter
            cost = best[first - 1] + _ROW_COST + empty**2 + _BROKEN_ARC_COST * over[last]
            if cost < best[last]:
                best[last], begin[last] = cost, first
    bounds, last = [], count
    while last:
        bounds.append((begin[last], last))
        last = begin[last] - 1
    return bounds[::-1]


def _edges(
    bounds: Sequence[tuple[int, int]],
    centres: Sequence[float],
    halves: Sequence[float],
    arcs: Sequence[Arc],
    ports: dict[tuple[int, int], float],
) -> tuple[float, float]:
    """Where arcs enter and leave the rows. Between them, every arc has a piece that its label fits on."""
    right = max(centres[last] + halves[last] for _, last in bounds) if len(centres) > 1 else MARGIN
    if len(bounds) == 1:
        return MARGIN, right
    left, right = MARGIN, round(right + GUTTER, 1)
    lasts = [last for _, last in bounds]
    for arc in arcs:
        row, end = (bisect_left(lasts, word) for word in (arc.left, arc.right))
        if not arc.head or end == row:
            continue
        if end > row + 1:  # there is a whole row in between
            right = max(right, left + label_room(arc))
        elif label_room(arc) > centres[arc.right] + ports[arc.right, arc.left] - left:
            right = max(right, centres[arc.left] + ports[arc.left, arc.right] + label_room(arc))
    return left, right


def _row_pieces(
    number: int,
    bounds: tuple[int, int],
    arcs: Sequence[Arc],
    ports: dict[tuple[int, int], float],
    centres: Sequence[float],
    edges: tuple[float, float],
) -> list[Piece]:
    """The pieces of all arcs in one row, from the highest level to the lowest, without labels."""
    first, last = bounds
    pieces = []
    for arc, level in arc_levels(first, last, arcs).items():
        if not arc.head:
            x = centres[arc.dependent] + ports[arc.dependent, 0]
            pieces.append(Piece(arc, number, level, x, x, True, True, x))
            continue
        has_start, has_end = (first <= word <= last for word in (arc.head, arc.dependent))
        start, end = edges[arc.head > last], edges[arc.dependent > last]
        if has_start:
            start = round(centres[arc.head] + ports[arc.head, arc.dependent], 1)
        if has_end:
            end = round(centres[arc.dependent] + ports[arc.dependent, arc.head], 1)
        pieces.append(Piece(arc, number, level, start, end, has_start, has_end, None))
    return sorted(pieces, key=lambda piece: -piece.level)


def _arcs_by_row(bounds: Sequence[tuple[int, int]], arcs: Sequence[Arc]) -> list[list[Arc]]:
    """The arcs that have a piece in each row."""
    lasts = [last for _, last in bounds]
    result: list[list[Arc]] = [[] for _ in bounds]
    for arc in arcs:
        begin, end = (bisect_left(lasts, word) for word in (arc.left or arc.right, arc.right))
        for row in range(begin, end + 1):
            result[row].append(arc)
    return result


def _make_room_beside_stems(
    first: int, last: int, arcs: Sequence[Arc], ports: dict[tuple[int, int], float], centres: list[float]
) -> None:
    """Move words of a row to the right, so that labels fit beside the stems that cross their arcs.

    Each such arc gets its room in the widest place between two stems of different words. That makes no other
    place narrower and no other stems cross, so that once is enough.
    """
    levels = arc_levels(first, last, arcs)
    stems = sorted(
        (centres[word] + ports[word, other], word, level)
        for arc, level in levels.items()
        for word, other in ((arc.dependent, arc.head), (arc.head, arc.dependent))
        if first <= word <= last
    )
    missing = [0.0] * (last - first + 1)  # before each word
    for arc in arcs:
        if not (arc.head and first <= arc.left and arc.right <= last):
            continue
        left, right = (centres[a] + ports[a, b] for a, b in ((arc.left, arc.right), (arc.right, arc.left)))
        inner = stems[bisect_right(stems, (left, last)) : bisect_left(stems, (right, 0))]
        crossing = [(x, word) for x, word, level in inner if level > levels[arc] and left < x < right]
        if crossing:
            places = [(left + CORNER, arc.left), *crossing, (right - CORNER, arc.right)]
            room, word = max((b - a, end) for (a, start), (b, end) in pairwise(places) if start != end)
            shortage = arc.label + 2 * LABEL_PAD - room
            missing[word - first] = max(missing[word - first], shortage)
    for word, moved in enumerate(accumulate(missing), first):
        centres[word] = round(centres[word] + moved, 1)


def _with_labels(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces of a row with labels where they fit: in the middle, or beside stems that cross the line."""
    stems = sorted(
        (x, piece.level)
        for piece in pieces
        for x, drawn in ((piece.start, piece.has_start), (piece.end, piece.has_end))
        if drawn
    )
    result = []
    for piece in pieces:
        left, right = min(piece.start, piece.end), max(piece.start, piece.end)
        if piece.label is None and right - left >= label_room(piece.arc) - _ROUNDING:
            inner = stems[bisect_right(stems, (left, 1 << 30)) : bisect_left(stems, (right, 0))]
            crossing = [x for x, level in inner if level > piece.level]
            piece = piece._replace(label=_free_place(left, right, crossing, piece.arc.label))
        result.append(piece)
    return result


def _free_place(left: float, right: float, crossing: Sequence[float], label: float) -> float:
    """The centre of a label between two ends: nearest to the middle between two stems where it fits.

    If it fits nowhere, as on an arc between two rows, it is in the widest place.
    """
    middle = (left + right) / 2
    places = [left + CORNER, *crossing, right - CORNER]
    free = [(low + LABEL_PAD, high - LABEL_PAD) for low, high in pairwise(places)]
    fitting = [(low + label / 2, high - label / 2) for low, high in free if high - low >= label - _ROUNDING]
    if not fitting:
        low, high = max(free, key=lambda place: place[1] - place[0])
        half = label / 2 + CORNER
        return round(max(left + half, min((low + high) / 2, right - half)), 1)
    candidates = [max(low, min(middle, high)) for low, high in fitting]
    nearest: float = min(candidates, key=lambda x: abs(x - middle))
    return round(nearest, 1)


def _mirrored(layout: Layout) -> Layout:
    def flip(x: float) -> float:
        return round(layout.width - x, 1)

    pieces = [
        piece._replace(
            start=flip(piece.start),
            end=flip(piece.end),
            label=None if piece.label is None else flip(piece.label),
        )
        for piece in layout.pieces
    ]
    return layout._replace(centres=[0.0, *map(flip, layout.centres[1:])], pieces=pieces)
