"""Drawing a file without parsing it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import biatt
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.display.terminal import tree_text
from biatt.display.view import view_file
from biatt.errors import ConfigError

SENTENCES = generate(4, seed=6)


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    biatt.write(SENTENCES, tmp_path / "toy.conllu")
    return tmp_path / "toy.conllu"


def test_a_terminal_gets_the_drawings_with_the_names(treebank: Path) -> None:
    stream = io.BytesIO()
    view_file(treebank, stream)
    expected = [f"# {sentence.sent_id}\n{tree_text(sentence)}\n\n" for sentence in SENTENCES]
    assert stream.getvalue().decode() == "".join(expected)


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".txt", b"# toy-6-1\n"), (".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!DOCTYPE html>")],
)
def test_the_suffix_gives_the_format(treebank: Path, suffix: str, start: bytes) -> None:
    target = treebank.with_suffix(suffix)
    view_file(treebank, target)
    assert target.read_bytes().startswith(start)
    with pytest.raises(ConfigError, match=r"\.pdf is unknown; use one of \.txt, \.svg, \.png, \.html, or"):
        view_file(treebank, "a.pdf")


def test_the_page_has_the_name_of_the_file_and_the_options_hold(treebank: Path) -> None:
    pages = {}
    for theme in ("auto", "dark"):
        view_file(treebank, treebank.with_suffix(".html"), show=("lemma",), wrap=300, theme=theme)  # type: ignore[arg-type]
        pages[theme] = treebank.with_suffix(".html").read_text(encoding="utf-8")
    assert "<h1>toy.conllu</h1>" in pages["auto"]
    assert '<g class="biatt-lemmas' in pages["auto"]
    assert '<g class="biatt-tags' not in pages["auto"]
    assert "prefers-color-scheme" not in pages["dark"]


def test_missing_heads_are_no_arcs(tmp_path: Path) -> None:
    partial = Sentence.from_words(["so", "it", "goes"], heads=[-1, 3, -1], deprels=["_", "nsubj", "_"])
    biatt.write([partial], tmp_path / "a.conllu")
    stream = io.BytesIO()
    view_file(tmp_path / "a.conllu", stream)
    assert stream.getvalue().decode().splitlines()[:3] == ["     so    _", "  ╭─ it    nsubj", "  ┴─ goes  _"]
    view_file(tmp_path / "a.conllu", tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().count('class="biatt-arrow"') == 1
