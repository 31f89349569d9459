"""SVG pictures of trees: valid, complete, and nothing overlaps."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biatt.display.svg import tree_svg
from biatt.errors import FormatError
from builders import random_trees, sentence_of

SVG = "{http://www.w3.org/2000/svg}"
PATIENT = settings(deadline=None)  # a busy machine is no failure


def arc_paths(picture: str) -> list[tuple[float, float, float]]:
    """The start, the end and the height of each arc; root arrows have no curve and are left out."""
    found = re.findall(r'd="M([\d.-]+) \S+ V\S+ Q\S+ (\S+) \S+ \S+ H\S+ Q([\d.-]+) ', picture)
    return [(float(start), float(end), float(y)) for start, y, end in found]


@PATIENT
@given(random_trees())
def test_the_picture_is_valid_and_has_an_arc_an_arrow_and_a_label_for_each_word(heads: list[int]) -> None:
    picture = tree_svg(sentence_of(heads))
    root = ElementTree.fromstring(picture)
    classes = [element.get("class") for element in root.iter()]
    for kind in ("arc", "arrow", "label", "word", "tag"):
        assert classes.count(kind) == len(heads)
    assert len(arc_paths(picture)) == len(heads) - heads.count(0)


@PATIENT
@given(random_trees())
def test_arcs_on_one_level_do_not_overlap(heads: list[int]) -> None:
    levels: dict[float, list[tuple[float, float]]] = {}
    for start, end, y in arc_paths(tree_svg(sentence_of(heads))):
        levels.setdefault(y, []).append((min(start, end), max(start, end)))
    for spans in levels.values():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(spans)))


@PATIENT
@given(random_trees())
def test_everything_lies_within_the_picture(heads: list[int]) -> None:
    root = ElementTree.fromstring(tree_svg(sentence_of(heads)))
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.get("x", "")) < width
        assert 0 < float(text.get("y", "")) < height


def test_words_do_not_overlap() -> None:
    root = ElementTree.fromstring(
        tree_svg(sentence_of([2, 0, 2], ["extraordinarily", "incomprehensible", "東京"]))
    )
    words = [
        (float(t.get("x", "")), t.text or "") for t in root.iter(f"{SVG}text") if t.get("class") == "word"
    ]
    for (x, left), (y, right) in pairwise(words):
        assert y - x > 0.5 * 18 * (len(left) + len(right)) / 2


@PATIENT
@given(st.lists(st.text(st.characters(exclude_characters="\t\n"), min_size=1), min_size=1, max_size=4))
def test_any_form_makes_valid_xml(forms: list[str]) -> None:
    root = ElementTree.fromstring(tree_svg(sentence_of([0, *[1] * (len(forms) - 1)], forms)).encode())
    assert sum(element.get("class") == "word" for element in root) == len(forms)


def test_text_is_escaped() -> None:
    root = ElementTree.fromstring(tree_svg(sentence_of([0], ["<b>&amp;"])))
    assert [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "word"] == ["<b>&amp;"]


def test_the_picture_has_a_title_a_description_and_a_white_background() -> None:
    root = ElementTree.fromstring(tree_svg(sentence_of([2, 0], ["Ada", "sings"])))
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Ada sings"
    assert root.findtext(f"{SVG}desc") == "Ada (1) is r1 of sings (2); sings (2) is r2 of the root."
    background = root.find(f"{SVG}rect")
    assert background is not None
    assert background.get("fill") == "#ffffff"


def test_the_title_is_the_text_of_the_sentence_where_it_is_known() -> None:
    sentence = sentence_of([2, 0], ["Ada", "sings"])
    sentence.verbatim.append((0, "# text = Ada sings"))
    assert ElementTree.fromstring(tree_svg(sentence)).findtext(f"{SVG}title") == "Ada sings"


def test_picture_of_no_words_is_valid() -> None:
    ElementTree.fromstring(tree_svg(sentence_of([])))


def test_control_characters_are_shown_as_escapes() -> None:
    picture = tree_svg(sentence_of([0, 1], ["\x1b[31mred", "\u202egnp"]))
    words = [t.text for t in ElementTree.fromstring(picture).iter(f"{SVG}text") if t.get("class") == "word"]
    assert words == [r"\x1b[31mred", r"\u202egnp"]
    assert not set(picture) & set("\x1b\u202e")


def test_what_is_no_tree_is_refused() -> None:
    with pytest.raises(FormatError, match="form no tree"):
        tree_svg(sentence_of([2, 1]))
