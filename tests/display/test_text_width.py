"""Estimated widths of text."""

from __future__ import annotations

import pytest

from biatt.display.text_width import text_width


def test_letters_have_the_widths_of_a_common_font() -> None:
    assert text_width("mmmm", 10) > 3 * text_width("iiii", 10)
    assert text_width("été", 10) == text_width("ete", 10)
    assert text_width("e\u0301te\u0301", 10) == text_width("ete", 10)
    assert text_width("東京", 10) > 20
    assert text_width("word", 20) == pytest.approx(2 * text_width("word", 10))
    assert text_width("", 10) == 0
    assert text_width("\x1b", 10) == text_width(r"\x1b", 10)
