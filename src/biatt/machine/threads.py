"""Threads that share a task, streams of items that arrive, and settings of the process while it works."""

from __future__ import annotations

import gc
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from threading import Lock
from typing import TypeVar

from threadpoolctl import OpenBLASController, threadpool_limits

A = TypeVar("A")
B = TypeVar("B")

SWITCH_INTERVAL = 0.0005  # seconds that a thread may keep the global lock; Python's default is 0.005


@lru_cache(maxsize=1)
def _executor(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers)


def run(task: Callable[[A], object], items: Iterable[A], threads: int) -> None:
    """Call task(item) for every item, on this thread and `threads` - 1 others; return when all are done."""
    items = list(items)
    if threads == 1 or len(items) < 2:
        for item in items:
            task(item)
    else:
        submitted = [_executor(threads - 1).submit(task, item) for item in items[1:]]
        try:
            task(items[0])
        finally:
            wait(submitted)
        for future in submitted:
            future.result()


class Arriving(Iterator[A]):
    """The items of a source that may have to wait for more, such as a pipe.

    `items` gives None wherever nothing more has arrived yet. Iterating skips it. A consumer that collects
    items before it works asks for them by `with_pauses`, and works on what it has at every None.
    """

    def __init__(self, items: Iterator[A | None]) -> None:
        self.items = items

    def __next__(self) -> A:
        for item in self.items:
            if item is not None:
                return item
        raise StopIteration


def with_pauses(items: Iterable[A]) -> Iterator[A | None]:
    """The items, with None wherever the next one has not arrived yet."""
    return items.items if isinstance(items, Arriving) else iter(items)


def mapped(function: Callable[[A], B], items: Iterable[A]) -> Arriving[B]:
    """function(item) of each item; while the next item has not arrived, nor has the next result."""
    return Arriving(None if item is None else function(item) for item in with_pauses(items))


def look_ahead(items: Iterable[A]) -> tuple[bool, Arriving[A]]:
    """Whether two items have arrived at once, and all items."""
    source, ahead, failures = with_pauses(items), list[A | None](), list[Exception]()
    try:
        for item in source:
            ahead.append(item)
            if item is None or len(ahead) == 2:
                break
    except Exception as error:
        failures.append(error)

    def all_items() -> Iterator[A | None]:
        yield from ahead
        for failure in failures:
            raise failure
        yield from source

    return len(ahead) == 2 and None not in ahead, Arriving(all_items())


def windows(
    items: Iterable[A],
    *,
    most: int,
    size: Callable[[A], int] = lambda _: 0,
    largest: int = 1,
) -> Arriving[list[A]]:
    """Lists of up to `most` items in a row; a list also ends where the sizes of its items reach `largest`.

    A list is shorter where the next item has not arrived yet. Where the items end with an exception, those
    before it come first.
    """
    return Arriving(_windows(items, most, size, largest))


def _windows(
    items: Iterable[A], most: int, size: Callable[[A], int], largest: int
) -> Iterator[list[A] | None]:
    window: list[A] = []
    total = 0
    try:
        for item in with_pauses(items):
            if item is not None:
                window.append(item)
                total += size(item)
            if window and (item is None or len(window) == most or total >= largest):
                yield window
                window, total = [], 0
            if item is None:
                yield None
    except Exception:
        if window:
            yield window
        raise
    if window:
        yield window


class _Shared(ABC):
    """A setting of the process, made when the first user enters and undone when the last one leaves."""

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._set()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._restore()

    @abstractmethod
    def _set(self) -> None: ...

    @abstractmethod
    def _restore(self) -> None: ...


class OneMatrixThread(_Shared):
    """Matrix products of numpy use one thread each: the threads of this module share the cores already."""

    def _set(self) -> None:
        _take_control()
        self._limits = threadpool_limits(1)

    def _restore(self) -> None:
        _take_control()
        self._limits.restore_original_limits()


def _take_control() -> None:
    """Let this thread change the number of OpenBLAS's threads.

    Since version 3.8 of threadpoolctl, only the first thread that has changed it can, as long as it lives;
    that of others, such as those of a service, changes nothing. Here the last one to leave restores it.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class ShortSwitchInterval(_Shared):
    """Threads pass on the global lock sooner, so that one that returns from a kernel soon calls the next."""

    def _set(self) -> None:
        self._before = sys.getswitchinterval()
        sys.setswitchinterval(min(SWITCH_INTERVAL, self._before))

    def _restore(self) -> None:
        sys.setswitchinterval(self._before)


class FewerCollections(_Shared):
    """Python collects cyclic garbage less often: sentences have no cycles, and collecting costs a tenth."""

    def _set(self) -> None:
        self._before = gc.get_threshold()
        gc.set_threshold(max(100_000, self._before[0]), *self._before[1:])

    def _restore(self) -> None:
        gc.set_threshold(*self._before)


one_matrix_thread = OneMatrixThread()
fewer_collections = FewerCollections()
short_switch_interval = ShortSwitchInterval()
