"""Attention maps: every probability has a cell, the tree is marked, and axes and colours are explained."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.display.attention import attention_picture
from biatt.errors import ConfigError
from builders import random_parser

PARSER = random_parser(seed=3)
SVG = "{http://www.w3.org/2000/svg}"


def elements(sentence: Sentence, tag: str, kind: str) -> list[ElementTree.Element]:
    """The elements of a class, in the order of the picture."""
    root = ElementTree.fromstring(attention_picture(sentence).svg())
    return [item for item in root.iter(f"{SVG}{tag}") if kind in item.get("class", "").split()]


def words(sentence: Sentence) -> list[str | None]:
    root = ElementTree.fromstring(attention_picture(sentence).svg())
    return [text.text for text in root.iter(f"{SVG}text") if not text.get("class")]


def test_every_probability_that_can_be_seen_has_a_cell() -> None:
    for sentence in PARSER.parse(generate(3, seed=2), confidence=True):
        tables = sentence.attention
        assert tables is not None
        difference = tables.left_to_right - tables.right_to_left
        panels = np.concatenate(
            [
                table.ravel()
                for table in (tables.left_to_right, tables.right_to_left, difference, tables.agreement)
            ]
        )
        expected = np.sqrt(np.abs(panels[np.abs(panels) >= 0.004]))
        cells = [*elements(sentence, "rect", "biatt-cell"), *elements(sentence, "rect", "biatt-against")]
        opacities = [float(cell.get("opacity", "")) for cell in cells if cell.get("height") == "22"]
        assert sorted(opacities) == pytest.approx(sorted(expected.tolist()), abs=6e-4)


def test_the_tree_is_framed_in_every_panel() -> None:
    for sentence in PARSER.parse(generate(3, seed=2), confidence=True):
        frames = elements(sentence, "rect", "biatt-frame")
        chosen = elements(sentence, "rect", "biatt-chosen")
        assert len(chosen) == 4 * len(sentence)
        left = float(frames[0].get("x", ""))
        columns = [round((float(rect.get("x", "")) - 1 - left) / 22) for rect in chosen[: len(sentence)]]
        assert columns == sentence.heads


def test_panels_axes_and_scales_have_names() -> None:
    (sentence,) = PARSER.parse(generate(1, seed=2), confidence=True)
    assert [text.text for text in elements(sentence, "text", "biatt-title")] == [
        "Left to right",
        "Right to left",
        "Left to right minus right to left",
        "Agreement of both",
    ]
    axes = [text.text for text in elements(sentence, "text", "biatt-axis")]
    assert axes == [*["head", "dependent"] * 4, "probability, or difference above 0", "difference below 0"]
    numbers = [text.text for text in elements(sentence, "text", "biatt-number")]
    assert numbers[-10:] == ["0", "0.05", "0.2", "0.5", "1", "0", "−0.05", "−0.2", "−0.5", "−1"]
    assert words(sentence) == [*sentence.forms, "ROOT", *sentence.forms] * 4


def test_a_model_with_one_direction_has_one_panel() -> None:
    (sentence,) = PARSER.parse(generate(1, seed=2), confidence=True)
    assert sentence.scores is not None
    sentence.scores = sentence.scores._replace(right=sentence.scores.left)
    assert [text.text for text in elements(sentence, "text", "biatt-title")] == ["Probability of each head"]
    assert len(elements(sentence, "rect", "biatt-chosen")) == len(sentence)


def test_words_that_look_like_markup_are_text() -> None:
    (sentence,) = PARSER.parse([Sentence.from_words(["<b>", "&amp;"])], confidence=True)
    assert words(sentence)[:2] == ["<b>", "&amp;"]


def test_sentence_without_attention_is_an_error() -> None:
    with pytest.raises(ConfigError, match="carries no attention"):
        attention_picture(generate(1, seed=1)[0])
