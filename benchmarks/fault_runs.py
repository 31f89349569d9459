"""Runs of the command line, forked from a process that has imported what they use: they start fast.

A forked run differs from a new process in nothing but that: it reads its own options, files and model, and
has its own process id, which kill -9 ends.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import NamedTuple

from biatt.cli import main
from biatt.data.conll import write
from biatt.data.toy_treebank import generate
from biatt.errors import BiattError

POLL_SECONDS = 0.005
SMALL = ["--hidden", "16", "--set", "epochs=3", "--set", "least_batches=0"]
SMALL_TOKENISER = [f"tokeniser.{setting}" for setting in ("least_batches=0", "hidden=8", "epochs=2")]
PIPELINE = ["--pipeline", *(word for setting in SMALL_TOKENISER for word in ("--set", setting))]
Action = Callable[[], object]


class Ended(NamedTuple):
    code: int
    errors: str  # standard error


class Run:
    """A process that does one thing; what it writes to standard error is kept."""

    def __init__(self, action: Action) -> None:
        self._errors, writing = os.pipe()  # a pipe has no limit on its size, as a file has
        sys.stdout.flush()
        self._process = multiprocessing.get_context("fork").Process(target=_act, args=(action, writing))
        self._process.start()
        os.close(writing)
        assert self._process.pid is not None
        self.number = self._process.pid

    def is_running(self) -> bool:
        return self._process.is_alive()

    def wait_for(self, path: Path) -> None:
        """Until the path exists, or the process has ended."""
        while not path.exists() and self.is_running():
            time.sleep(POLL_SECONDS)

    def kill(self) -> bool:
        """Whether it was still running."""
        running = self.is_running()
        self._process.kill()
        self.end()
        return running

    def end(self) -> Ended:
        """Wait for its end."""
        parts = []
        while part := os.read(self._errors, 1 << 16):
            parts.append(part)
        os.close(self._errors)
        self._process.join()
        assert self._process.exitcode is not None
        return Ended(self._process.exitcode, b"".join(parts).decode(errors="replace"))


def _act(action: Action, errors: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(errors, 2)
    os.close(errors)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    sys.modules["__main__"] = ModuleType("__main__")  # so that no worker imports this program again
    try:
        action()
    except BiattError as error:  # as the command line does it, for what has no verb
        print(f"biatt: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def verb(*words: object) -> Action:
    """A command of biatt."""

    def action() -> None:
        sys.argv = ["biatt", *map(str, words)]
        main()

    return action


def finished(action: Action) -> Ended:
    return Run(action).end()


def succeeded(action: Action) -> None:
    done = finished(action)
    if done.code:
        raise SystemExit(done.errors)


def import_what_it_uses(action: Action) -> None:
    """Run an action in a process of its own, and import here what it has imported."""

    def action_and_list() -> None:
        try:
            action()
        finally:
            path.write_text("\n".join(sys.modules), encoding="utf-8")

    with TemporaryDirectory() as folder:
        path = Path(folder) / "modules"
        succeeded(action_and_list)
        names = path.read_text(encoding="utf-8").split()
    for name in names:
        if not name.startswith("_") and name not in sys.modules:
            with suppress(Exception):  # names that only look like modules
                importlib.import_module(name)


def with_limit(action: Action, size: int) -> Action:
    """The action, in a process that can write no file beyond this size, as on a disk that is full."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing is an error
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        action()

    return limited


def descendants(number: int) -> list[int]:
    """The processes that a process has started, also indirectly."""
    found = [number]
    for parent in found:
        for path in Path(f"/proc/{parent}/task").glob("*/children"):
            with suppress(OSError):  # it has ended
                found += map(int, path.read_text().split())
    return found[1:]


def command_of(number: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def training(folder: Path, *more: str) -> Sequence[str]:
    """The words of a command that trains a small parser on generated sentences."""
    for name, count, seed in (("train", 40, 1), ("dev", 6, 2)):
        write(generate(count, seed=seed), folder / f"{name}.conllu")
    files = ["--train", str(folder / "train.conllu"), "--dev", str(folder / "dev.conllu")]
    return ["train", *files, "--output", str(folder / "model"), *SMALL, *more]


def small_model(folder: Path) -> Path:
    """A pipeline that has hardly been trained: faults of processes do not depend on what it has learnt."""
    folder.mkdir()
    succeeded(verb(*training(folder, *PIPELINE)))
    return folder / "model"
