"""Faults of processes: kill -9 at random moments, and a disk that takes no more."""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from biatt.corpus.manifest import LOCK
from biatt.data.conll import write
from biatt.data.toy_treebank import generate

BIATT = [sys.executable, "-c", "from biatt.cli import main; main()"]
SMALL = ["--hidden", "16", "--set", "epochs=3", "--set", "least_batches=0"]
TOKENISER = [
    "--set",
    "tokeniser.least_batches=0",
    "--set",
    "tokeniser.hidden=8",
    "--set",
    "tokeniser.epochs=2",
]
Files = dict[str, bytes]

ENDED = "nothing: it had ended"

MOST_LIMITS = 8  # that are tried for each command, besides the smallest


def kill_training(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """A parser alone, trained for three epochs."""
    return _kill(options, folder, _training(folder), _weights, folder / "model")


def kill_pipeline(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """A pipeline from raw text: tokeniser, then the parser with its tags."""
    command = [*_training(folder), "--pipeline", *TOKENISER]
    return _kill(options, folder, command, _weights, folder / "model")


def kill_corpus(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """A corpus run with two workers; one time in two, a worker is killed instead of the first process."""
    command = [*_corpus(folder, options.model), "--workers", "2"]
    return _kill(options, folder, command, _shards, folder / "parsed", workers=True)


def _training(folder: Path) -> list[str]:
    for name, count, seed in (("train", 60, 1), ("dev", 10, 2)):
        write(generate(count, seed=seed), folder / f"{name}.conllu")
    files = ["--train", str(folder / "train.conllu"), "--dev", str(folder / "dev.conllu")]
    return [*BIATT, "train", *files, "--output", str(folder / "model"), *SMALL, "--resume"]


def _corpus(folder: Path, model: str) -> list[str]:
    lines = [
        json.dumps({"id": f"d{i}", "text": " ".join(" ".join(s.forms) for s in generate(8, seed=i))})
        for i in range(120)
    ]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    words = [str(folder / "corpus.jsonl"), "--output-dir", str(folder / "parsed"), "--model", model]
    return [*BIATT, "corpus", *words, "--format", "json", "--shard-characters", "3000", "--resume"]


def _weights(folder: Path) -> Files:
    """What a training leaves, without its history and card, which have times."""
    kept = ("model.safetensors", "vocabulary.json", "config.json")
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.name in kept
    }


def _shards(folder: Path) -> Files:
    """All that a run leaves but a lock, which locks nothing without its process."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LOCK}


def _kill(
    options: argparse.Namespace,
    folder: Path,
    command: Sequence[str],
    result_of: Callable[[Path], Files],
    out: Path,
    *,
    workers: bool = False,
) -> dict[str, Any]:
    """Kill the command at random moments after it has made its folder, and let it go on to its end."""
    draw = random.Random(options.seed)
    subprocess.run(command, check=True, capture_output=True)  # compiles what is not compiled yet
    shutil.rmtree(out)
    begun, ended = _run_until_folder(command, out)
    expected = result_of(out)
    correct, kills = 0, Counter[str]()
    for number in range(options.kills):
        moment, killed = draw.uniform(0, ended - begun), ENDED
        while killed == ENDED:  # it was faster than the run that was timed
            shutil.rmtree(out)
            killed = _killed_after(command, out, moment, worker=workers and number % 2 == 0)
            moment *= 0.8
        kills[killed] += 1
        done = subprocess.run(command, capture_output=True, text=True)
        same = done.returncode == 0 and result_of(out) == expected
        correct += same
        if not same:
            print(f"kill {number} ({killed}): exit code {done.returncode}: {done.stderr[-500:]}", flush=True)
    return {
        "tried": options.kills,
        "correct": correct,
        "figures": {**kills, "seconds_of_a_whole_run": round(ended - begun, 1)},
    }


def _run_until_folder(command: Sequence[str], out: Path) -> tuple[float, float]:
    """When the command has made its folder, and when it has ended."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while not out.exists() and process.poll() is None:
            time.sleep(0.005)
        begun = time.monotonic()
        _, errors = process.communicate()
        if process.returncode:
            raise SystemExit(errors.decode())
    return begun, time.monotonic()


def _killed_after(command: Sequence[str], out: Path, seconds: float, *, worker: bool) -> str:
    """Start the command and kill it; returns what was killed."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not out.exists() and process.poll() is None:
            time.sleep(0.005)
        time.sleep(seconds)
        if worker and (children := _children(process.pid)):
            os.kill(children[-1], signal.SIGKILL)
            process.wait()  # it ends with one sentence
            return "a worker" if process.returncode == 2 else "a worker that had done its work"
        ended = process.poll() is not None
        process.kill()
        process.wait()
        return ENDED if ended else "the process"


def _children(number: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{number}/task").glob("*/children"):
        found += map(int, path.read_text().split())
    # multiprocessing starts a process of its own that watches over semaphores; it does no work.
    return [n for n in found if b"resource_tracker" not in Path(f"/proc/{n}/cmdline").read_bytes()]


# A disk that takes no more: a limit on the size of each file that the process writes


def disk(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    sentences = generate(150, seed=1)
    (folder / "text.txt").write_text("\n".join(" ".join(s.forms) for s in sentences))
    parsed = folder / "parsed.conllu"
    model = ["--model", options.model]
    commands = {
        "parse": [*BIATT, "parse", str(folder / "text.txt"), "--output", str(parsed), *model],
        "parse --workers 2": [
            *(*BIATT, "parse", str(folder / "text.txt"), "--output", str(parsed), *model, "--workers", "2")
        ],
        "corpus": _corpus(folder, options.model),
        "train": _training(folder),
    }
    tried, correct, full = 0, 0, Counter[str]()
    for name, command in commands.items():
        out = {"corpus": folder / "parsed", "train": folder / "model"}.get(name, parsed)
        subprocess.run(command, check=True, capture_output=True)
        sizes = [path.stat().st_size for path in (out.rglob("*") if out.is_dir() else [out])]
        below = sorted({size - 1 for size in sizes if size > 1} | {size // 2 for size in sizes})
        for limit in (0, 1, 100, *below[:: 1 + len(below) // MOST_LIMITS]):
            fault = _with_limit(command, limit, out, is_folder=name in ("corpus", "train"))
            tried += 1
            correct += fault == ""
            full[name] += 1
            if fault:
                print(f"{name} with a limit of {limit} bytes: {fault}", flush=True)
    return {"tried": tried, "correct": correct, "figures": dict(full)}


def _with_limit(command: Sequence[str], limit: int, out: Path, *, is_folder: bool) -> str:
    """What is wrong after the command had to do with files of so many bytes; "" if nothing is."""
    before = out.read_bytes() if out.is_file() else b""
    if is_folder:
        shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: _limit(limit))
    if done.returncode == 0:  # the limit was large enough
        return ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("biatt: ")]
    if done.returncode != 2 or len(lines) != 1 or "Traceback" in done.stderr:
        return f"exit code {done.returncode}: {done.stderr[-600:]}"
    if not is_folder:
        return "" if out.read_bytes() == before else "the old file has changed"
    for path in out.glob("part-*"):
        if not path.read_bytes().endswith(b"}\n"):
            return f"{path.name} is cut short"
    again = subprocess.run(command, capture_output=True, text=True)
    return "" if again.returncode == 0 else f"it does not go on: {again.stderr[-600:]}"


def _limit(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing is an error, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
