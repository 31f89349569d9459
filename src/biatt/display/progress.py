"""Progress of parsing: a bar on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from biatt.data.visible import visible


class ParseProgress:
    """A bar for each file, while it is parsed: its share of bytes, words, words a second, time left.

    It is shown only if standard error is a terminal, and the output `target` is not written to it, too.
    """

    def __init__(self, target: str = "-", *, console: Console | None = None) -> None:
        console = console or Console(stderr=True, highlight=False, markup=False, emoji=False)
        on_terminal = target == "-" and sys.stdout is not None and sys.stdout.isatty()
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),  # as wide as the others leave
            TextColumn("{task.percentage:3.0f} %"),
            TextColumn("{task.fields[figures]}", markup=False),
            TimeRemainingColumn(),
            console=console,
            disable=on_terminal or not console.is_terminal,
            transient=True,
            expand=True,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> ParseProgress:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def start(self, name: str, size: int | None) -> None:
        """A file of `size` bytes is opened; None if its size is not known."""
        if self._task is not None:
            self.bar.remove_task(self._task)
        self._task = self.bar.add_task(visible(name), total=size, figures="")
        self._words, self._start = 0, time.perf_counter()

    def advance(self, words: int, bytes_read: int) -> None:
        """A sentence of the file has been read."""
        if self._task is None or self.bar.disable:
            return
        self._words += words
        seconds = time.perf_counter() - self._start
        figures = f"{self._words:,} words  {self._words / max(seconds, 1e-9):,.0f} words/s"
        self.bar.update(self._task, completed=bytes_read, figures=figures)
