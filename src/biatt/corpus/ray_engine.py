"""The shards of a run by Ray: on the cores of this machine, or of the cluster that RAY_ADDRESS names.

Each actor loads the model once and writes the shards that it is given, so that the folder of the run must be
on a file system that all machines share. Ray starts an actor that has died anew, and gives its shard to it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from biatt.corpus.shards import Shard, Task, parse_shard
from biatt.errors import BiattError, ConfigError
from biatt.parser import load

RETRIES = 3  # of a shard whose actor has died, until the run ends


class ShardActor:
    """A process of a Ray cluster that parses shards."""

    def __init__(self, model: str) -> None:
        self._parser = load(model)

    def parse(self, task: Task) -> Shard | BiattError:
        """The shard, or what is wrong with it: an exception would have Ray's traceback around it."""
        try:
            return parse_shard(self._parser, task)
        except BiattError as error:
            return error


def by_ray(model: str | Path, tasks: Iterator[Task], workers: int) -> Generator[Shard, None, None]:
    """The finished shards, as they are finished; with 0 workers, by an actor on each core of the cluster."""
    ray = _ray()
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, logging_level="ERROR")
    try:
        count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        actor = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=RETRIES)(ShardActor)
        idle: list[Any] = [actor.remote(str(model)) for _ in range(count)]
        running: dict[Any, Any] = {}
        for task in tasks:
            if not idle:
                yield _first(ray, running, idle)
            free = idle.pop()
            running[free.parse.remote(task)] = free
        while running:
            yield _first(ray, running, idle)
    finally:
        if started:
            ray.shutdown()


def _first(ray: Any, running: dict[Any, Any], idle: list[Any]) -> Shard:
    """The result of the actor that is done first, which is idle then."""
    (done,), _ = ray.wait(list(running), num_returns=1)
    idle.append(running.pop(done))
    try:
        result = ray.get(done)
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[-1]
        raise BiattError(f"An actor of Ray could not finish a shard: {reason}") from error
    if isinstance(result, BiattError):
        raise result
    assert isinstance(result, Shard)
    return result


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ConfigError("The engine ray needs Ray: pip install 'biatt[ray]'.") from None
    return ray
