"""kill -9 at random moments: what is resumed ends as if nothing had happened."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fault_runs import (
    PIPELINE,
    POLL_SECONDS,
    Run,
    command_of,
    descendants,
    finished,
    import_what_it_uses,
    small_model,
    training,
    verb,
)

from biatt.corpus.manifest import LOCK
from biatt.data.toy_treebank import generate

Files = dict[str, bytes]
Progress = Iterator[dict[str, Any]]  # the figures so far, after each kill
ENDED = "nothing: it had ended"
LONGEST_SECONDS = 600  # of a run; one that takes longer hangs
PORT = 6399  # of Ray, for its runs
OBJECT_STORE = 150 * 2**20  # bytes, of Ray
DOCUMENTS = 120  # of the corpus


def kill_training(options: argparse.Namespace, folder: Path) -> Progress:
    """A parser alone, trained for three epochs."""
    return _kill(options, training(folder, "--resume"), _weights, folder / "model")


def kill_pipeline(options: argparse.Namespace, folder: Path) -> Progress:
    """A pipeline from raw text: tokeniser, then the parser with its tags."""
    return _kill(options, training(folder, *PIPELINE, "--resume"), _weights, folder / "model")


def kill_corpus(options: argparse.Namespace, folder: Path) -> Progress:
    """A corpus run with two workers; one time in two, a worker is killed instead of the first process."""
    words = [*corpus(folder, small_model(folder / "small")), "--workers", "2"]
    return _kill(options, words, shards, folder / "parsed", victims=_workers)


def kill_ray(options: argparse.Namespace, folder: Path) -> Progress:
    """The same by Ray with two actors; one time in two, an actor is killed, and the run must go on."""
    words = [*corpus(folder, small_model(folder / "small")), "--engine", "ray", "--workers", "2"]
    with _ray_cluster(folder) as head:

        def actors(_: int) -> list[int]:
            return [number for number in descendants(head) if "ShardActor" in command_of(number)]

        yield from _kill(options, words, shards, folder / "parsed", victims=actors)


def corpus(folder: Path, model: Path | str) -> Sequence[str]:
    lines = [
        json.dumps({"id": f"d{i}", "text": " ".join(" ".join(s.forms) for s in generate(8, seed=i))})
        for i in range(DOCUMENTS)
    ]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    files = [str(folder / "corpus.jsonl"), "--output-dir", str(folder / "parsed"), "--model", str(model)]
    return ["corpus", *files, "--format", "json", "--shard-characters", "3000", "--resume"]


def _weights(folder: Path) -> Files:
    """What a training leaves, without its history and card, which have times."""
    kept = ("model.safetensors", "vocabulary.json", "config.json")
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.name in kept
    }


def shards(folder: Path) -> Files:
    """All that a run leaves but a lock, which locks nothing without its process."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LOCK}


def _workers(number: int) -> list[int]:
    # multiprocessing starts a process of its own that watches over semaphores; it does no work.
    return [child for child in descendants(number) if "resource_tracker" not in command_of(child)]


def _kill(
    options: argparse.Namespace,
    words: Sequence[str],
    result_of: Callable[[Path], Files],
    out: Path,
    *,
    victims: Callable[[int], list[int]] | None = None,
) -> Progress:
    """Kill the run at random moments after it has made its folder, and let it go on to its end.

    It begins after the kills of `options.before`, of an earlier call with the same seed and program.
    """
    action, before = verb(*words), options.before
    import_what_it_uses(action)  # this also compiles what is not compiled yet
    expected = result_of(out)
    seconds = _seconds(words, out)
    if result_of(out) != expected:
        raise SystemExit("Two runs without a fault do not give the same.")
    correct, kills = before.get("correct", 0), Counter(before.get("kills", {}))
    for number in range(before.get("tried", 0), options.kills):
        draw = random.Random(f"{options.seed}-{number}")
        moment, killed = draw.uniform(0, seconds), ENDED
        while killed == ENDED:  # it was faster than the run that was timed
            shutil.rmtree(out)
            killed = _killed_after(Run(action), out, moment, victims if number % 2 == 0 else None)
            moment *= 0.8
        kills[killed] += 1
        done = finished(action)
        same = done.code == 0 and result_of(out) == expected
        correct += same
        if not same:
            print(f"kill {number} ({killed}): exit code {done.code}: {done.errors[-500:]}", flush=True)
        figures = {**kills, "seconds_of_a_whole_run": round(seconds, 1)}
        yield {"tried": number + 1, "correct": correct, "figures": figures, "kills": dict(kills)}


def _seconds(words: Sequence[str], out: Path) -> float:
    """How long a run takes after it has made its folder."""
    shutil.rmtree(out)
    run = Run(verb(*words))
    run.wait_for(out)
    begun = time.monotonic()
    done = run.end()
    if done.code:
        raise SystemExit(done.errors)
    return time.monotonic() - begun


def _killed_after(run: Run, out: Path, seconds: float, victims: Callable[[int], list[int]] | None) -> str:
    """Kill the run, or one of its victims; returns what was killed."""
    run.wait_for(out)
    time.sleep(seconds)
    others = victims(run.number) if victims else []
    if not others:
        return "the process" if run.kill() else ENDED
    with suppress(ProcessLookupError):
        os.kill(others[-1], signal.SIGKILL)
    limit = time.monotonic() + LONGEST_SECONDS
    while run.is_running() and time.monotonic() < limit:
        time.sleep(POLL_SECONDS)
    if run.kill():
        return "another, after which the run hung"
    return "another process of the run"


@contextmanager
def _ray_cluster(folder: Path) -> Iterator[int]:
    """A cluster of two cores on this machine, which the runs find by RAY_ADDRESS; its process."""
    here = {"RAY_AUTH_MODE": "disabled", "RAY_worker_niceness": "0"}  # nobody else reaches 127.0.0.1
    program = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--head"]
    settings = ["--num-cpus=2", "--include-dashboard=false", "--disable-usage-stats", "--block"]
    settings += [f"--object-store-memory={OBJECT_STORE}", f"--temp-dir={folder / 'ray'}"]
    settings += ["--node-ip-address=127.0.0.1", f"--port={PORT}"]
    os.environ.update(here)
    with subprocess.Popen(
        [*program, *settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as head:
        try:
            _wait_for_port(head)
            os.environ["RAY_ADDRESS"] = f"127.0.0.1:{PORT}"
            yield head.pid
        finally:
            for name in ("RAY_ADDRESS", *here):
                os.environ.pop(name, None)
            processes = [*descendants(head.pid), head.pid]
            head.terminate()
            with suppress(subprocess.TimeoutExpired):
                head.wait(timeout=30)
            for number in processes:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)


def _wait_for_port(head: subprocess.Popen[bytes]) -> None:
    while head.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", PORT), timeout=1):
            return
        time.sleep(0.1)
    raise SystemExit("Ray does not start.")
