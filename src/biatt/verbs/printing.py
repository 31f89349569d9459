"""Printing to standard output."""

from __future__ import annotations

import sys

from biatt.data.files import writing


def print_text(text: str) -> None:
    """Print a text and the end of its line; what the terminal's encoding does not have becomes an escape."""
    with writing("-") as stream:
        stream.write(f"{text}\n".encode(sys.stdout.encoding, errors="backslashreplace"))
