"""Printing: what is printed cannot steer a terminal."""

from __future__ import annotations

import pytest

from biatt.verbs.printing import print_text


def test_printed_text_cannot_steer_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """Names of folders and models can be of any characters."""
    print_text("Serving \x1b[2J\u202emodel:\n\tready")
    assert capfd.readouterr().out == "Serving \\x1b[2J\\u202emodel:\n\tready\n"
