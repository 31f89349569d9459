"""Drawings for a terminal: every head can be traced, and columns stay aligned."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from biatt.data.sentence import Sentence
from biatt.display.terminal import tree_text
from biatt.errors import FormatError
from builders import random_trees, sentence_of

LINES = "─│╭├╰┬┼┴ "


def traced_heads(drawing: str) -> list[int]:
    """The heads, found by nothing but following the lines of the drawing."""
    rows = drawing.split("\n")
    words = [re.search(r"w\d+", row) for row in rows]
    grid = [row[: word.start() - 1] for row, word in zip(rows, words, strict=True) if word]
    assert len(grid) == len(rows)
    assert all(set(row) <= set(LINES) for row in grid)
    return [traced_head(grid, row) for row in range(len(grid))]


def traced_head(grid: list[str], row: int) -> int:
    column = len(grid[row]) - 1
    while grid[row][column] not in "╭├╰":  # to the left, across other stems
        assert grid[row][column] in "─│┬┼┴"
        if column == 0:
            return 0
        column -= 1
    found = []
    for step, leaving in ((-1, "├╰"), (1, "├╭")):
        if grid[row][column] in leaving:
            at = row + step
            while grid[at][column] in "│├":
                at += step
            if grid[at][column] in "┬┼┴":
                found.append(at + 1)
    assert len(found) == 1
    return found[0]


@given(random_trees())
def test_every_head_can_be_traced_in_the_drawing(heads: list[int]) -> None:
    assert traced_heads(tree_text(sentence_of(heads))) == heads


@given(random_trees(longest=60))
def test_heads_of_long_sentences_can_be_traced(heads: list[int]) -> None:
    assert traced_heads(tree_text(sentence_of(heads))) == heads


def test_a_drawing_looks_like_this() -> None:
    sentence = Sentence.from_words(
        ["the", "gardener", "saw", "birds"],
        upos=["DET", "NOUN", "VERB", "NOUN"],
        heads=[2, 3, 0, 3],
        deprels=["det", "nsubj", "root", "obj"],
    )
    assert tree_text(sentence).split("\n") == [
        "    ╭─ the       DET   det",
        "  ╭─┴─ gardener  NOUN  nsubj",
        "──┼─── saw       VERB  root",
        "  ╰─── birds     NOUN  obj",
    ]


def test_a_line_crosses_a_stem_without_joining_it() -> None:
    assert tree_text(sentence_of([2, 3, 0, 3, 2])).split("\n") == [
        "    ╭─ w1  X  r1",
        "  ╭─┼─ w2  X  r2",
        "──┼─│─ w3  X  r3",
        "  ╰─│─ w4  X  r4",
        "    ╰─ w5  X  r5",
    ]


def test_one_word_and_no_word_can_be_drawn() -> None:
    assert tree_text(sentence_of([0])) == "── w1  X  r1"
    assert tree_text(sentence_of([])) == ""


def test_every_root_starts_at_the_margin() -> None:
    lines = tree_text(sentence_of([0, 1, 0, 3, 0])).split("\n")
    assert [line[0] for line in lines] == ["─", " ", "─", " ", "─"]


def test_wide_and_zero_width_characters_keep_the_columns_aligned() -> None:
    forms = ["abcd", "東京", "e\u0301tes", "a\u200bbcd", "한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"]
    drawn = tree_text(sentence_of([0, 1, 1, 1, 1, 1], forms)).split("\n")
    # All these forms fill four cells, so each is followed by just the gap.
    assert [line.split(form)[1] for line, form in zip(drawn, forms, strict=True)] == [
        f"  X  r{i}" for i in range(1, 7)
    ]


def test_no_line_ends_in_a_space() -> None:
    drawn = tree_text(Sentence.from_words(["a", "longer"], heads=[2, 0], deprels=["_", "root"]))
    assert all(line == line.rstrip() for line in drawn.split("\n"))


def test_a_column_without_values_is_left_out() -> None:
    assert tree_text(Sentence.from_words(["Hi"], heads=[0], deprels=["root"])) == "── Hi  root"


def test_control_characters_do_not_reach_the_terminal() -> None:
    drawn = tree_text(sentence_of([0, 1], ["\x1b[31mred", "two\u2028lines\x85\u202e"]))
    first, second = drawn.splitlines()
    assert first.split() == ["──┬─", r"\x1b[31mred", "X", "r1"]
    assert second.split() == ["╰─", r"two\u2028lines\x85\u202e", "X", "r2"]
    assert first.index("X") == second.index("X")


@pytest.mark.parametrize(
    ("heads", "fault"),
    [
        ([2, 1], r" but a cycle, 1 → 2 → 1; SVG shows it"),
        ([0, 3, 2], r" but a cycle, 2 → 3 → 2; SVG shows it"),
        ([0, 9], ""),
    ],
)
def test_what_is_no_tree_is_refused(heads: list[int], fault: str) -> None:
    start = "^<words>, line 1: the sentence cannot be drawn, because its heads form no tree"
    with pytest.raises(FormatError, match=rf"{start}{fault}\.$"):
        tree_text(sentence_of(heads))


def test_a_word_without_a_head_has_no_line() -> None:
    assert tree_text(sentence_of([-1, 0, 2, -1, 4])).split("\n") == [
        "     w1  X  r1",
        "──┬─ w2  X  r2",
        "  ╰─ w3  X  r3",
        "  ┬─ w4  X  r4",
        "  ╰─ w5  X  r5",
    ]


def test_lemmas_and_tags_are_shown_or_left_out() -> None:
    sentence = Sentence.from_words(
        ["Mice", "ran"], lemmas=["mouse", "run"], upos=["NOUN", "VERB"], heads=[2, 0]
    )
    assert tree_text(sentence, show=("lemma", "upos")).split("\n") == [
        "  ╭─ Mice  mouse  NOUN",
        "──┴─ ran   run    VERB",
    ]
    assert tree_text(sentence, show=()).split("\n") == ["  ╭─ Mice", "──┴─ ran"]


def test_doubtful_arcs_have_their_probability() -> None:
    sentence = sentence_of([2, 0])
    sentence.rows[0][9] = "ArcProb=0.9|WordProb=0.45"
    assert tree_text(sentence).split("\n") == ["  ╭─ w1  X  r1  45 %", "──┴─ w2  X  r2"]
