"""Many pictures: pages instead of one endless picture."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from xml.etree import ElementTree

import pytest

from biatt.data.toy_treebank import generate
from biatt.display.pages import PAGE_HEIGHT, page_target, write_pictures
from biatt.display.svg import tree_picture
from biatt.errors import ConfigError

PICTURES = [tree_picture(sentence) for sentence in generate(30, seed=9)]


def test_pages_have_all_pictures_in_order_and_none_is_endless(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        write_pictures(PICTURES, tmp_path / "a.svg", "svg")
    files = [
        tmp_path / "a.svg",
        *(tmp_path / f"a-{i}.svg" for i in range(2, len(list(tmp_path.iterdir())) + 1)),
    ]
    assert len(files) > 2
    assert caplog.messages == [f"{len(files)} pages: {files[0]} … {files[-1]}"]
    titles = []
    for file in files:
        root = ElementTree.parse(file).getroot()
        inner = [child for child in root if child.tag.endswith("svg")]
        titles += [child.findtext("{http://www.w3.org/2000/svg}title") for child in inner]
        assert float(root.attrib["height"]) < PAGE_HEIGHT + 30 * len(inner)
        ends = [float(child.attrib["y"]) + float(child.attrib["height"]) for child in inner]
        assert all(end <= float(child.attrib["y"]) for end, child in zip(ends, inner[1:], strict=False))
    assert titles == [picture.title for picture in PICTURES]


def test_pictures_of_a_page_are_numbered(tmp_path: Path) -> None:
    write_pictures([PICTURES[0]._replace(caption="s9"), PICTURES[1]], tmp_path / "a.svg", "svg")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    captions = [item.text for item in root.iter() if item.get("class") == "biatt-caption"]
    assert captions == ["1 · s9", f"2 · {PICTURES[1].caption}"]
    write_pictures(PICTURES[:1], tmp_path / "a.svg", "svg")
    assert "biatt-caption" not in (tmp_path / "a.svg").read_text().split("</style>")[1]


def test_a_stream_takes_one_page_only() -> None:
    stream = io.BytesIO()
    write_pictures(PICTURES[:2], stream, "svg")
    assert stream.getvalue().startswith(b"<svg ")
    with pytest.raises(ConfigError, match=r"several pages, each of which is a file: use --output\.$"):
        write_pictures(PICTURES, io.BytesIO(), "svg")


def test_png_has_pages_too(tmp_path: Path) -> None:
    tall = [picture._replace(height=PAGE_HEIGHT - 9.0) for picture in PICTURES[:2]]
    write_pictures(tall, tmp_path / "a.png", "png")
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("a.png", "a-2.png"))


@pytest.mark.parametrize(
    ("target", "second"),
    [("a/b.svg", "a/b-2.svg"), ("b.svg.gz", "b-2.svg.gz"), ("b", "b-2"), ("b.c.html", "b.c-2.html")],
)
def test_names_of_pages(target: str, second: str) -> None:
    assert page_target(target, 1) == target
    assert page_target(target, 2) == Path(second)


def test_no_picture_is_refused(tmp_path: Path) -> None:
    for format in ("svg", "png", "html"):
        with pytest.raises(ConfigError, match="no sentence to draw"):
            write_pictures([], tmp_path / "a", format)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
