"""Two workers against one, and against two processes that know nothing of each other; and their memory.

    python benchmarks/workers.py --text FILE [--words 180000] [--minutes 3] [--workers 2] [--model en]

FILE is raw text, in which every line is a paragraph; it is repeated, or cut, to about so many words. Each
round parses it by `biatt parse` with one worker and with several, then a part of it by each of as many
processes at once, which is the machine's own limit. All start anew, so that loading the model counts. There
are at least two rounds, and others as long as they are expected to end within the minutes. It writes
workers.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, NamedTuple

from run import commit, cores, cpu_name, save

import biatt
from biatt.data.files import reading

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-c", "from biatt.cli import main; main()", "parse"]
SAMPLE_SECONDS = 0.3
LEAST_ROUNDS = 2
LONGEST_WORD = 12  # characters with the space after it, more than on average


class Run(NamedTuple):
    seconds: float
    memory_mib: float  # the largest sum of all processes; pages that several share count once


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options_parser(__doc__, words=180_000)
    parser.add_argument("--minutes", type=float, default=3)
    run_benchmark(parser.parse_args(arguments), measure, "workers.json")


def options_parser(description: str | None, *, words: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--text", type=Path, required=True, help="raw text")
    parser.add_argument("--words", type=int, default=words)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--model", default="en")
    parser.add_argument("--note", default="", help="what else ran on the machine")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the result file")
    return parser


def run_benchmark(
    options: argparse.Namespace, measure: Callable[[argparse.Namespace, Path], dict[str, Any]], name: str
) -> None:
    """Measure in a temporary folder, write the result and print its summary."""
    with TemporaryDirectory() as folder:
        result = measure(options, Path(folder))
    save(result, options.out / name)
    print(json.dumps(result["summary"], indent=1))


def conditions(options: argparse.Namespace, words: int, load_before: float) -> dict[str, Any]:
    return {
        "cpu": cpu_name(),
        "cores": cores(),
        "commit": commit(),
        "load_before": load_before,
        "note": options.note,
        "model": str(options.model),
        "words": words,
        "workers": options.workers,
    }


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    parts = divided(read_paragraphs(options), options.words, options.workers)
    files = [folder / f"part{i}.txt" for i in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        file.write_text(part, encoding="utf-8")
    whole = folder / "whole.txt"
    whole.write_text("\n\n".join(parts), encoding="utf-8")
    model = ["--model", str(options.model)]

    def parse(file: Path, workers: int) -> list[str]:
        output = folder / f"{file.stem}-{workers}.conllu"
        return [*COMMAND, str(file), "--output", str(output), "--workers", str(workers), *model]

    paths = {
        "one": [parse(whole, 1)],
        "workers": [parse(whole, options.workers)],
        "independent": [parse(file, 1) for file in files],
    }
    load_before = os.getloadavg()[0]
    begin = time.perf_counter()
    small = folder / "small.txt"
    small.write_text(parts[0][: len(parts[0]) // 20], encoding="utf-8")
    run([parse(small, 1)])  # files that all read are in memory then
    rounds: list[dict[str, Run]] = []
    while len(rounds) < LEAST_ROUNDS or _expected_end(begin, len(rounds)) < options.minutes * 60:
        rounds.append({name: run(commands) for name, commands in paths.items()})
    written = [(folder / f"whole-{n}.conllu").read_bytes() for n in (1, options.workers)]
    if written[0] != written[1]:
        raise SystemExit("The workers have written other bytes than one process.")
    words = sum(map(len, biatt.read(folder / "whole-1.conllu")))
    return {
        "conditions": {**conditions(options, words, load_before), "rounds": len(rounds)},
        "summary": summary(rounds, words, options.workers),
        "rounds": [{name: one._asdict() for name, one in of_round.items()} for of_round in rounds],
    }


def _expected_end(begin: float, rounds: int) -> float:
    """Seconds from the beginning to the end of one round more."""
    return (time.perf_counter() - begin) * (rounds + 1) / rounds


def read_paragraphs(options: argparse.Namespace) -> list[str]:
    """The first lines of the text, enough for the words unless it has fewer."""
    with reading(options.text) as stream:
        return stream.read(options.words * LONGEST_WORD).decode(errors="ignore").splitlines()


def divided(paragraphs: Sequence[str], words: int, parts: int) -> list[str]:
    """As many texts of about the same number of words, together about `words`; paragraphs come again."""
    paragraphs = [paragraph for paragraph in paragraphs if paragraph.split()]
    sizes = [len(paragraph.split()) for paragraph in paragraphs]
    result, at = [], 0
    for _ in range(parts):
        chosen, size = [], 0
        while size < words / parts:
            chosen.append(paragraphs[at % len(paragraphs)])
            size += sizes[at % len(paragraphs)]
            at += 1
        result.append("\n\n".join(chosen))
    return result


def summary(rounds: Sequence[dict[str, Run]], words: int, workers: int) -> dict[str, float]:
    """Ratios are medians of the ratios within a round, where all met the same neighbours."""
    memory = {name: max(of_round[name].memory_mib for of_round in rounds) for name in ("one", "workers")}
    return {
        **{
            f"{name}_words_per_second": words / median(of_round[name].seconds for of_round in rounds)
            for name in ("one", "workers", "independent")
        },
        "workers_over_one": median(r["one"].seconds / r["workers"].seconds for r in rounds),
        "independent_over_one": median(r["one"].seconds / r["independent"].seconds for r in rounds),
        "share_of_independent": median(r["independent"].seconds / r["workers"].seconds for r in rounds),
        "one_memory_mib": memory["one"],
        "workers_memory_mib": memory["workers"],
        "memory_mib_for_each_worker": (memory["workers"] - memory["one"]) / workers,
    }


def run(commands: Sequence[Sequence[str]]) -> Run:
    """Run all commands at once, and wait for the last."""
    start = time.perf_counter()
    processes = [subprocess.Popen(command) for command in commands]
    memory = [0.0]
    watching = Thread(target=_watch, args=([process.pid for process in processes], memory), daemon=True)
    watching.start()
    codes = [process.wait() for process in processes]
    seconds = time.perf_counter() - start
    watching.join()
    if any(codes):
        raise SystemExit("A process has failed.")
    return Run(seconds, memory[0])


def _watch(numbers: Sequence[int], largest: list[float]) -> None:
    while any(sizes := [proportional_mib(number) for number in with_children(numbers)]):
        largest[0] = max(largest[0], sum(sizes))
        time.sleep(SAMPLE_SECONDS)


def with_children(numbers: Sequence[int]) -> list[int]:
    """The processes and all that they have started, also indirectly."""
    result = list(numbers)
    for number in result:
        for task in Path(f"/proc/{number}/task").glob("*"):
            try:
                result += map(int, (task / "children").read_text().split())
            except OSError:  # it has ended
                continue
    return result


def proportional_mib(number: int) -> float:
    """The resident memory of a process; a page that n processes share counts 1/n."""
    try:
        for line in Path(f"/proc/{number}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:  # it has ended
        pass
    return 0.0


if __name__ == "__main__":
    main()
