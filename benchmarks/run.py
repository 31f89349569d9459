"""Measure biatt's speed and memory on this machine: writes results.json and results.png."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import sections
import torch
from decoding import decoding
from searching import search
from threadpoolctl import threadpool_limits
from timing import rounded
from workload import FULL, QUICK, Workload, prepare

from biatt.data.files import replacing
from biatt.errors import BiattError

matplotlib.use("Agg")  # draws to files only: no display is needed
from matplotlib import pyplot

LEAST_REPEATS = 5  # of a full run
PACKAGES = ("biatt", "numpy", "numba", "torch")
SECTIONS = {
    section.__name__: section
    for section in (
        sections.agreement,
        sections.training,
        sections.budgets,
        sections.sentence_lengths,
        decoding,
        search,
        sections.latency,
        sections.start_up,
        sections.memory,
        sections.scaling,
        sections.presets,
        sections.threads,
    )
}

PARSING = "parsing"  # which the limit belongs to


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    path = options.out / "results.json"
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as folder, threadpool_limits(1, "blas"):
            work = prepare(
                options.treebank,
                options.model,
                Path(folder),
                sizes=QUICK if options.quick else FULL,
                repeats=options.repeats,
                seed=options.seed,
            )
            if options.only:
                results = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
                for name in options.only:
                    if name == PARSING:
                        found, results["limit"] = sections.parsing(work)
                    else:
                        found = SECTIONS[name](work)
                    results[name] = {**found, **conditions(work, options)}
            else:
                results = {**conditions(work, options), **measure(work)}
    except BiattError as error:
        print(error, file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    save(results, path)
    if "scaling" in results:
        plot(results["scaling"], options.out / "results.png")
    return 0


def measure(work: Workload) -> dict[str, Any]:
    results: dict[str, Any] = {}
    _say("parsing, limit")
    results["parsing"], results["limit"] = sections.parsing(work)
    for name, section in SECTIONS.items():
        _say(name)
        results[name] = section(work)
    return results


def conditions(work: Workload, options: argparse.Namespace) -> dict[str, Any]:
    """What one must know to judge the figures, or to repeat them."""
    config = work.fused.config.model
    return {
        "conditions": {
            "cpu": cpu_name(),
            "cores": cores(),
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
            "commit": commit(),
            "seed": options.seed,
            "repeats": options.repeats,
            "quick": options.quick,
            "treebank": options.treebank.resolve().name,
            "model": options.model.resolve().name if options.model else "random weights",
            "hidden": config.hidden,
            "columns": list(work.fused.vocabulary.symbols),
            "relations": len(work.fused.vocabulary.relations),
            "parameters": sum(weight.size for weight in work.fused.weights.values()),
            "load_before": os.getloadavg()[0],  # above 0 means that others were at work
        }
    }


def save(results: dict[str, Any], path: Path) -> None:
    with replacing(path) as file:
        file.write(json.dumps(rounded(results), indent=1, ensure_ascii=False).encode() + b"\n")


def plot(scaling: dict[str, Any], path: Path) -> None:
    """Microseconds a word against sentence length, and the fitted lines."""
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    lengths = scaling["lengths"]
    n = np.geomspace(lengths[0], lengths[-1], 100)
    for name, marker in (("torch", "s"), ("fused", "o")):
        found = scaling[name]
        (points,) = axes.loglog(lengths, found["us_per_word"], marker, label=f"{name} path")
        axes.loglog(n, found["a"] * n + found["b"], color=points.get_color(), linewidth=1,
                    label=f"{found['a']:.2g} n + {found['b']:.3g}")  # fmt: skip
    axes.set_xlabel("words in the sentence, n")
    axes.set_ylabel("µs a word, one thread")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120, metadata={"Software": None})
    pyplot.close(figure)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def commit() -> str | None:
    """The commit that is measured, "+" after it if files differ from it."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=here, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--", "../src") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _say(section: str) -> None:
    print(f"{time.perf_counter() - STARTED:6.0f} s  {section}", file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    files = "folder with one *train.conllu and one *dev.conllu, plain or compressed"
    parser.add_argument("--treebank", type=Path, required=True, help=files)
    parser.add_argument("--model", type=Path, help="folder of a trained model; default: random weights")
    parser.add_argument("--repeats", type=int, default=LEAST_REPEATS, help="rounds; medians are reported")
    parser.add_argument("--quick", action="store_true", help="little of everything: to see that it works")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder for the results")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only",
        choices=[PARSING, *SECTIONS],
        nargs="+",
        default=[],
        help="measure only these, and keep the others' results",
    )
    options = parser.parse_args(arguments)
    if options.repeats < (1 if options.quick else LEAST_REPEATS):
        parser.error(f"--repeats must be at least {LEAST_REPEATS}, or 1 with --quick")
    return options


STARTED = time.perf_counter()

if __name__ == "__main__":
    sys.exit(main())
