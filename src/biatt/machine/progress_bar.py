"""A bar on standard error that shows how far something is."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn

if TYPE_CHECKING:
    from typing_extensions import Self


class ProgressBar:
    """A title, the share that is done, and figures; shown only on a terminal."""

    def __init__(
        self, *columns: ProgressColumn, console: Console | None = None, hidden: bool = False
    ) -> None:
        self.console = console or Console(stderr=True, highlight=False, markup=False, emoji=False)
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),  # as wide as the others leave
            TextColumn("{task.percentage:3.0f} %"),
            TextColumn("{task.fields[figures]}", markup=False),
            *columns,
            console=self.console,
            disable=hidden or not self.console.is_terminal,
            transient=True,
            expand=True,
        )
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def begin(self, title: str, total: int | None) -> None:
        """Begin anew, with nothing done yet; None is a total that is not known."""
        if self.task is not None:
            self.bar.remove_task(self.task)
        self.task = self.bar.add_task(title, total=total, figures="")
