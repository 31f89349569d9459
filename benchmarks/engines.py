"""`biatt corpus` and `biatt parse` by Ray and by worker processes: the same bytes, and what Ray costs.

    python benchmarks/engines.py --text FILE [--words 100000] [--rounds 3] [--workers 2] [--model en]

FILE is raw text, in which every line is a paragraph; it is repeated, or cut, to about so many words. Each
round runs both commands with both engines, from the start of the program to its end. It writes engines.json.

Processor time is that of all processes of a run. It depends less than the seconds on what else the machine
does.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from workers import conditions, divided, options_parser, read_paragraphs, run_benchmark, with_children

from biatt.corpus.manifest import MANIFEST

COMMAND = [sys.executable, "-c", "from biatt.cli import main; main()"]
ENGINES = ("processes", "ray")
SAMPLE_SECONDS = 0.2
TICKS = os.sysconf("SC_CLK_TCK")  # of processor time, in a second


class Run(NamedTuple):
    seconds: float
    processor_seconds: float


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options_parser(__doc__, words=100_000)
    parser.add_argument("--shard-characters", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    run_benchmark(parser.parse_args(arguments), measure, "engines.json")


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    (whole,) = divided(read_paragraphs(options), options.words, 1)
    (folder / "text.txt").write_text(whole, encoding="utf-8")
    lines = (json.dumps({"text": paragraph}) for paragraph in whole.split("\n\n"))
    (folder / "documents.jsonl").write_text("\n".join(lines), encoding="utf-8")
    load_before = os.getloadavg()[0]
    rounds: dict[str, list[dict[str, Run]]] = {verb: [] for verb in ("corpus", "parse")}
    for _ in range(options.rounds):
        for verb, of_verb in rounds.items():
            of_verb.append({engine: _run(verb, engine, options, folder) for engine in ENGINES})
            written = [
                {path.name: path.read_bytes() for path in (folder / engine).glob("*.*")} for engine in ENGINES
            ]
            if written[0] != written[1]:
                raise SystemExit("Ray has written other bytes than processes.")
            if verb == "corpus":
                words = json.loads(written[0][MANIFEST].splitlines()[-1])["finished"]["words"]
    return {
        "conditions": conditions(options, words, load_before),
        "summary": {verb: summary(of_verb) for verb, of_verb in rounds.items()},
        "rounds": {
            verb: [{engine: one._asdict() for engine, one in of_round.items()} for of_round in of_verb]
            for verb, of_verb in rounds.items()
        },
    }


def summary(rounds: Sequence[dict[str, Run]]) -> dict[str, float]:
    """Medians; Ray's overhead is that of the differences within a round."""
    result = {}
    for name in Run._fields:
        values = [{engine: getattr(of_round[engine], name) for engine in ENGINES} for of_round in rounds]
        for engine in ENGINES:
            result[f"{engine}_{name}"] = median(of_round[engine] for of_round in values)
        result[f"overhead_{name}"] = median(one["ray"] - one["processes"] for one in values)
    return result


def _run(verb: str, engine: str, options: argparse.Namespace, folder: Path) -> Run:
    out = folder / engine
    shutil.rmtree(out, ignore_errors=True)
    words = [verb, str(folder / ("documents.jsonl" if verb == "corpus" else "text.txt"))]
    words += ["--output-dir", str(out), "--engine", engine, "--workers", str(options.workers)]
    words += ["--model", str(options.model)]
    if verb == "corpus":
        words += ["--shard-characters", str(options.shard_characters)]
    start, processor = time.perf_counter(), dict[int, float]()
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            for number in with_children([process.pid]):
                processor[number] = max(processor.get(number, 0), processor_seconds(number))
            time.sleep(SAMPLE_SECONDS)
    if process.returncode:
        raise SystemExit(f"The engine {engine} has failed.")
    return Run(time.perf_counter() - start, sum(processor.values()))


def processor_seconds(number: int) -> float:
    """Of a process, in user and system mode; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
