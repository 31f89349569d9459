"""view: trees as they are."""

from __future__ import annotations

from pathlib import Path

import biatt
from biatt.display.svg import tree_picture
from biatt.display.terminal import tree_text
from commands import invoke


def test_view_draws_without_parsing(data: Path, tmp_path: Path) -> None:
    first = next(biatt.read(data / "a.conllu"))
    assert invoke("view", data / "a.conllu", "--show", "none").startswith(
        f"# {first.sent_id}\n{tree_text(first, show=())}\n"
    )
    page = tmp_path / "trees.html"
    options = ["--show", "lemma,xpos", "--wrap", "0", "--theme", "dark", "-o", page]
    invoke("view", data / "a.conllu", *options)
    expected = tree_picture(first, show=("lemma", "xpos"), wrap=None).part()
    assert expected in page.read_text(encoding="utf-8")
