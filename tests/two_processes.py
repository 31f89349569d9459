"""Trainings on two processes as torchrun starts them, forked from one that has loaded what they use.

Loading takes many times as long as a small training. `python two_processes.py` reads a line of JSON for each
training from standard input and answers each by one; `ForkedPairs` is for tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

GRACE = 600  # seconds: when one process has failed, the other ends by itself, unless it hangs


class Ended(NamedTuple):
    returncode: int
    stderr: str


class ForkedPairs:
    """The process that forks."""

    def __init__(self, environment: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=pipe, stdout=pipe, text=True, env=environment
        )

    def run(self, *words: object, dying: int | None = None, steps: int = 0) -> Ended:
        """`biatt` on two processes; number `dying` kills itself before that step of the optimiser."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"words": [*map(str, words)], "dying": dying, "steps": steps}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return Ended(*json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0


def serve() -> None:
    load()
    answers = os.fdopen(os.dup(1), "w")  # the trainings write elsewhere
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as errors:
            code = on_two(errors.fileno(), **json.loads(line))
            errors.seek(0)
            print(json.dumps([code, errors.read()]), file=answers, flush=True)


def load() -> None:
    """Train once, so that modules and kernels are there."""
    from biatt.data.conll import write
    from biatt.data.toy_treebank import generate
    from biatt.training.train import train
    from trainings import SMALL_BEST, SMALL_PIPELINE

    with tempfile.TemporaryDirectory() as folder:
        treebank = Path(folder, "toy.conllu")
        write(generate(6), treebank)
        train(treebank, dev=treebank, out=Path(folder, "m"), config=SMALL_BEST, pipeline=SMALL_PIPELINE)


def on_two(errors: int, **request: Any) -> int:
    """The exit code: 1 if one of them fails."""
    from torch import distributed

    running, result = set(), 0
    pipes = [os.pipe() for _ in range(2)]
    for rank, (reading, _) in enumerate(pipes):
        if not (number := os.fork()):
            work(rank, reading, errors, **request)
        running.add(number)
    store = distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # after forking
    for reading, writing in pipes:
        os.write(writing, str(store.port).encode())
        os.close(reading)
        os.close(writing)
    end = float("inf")
    while running:
        number, status = os.waitpid(-1, os.WNOHANG)
        if number:
            running.remove(number)
            if status and not result:
                result, end = 1, time.monotonic() + GRACE
        elif time.monotonic() < end:
            time.sleep(0.01)
        else:
            for other in running:
                os.kill(other, signal.SIGKILL)
            end = float("inf")
    return result


def work(rank: int, reading: int, errors: int, *, words: list[str], dying: int | None, steps: int) -> None:
    """What a forked process does; it does not return."""
    from biatt.cli import main
    from biatt.training.optimiser import Adam

    step, left = Adam.step, [steps]

    def counted(*arguments: Any) -> None:  # over all networks
        left[0] -= 1
        if rank == dying and not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        step(*arguments)

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(errors, 2)
        os.environ.update(
            TORCHELASTIC_RUN_ID="forked", TORCHELASTIC_USE_AGENT_STORE="True", WORLD_SIZE="2", RANK=str(rank)
        )
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.read(reading, 9).decode())
        Adam.step = counted  # type: ignore[method-assign]
        sys.argv = ["biatt", *words]
        main()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)
    finally:
        os._exit(1)


if __name__ == "__main__":
    serve()
