"""Compare the parsing speed of two versions of the package, in turn: writes versions.json.

Each version runs in a process of its own, which stays, so that both are warm and meet the same neighbours.
A model that is given by name is the version's own: `en` is what each of them has bundled.
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
from typing import Any

from run import cpu_name
from timing import rounded

import biatt
from biatt.data.raw_text import raw_text

HERE = Path(__file__).resolve().parent

# What a version's process does: for each task, a line of input, it prints the processor time that it took.
# It uses what all versions have.
WORKER = """
import sys, time
from io import BytesIO
import biatt

model, treebank, raw = sys.argv[1:]
nlp = biatt.load(model)
with open(raw, encoding="utf-8", newline="") as file:
    texts = file.read().split("\\n\\n")

def text():
    for sentences in nlp.pipe(texts):
        for sentence in sentences:
            sentence.to_text()

def text_file():
    biatt.write(nlp.parse(nlp.sentences(texts)), BytesIO())

def conllu():
    biatt.write(nlp.parse(biatt.read(treebank)), BytesIO())

tasks = {"text": text, "text file": text_file, "CoNLL-U file": conllu}
for line in sys.stdin:
    start = time.process_time()
    tasks[line.strip()]()
    print(time.process_time() - start, flush=True)
"""
TASKS = ("text", "text file", "CoNLL-U file")


class Version:
    """A process that runs one version."""

    def __init__(self, source: Path, model: str, treebank: Path, raw: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1"}
        environment["BIATT_KERNELS"] = "compiled"
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, model, str(treebank), str(raw)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, task: str) -> float:
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        into.write(f"{task}\n")
        into.flush()
        return float(out.readline())

    def close(self) -> None:
        self._process.communicate()


def compare(before: Path, after: Path, model: str, treebank: Path, *, repeats: int) -> dict[str, Any]:
    """For each task, the median processor time of both versions, and that of the quotients of a round."""
    with TemporaryDirectory() as folder:
        raw = Path(folder) / "text.txt"
        raw.write_bytes(raw_text(biatt.read(treebank)).encode())
        versions = [Version(source, model, treebank, raw) for source in (before, after)]
        return _compared(versions, repeats)


def _compared(versions: list[Version], repeats: int) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for task in TASKS:
        for version in versions:
            version.seconds(task)
        rounds = []
        for number in range(repeats):  # each is first in turn
            first, second = versions if number % 2 == 0 else versions[::-1]
            pair = first.seconds(task), second.seconds(task)
            rounds.append(pair if number % 2 == 0 else pair[::-1])
        results[task] = {
            "before_cpu_seconds": median(a for a, _ in rounds),
            "after_cpu_seconds": median(b for _, b in rounds),
            "after_over_before": median(b / a for a, b in rounds),
        }
    for version in versions:
        version.close()
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "before", type=Path, help="source tree of the version to compare with; its name is noted"
    )
    parser.add_argument("--treebank", type=Path, required=True, help="CoNLL-U file")
    parser.add_argument("--model", default="en")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--note", default="", help="what else ran on the machine")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of versions.json")
    options = parser.parse_args()
    before = options.before.resolve()
    results = compare(before, HERE.parent, options.model, options.treebank.resolve(), repeats=options.repeats)
    names = {"before": before.name, "after": HERE.parent.name, "model": options.model}
    names |= {"repeats": options.repeats, "cpu": cpu_name(), "load": os.getloadavg()[0], "note": options.note}
    text = json.dumps(rounded({**names, **results}), indent=2)
    (options.out / "versions.json").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
