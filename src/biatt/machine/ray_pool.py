"""Work by Ray Data: on the cores of this machine, or of the cluster that RAY_ADDRESS names.

A task of Ray reads and streams the items, of which each is a block. A pool of actors, each of which has made
the shared object, such as a parser, maps an item to its result. Ray starts an actor that has died anew, and
gives its item to it. Files must be on a file system that all machines share, under the same path.
"""

from __future__ import annotations

import logging
import os
import pickle
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from biatt.errors import BiattError, ConfigError
from biatt.machine.kernel_choice import require_compiled
from biatt.machine.threads import fewer_collections, one_matrix_thread

S = TypeVar("S")
A = TypeVar("A")
B = TypeVar("B")

RETRIES = 3  # of an item whose actor has died, until the work ends
NICENESS, LOG_LEVEL = "RAY_worker_niceness", "RAY_BACKEND_LOG_LEVEL"
COLUMN = "pickled"  # of the blocks, which have one row each


class Actor:
    """A process of a Ray cluster that works on items."""

    def __init__(self, function: Callable[[Any, Any], Any], make: Any) -> None:
        self._function, self._make = function, make
        self._shared: Any = None

    def __call__(self, block: Any) -> Any:
        items = block.column(COLUMN).to_pylist() if block.num_rows else []
        return _block([self._result(pickle.loads(item)) for item in items])

    def _result(self, item: Any) -> Any:
        """The result, or what is wrong: an exception would have Ray's traceback around it."""
        if isinstance(item, BiattError):  # in reading
            return item
        try:
            if self._shared is None:
                import ray

                one_matrix_thread.__enter__()
                fewer_collections.__enter__()
                require_compiled()
                self._shared = ray.get(self._make)()
            return self._function(self._shared, item)
        except BiattError as error:
            return error


def by_ray(
    function: Callable[[S, A], B],
    make: Callable[[], S],
    items: Callable[[], Iterable[A]],
    *,
    workers: int,
    in_order: bool = False,
) -> Generator[B, None, None]:
    """function(shared, item) of each of `items()`, as they are finished, or in order.

    `make` gives each actor its shared object. With 0 workers, there is an actor on each core of the cluster.
    Functions, items and results travel; an item or a function that fails with an error of biatt ends the work
    with it.
    """
    ray = _ray()
    started = not ray.is_initialized()
    if started:
        _start(ray)
    try:
        count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        kept = ray.put(make)  # as long as an actor may be started anew
        blocks = _dataset(ray, function, kept, items, count, in_order).iter_batches(
            batch_size=None, batch_format="pyarrow", prefetch_batches=0
        )
        for block in _without_warnings(blocks):
            for pickled in block.column(COLUMN).to_pylist() if block.num_rows else []:
                result = pickle.loads(pickled)
                if isinstance(result, BiattError):
                    raise result
                yield result
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[-1]
        raise BiattError(f"Ray could not finish its work: {reason}") from error
    finally:
        if started:
            ray.shutdown()


def _start(ray: Any) -> None:
    """Connect to the cluster, or start one here whose workers get their share of the cores.

    By default, Ray gives workers a niceness of 15: beside other programs they get hardly any time. Its own
    lines on standard error are about its inside; what ends a run is an exception as well.
    """
    wanted = {NICENESS: "0", LOG_LEVEL: "fatal"}
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        with _without_standard_error():
            ray.init(log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray raises errors of many kinds, and waits half a minute at most
        reason = str(error).strip().partition("\n")[0]
        raise BiattError(f"Ray could not be started or reached: {reason}") from error
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def _without_standard_error() -> Iterator[None]:
    """Let nothing be written to standard error, whatever the language: Ray says there how it was set."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _without_warnings(blocks: Iterable[Any]) -> Iterator[Any]:
    """The blocks; Ray warns developers, as of work that has fewer items than actors."""
    blocks = iter(blocks)
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                block = next(blocks)
            except StopIteration:
                return
        yield block


def _dataset(
    ray: Any,
    function: Callable[[Any, A], Any],
    make: Any,
    items: Callable[[], Iterable[A]],
    count: int,
    in_order: bool,
) -> Any:
    """Ray's plan: a task reads, as many actors as `count` work."""
    from ray.data import ActorPoolStrategy, DataContext

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = DataContext.get_current()
    before = context.target_max_block_size, context.enable_progress_bars
    context.target_max_block_size, context.enable_progress_bars = 1, False  # bytes: each row is a block
    try:
        blocks = ray.data.read_datasource(
            _datasource(items),
            override_num_blocks=1,
            num_cpus=0,  # reading takes little, and all cores are for the actors
        )
        blocks.context.execution_options.preserve_order = in_order
        with warnings.catch_warnings():  # Ray 2.64 is to drop the last two options and names no others
            warnings.simplefilter("ignore")
            return blocks.map_batches(
                Actor,
                fn_constructor_args=[function, make],
                compute=ActorPoolStrategy(size=count, max_tasks_in_flight_per_actor=2),
                batch_size=None,
                batch_format="pyarrow",
                num_cpus=1,
                max_restarts=-1,
                max_task_retries=RETRIES,
            )
    finally:
        context.target_max_block_size, context.enable_progress_bars = before


def _datasource(items: Callable[[], Iterable[Any]]) -> Any:
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    folder = Path.cwd()

    class Items(Datasource):  # type: ignore[misc]
        """One stream: where an item begins can depend on all before it."""

        def estimate_inmemory_data_size(self) -> None:
            return None

        def get_read_tasks(self, *_: Any, **__: Any) -> list[Any]:
            metadata = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None)
            return [ReadTask(lambda: _read(items, folder), metadata)]

    return Items()


def _read(items: Callable[[], Iterable[Any]], folder: Path) -> Iterator[Any]:
    """The blocks of the items, read where the work was started, so that paths mean the same files."""
    os.chdir(folder)
    try:
        for item in items():
            yield _block([item])
    except BiattError as error:
        yield _block([error])


def _block(rows: list[Any]) -> Any:
    import pyarrow

    pickled = [pickle.dumps(row) for row in rows]
    return pyarrow.table({COLUMN: pyarrow.array(pickled, pyarrow.large_binary())})


def _ray() -> Any:
    try:
        import pyarrow  # noqa: F401
        import ray.data
    except ImportError:
        raise ConfigError("The engine ray needs Ray: pip install 'biatt[ray]'.") from None
    return ray
