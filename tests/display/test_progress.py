"""The bar that shows how far parsing is."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from biatt.display.progress import ParseProgress


def shown(*, terminal: bool, target: str = "parsed.conllu") -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)
    with ParseProgress(target, console=console) as progress:
        progress.start("notes[1]\x1b.txt", 400)
        progress.advance(1200, 100)
        progress.bar.refresh()
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_bar_shows_file_share_and_words() -> None:
    bar = shown(terminal=True)
    assert "notes[1]\\x1b.txt" in bar  # a name cannot steer the terminal
    assert " 25 %" in bar
    assert "1,200 words" in bar


def test_one_bar_is_for_all_files_together() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    with ParseProgress("parsed", console=console) as progress:
        progress.begin_all(3, 1000)
        for name, size in (("a", 100), ("b", 300)):
            progress.start(name, size)
            progress.advance(700, size)
        progress.start("c", 600)
        progress.advance(100, 200)
        progress.bar.refresh()
        assert progress.bar.tasks[0].completed == 600
    bar = console.file.getvalue()  # type: ignore[attr-defined]
    assert "3/3 c" in bar
    assert " 60 %" in bar
    assert "1,500 words" in bar


def test_nothing_is_shown_without_a_terminal() -> None:
    assert shown(terminal=False).strip() == ""


def test_nothing_is_shown_where_the_trees_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "words" not in shown(terminal=True, target="-")
    assert "words" in shown(terminal=True)
