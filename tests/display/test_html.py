"""Pages of trees for a browser."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from biatt.data.toy_treebank import generate
from biatt.display import html
from biatt.display.pages import write_pictures
from biatt.display.svg import tree_picture
from builders import sentence_of

PICTURES = [tree_picture(sentence) for sentence in generate(7, seed=5)]
VOID = ("meta", "rect", "path")


class Links(HTMLParser):
    """Checks that tags are nested, and collects ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        values = dict(attrs)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if "href" in values else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def links_of(page: str) -> Links:
    links = Links()
    links.feed(page)
    assert links.open == []
    return links


def test_a_page_has_every_sentence_and_a_table_of_contents(tmp_path: Path) -> None:
    write_pictures(PICTURES, tmp_path / "t.html", "html", title="toy <bank>")
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<h1>toy &lt;bank&gt;</h1>7 sentences" in page
    links = links_of(page)
    assert links.ids == [f"s{i}" for i in range(1, 8)]
    assert [link[1:] for link in links.links[:7]] == links.ids
    assert page.count("<svg ") == 7
    assert page.count("prefers-color-scheme: dark") == 2  # the page and the pictures
    assert "<script" not in page


def test_long_files_are_pages_that_lead_to_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "SENTENCES_PER_PAGE", 3)
    write_pictures(PICTURES, tmp_path / "t.html", "html")
    names = ["t.html", "t-2.html", "t-3.html"]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(names)
    shown = []
    for i, name in enumerate(names):
        links = links_of((tmp_path / name).read_text(encoding="utf-8"))
        assert [link for link in links.links if not link.startswith("#")] == 2 * [*names[:i], *names[i + 1 :]]
        shown += links.ids
    assert shown == [f"s{i}" for i in range(1, 8)]
    assert "Sentences 4 to 6 of 7" in (tmp_path / "t-2.html").read_text(encoding="utf-8")


def test_a_stream_gets_everything_on_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "SENTENCES_PER_PAGE", 3)
    stream = io.BytesIO()
    write_pictures(PICTURES, stream, "html")
    assert len(links_of(stream.getvalue().decode()).ids) == 7


def test_a_sentence_from_the_right_begins_at_the_right() -> None:
    stream = io.BytesIO()
    pictures = [tree_picture(sentence_of([0], [form])) for form in ("قطة", "cat")]
    write_pictures(pictures, stream, "html")
    assert re.findall(r'<section id="s\d" dir="(\w+)"', stream.getvalue().decode()) == ["rtl", "ltr"]


def test_names_and_texts_cannot_be_markup() -> None:
    stream = io.BytesIO()
    sentence = sentence_of([0], ["</svg><b>"]).with_comment("# sent_id = <i>&")
    write_pictures([tree_picture(sentence)], stream, "html", title='"<u>')
    page = stream.getvalue().decode()
    assert not re.search(r"<[biu]>", page)
    links_of(page)
