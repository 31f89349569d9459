"""SVG pictures of trees: valid, complete, and marked where they should be."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.arcs import crossing_arcs
from biatt.data.conll import read
from biatt.data.scores import Confidence, Temperature
from biatt.data.sentence import Sentence
from biatt.display.svg import tree_picture
from biatt.errors import ConfigError
from builders import random_trees, sentence_of
from examples import examples

SVG = "{http://www.w3.org/2000/svg}"
FEWER = examples(50)


def drawn(sentence: Sentence, **options: object) -> ElementTree.Element:
    return ElementTree.fromstring(tree_picture(sentence, **options).svg())  # type: ignore[arg-type]


def group(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    """The elements of the group of a class."""
    return [child for item in root.iter(f"{SVG}g") if kind in item.get("class", "").split() for child in item]


def texts(root: ElementTree.Element, kind: str) -> list[str | None]:
    return [item.text for item in group(root, kind)]


@FEWER
@given(random_trees(), st.sampled_from([None, 120.0, 1200.0]))
def test_every_word_has_an_arrow_and_a_label(heads: list[int], wrap: float | None) -> None:
    root = drawn(sentence_of(heads), wrap=wrap)
    classes = [element.get("class") for element in root.iter()]
    assert classes.count("biatt-arrow") == len(heads)
    labels = {text.text for arc in group(root, "biatt-arcs") for text in arc.iter(f"{SVG}text")}
    assert labels == {f"r{i}" for i in range(1, len(heads) + 1)}
    assert texts(root, "biatt-words") == [f"w{i}" for i in range(1, len(heads) + 1)]
    assert texts(root, "biatt-tags") == ["X"] * len(heads)


@FEWER
@given(random_trees(), st.sampled_from([None, 120.0, 1200.0]))
def test_everything_lies_within_the_picture(heads: list[int], wrap: float | None) -> None:
    root = drawn(sentence_of(heads), wrap=wrap)
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.get("x", "")) < width
        assert 0 < float(text.get("y", "")) < height
    for path in root.iter(f"{SVG}path"):
        for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path.get("d", "")):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height


@FEWER
@given(random_trees())
def test_a_label_is_drawn_after_every_line_that_could_cut_it(heads: list[int]) -> None:
    """Lines that cross the line of a label are higher, and what is higher comes first."""
    arcs = group(drawn(sentence_of(heads)), "biatt-arcs")
    labels = [float(text.get("y", "")) for arc in arcs for text in arc.iter(f"{SVG}text")]
    assert labels == sorted(labels)


@FEWER
@given(random_trees())
def test_crossing_arcs_are_marked_and_no_others(heads: list[int]) -> None:
    arcs = group(drawn(sentence_of(heads)), "biatt-arcs")
    marked = {arc.findtext(f"{SVG}text") for arc in arcs if "biatt-crossing" in arc.get("class", "")}
    assert marked == {f"r{i}" for i, crosses in enumerate(crossing_arcs(heads), 1) if crosses}


def doubted(sentence: Sentence, probabilities: list[float]) -> Sentence:
    values, ones = np.array(probabilities), np.ones(len(probabilities))
    sentence.confidence = Confidence(
        heads=values,
        arcs=values,
        agreement=ones,
        relations=ones,
        log_probability=-1.0,
        entropy=0.5,
        temperature=Temperature(),
    )
    return sentence


def doubtful_labels(sentence: Sentence) -> list[str]:
    arcs = group(drawn(sentence), "biatt-arcs")
    return [
        "".join(arc.find(f"{SVG}text").itertext()) for arc in arcs if arc.get("class") == "biatt-doubtful"
    ]  # type: ignore[union-attr]


def test_doubtful_arcs_are_dashed_and_have_their_probability() -> None:
    sentence = doubted(sentence_of([2, 0, 2]), [0.79, 0.81, 0.333])
    assert sorted(doubtful_labels(sentence)) == ["r179 %", "r333 %"]
    sheet = drawn(sentence).findtext(f"{SVG}style") or ""
    assert re.search(r"\.biatt-doubtful \.biatt-line \{ stroke-dasharray", sheet)


def test_doubt_is_read_from_misc_where_there_is_no_parser() -> None:
    sentence = sentence_of([2, 0, 2])
    for row, misc in zip(
        sentence.rows, ("ArcProb=0.5|WordProb=0.4", "WordProb=0.99", "WordProb=x"), strict=True
    ):
        row[9] = misc
    assert doubtful_labels(sentence) == ["r140 %"]


def test_words_that_are_read_from_the_right_are_drawn_from_the_right() -> None:
    for forms, step in ((["الولد", "يقرأ", "كتابا"], -1), (["the", "boy", "reads"], 1)):
        root = drawn(sentence_of([2, 0, 2], forms))
        places = [float(text.get("x", "")) for text in group(root, "biatt-words")]
        assert places == sorted(places)[::step]


def test_a_long_sentence_has_rows_unless_it_shall_be_one() -> None:
    sentence = sentence_of([0, *range(1, 60)])
    heights = {
        wrap: {text.get("y") for text in group(drawn(sentence, wrap=wrap), "biatt-words")}
        for wrap in (None, 600)
    }
    assert len(heights[None]) == 1
    assert len(heights[600]) > 3
    assert tree_picture(sentence, wrap=600).width <= 600 < tree_picture(sentence, wrap=None).width


def test_lemmas_and_tags_are_shown_or_left_out() -> None:
    sentence = Sentence.from_words(
        ["Mice", "ran"], lemmas=["mouse", "run"], upos=["NOUN", "VERB"], xpos=["NNS", "VBD"], heads=[2, 0]
    )
    assert texts(drawn(sentence), "biatt-tags") == ["NOUN", "VERB"]
    assert texts(drawn(sentence), "biatt-lemmas") == []
    assert texts(drawn(sentence, show=("xpos", "lemma")), "biatt-tags") == ["NNS", "VBD"]
    assert texts(drawn(sentence, show=("xpos", "lemma")), "biatt-lemmas") == ["mouse", "run"]
    bare = drawn(sentence, show=())
    assert texts(bare, "biatt-tags") == []
    assert float(bare.get("height", "")) < float(drawn(sentence).get("height", ""))
    with pytest.raises(ConfigError, match=r"^'feats' cannot be shown .* lemma, upos, xpos can\.$"):
        tree_picture(sentence, show=("feats",))  # type: ignore[arg-type]


def test_marked_words_are_highlighted_with_their_names() -> None:
    root = drawn(sentence_of([2, 0, 2]), marked={1: ["subject"], 3: []})
    assert sum(item.get("class") == "biatt-highlight" for item in root.iter()) == 2
    assert texts(root, "biatt-names") == ["subject"]
    assert texts(drawn(sentence_of([2, 0, 2]), marked=[2]), "biatt-names") == []


def test_words_of_a_multiword_token_are_bracketed_in_every_row_that_has_them() -> None:
    sentence = sentence_of([2, 0, 2], ["Je", "vais", "à"])
    lines = sentence.to_text().splitlines()
    lines.insert(1, "2-3\tvaisà" + 8 * "\t_")
    (sentence,) = read(io.BytesIO("\n".join(lines).encode() + b"\n\n"))
    whole, broken = (group(drawn(sentence, wrap=wrap), "biatt-tokens") for wrap in (None, 10))
    assert [item.text for item in whole if item.tag == f"{SVG}text"] == ["vaisà"]
    assert [item.text for item in broken if item.tag == f"{SVG}text"] == ["vaisà"] * 2
    assert group(drawn(sentence_of([0])), "biatt-tokens") == []
    assert tree_picture(sentence).height > tree_picture(sentence_of([2, 0, 2])).height


def test_what_is_no_tree_is_drawn_as_it_is() -> None:
    arcs = {arc.findtext(f"{SVG}title") for arc in group(drawn(sentence_of([2, 1, -1, 4, 9])), "biatt-arcs")}
    assert arcs == {"w2 → w1: r1", "w1 → w2: r2"}


def test_words_do_not_overlap() -> None:
    root = drawn(sentence_of([2, 0, 2], ["extraordinarily", "incomprehensible", "東京"]))
    words = [(float(text.get("x", "")), text.text or "") for text in group(root, "biatt-words")]
    for (x, left), (y, right) in pairwise(words):
        assert y - x > 0.45 * 17 * (len(left) + len(right)) / 2


@FEWER
@given(st.lists(st.text(st.characters(exclude_characters="\t\n"), min_size=1), min_size=1, max_size=4))
def test_any_form_makes_valid_xml(forms: list[str]) -> None:
    picture = tree_picture(sentence_of([0, *[1] * (len(forms) - 1)], forms)).svg()
    assert len(group(ElementTree.fromstring(picture.encode()), "biatt-words")) == len(forms)


def test_text_is_escaped() -> None:
    assert texts(drawn(sentence_of([0], ["<b>&amp;"])), "biatt-words") == ["<b>&amp;"]


def test_the_picture_has_a_title_and_a_description() -> None:
    root = drawn(sentence_of([2, 0], ["Ada", "sings"]))
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Ada sings"
    assert root.findtext(f"{SVG}desc") == "Ada (1) is r1 of sings (2); sings (2) is r2 of the root."


def test_the_title_is_the_text_of_the_sentence_where_it_is_known() -> None:
    sentence = sentence_of([2, 0], ["Ada", "sings"])
    sentence.verbatim.append((0, "# text = Ada  sings"))
    assert drawn(sentence).findtext(f"{SVG}title") == "Ada  sings"


def test_picture_of_no_words_is_valid() -> None:
    drawn(sentence_of([]))


def test_control_characters_are_shown_as_escapes() -> None:
    picture = tree_picture(sentence_of([0, 1], ["\x1b[31mred", "\u202egnp"])).svg()
    assert texts(ElementTree.fromstring(picture), "biatt-words") == [r"\x1b[31mred", r"\u202egnp"]
    assert not set(picture) & set("\x1b\u202e")


def test_arcs_of_words_from_right_to_left_are_told_in_order() -> None:
    root = drawn(sentence_of([2, 0], ["قطة", "نامت"]))
    titles = [title.text or "" for item in group(root, "biatt-arcs") for title in item.iter(f"{SVG}title")]
    assert sorted(title.partition(":")[0] for title in titles) == [
        "ROOT → \u2068نامت\u2069",
        "\u2068نامت\u2069 → \u2068قطة\u2069",
    ]
