"""Compiled kernels or plain numpy: which of them computes, and the process that compiles in the background.

Compiling takes half a minute, once for a processor, and loading what was compiled half a second. So every
part of the parser that is compiled has a plain twin, in numpy or in interpreted Python, which needs neither.
A process begins with these. When its plain work has taken as long as loading the kernels does, it
loads them, if they are on disk; one that knows of much work does so at once (`expect_much_work`). If they are
not, it has started a process that compiles them in the background, one for each cache folder, and asks again.
Where nothing can be kept on disk, which that process may be the first to see, it compiles by itself once the
plain work has cost as much as compiling does.

This costs at most about twice as much as knowing beforehand how much work there will be. Work is estimated,
not measured, so that the same calls always take the same way. Both ways give the same scores up to rounding.

`$BIATT_KERNELS` can be `compiled` (load or compile them at once, as training does) or `plain` (never).
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial, update_wrapper
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast, overload

from biatt.errors import ConfigError
from biatt.machine.kernel_files import PACKAGE, is_complete, list_path

T = TypeVar("T")

Mode = Literal["auto", "compiled", "plain"]
MODES = ("auto", "compiled", "plain")

# Seconds of plain work, as estimated, after which a process …
LOADING = 1.0  # … loads kernels that are on disk
COMPILING = 60.0  # … compiles by itself, where no other process can do it

POLL = 1.0  # seconds between two looks at the disk
PATIENCE = 900.0  # seconds after which an unfinished process in the background counts as dead
ATTEMPT, FAILURE = ".attempt", ".failure"  # files beside the list, with the time of the last of each

log = logging.getLogger(__name__)  # INFO: the command line shows it


class Choice:
    """Which way this process takes."""

    def __init__(self, mode: Mode) -> None:
        self.mode: Mode = mode
        self.compiled = mode == "compiled"
        self.work = 0.0  # seconds of plain work so far, as estimated
        self.in_background: bool | None = None  # whether another process compiles; None: not looked yet
        self._next_look = 0.0

    def add(self, seconds: float) -> bool:
        """Whether compiled kernels do the next piece of work, which takes `seconds` without them."""
        if self.compiled or self.mode == "plain":
            return self.compiled
        if self.in_background is None:
            self.in_background = is_complete() or start_in_background()
        self.work += seconds
        if self.work >= (PATIENCE if self.in_background else COMPILING):
            self.compiled = True
        elif self.work >= LOADING and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + POLL
            self.compiled = is_complete()
            self.in_background = self.in_background and not has_failed()
        return self.compiled


def _mode() -> Mode:
    mode = os.environ.get("BIATT_KERNELS") or "auto"
    if mode not in MODES:
        raise ConfigError(f"The environment variable BIATT_KERNELS must be {', '.join(MODES)}, not {mode!r}.")
    return cast("Mode", mode)


_choice: Choice | None = None


def choice() -> Choice:
    global _choice
    if _choice is None:
        _choice = Choice(_mode())
    return _choice


def use_compiled(seconds: float) -> bool:
    """Whether compiled kernels do the next piece of work, which takes `seconds` without them."""
    return choice().add(seconds)


def require_compiled() -> None:
    """From now on, this process uses compiled kernels only, and waits for them if it must compile."""
    if choice().mode != "plain":
        choice().compiled = True


def expect_much_work() -> bool:
    """Use compiled kernels from now on if they are on disk; whether this process uses them."""
    return use_compiled(LOADING)


class Kernel(Generic[T]):
    """A function that is compiled, with a plain twin that is called until this process uses kernels.

    Other kernels can call it, too.
    """

    def __init__(self, function: Callable[..., T], plain: Callable[..., T], fast: bool) -> None:
        update_wrapper(self, function)
        self.py_func, self.plain, self._fast = function, plain, fast

    def __call__(self, *arguments: Any) -> T:
        if choice().compiled:
            return self.dispatcher(*arguments)
        return self.plain(*arguments)

    @cached_property
    def dispatcher(self) -> Callable[..., T]:
        from biatt.machine.compiled import compiled, compiled_fast

        return compiled_fast(self.py_func) if self._fast else compiled(self.py_func)

    @property
    def _numba_type_(self) -> Any:  # numba asks for this where a kernel calls another one
        return cast("Any", self.dispatcher)._numba_type_


@overload
def deferred(function: Callable[..., T]) -> Kernel[T]: ...


@overload
def deferred(*, plain: Callable[..., T] | None = None, fast: bool = False) -> Callable[..., Kernel[T]]: ...


def deferred(
    function: Callable[..., T] | None = None, *, plain: Callable[..., T] | None = None, fast: bool = False
) -> Kernel[T] | Callable[..., Kernel[T]]:
    """Compile a function when this process uses kernels; until then call `plain`, or interpret it.

    With `fast`, as `compiled_fast` does it.
    """
    if function is None:
        return partial(deferred, plain=plain, fast=fast)
    return Kernel(function, plain or function, fast)


# The background


def start_in_background() -> bool:
    """Start the process that compiles, unless one runs already; False where nothing can be kept on disk."""
    path = list_path()
    if path is None or not sys.executable:
        return False
    attempt = path.with_suffix(ATTEMPT)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if has_failed():
            return False
        if _is_recent(attempt):
            return True
        attempt.unlink(missing_ok=True)
        os.close(os.open(attempt, os.O_CREAT | os.O_EXCL | os.O_WRONLY))  # one process succeeds
    except FileExistsError:
        return True
    except OSError:
        return False
    try:
        _start([sys.executable, "-m", "biatt.parsing.warm_up"])
    except OSError:
        return False
    log.info("Compiling for this processor in the background, once; until then, parsing is slower.")
    return True


def has_failed() -> bool:
    """Whether a process in the background has found, not long ago, that its code cannot be kept."""
    path = list_path()
    return path is None or _is_recent(path.with_suffix(FAILURE))


def note_failure() -> None:
    """Let other processes know that the code cannot be kept. A disk that is full can still rename a file."""
    path = list_path()
    if path is not None:
        with suppress(OSError):
            os.replace(path.with_suffix(ATTEMPT), path.with_suffix(FAILURE))
            os.utime(path.with_suffix(FAILURE))


def note_success() -> None:
    """Remove what the processes in the background have noted."""
    path = list_path()
    for suffix in (ATTEMPT, FAILURE):
        if path is not None:
            path.with_suffix(suffix).unlink(missing_ok=True)


def _is_recent(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < PATIENCE
    except OSError:
        return False


def _start(command: list[str]) -> None:
    """Start a process that outlives this one, and that neither a terminal nor a signal to it reaches."""
    paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]  # it compiles what this process would
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        options = {"creationflags": detached | subprocess.BELOW_NORMAL_PRIORITY_CLASS}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        **options,
    )
    process.returncode = 0  # nobody waits for it: no warning that it still runs
