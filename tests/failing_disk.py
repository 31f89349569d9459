"""A disk that fails, or a process that is killed, at a chosen change to the files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Killed(BaseException):
    """The end of the process: from here on, it changes no file, so that no handler of errors can tidy up."""


class FailingDisk:
    """Counts the changes to files below a folder while it is armed."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._left, self._error = 0, None  # type: tuple[int, BaseException | None]
        self._in_use = True
        sys.addaudithook(self._hook)  # there is no way to remove a hook

    def fail_at(self, step: int, error: OSError) -> None:
        """Let this change, counted from 0, fail; all others succeed."""
        self._left, self._error = step, error

    def kill_at(self, step: int) -> None:
        """Let the process end before this change."""
        self._left, self._error = step, Killed()

    def repair(self) -> bool:
        """Work again; return whether the chosen change was tried."""
        self._error = None
        return self._left < 0

    def __enter__(self) -> FailingDisk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._error, self._in_use = None, False

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._in_use or self._error is None or not self._is_change(event, arguments):
            return
        self._left -= 1
        if self._left == -1 or (self._left < 0 and isinstance(self._error, Killed)):
            raise self._error

    def _is_change(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "open":
            path, _, flags = arguments
            return str(path).startswith(self._folder) and bool(flags & WRITING)
        return event in CHANGES
