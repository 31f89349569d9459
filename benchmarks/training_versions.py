"""Compare the training speed of two versions of the package, in turn: writes training_versions.json.

Each version trains in a process of its own, which waits after every few batches, so that both meet the same
neighbours. The time is the processor's, of batches only: loss, gradients and the optimiser's step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from run import cpu_name
from timing import rounded

HERE = Path(__file__).resolve().parent

# What a training's process does: after a line of input it trains on so many batches and prints their words,
# processor time, time and mean loss. It uses what all versions have.
WORKER = """
import sys, time
from dataclasses import replace
import biatt

train, dev, out, name, batches, batch_words = sys.argv[1:]
config = biatt.preset(name)
if int(batch_words):
    config = replace(config, training=replace(config.training, batch_words=int(batch_words)))

def clocks():
    return time.process_time(), time.perf_counter()

class Listener:
    def message(self, text): pass
    def part(self, title, **_): pass
    def start(self, title, words, **_): self.words, self.losses, self.began = 0, [], clocks()
    def epoch(self, record): pass
    def batch(self, words, loss=None):
        self.words += words
        self.losses.append(loss)
        if len(self.losses) == int(batches):
            times = [now - before for now, before in zip(clocks(), self.began)]
            print(self.words, *times, sum(self.losses) / len(self.losses), flush=True)
            if not sys.stdin.readline():
                sys.exit()
            self.words, self.losses, self.began = 0, [], clocks()

biatt.train(train, dev=dev, out=out, config=config, listener=Listener())
"""


class Round(NamedTuple):
    words: float
    cpu_seconds: float  # of the first process
    seconds: float
    loss: float  # mean

    @property
    def words_per_cpu_second(self) -> float:
        return self.words / self.cpu_seconds

    @property
    def words_per_second(self) -> float:
        return self.words / self.seconds


class Training:
    """A training with one version, on one or more processes, that waits after some batches."""

    def __init__(
        self,
        source: Path,
        out: Path,
        options: argparse.Namespace,
        preset: str,
        *,
        processes: int = 1,
        batch_words: int = 0,  # 0: the preset's
    ) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1"}
        files = [str(options.train.resolve()), str(options.dev.resolve()), str(out)]
        script = out.with_suffix(".py")
        script.write_text(WORKER, encoding="utf-8")
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        self._process = subprocess.Popen(
            [
                *(sys.executable, *(launcher if processes > 1 else ()), str(script)),
                *(*files, preset, str(options.batches), str(batch_words)),
            ],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if processes > 1 else None,  # it ends by an error
            text=True,
        )

    def result(self) -> Round:
        assert self._process.stdout is not None
        return Round(*map(float, self._process.stdout.readline().split()))

    def next(self) -> Round:
        self.go_on()
        return self.result()

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def close(self) -> None:
        self._process.communicate()


def compare(before: Path, after: Path, options: argparse.Namespace, preset: str) -> dict[str, Any]:
    """The median words/s of both versions, that of the quotients of a round, and both learning curves."""
    with TemporaryDirectory() as folder:
        versions = [
            Training(source, Path(folder, str(k)), options, preset)
            for k, source in enumerate((before, after))
        ]
        rounds = in_turn(versions, options.rounds)
    speeds = [[results[k].words_per_cpu_second for results in rounds] for k in range(2)]
    return {
        "before_words_per_cpu_second": median(speeds[0]),
        "after_words_per_cpu_second": median(speeds[1]),
        "after_over_before": median(b / a for a, b in zip(*speeds, strict=True)),
        "losses": [[one.loss, other.loss] for one, other in rounds],
    }


def in_turn(trainings: list[Training], rounds: int) -> list[list[Round]]:
    """The results of all trainings in each round."""
    for training in trainings:
        training.result()  # may have to compile
    results = [[training.next() for training in trainings] for _ in range(rounds)]
    for training in trainings:
        training.close()
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="source tree of the version to compare with")
    parser.add_argument("--train", type=Path, required=True, help="CoNLL-U file")
    parser.add_argument("--dev", type=Path, required=True, help="CoNLL-U file")
    parser.add_argument("--presets", nargs="+", default=["paper", "best"])
    parser.add_argument("--batches", type=int, default=20, help="batches of a round")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--note", default="", help="what else ran on the machine")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of training_versions.json")
    options = parser.parse_args()
    conditions = {"before": options.before.resolve().name, "cpu": cpu_name(), "load": os.getloadavg()[0]}
    conditions |= {"numba_cpu": os.environ.get("NUMBA_CPU_NAME", "native"), "note": options.note}
    results = {
        name: compare(options.before.resolve(), HERE.parent, options, name) for name in options.presets
    }
    text = json.dumps(rounded({**conditions, "batches": options.batches, **results}), indent=2)
    (options.out / "training_versions.json").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
