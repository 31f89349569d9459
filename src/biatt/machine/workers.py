"""Work in order, in this process or in worker processes that share one object.

Threads share Python's global lock, which the parser holds for a good part of its time; processes do not.
The object, such as a parser, is pickled once. Its arrays go into a file that has no name; each worker maps
it, so that they are in memory once, whatever the number of workers. This shares the weights as the network
uses them: a model folder holds them packed, and could only share what it would then have to unpack.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.reduction import DupFd
from numbers import Integral
from threading import Thread, current_thread, main_thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from biatt.errors import BiattError, ConfigError
from biatt.machine.kernel_choice import choice, require_compiled
from biatt.machine.threads import fewer_collections, one_matrix_thread, with_pauses

if TYPE_CHECKING:
    from typing_extensions import Self

S = TypeVar("S")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

WAITING_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
ALIGNMENT = 64  # bytes, the widest vector registers: where each array begins
Results = Generator[tuple[C, B], None, None]

DEAD = (
    "A worker process has ended before its work was done: it was killed, or it had too little memory. A "
    'script that starts workers must do so below `if __name__ == "__main__":`.'
)


def number_of_workers(count: int) -> int:
    """The count; for 0, the number of cores that this process may use."""
    if not isinstance(count, Integral):
        raise TypeError(f"The number of workers must be a whole number, not {type(count).__name__}.")
    if count < 0:
        raise ConfigError(f"The number of workers must be at least 1, or 0 for all cores, not {count}.")
    if count:
        return count
    cores = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(cores(0)) if cores else os.cpu_count() or 1


def in_order(
    function: Callable[[S, A], B], shared: S, items: Iterable[tuple[C, A]], *, workers: int
) -> Results[C, B]:
    """(context, function(shared, item)) of each pair of a context and an item, in order.

    With several workers, function and items travel to other processes and results come back; contexts stay
    here. It reads ahead only as far as the workers need. Where the items end with an exception, the results
    of those before it come first. Where the next item has not arrived yet, the results of all before it come
    first.
    """
    count = number_of_workers(workers)
    return _by_workers(function, shared, items, count) if count > 1 else _here(function, shared, items)


def _here(function: Callable[[S, A], B], shared: S, items: Iterable[tuple[C, A]]) -> Results[C, B]:
    for pair in with_pauses(items):
        if pair is not None:
            yield pair[0], function(shared, pair[1])


def _by_workers(
    function: Callable[[S, A], B], shared: S, items: Iterable[tuple[C, A]], count: int
) -> Results[C, B]:
    failure: Exception | None = None
    source = with_pauses(items)
    with Workers(shared, count) as workers:
        running: deque[tuple[C, Future[B]]] = deque()
        while failure is None:
            try:
                pair = next(source)
            except StopIteration:
                break
            except Exception as error:
                failure = error
                break
            if pair is not None:
                running.append((pair[0], workers.submit(function, pair[1])))
            while running and (pair is None or len(running) > 2 * count):  # as many wait as are worked on
                context, future = running.popleft()
                yield context, workers.result(future)
        while running:
            context, future = running.popleft()
            yield context, workers.result(future)
    if failure is not None:
        raise failure


@contextmanager
def starting() -> Iterator[None]:
    """Let signals wait while a process is started, and Ctrl-C until that process ignores it (`_begin`).

    A process that gets half of what it is to work on, or Ctrl-C while it imports, ends with a traceback.
    """
    if sys.platform == "win32" or current_thread() is not main_thread():
        yield
        return
    arrived: list[tuple[int, Any]] = []
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in WAITING_SIGNALS}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, frame: arrived.append((number, frame)))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the process inherits
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number, frame in arrived:
        handlers[number](number, frame)


class Workers:
    """Processes that call functions with the shared object as first argument; they end with the block."""

    def __init__(self, shared: object, count: int) -> None:
        self._memory = SharedMemory(shared)
        self._memory.replace_arrays(shared)
        # Not by fork, which copies the locks of threads, as those of a matrix library, in any state.
        self._executor = ProcessPoolExecutor(
            count, get_context("spawn"), initializer=_begin, initargs=(self._memory, choice().compiled)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)
        self._memory.close()

    def submit(self, function: Callable[[Any, A], B], item: A) -> Future[B]:
        try:
            with starting():  # the first items each start a process
                return self._executor.submit(_call, function, item)
        except BrokenProcessPool as error:
            raise BiattError(DEAD) from error

    def result(self, future: Future[B]) -> B:
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise BiattError(DEAD) from error


class SharedMemory:
    """A pickled object in a file without a name, while it is passed to a new process.

    On Windows, which has no such files, it goes through the pipe to the process. Elsewhere little must go
    through it: Python waits for ever for a process that has died before it has read more than the pipe holds.
    """

    def __init__(self, shared: object) -> None:
        self._file, self._places = None, list[tuple[int, int]]()  # of its arrays, and of all else
        self._pickled = b""
        if sys.platform == "win32":
            self._pickled = pickled(shared)
            return
        buffers: list[pickle.PickleBuffer] = []
        rest = pickled(shared, buffer_callback=buffers.append)
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as workers begin
            for part in (*(buffer.raw() for buffer in buffers), memoryview(rest)):
                self._file.write(bytes(-self._file.tell() % ALIGNMENT))
                self._places.append((self._file.tell(), part.nbytes))
                self._file.write(part)
            self._file.flush()
        except OSError as error:
            self.close()
            reason = (error.strerror or str(error)).lower()
            raise BiattError(
                f"The model cannot be shared by workers in {tempfile.gettempdir()}: {reason}."
            ) from error

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def replace_arrays(self, shared: object) -> None:
        """Let the object in this process, too, have its arrays in the file: they are in memory once."""
        if self._file is not None and hasattr(shared, "__dict__"):
            again = _loaded(self._places, os.dup(self._file.fileno()))
            shared.__dict__ = again.__dict__
            _return_memory()

    def __reduce__(self) -> tuple[Any, ...]:
        file = DupFd(self._file.fileno()) if self._file is not None else None
        return _Received, (self._pickled, self._places, file)


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        """Pickle mappings that cannot be changed, too."""
        return (_frozen, (dict(value),)) if isinstance(value, MappingProxyType) else NotImplemented


def _frozen(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


def pickled(shared: object, **options: Any) -> bytes:
    """The object as bytes; with a `buffer_callback`, without its arrays, which that is given."""
    file = io.BytesIO()
    _Pickler(file, protocol=5, **options).dump(shared)
    return file.getvalue()


class _Received:
    """What a worker gets of the shared memory."""

    def __init__(self, pickled: bytes, places: list[tuple[int, int]], file: Any) -> None:
        self._pickled, self._places, self._file = pickled, places, file

    def load(self) -> object:
        """The object, once: its pickled form is freed, which the arguments of the process would keep."""
        pickled, self._pickled = self._pickled, b""
        return pickle.loads(pickled) if self._file is None else _loaded(self._places, self._file.detach())


def _loaded(places: list[tuple[int, int]], number: int) -> object:
    """The object, with its arrays in the file of this number, which is closed."""
    # Numba compiles for arrays that can be written. A page that a process writes becomes its own copy.
    mapped = memoryview(mmap.mmap(number, 0, access=mmap.ACCESS_COPY))
    os.close(number)
    *arrays, rest = (mapped[start : start + size] for start, size in places)
    return pickle.loads(rest, buffers=arrays)


_shared: Any = None  # in a worker: the object


def _begin(received: Any, compiled: bool) -> None:
    """Make this process a worker."""
    global _shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it goes to all processes; the first one ends the others
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # `starting` has blocked it
    Thread(target=_end_with_parent, daemon=True).start()
    one_matrix_thread.__enter__()
    fewer_collections.__enter__()
    if compiled:  # as the process that has started this one
        require_compiled()
    _shared = received.load()


def _return_memory() -> None:
    """Give freed memory back to the system; the C library of Linux would keep it for what comes later."""
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError):  # other libraries of C have no such function
            ctypes.CDLL(None).malloc_trim(0)


def _end_with_parent() -> None:
    """End this process when the one that has started it has ended, however that was."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(function: Callable[[Any, A], B], item: A) -> B:
    return function(_shared, item)
