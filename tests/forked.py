"""Processes that are forked from that of the tests: they need not load again what it has loaded."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn


class Ended(NamedTuple):
    returncode: int
    stderr: str


def forked(action: Callable[[], object]) -> Ended:
    """How a process ends that does this."""
    with tempfile.TemporaryFile("w+") as errors:
        number = os.fork()
        if not number:
            _act(action, errors.fileno())
        status = os.waitpid(number, 0)[1]
        errors.seek(0)
        return Ended(os.waitstatus_to_exitcode(status), errors.read())


def _act(action: Callable[[], object], errors: int) -> NoReturn:
    code: Any = 1
    try:
        os.dup2(errors, 2)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored
        action()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def send_before(name: str, calls: int, number: int) -> None:
    """Let this process send itself a signal before that call of a function of `os`."""
    function, left = getattr(os, name), [calls]

    def counted(*arguments: Any) -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), number)
        function(*arguments)

    setattr(os, name, counted)
