"""Progress of parsing: a bar on standard error."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import TimeRemainingColumn

from biatt.data.visible import visible
from biatt.progress_bar import ProgressBar


class ParseProgress(ProgressBar):
    """A bar for each file, while it is parsed: its share of bytes, words, words a second, time left.

    It is shown only if standard error is a terminal, and the output `target` is not written to it, too.
    """

    def __init__(self, target: str = "-", *, console: Console | None = None) -> None:
        drawn = target == "-" and sys.stdout is not None and sys.stdout.isatty()
        super().__init__(TimeRemainingColumn(), console=console, hidden=drawn)

    def start(self, name: str, size: int | None) -> None:
        """A file of `size` bytes is opened; None if its size is not known."""
        self.begin(visible(name), size)
        self._words, self._start = 0, time.perf_counter()

    def advance(self, words: int, bytes_read: int) -> None:
        """A sentence of the file has been read."""
        if self.task is None or self.bar.disable:
            return
        self._words += words
        seconds = time.perf_counter() - self._start
        figures = f"{self._words:,} words  {self._words / max(seconds, 1e-9):,.0f} words/s"
        self.bar.update(self.task, completed=bytes_read, figures=figures)
