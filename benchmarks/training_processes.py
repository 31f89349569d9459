"""Compare the training speed of one process and of several, in turn: writes training_processes.json.

All train with a preset's settings at several batch sizes. The time is that of batches: loss, gradients, their
sum over processes and the optimiser's step. It means something only with a free core for each process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from run import cores, cpu_name
from timing import rounded
from training_versions import Training, in_turn

HERE = Path(__file__).resolve().parent


def compare(options: argparse.Namespace, batch_words: int) -> dict[str, Any]:
    """Words/s of one and of several processes at one batch size, and the median quotient of a round."""
    counts = [1, *options.processes]
    with TemporaryDirectory() as folder:
        trainings = [
            Training(
                HERE.parent,
                Path(folder, str(count)),
                options,
                options.preset,
                processes=count,
                batch_words=batch_words,
            )
            for count in counts
        ]
        rounds = in_turn(trainings, options.rounds)
    speeds = {count: [results[k].words_per_second for results in rounds] for k, count in enumerate(counts)}
    return {
        str(count): {
            "words_per_second": median(of_count),
            "over_one_process": median(a / b for a, b in zip(of_count, speeds[1], strict=True)),
            "loss": sum(results[k].loss for results in rounds) / len(rounds),
        }
        for k, (count, of_count) in enumerate(speeds.items())
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=Path, required=True, help="CoNLL-U file")
    parser.add_argument("--dev", type=Path, required=True, help="CoNLL-U file")
    parser.add_argument("--preset", default="best")
    parser.add_argument("--processes", type=int, nargs="+", default=[2])
    parser.add_argument("--batch-words", type=int, nargs="+", default=[200, 400, 800])
    parser.add_argument("--batches", type=int, default=10, help="batches of a round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--note", default="", help="what else ran on the machine")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of training_processes.json")
    options = parser.parse_args()
    conditions = {"cpu": cpu_name(), "cores": cores(), "load": os.getloadavg()[0], "note": options.note}
    conditions |= {"preset": options.preset, "batches": options.batches, "rounds": options.rounds}
    results = {str(words): compare(options, words) for words in options.batch_words}
    text = json.dumps(rounded({**conditions, "batch_words": results}), indent=2)
    (options.out / "training_processes.json").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
