"""Time and memory of decoders and confidence by sentence length: writes long_sentences.json and its plot.

    python benchmarks/long_sentences.py [--before SOURCE] [--lengths N ...] [--repeats N] [--note TEXT]

Each length and each round is a process of its own, so that its peak memory is that of this length. `--before`
is the `src` folder of another version, whose processes take turns with ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib
from timing import rounded

from biatt.data.files import replacing

matplotlib.use("Agg")  # draws to files only: no display is needed
from matplotlib.figure import Figure

LENGTHS = (100, 200, 500, 1000, 2000, 5000)
SOURCE = Path(__file__).parents[1] / "src"
TASKS = ("mst", "projective", "confidence")

# What a process does: prints the seconds of processor time, and its peak memory in MiB after the task.
PROGRAM = """
import json, resource, sys, time
import numpy as np
from biatt.machine.threads import one_matrix_thread
from biatt import decode
from biatt.data.scores import Scores, log_softmax
from biatt.decode.confidence import SentenceConfidence

def scores(length):
    # About as peaked as a trained network's, most heads near by; argmax gives no tree.
    draw = np.random.default_rng(length)
    tables = draw.normal(size=(2, length, length + 1))
    heads = np.maximum(np.arange(length) + 1 - draw.geometric(0.3, length), 0)
    tables[:, np.arange(length), heads] += draw.gamma(4.0, 2.0, size=length)
    left, right = log_softmax(tables.astype(np.float32))
    return Scores(left, right, np.zeros((length, 1), np.float32))

def confidence(given):
    SentenceConfidence(given, roots="single").of(np.zeros(len(given.left), int), given.logits)

tasks = {
    "mst": lambda given: decode.mst(given.agreement),
    "projective": lambda given: decode.projective(given.agreement),
    "confidence": confidence,
}
length, task = int(sys.argv[1]), tasks[sys.argv[2]]
with one_matrix_thread:
    for short in (3, 150):  # loads the kernels
        task(scores(short))
    given = scores(length)
    start = time.process_time()
    task(given)
    seconds = time.process_time() - start
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    sources = {"now": SOURCE, **({"before": options.before} if options.before else {})}
    results: dict[str, Any] = {
        "cpu": processor(),
        "unit": "seconds of processor time on one thread, median; MiB of peak memory of the process",
        "repeats": options.repeats,
        "note": options.note,
        "lengths": options.lengths,
        **{name: {task: {"seconds": [], "mib": []} for task in TASKS} for name in sources},
    }
    for length in options.lengths:
        for task in TASKS:
            rounds = [{name: measured(path, length, task) for name, path in sources.items()}
                      for _ in range(options.repeats)]  # fmt: skip
            for name in sources:
                seconds, mib = zip(*(of_round[name] for of_round in rounds), strict=True)
                results[name][task]["seconds"].append(median(seconds))
                results[name][task]["mib"].append(median(mib))
    with replacing(options.out / "long_sentences.json") as file:
        file.write((json.dumps(rounded(results), indent=1) + "\n").encode())
    with replacing(options.plot) as file:
        draw(results).savefig(file, format="png", dpi=120, metadata={"Software": None})
    return 0


def measured(source: Path, length: int, task: str) -> tuple[float, float]:
    """Seconds and MiB of one process."""
    environment = {**os.environ, "PYTHONPATH": str(source.absolute()), "BIATT_KERNELS": "compiled"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(length), task],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds, mib = json.loads(done.stdout)
    return seconds, mib


def draw(results: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    for axes, quantity, label in zip(
        figure.subplots(1, 2),
        ("seconds", "mib"),
        ("seconds on one thread", "MiB of peak memory"),
        strict=True,
    ):
        for task in TASKS:
            axes.plot(results["lengths"], results["now"][task][quantity], "o-", markersize=3, label=task)
        axes.set(xscale="log", yscale="log", xlabel="words of the sentence", ylabel=label)
        axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, metavar="SOURCE", help="src folder of another version")
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--note", default="", help="what else the machine did")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--plot", type=Path, default=SOURCE.parent / "docs" / "long_sentences.png")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
