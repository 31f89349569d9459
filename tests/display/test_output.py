"""What parsed sentences become on their way out."""

from __future__ import annotations

import io
import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from biatt.data.conll import read
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.display.output import format_for, write_parsed
from biatt.display.png import png, stacked
from biatt.errors import ConfigError, FormatError
from biatt.parser import LONGEST_SENTENCE
from builders import random_parser

PARSER = random_parser()
SENTENCES = generate(3, seed=9)


@pytest.mark.parametrize(
    ("target", "terminal", "format"),
    [
        ("-", True, "tree"),
        ("-", False, None),
        ("a.conllu", True, "conllu"),
        ("a.CONLLX", False, "conllx"),
        ("a.json", False, "json"),
        ("a.jsonl", False, "json"),
        ("a.svg", True, "svg"),
        ("a.png", True, "png"),
        ("a.txt", False, "tree"),
        ("a.jsonl.gz", False, "json"),
        ("parsed", True, None),
        ("folder.d/attention", False, None),
    ],
)
def test_format_that_a_target_asks_for(target: str, terminal: bool, format: str | None) -> None:
    assert format_for(target, terminal=terminal) == format


def test_conll_formats_are_turned_into_each_other(tmp_path: Path) -> None:
    write_parsed(SENTENCES, str(tmp_path / "x"), "conllx")
    found = list(read(tmp_path / "x", format="conllx"))
    assert [s.heads for s in found] == [s.heads for s in SENTENCES]
    assert not any(s.verbatim for s in found)
    assert all(row[8:] == ["_", "_"] for s in found for row in s.rows)
    write_parsed(found, str(tmp_path / "u"), "conllu")
    assert [s.rows[0][:8] for s in read(tmp_path / "u", format="conllu")] == [
        s.rows[0][:8] for s in SENTENCES
    ]
    assert SENTENCES[0].as_format("conllu") is SENTENCES[0]


def test_several_pictures_are_one_document(tmp_path: Path) -> None:
    write_parsed(SENTENCES, str(tmp_path / "a.svg"), "svg")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    inner = [child for child in root if child.tag.endswith("svg")]
    assert len(inner) == len(SENTENCES)
    assert float(root.attrib["height"]) == sum(float(child.attrib["height"]) for child in inner)
    assert float(root.attrib["width"]) == max(float(child.attrib["width"]) for child in inner)
    ends = [float(c.attrib["y"]) + float(c.attrib["height"]) for c in inner]
    assert ends[:-1] == [float(c.attrib["y"]) for c in inner[1:]]


def test_png_has_the_size_of_the_picture() -> None:
    picture = SENTENCES[0].svg()
    data = png(picture, zoom=1)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    root = ElementTree.fromstring(picture)
    wide, high = struct.unpack(">II", data[16:24])
    assert abs(wide - float(root.attrib["width"])) <= 1
    assert abs(high - float(root.attrib["height"])) <= 1
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
        png(stacked([SENTENCES[0].svg()] * 400))


def test_png_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ConfigError, match=r"biatt\[png\]"):
        SENTENCES[0].png()


def test_picture_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no sentence"):
        write_parsed([], str(tmp_path / "a.svg"), "svg")
    assert not (tmp_path / "a.svg").exists()


def test_sentence_that_is_too_long_is_one_clear_sentence() -> None:
    words = "\n".join(f"{i}\tw\t_\t_\t_\t_\t_\t_\t_\t_" for i in range(1, LONGEST_SENTENCE + 2))
    source = io.BytesIO(f"1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n{words}\n\n".encode())
    parsed = PARSER.parse(read(source, name="long.conllu"))
    assert len(next(parsed)) == 1
    with pytest.raises(FormatError, match=r"long.conllu, line 3: the sentence has 5,001 words"):
        next(parsed)
    with pytest.raises(FormatError, match="5,001 words"):
        PARSER.k_best(Sentence.from_words(["w"] * (LONGEST_SENTENCE + 1)), 2)
