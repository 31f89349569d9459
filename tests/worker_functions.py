"""Functions that worker processes call in tests; they import this module."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np


def doubled(_: object, item: int) -> int:
    return 2 * item


def failing_at(bad: int, item: int) -> int:
    if item == bad:
        raise ValueError(f"item {item}")
    return 2 * item


def described(array: Any, item: int) -> dict[str, Any]:
    """Where the array of the shared object is, and what it holds; it is changed then."""
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    result = {
        "mapped": type(base.obj if isinstance(base, memoryview) else base).__name__,
        "place": array.ctypes.data % 64,
        "sum": float(array.sum()),
        "process": os.getpid(),
    }
    array[:] = -1
    return result


def masked(_: object, item: int) -> tuple[bool, list[int]]:
    """Whether this process ignores SIGINT, and the signals that wait for it."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return ignored, sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))


def ended(_: object, item: int) -> None:
    os._exit(item)


def waiting(folder: str, item: int) -> None:
    """Write the number of this process to a file, and work for ever."""
    with open(os.path.join(folder, str(os.getpid())), "w"):
        time.sleep(1e6)
