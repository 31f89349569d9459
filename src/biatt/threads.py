"""Work side by side: kernels and numpy's products do not hold Python's global lock, so threads are enough."""

from __future__ import annotations

import gc
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from threading import Lock
from typing import TypeVar

from threadpoolctl import threadpool_limits

from biatt.errors import BiattError

A = TypeVar("A")
B = TypeVar("B")

TURN = 0.0005  # seconds for which a thread may keep others from running Python; Python's own is 0.005


@lru_cache(maxsize=1)
def _executor(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers)


def run(task: Callable[[A], object], items: Iterable[A], threads: int) -> None:
    """Do the task for every item, in this thread and others; kernels and products do not hold them up."""
    items = list(items)
    if threads == 1 or len(items) < 2:
        for item in items:
            task(item)
    else:
        others = [_executor(threads - 1).submit(task, item) for item in items[1:]]
        try:
            task(items[0])
        finally:
            wait(others)
        for other in others:
            other.result()


def in_order(function: Callable[[A], B], items: Iterable[A], *, threads: int) -> Iterator[B]:
    """function(item) of each item, in order, up to `threads` at a time; reads ahead only as far as needed.

    Where `items` breaks off with an error, the results of those before it come first.
    """
    if threads == 1:
        yield from map(function, items)
        return
    with short_turns, ThreadPoolExecutor(threads) as executor:
        running: deque[Future[B]] = deque()
        try:
            for item in items:
                running.append(executor.submit(function, item))
                if len(running) > threads:
                    yield running.popleft().result()
        except BiattError:
            yield from (future.result() for future in running)
            raise
        yield from (future.result() for future in running)


class _Shared(ABC):
    """A setting of the process that holds while anyone uses it; users may overlap."""

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
    """Numpy's matrix products use one thread: the threads are ours."""

    def _set(self) -> None:
        self._limits = threadpool_limits(1)

    def _restore(self) -> None:
        self._limits.restore_original_limits()


class ShortTurns(_Shared):
    """Threads take turns in Python more often: one that comes back from a kernel soon starts the next."""

    def _set(self) -> None:
        self._before = sys.getswitchinterval()
        sys.setswitchinterval(min(TURN, self._before))

    def _restore(self) -> None:
        sys.setswitchinterval(self._before)


class FewerCollections(_Shared):
    """Python looks for unused cycles of objects less often: sentences have none; looking costs a tenth."""

    def _set(self) -> None:
        self._before = gc.get_threshold()
        gc.set_threshold(max(100_000, self._before[0]), *self._before[1:])

    def _restore(self) -> None:
        gc.set_threshold(*self._before)


one_matrix_thread = OneMatrixThread()
fewer_collections = FewerCollections()
short_turns = ShortTurns()
