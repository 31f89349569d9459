#!/usr/bin/env python3
"""Train pipelines with this code and with an earlier checkout of it; compare them on dev from raw text.

    experiments/pipelines.py --treebanks FOLDER --against CHECKOUT [TREEBANK]...

Each treebank is trained on twice with the settings that `biatt train --pipeline` has by default, by this code
and by that of CHECKOUT (such as `git worktree add --detach CHECKOUT 98161e3`), both on one thread. A model
that is finished is not trained again, one that was interrupted goes on. `pipelines/results.jsonl` gets a line
for each model with its dev scores and the processor time of its training; `pipelines/RESULTS.md` is a table.
Test files are not read.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import biatt
from biatt.data.raw_text import raw_text

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "pipelines"
sys.path[:0] = [str(HERE), str(ROOT / "benchmarks")]

from result_lines import read_results, write_results  # noqa: E402

TREEBANKS = ("portuguese-bosque", "french-sequoia", "korean-gsd")
SETTINGS: tuple[str, ...] = ()  # other than the default
METRICS = ("Sentences", "UPOS", "Lemmas", "UAS", "LAS")
SECONDS = "processor-seconds"  # a file beside the model: the sum over all interrupted trainings


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    options.runs.mkdir(parents=True, exist_ok=True)
    for treebank in options.names or TREEBANKS:
        for name, code in (("before", options.against), ("after", ROOT)):
            if (treebank, name) in {(result["treebank"], result["code"]) for result in read_results(RESULTS)}:
                continue
            folder = options.runs / f"{treebank}-{name}"
            train, dev = (_split(options.treebanks / treebank, split) for split in ("train", "dev"))
            seconds = _train(code, train, dev, folder)
            _keep(
                {
                    "treebank": treebank,
                    "code": name,
                    "commit": _commit(code),
                    "dev": _scores(code, folder, dev),
                    "processor seconds": round(seconds),
                    "cpu": _cpu_name(),
                }
            )


def _split(treebank: Path, name: str) -> Path:
    (path,) = treebank.glob(f"*{name}.conllu*")
    return path


def _train(code: Path, train: Path, dev: Path, folder: Path) -> float:
    """Train a model, or go on with it; the processor time of all its trainings."""
    times = folder.with_suffix(f".{SECONDS}")
    resume = ["--resume"] if folder.exists() else []
    settings = ["--set", *SETTINGS] if SETTINGS else []
    output = "--output" if _has_output_option(code) else "--out"
    files = ["--train", train, "--dev", dev, output, folder]
    _biatt(code, ["train", "--pipeline", *files, *settings, *resume], times)
    return sum(map(float, times.read_text().split()))


def _has_output_option(code: Path) -> bool:
    """Whether the option of this checkout's `biatt train` is --output; it was --out at first."""
    return any('"--output"' in path.read_text() for path in code.glob("src/biatt/verbs/train.py"))


def _scores(code: Path, folder: Path, dev: Path) -> dict[str, float]:
    """F1 from raw text by the CoNLL 2018 evaluation of this code."""
    gold = list(biatt.read(dev))
    text, parsed = folder.with_suffix(".txt"), folder.with_suffix(".conllu")
    text.write_text(raw_text(gold), encoding="utf-8")
    _biatt(code, ["parse", text, "--input", "text", "--model", folder, "-o", parsed])
    rows = biatt.evaluate(gold, biatt.read(parsed)).tables()[0].rows
    return {str(row[0]): float(row[3]) for row in rows if row[0] in METRICS}


def _biatt(code: Path, arguments: list[object], times: Path | None = None) -> None:
    """Run `biatt` of a checkout on one thread; append its processor time to a file."""
    print("+ biatt", *arguments, f"({_commit(code)})", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(code / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", "from biatt.cli import main; main()", *map(str, arguments)]
    process = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if times is not None:
        with times.open("a") as file:
            file.write(f"{usage.ru_utime + usage.ru_stime:.1f}\n")
    if process.returncode:
        sys.exit(f"biatt {arguments[0]} ended with exit code {process.returncode}.")


def _commit(code: Path) -> str:
    command = ["git", "-C", str(code), "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _cpu_name() -> str:
    from run import cpu_name

    return str(cpu_name())


def _keep(result: dict[str, Any]) -> None:
    results = [*read_results(RESULTS), result]
    write_results(RESULTS, results, _table)


def _table(results: list[dict[str, Any]]) -> str:
    lines = [
        "# Pipelines of three languages, before and after",
        "",
        "Made by `experiments/pipelines.py`. F1 on dev from raw text by the CoNLL 2018 evaluation; no",
        "vectors, no silver text, default settings, one seed; minutes are processor time of all training.",
        "",
        f"| treebank | code | commit | {' | '.join(METRICS)} | minutes |",
        "|---|---|---|" + "---|" * (len(METRICS) + 1),
    ]
    for result in sorted(results, key=lambda item: (item["treebank"], item["code"] == "after")):
        figures = [f"{result['dev'][metric]:.2f}" for metric in METRICS]
        figures.append(f"{result['processor seconds'] / 60:.0f}")
        lines.append(
            f"| {result['treebank']} | {result['code']} | {result['commit']} | {' | '.join(figures)} |"
        )
    return "\n".join(lines) + "\n"


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="TREEBANK", help=f"default: {', '.join(TREEBANKS)}")
    parser.add_argument("--treebanks", type=Path, required=True, help="folder of treebank folders")
    parser.add_argument("--against", type=Path, required=True, help="checkout to compare with")
    default = ROOT.parent / "runs" / "pipelines"
    parser.add_argument("--runs", type=Path, default=default, help="for models; default: beside the clone")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
