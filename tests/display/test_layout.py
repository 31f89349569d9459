"""The layout of trees: nothing overlaps, every arc is whole, and rows are as wide as they may be."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.display.layout import (
    CORNER,
    GAP,
    MARGIN,
    Arc,
    Layout,
    Piece,
    arc_levels,
    lay_out,
)
from builders import random_trees
from examples import examples

FEWER = examples(50)


@st.composite
def drawings(draw: st.DrawFn, longest: int = 14) -> tuple[list[float], list[Arc]]:
    """Widths of words, and the arcs of any tree over them with labels of any width."""
    heads = draw(random_trees(longest=longest))
    sizes = st.integers(4, 120)
    arcs = [Arc(head, dependent, float(draw(sizes))) for dependent, head in enumerate(heads, 1)]
    return [float(draw(sizes)) for _ in heads], arcs


def obvious_levels(arcs: list[Arc]) -> dict[Arc, int]:
    """From short to long, each arc is above all earlier ones that it overlaps; at last the arcs of ROOT."""
    levels: dict[Arc, int] = {}
    for arc in sorted((arc for arc in arcs if arc.head), key=lambda arc: arc.right - arc.left):
        below = [levels[other] for other in levels if other.left < arc.right and arc.left < other.right]
        levels[arc] = 1 + max(below, default=0)
    beside = {
        root: [level for arc, level in levels.items() if arc.left <= root.dependent <= arc.right]
        for root in arcs
        if not root.head
    }
    return levels | {root: 1 + max(below, default=0) for root, below in beside.items()}


@FEWER
@given(random_trees(longest=20))
def test_an_arc_is_above_all_shorter_ones_that_it_overlaps(heads: list[int]) -> None:
    arcs = [Arc(head, dependent, 1.0) for dependent, head in enumerate(heads, 1)]
    assert arc_levels(1, len(heads), arcs) == obvious_levels(arcs)


def span(piece: Piece) -> tuple[float, float]:
    return min(piece.start, piece.end), max(piece.start, piece.end)


WRAPS = st.sampled_from([None, 10.0, 150.0, 300.0, 600.0])


@FEWER
@given(drawings(), WRAPS, st.booleans())
def test_lines_on_one_level_of_a_row_do_not_overlap(
    drawing: tuple[list[float], list[Arc]], wrap: float | None, from_right: bool
) -> None:
    layout = lay_out(*drawing, wrap=wrap, from_right=from_right)
    for a, b in combinations((piece for piece in layout.pieces if piece.arc.head), 2):
        if (a.row, a.level) == (b.row, b.level):
            assert span(a)[1] < span(b)[0] or span(b)[1] < span(a)[0]


@FEWER
@given(drawings(), WRAPS, st.booleans())
def test_words_keep_their_distance_and_everything_is_within_the_picture(
    drawing: tuple[list[float], list[Arc]], wrap: float | None, from_right: bool
) -> None:
    widths, arcs = drawing
    layout = lay_out(widths, arcs, wrap=wrap, from_right=from_right)
    for row in layout.rows:
        words = range(row.first, row.last + 1)
        ends = sorted(
            (layout.centres[word] - widths[word - 1] / 2, layout.centres[word] + widths[word - 1] / 2)
            for word in words
        )
        assert all(end + GAP <= start + 0.2 for (_, end), (start, _) in pairwise(ends))
        assert ends[0][0] >= MARGIN - 0.2
        assert ends[-1][1] <= layout.width - MARGIN + 0.2
        order = [layout.centres[word] for word in words]
        assert order == sorted(order, reverse=from_right)
    for piece in layout.pieces:
        assert MARGIN - 0.2 <= span(piece)[0] <= span(piece)[1] <= layout.width - MARGIN + 0.2
        if piece.label is not None:
            assert piece.arc.label / 2 <= piece.label <= layout.width - piece.arc.label / 2
    assert [row.first for row in layout.rows[1:]] == [row.last + 1 for row in layout.rows[:-1]]
    assert (layout.rows[0].first, layout.rows[-1].last) == (1, len(widths))


@FEWER
@given(drawings(), WRAPS)
def test_every_arc_leaves_its_head_reaches_its_dependent_and_has_a_label(
    drawing: tuple[list[float], list[Arc]], wrap: float | None
) -> None:
    layout = lay_out(*drawing, wrap=wrap)
    row_of = {word: i for i, row in enumerate(layout.rows) for word in range(row.first, row.last + 1)}
    for arc in drawing[1]:
        pieces = sorted((piece for piece in layout.pieces if piece.arc == arc), key=lambda piece: piece.row)
        ends = [row_of[word] for word in (arc.head or arc.dependent, arc.dependent)]
        assert [piece.row for piece in pieces] == list(range(min(ends), max(ends) + 1))
        assert [piece.row for piece in pieces if piece.has_start] == ends[:1]
        assert [piece.row for piece in pieces if piece.has_end] == ends[1:]
        assert any(piece.label is not None for piece in pieces)


def crossing_stems(layout: Layout, piece: Piece) -> list[float]:
    """The stems of other arcs that rise through the line of a piece."""
    low, high = span(piece)
    return [
        x
        for other in layout.pieces
        if other.row == piece.row and other.level > piece.level
        for x, drawn in ((other.start, other.has_start), (other.end, other.has_end))
        if drawn and low < x < high
    ]


@FEWER
@given(drawings(), WRAPS)
def test_no_line_cuts_a_label(drawing: tuple[list[float], list[Arc]], wrap: float | None) -> None:
    layout = lay_out(*drawing, wrap=wrap)
    for piece in layout.pieces:
        if piece.label is not None and piece.arc.head and piece.has_start and piece.has_end:
            low, high = span(piece)
            start, end = piece.label - piece.arc.label / 2, piece.label + piece.arc.label / 2
            assert low + CORNER - 0.2 <= start <= end <= high - CORNER + 0.2
            assert not any(start < x < end for x in crossing_stems(layout, piece))


@FEWER
@given(drawings())
def test_arcs_that_cross_by_their_words_are_the_only_ones_whose_lines_cross(
    drawing: tuple[list[float], list[Arc]],
) -> None:
    layout = lay_out(*drawing)
    for piece in layout.pieces:
        if piece.arc.head:
            inside = range(piece.arc.left + 1, piece.arc.right)
            leaving = [
                arc
                for arc in drawing[1]
                if (arc.dependent in inside and (arc.head not in range(piece.arc.left, piece.arc.right + 1)))
                or (arc.head in inside and arc.dependent not in range(piece.arc.left, piece.arc.right + 1))
            ]
            assert not crossing_stems(layout, piece) or leaving


@FEWER
@given(st.lists(st.integers(4, 120), min_size=1, max_size=40), st.sampled_from([400.0, 800.0]))
def test_words_are_within_the_width_that_was_asked_for(widths: list[int], wrap: float) -> None:
    arcs = [Arc(dependent - 1, dependent, 60.0) for dependent in range(1, len(widths) + 1)]
    layout = lay_out(widths, arcs, wrap=wrap)
    ends = [x + width / 2 for x, width in zip(layout.centres[1:], widths, strict=True)]
    assert max(ends) <= wrap - MARGIN
    assert len(layout.rows) > 1 or layout.width <= wrap


def test_a_sentence_is_broken_where_few_arcs_are() -> None:
    """Two clauses, of four words and of six, that one arc joins: the break is between them."""
    heads = [2, 0, 2, 2, 10, 10, 10, 10, 10, 2]
    arcs = [Arc(head, dependent, 10.0) for dependent, head in enumerate(heads, 1)]
    layout = lay_out([40.0] * 10, arcs, wrap=460)
    assert [(row.first, row.last) for row in layout.rows] == [(1, 4), (5, 10)]


def test_from_the_right_is_the_mirror_image() -> None:
    arcs = [Arc(2, 1, 20.0), Arc(0, 2, 20.0), Arc(2, 3, 30.0)]
    plain, mirrored = (lay_out([30.0, 50.0, 20.0], arcs, from_right=flag) for flag in (False, True))
    assert mirrored.width == plain.width
    assert mirrored.centres[1:] == pytest.approx([plain.width - x for x in plain.centres[1:]])
    assert [piece.start for piece in mirrored.pieces] == pytest.approx(
        [plain.width - piece.start for piece in plain.pieces]
    )


def test_no_words_have_a_layout() -> None:
    layout = lay_out([], [])
    assert layout.pieces == []
    assert layout.width == 2 * MARGIN
