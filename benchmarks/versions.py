"""Compare the parsing speed of this version of the package with others, in turn: writes versions.json.

Each version runs in a process of its own, which stays, so that both are warm and meet the same neighbours.
A model that is given by name is the version's own: `en` is what each of them has bundled.
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
from tempfile import TemporaryDirectory
from typing import Any

from run import commit, cpu_name
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
PROCESSOR = "NUMBA_CPU_NAME", "BIATT_LANES", "OPENBLAS_CORETYPE"  # that take the place of this one
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


def compare(
    before: Sequence[Path], after: Path, model: str, treebank: Path, *, tasks: Sequence[str], repeats: int
) -> dict[str, Any]:
    """For each task, the median processor time of each version, and that of the quotients of a round."""
    with TemporaryDirectory() as folder:
        raw = Path(folder) / "text.txt"
        raw.write_bytes(raw_text(biatt.read(treebank)).encode())
        versions = [Version(source, model, treebank, raw) for source in (*before, after)]
        names = [source.name for source in before]
        results = {task: _compared(task, versions, names, repeats) for task in tasks}
        for version in versions:
            version.close()
        return results


def _compared(task: str, versions: list[Version], names: list[str], repeats: int) -> dict[str, Any]:
    """The last version is the one that the others, which have names, are compared with."""
    for version in versions:
        version.seconds(task)
    rounds = []
    for number in range(repeats):  # each is first in turn
        order = versions if number % 2 == 0 else versions[::-1]
        seconds = [version.seconds(task) for version in order]
        rounds.append(seconds if number % 2 == 0 else seconds[::-1])
    results: dict[str, Any] = {"after_cpu_seconds": median(after for *_, after in rounds)}
    for place, name in enumerate(names):
        results[name] = {
            "cpu_seconds": median(seconds[place] for seconds in rounds),
            "after_over_before": median(seconds[-1] / seconds[place] for seconds in rounds),
        }
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "before", type=Path, nargs="+", help="source trees of versions to compare with; their names are noted"
    )
    parser.add_argument("--tasks", choices=TASKS, nargs="+", default=TASKS)
    parser.add_argument("--treebank", type=Path, required=True, help="CoNLL-U file")
    parser.add_argument("--model", default="en")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--note", default="", help="what else ran on the machine")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of versions.json")
    options = parser.parse_args()
    before = [source.resolve() for source in options.before]
    for source in before:
        if not (source / "src" / "biatt").is_dir():  # Python would take the installed version in its place
            parser.error(f"{source} has no folder src/biatt.")
    how = {"tasks": options.tasks, "repeats": options.repeats}
    results = compare(before, HERE.parent, options.model, options.treebank.resolve(), **how)
    names = {"after": commit(), "model": options.model, "repeats": options.repeats, "cpu": cpu_name()}
    names |= {name: os.environ[name] for name in PROCESSOR if name in os.environ}
    names |= {"load": os.getloadavg()[0], "note": options.note}
    text = json.dumps(rounded({**names, **results}), indent=2)
    (options.out / "versions.json").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
