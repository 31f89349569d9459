"""PNG pictures, and the fonts that they need."""

from __future__ import annotations

import logging
import struct
import sys

import pytest

from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.display import png
from biatt.display.picture import stacked
from biatt.display.png import SCALE, missing_characters, to_png
from biatt.display.svg import tree_picture
from biatt.errors import ConfigError

SENTENCE = generate(1, seed=9)[0]


def word(form: str) -> Sentence:
    return Sentence.from_words([form], heads=[0], deprels=["root"])


def test_png_has_the_size_of_the_picture() -> None:
    picture = tree_picture(SENTENCE)
    data = to_png(picture)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    wide, high = struct.unpack(">II", data[16:24])
    assert abs(wide - SCALE * picture.width) <= 1
    assert abs(high - SCALE * picture.height) <= 1
    assert SENTENCE.png() == data
    assert SENTENCE.png(theme="dark") != data


def test_png_shows_the_words() -> None:
    """Without a font, pictures of different words would be the same."""
    assert word("iiii").png() != word("llll").png()


def test_png_that_no_one_could_look_at_is_refused() -> None:
    with pytest.raises(ConfigError, match="too large"):
        to_png(stacked([tree_picture(SENTENCE)] * 400))


def test_png_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ConfigError, match=r"biatt\[png\]"):
        SENTENCE.png()


def test_characters_that_no_font_has_are_found() -> None:
    """The font that comes with matplotlib has Greek; Unicode has nothing at U+0379."""
    assert missing_characters("abcλόγος\u0301\u200d \n") == ""
    assert missing_characters("\u0379") == "\u0379"
    assert missing_characters("λ\U0010fff0") == "\U0010fff0"  # of private use, where fonts have nothing


def test_a_missing_font_is_named(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png, "_KNOWN", {"猫": False, "は": False, "م": False, "🦔": False, "\ue0ff": False})
    for text, font in (
        ("猫は", "install Noto Sans CJK JP (on Debian and Ubuntu, apt install fonts-noto-cjk), or draw SVG."),
        ("م", "install Noto Sans Arabic (on Debian and Ubuntu, apt install fonts-noto-core), or draw SVG."),
        ("🦔", "install Noto Color Emoji (on Debian and Ubuntu, apt install fonts-noto-color-emoji), or"),
        ("\ue0ff", "install a font that has them, or draw SVG."),
    ):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            word(text).png()
        (message,) = caplog.messages
        assert message.startswith("No installed font has the characters ")
        assert font in message


def test_nothing_is_said_where_no_font_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        word("čaj").png()
    assert caplog.messages == []
