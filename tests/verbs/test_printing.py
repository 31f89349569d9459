"""Printing: what is printed cannot steer a terminal."""

from __future__ import annotations

import io

import pytest

from biatt.verbs.printing import parse_progress, print_text


def test_printed_text_cannot_steer_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """Names of folders and models can be of any characters."""
    print_text("Serving \x1b[2J\u202emodel:\n\tready")
    assert capfd.readouterr().out == "Serving \\x1b[2J\\u202emodel:\n\tready\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stderr", stream)
    with parse_progress("parsed.conllu") as progress:
        assert (progress is not None) == terminal


def test_no_progress_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    with parse_progress("parsed.conllu") as progress:
        assert progress is None
