"""The shards of a run by Ray Data: on the cores of this machine, or of the cluster that RAY_ADDRESS names.

A task of Ray reads the documents and streams the shards, of which each is a block. A pool of actors, each of
which has loaded the model, maps a block to the manifest's line of the shard that it has written. So the
folder of the run must be on a file system that all machines share. Ray starts an actor that has died anew,
and gives its block to it; a shard that is written a second time has the same bytes.

The actors write, not a data sink of Ray: its files begin under their final names, and it says only at the
end of a run what has been written. A run that was killed could not tell whole shards from others.
"""

from __future__ import annotations

import logging
import os
import pickle
import warnings
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

from biatt.corpus.shards import Done, Task, parse_shard
from biatt.corpus.source import Source
from biatt.errors import BiattError, ConfigError
from biatt.machine.kernel_choice import require_compiled
from biatt.machine.threads import fewer_collections, one_matrix_thread
from biatt.parser import Parser, load

RETRIES = 3  # of a shard whose actor has died, until the run ends
NICENESS, LOG_LEVEL = "RAY_worker_niceness", "RAY_BACKEND_LOG_LEVEL"
COLUMN = "pickled"  # of the blocks, which have one row each


class ShardActor:
    """A process of a Ray cluster that parses shards."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._parser: Parser | None = None

    def __call__(self, block: Any) -> Any:
        tasks = block.column(COLUMN).to_pylist() if block.num_rows else []
        return _block([self.parse(pickle.loads(task)) for task in tasks])

    def parse(self, task: Task) -> Done | BiattError:
        """The shard, or what is wrong with it: an exception would have Ray's traceback around it."""
        try:
            if self._parser is None:
                one_matrix_thread.__enter__()
                fewer_collections.__enter__()
                require_compiled()
                self._parser = load(self._model)
            return Done(parse_shard(self._parser, task), task.place)
        except BiattError as error:
            return error


def by_ray(model: str | Path, source: Source, workers: int) -> Generator[Done, None, None]:
    """The finished shards, as they are finished; with 0 workers, by an actor on each core of the cluster."""
    ray = _ray()
    started = not ray.is_initialized()
    if started:
        _start(ray)
    try:
        count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        blocks = _dataset(ray, str(model), source, count).iter_batches(
            batch_size=None, batch_format="pyarrow", prefetch_batches=0
        )
        for block in _without_warnings(blocks):
            for result in block.column(COLUMN).to_pylist() if block.num_rows else []:
                done = pickle.loads(result)
                if isinstance(done, BiattError):
                    raise done
                yield done
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[-1]
        raise BiattError(f"Ray could not finish a shard: {reason}") from error
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
        ray.init(log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray raises errors of many kinds, and waits half a minute at most
        reason = str(error).strip().partition("\n")[0]
        raise BiattError(f"Ray could not be started or reached: {reason}") from error
    finally:
        for name in added:
            del os.environ[name]


def _without_warnings(blocks: Iterable[Any]) -> Iterator[Any]:
    """The blocks; Ray warns developers, as of a run that has fewer shards than actors."""
    blocks = iter(blocks)
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                block = next(blocks)
            except StopIteration:
                return
        yield block


def _dataset(ray: Any, model: str, source: Source, count: int) -> Any:
    """Ray's plan: a task reads, as many actors as `count` parse and write."""
    from ray.data import ActorPoolStrategy, DataContext

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = DataContext.get_current()
    before = context.target_max_block_size, context.enable_progress_bars
    context.target_max_block_size, context.enable_progress_bars = 1, False  # bytes: each row is a block
    try:
        shards = ray.data.read_datasource(
            _datasource(source),
            override_num_blocks=1,
            num_cpus=0,  # reading takes little, and all cores are for the actors
        )
        with warnings.catch_warnings():  # Ray 2.64 is to drop the last two options and names no others
            warnings.simplefilter("ignore")
            return shards.map_batches(
                ShardActor,
                fn_constructor_args=[model],
                compute=ActorPoolStrategy(size=count, max_tasks_in_flight_per_actor=2),
                batch_size=None,
                batch_format="pyarrow",
                num_cpus=1,
                max_restarts=-1,
                max_task_retries=RETRIES,
            )
    finally:
        context.target_max_block_size, context.enable_progress_bars = before


def _datasource(source: Source) -> Any:
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    folder = Path.cwd()

    class Shards(Datasource):  # type: ignore[misc]
        """One stream of shards: where a shard begins depends on all documents before it."""

        def estimate_inmemory_data_size(self) -> None:
            return None

        def get_read_tasks(self, *_: Any, **__: Any) -> list[Any]:
            metadata = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None)
            return [ReadTask(lambda: _read(source, folder), metadata)]

    return Shards()


def _read(source: Source, folder: Path) -> Iterator[Any]:
    """The blocks of the shards, read where the run was started, so that paths mean the same files."""
    os.chdir(folder)
    for task in source.tasks():
        yield _block([task])


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
