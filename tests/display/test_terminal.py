from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biatt.data.sentence import Sentence
from biatt.display.terminal import svg, tree
from biatt.errors import FormatError

SVG = "{http://www.w3.org/2000/svg}"
PATIENT = settings(deadline=None)  # a busy machine is no failure
LINES = "─│╭├╰┬┼┴ "


def sentence_of(heads: list[int], forms: list[str] | None = None) -> Sentence:
    forms = forms or [f"w{i}" for i in range(1, len(heads) + 1)]
    relations = [f"r{i}" for i in range(1, len(heads) + 1)]
    return Sentence.from_words(forms, upos=["X"] * len(heads), heads=heads, deprels=relations)


@st.composite
def trees(draw: st.DrawFn, longest: int = 12) -> list[int]:
    """Any tree, projective or not, with one root or several: words join in a random order."""
    order = draw(st.permutations(range(1, draw(st.integers(1, longest)) + 1)))
    heads = [0] * len(order)
    for i, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:i]]))
    return heads


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


@PATIENT
@given(trees())
def test_every_head_can_be_traced_in_the_drawing(heads: list[int]) -> None:
    assert traced_heads(tree(sentence_of(heads))) == heads


@PATIENT
@given(trees(longest=60))
def test_heads_of_long_sentences_can_be_traced(heads: list[int]) -> None:
    assert traced_heads(tree(sentence_of(heads))) == heads


def test_a_drawing_looks_like_this() -> None:
    sentence = Sentence.from_words(
        ["the", "gardener", "saw", "birds"],
        upos=["DET", "NOUN", "VERB", "NOUN"],
        heads=[2, 3, 0, 3],
        deprels=["det", "nsubj", "root", "obj"],
    )
    assert tree(sentence).split("\n") == [
        "    ╭─ the       DET   det",
        "  ╭─┴─ gardener  NOUN  nsubj",
        "──┼─── saw       VERB  root",
        "  ╰─── birds     NOUN  obj",
    ]


def test_a_line_crosses_a_stem_without_joining_it() -> None:
    assert tree(sentence_of([2, 3, 0, 3, 2])).split("\n") == [
        "    ╭─ w1  X  r1",
        "  ╭─┼─ w2  X  r2",
        "──┼─│─ w3  X  r3",
        "  ╰─│─ w4  X  r4",
        "    ╰─ w5  X  r5",
    ]


def test_one_word_and_no_word_can_be_drawn() -> None:
    assert tree(sentence_of([0])) == "── w1  X  r1"
    assert tree(sentence_of([])) == ""
    ElementTree.fromstring(svg(sentence_of([])))


def test_every_root_starts_at_the_margin() -> None:
    assert [line[0] for line in tree(sentence_of([0, 1, 0, 3, 0])).split("\n")] == ["─", " ", "─", " ", "─"]


def test_wide_and_zero_width_characters_keep_the_columns_aligned() -> None:
    forms = ["abcd", "東京", "e\u0301tes", "a\u200bbcd", "한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"]
    drawn = tree(sentence_of([0, 1, 1, 1, 1, 1], forms)).split("\n")
    # All these forms fill four cells, so each is followed by just the gap.
    assert [line.split(form)[1] for line, form in zip(drawn, forms, strict=True)] == [
        f"  X  r{i}" for i in range(1, 7)
    ]


def test_no_line_ends_in_a_space() -> None:
    drawn = tree(Sentence.from_words(["a", "longer"], heads=[2, 0], deprels=["_", "root"]))
    assert all(line == line.rstrip() for line in drawn.split("\n"))


def test_a_column_without_values_is_left_out() -> None:
    assert tree(Sentence.from_words(["Hi"], heads=[0], deprels=["root"])) == "── Hi  root"


def test_control_characters_do_not_reach_the_terminal() -> None:
    drawn = tree(sentence_of([0, 1], ["\x1b[31mred", "two\u2028lines\x85"]))
    assert len(drawn.splitlines()) == 2
    assert "\x1b" not in drawn


@pytest.mark.parametrize("heads", [[-1], [2, 1], [0, 3, 2], [0, 9]])
@pytest.mark.parametrize("draw", [tree, svg])
def test_what_is_no_tree_is_refused(draw, heads: list[int]) -> None:
    with pytest.raises(FormatError, match="form no tree"):
        draw(sentence_of(heads))


def arc_paths(picture: str) -> list[tuple[float, float, float]]:
    """The start, the end and the height of each arc; root arrows have no curve and are left out."""
    found = re.findall(r'd="M([\d.-]+) \S+ V\S+ Q\S+ (\S+) \S+ \S+ H\S+ Q([\d.-]+) ', picture)
    return [(float(start), float(end), float(y)) for start, y, end in found]


@PATIENT
@given(trees())
def test_the_picture_is_valid_and_has_an_arc_an_arrow_and_a_label_for_each_word(heads: list[int]) -> None:
    picture = svg(sentence_of(heads))
    root = ElementTree.fromstring(picture)
    classes = [element.get("class") for element in root.iter()]
    for kind in ("arc", "arrow", "label", "word", "tag"):
        assert classes.count(kind) == len(heads)
    assert len(arc_paths(picture)) == len(heads) - heads.count(0)


@PATIENT
@given(trees())
def test_arcs_on_one_level_do_not_overlap(heads: list[int]) -> None:
    levels: dict[float, list[tuple[float, float]]] = {}
    for start, end, y in arc_paths(svg(sentence_of(heads))):
        levels.setdefault(y, []).append((min(start, end), max(start, end)))
    for spans in levels.values():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(spans)))


@PATIENT
@given(trees())
def test_everything_lies_within_the_picture(heads: list[int]) -> None:
    root = ElementTree.fromstring(svg(sentence_of(heads)))
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.get("x", "")) < width
        assert 0 < float(text.get("y", "")) < height


def test_words_do_not_overlap() -> None:
    root = ElementTree.fromstring(
        svg(sentence_of([2, 0, 2], ["extraordinarily", "incomprehensible", "東京"]))
    )
    words = [
        (float(t.get("x", "")), t.text or "") for t in root.iter(f"{SVG}text") if t.get("class") == "word"
    ]
    for (x, left), (y, right) in pairwise(words):
        assert y - x > 0.5 * 18 * (len(left) + len(right)) / 2


@PATIENT
@given(st.lists(st.text(st.characters(exclude_characters="\t\n"), min_size=1), min_size=1, max_size=4))
def test_any_form_makes_valid_xml(forms: list[str]) -> None:
    root = ElementTree.fromstring(svg(sentence_of([0, *[1] * (len(forms) - 1)], forms)).encode())
    assert sum(element.get("class") == "word" for element in root) == len(forms)


def test_text_is_escaped() -> None:
    root = ElementTree.fromstring(svg(sentence_of([0], ["<b>&amp;"])))
    assert [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "word"] == ["<b>&amp;"]


def test_the_picture_has_a_title_a_description_and_a_white_background() -> None:
    root = ElementTree.fromstring(svg(sentence_of([2, 0], ["Ada", "sings"])))
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Ada sings"
    assert root.findtext(f"{SVG}desc") == "Ada (1) is r1 of sings (2); sings (2) is r2 of the root."
    background = root.find(f"{SVG}rect")
    assert background is not None
    assert background.get("fill") == "#ffffff"


def test_the_title_is_the_text_of_the_sentence_where_it_is_known() -> None:
    sentence = sentence_of([2, 0], ["Ada", "sings"])
    sentence.verbatim.append((0, "# text = Ada sings"))
    assert ElementTree.fromstring(svg(sentence)).findtext(f"{SVG}title") == "Ada sings"
