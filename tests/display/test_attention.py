"""Attention maps: every probability has a cell, and the tree is marked."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.display.attention import attention_svg
from biatt.errors import ConfigError
from builders import random_parser

PARSER = random_parser(seed=3)
SVG = "{http://www.w3.org/2000/svg}"


def test_every_probability_that_can_be_seen_has_a_cell_and_the_tree_is_marked() -> None:
    for sentence in PARSER.parse(generate(3, seed=2), confidence=True):
        drawn = ElementTree.fromstring(attention_svg(sentence))
        cells = [rect for rect in drawn.iter(f"{SVG}rect") if rect.get("class") == "cell"]
        tables = sentence.attention
        assert tables is not None
        shares = np.concatenate([table.ravel() for table in tables])
        seen = shares[shares >= 0.004]
        assert [float(cell.get("opacity", "")) for cell in cells] == pytest.approx(seen.tolist(), abs=6e-4)
        chosen = [rect for rect in drawn.iter(f"{SVG}rect") if rect.get("class") == "chosen"]
        assert len(chosen) == 3 * len(sentence)
        corners = sorted(
            {float(rect.get("x", "")) for rect in drawn.iter(f"{SVG}rect") if rect.get("class") == "frame"}
        )
        columns = [
            round((float(rect.get("x", "")) - 1 - corners[0]) / 18) for rect in chosen[: len(sentence)]
        ]
        assert columns == sentence.heads
        assert [text.text for text in drawn.iter(f"{SVG}text")][: len(sentence)] == sentence.forms


def test_words_that_look_like_markup_are_text() -> None:
    (sentence,) = PARSER.parse([Sentence.from_words(["<b>", "&amp;"])], confidence=True)
    texts = [text.text for text in ElementTree.fromstring(attention_svg(sentence)).iter(f"{SVG}text")]
    assert texts[:2] == ["<b>", "&amp;"]


def test_sentence_without_attention_is_an_error() -> None:
    with pytest.raises(ConfigError, match="carries no attention"):
        attention_svg(generate(1, seed=1)[0])
