"""PNG pictures, and several pictures in one."""

from __future__ import annotations

import struct
import sys
from xml.etree import ElementTree

import pytest

from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.display.png import SCALE, stacked, to_png
from biatt.errors import ConfigError

SENTENCES = generate(3, seed=9)


def test_png_has_the_size_of_the_picture() -> None:
    picture = SENTENCES[0].svg()
    data = to_png(picture)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    root = ElementTree.fromstring(picture)
    wide, high = struct.unpack(">II", data[16:24])
    assert abs(wide - SCALE * float(root.attrib["width"])) <= 1
    assert abs(high - SCALE * float(root.attrib["height"])) <= 1
    assert SENTENCES[0].png().startswith(b"\x89PNG")


def test_png_shows_the_words() -> None:
    """Without a font, pictures of different words would be the same."""
    first, second = (
        Sentence.from_words(["iiii"], heads=[0], deprels=["root"]),
        Sentence.from_words(["llll"], heads=[0], deprels=["root"]),
    )
    assert first.png() != second.png()


def test_png_that_no_one_could_look_at_is_refused() -> None:
    with pytest.raises(ConfigError, match="too large"):
        to_png(stacked([SENTENCES[0].svg()] * 400))


def test_png_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ConfigError, match=r"biatt\[png\]"):
        SENTENCES[0].png()


def test_svg_without_a_size_is_refused() -> None:
    with pytest.raises(ConfigError, match="no width and height"):
        to_png("<svg></svg>")
