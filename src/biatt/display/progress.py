"""Progress of parsing: a bar on standard error."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import TimeRemainingColumn

from biatt.data.visible import visible
from biatt.machine.progress_bar import ProgressBar


class ParseProgress(ProgressBar):
    """A bar for all files together, while they are parsed: share of bytes, words, words a second, time left.

    It is shown only if standard error is a terminal, and the output `target` is not written to it, too.
    """

    def __init__(self, target: str = "-", *, console: Console | None = None) -> None:
        drawn = target == "-" and sys.stdout is not None and sys.stdout.isatty()
        super().__init__(TimeRemainingColumn(), console=console, hidden=drawn)
        self._files = self._started = self._words = 0
        self._before = self._read = 0  # bytes of the files before this one, and of this one

    def begin_all(self, files: int, size: int | None) -> None:
        """`files` files will be opened, which have `size` bytes together; None if that is not known."""
        self._files, self._start = files, time.perf_counter()
        self.begin("", size)

    def start(self, name: str, size: int | None) -> None:
        """The first words of a file of `size` bytes are parsed; None if its size is not known."""
        if self.task is None:
            self.begin_all(1, size)
        self._started += 1
        self._before, self._read = self._before + self._read, 0
        number = f"{self._started}/{self._files} " if self._files > 1 else ""
        if self.task is not None:
            self.bar.update(self.task, description=f"{number}{visible(name)}")

    def advance(self, words: int, bytes_read: int) -> None:
        """Words of the file have been parsed."""
        if self.task is None or self.bar.disable:
            return
        self._words, self._read = self._words + words, bytes_read
        seconds = time.perf_counter() - self._start
        figures = f"{self._words:,} words  {self._words / max(seconds, 1e-9):,.0f} words/s"
        self.bar.update(self.task, completed=self._before + self._read, figures=figures)
