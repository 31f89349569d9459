"""Train the same model many times on a busy machine and compare the weights: writes same_weights.json.

Each training is a process of its own, so that memory is laid out anew. Whatever changes the weights of a
seed from run to run shows as a second digest; the first epoch with another training loss tells when.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from run import PACKAGES, commit, cores, cpu_name, save

from biatt.data.conll import write
from biatt.data.toy_treebank import generate
from biatt.machine.compiled import LANES

SETTINGS = ("hidden=32", "epochs=12", "schedule=linear")
TRAIN = "import sys; from biatt.cli import main; sys.exit(main())"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    results: list[tuple[str, list[float]]] = []
    load = []
    started = time.time()
    with tempfile.TemporaryDirectory() as folder, busy(options.busy):
        treebank = Path(folder, "train.conllu")
        write(generate(options.sentences, seed=1), treebank)
        for number in range(options.runs):
            results.append(train(treebank, Path(folder, str(number)), options.threads))
            load.append(os.getloadavg()[0])
            print(f"{number + 1} {results[-1][0]}", file=sys.stderr, flush=True)
    digests = [digest for digest, _ in results]
    epochs = [parted_at(results[0][1], losses) for _, losses in results[1:]]
    report = {
        "conditions": {
            "cpu": cpu_name(),
            "cores": cores(),
            "vector_lanes": LANES,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
            "commit": commit(),
            "settings": list(SETTINGS),
            "threads": options.threads,
            "sentences": options.sentences,
            "busy_processes": options.busy,
            "mean_load": sum(load) / len(load),
            "minutes": (time.time() - started) / 60,
        },
        "runs": options.runs,
        "weights": {digest: digests.count(digest) for digest in dict.fromkeys(digests)},
        "parted_in_epoch": [epoch for epoch in epochs if epoch is not None],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    save(report, options.out / "same_weights.json")
    return 0 if len(set(digests)) == 1 else 1


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run so many processes that do nothing but use a core."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def train(treebank: Path, out: Path, threads: int) -> tuple[str, list[float]]:
    """Train in a new process; a digest of the weights, and the training loss of each epoch."""
    settings = [text for setting in SETTINGS for text in ("--set", setting)]
    command = [
        "train",
        "--preset",
        "paper",
        "--train",
        treebank,
        "--output",
        out,
        "--threads",
        threads,
        *settings,
    ]
    subprocess.run(
        [sys.executable, "-c", TRAIN, *map(str, command)],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    digest = hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()[:16]
    lines = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return digest, [json.loads(line)["train_loss"] for line in lines]


def parted_at(expected: Sequence[float], losses: Sequence[float]) -> int | None:
    """The first epoch with another loss, or None."""
    pairs = zip(expected, losses, strict=True)
    return next((epoch for epoch, (one, other) in enumerate(pairs, 1) if one != other), None)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="how many trainings")
    parser.add_argument("--busy", type=int, default=2, help="processes that keep the machine busy meanwhile")
    parser.add_argument("--threads", type=int, default=1, help="threads of each training")
    parser.add_argument("--sentences", type=int, default=200, help="size of the toy treebank")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder for the result")
    options = parser.parse_args(arguments)
    if options.runs < 2:
        parser.error("--runs must be at least 2")
    return options


if __name__ == "__main__":
    sys.exit(main())
