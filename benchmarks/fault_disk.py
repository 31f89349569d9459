"""A disk that takes no more: a limit on the size of each file that a process writes."""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fault_kills import corpus
from fault_runs import (
    PIPELINE,
    Action,
    finished,
    import_what_it_uses,
    small_model,
    training,
    verb,
    with_limit,
)

import biatt
from biatt.data.files import is_temporary
from biatt.data.toy_treebank import generate

MOST_LIMITS = 10  # that are tried for each case, besides the smallest
TIMES = ("README.md", "metrics.jsonl")  # files of a model folder that have times
Files = dict[str, bytes]


class Case(NamedTuple):
    """A command, and where it writes."""

    action: Action
    out: Path
    kept: bool  # whether a run that fails leaves what it has finished; else, what it should have replaced


def disk(options: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Each command at limits from nothing to just below each file's size; the figures after each of them.

    It begins after the trials of `options.before`, of an earlier call with the same program.
    """
    before = options.before
    correct, refused, number = before.get("correct", 0), Counter(before.get("refused", {})), 0
    for name, case in _cases(folder).items():
        import_what_it_uses(case.action)
        expected = _files(case.out)
        for limit in limits(expected):
            number += 1
            if number <= before.get("tried", 0):
                continue
            fault, failed = _with_limit(case, limit, expected)
            correct += not fault
            refused[name] += failed
            if fault:
                print(f"{name} with a limit of {limit} bytes: {fault}", flush=True)
            figures = {f"refused: {name}": count for name, count in refused.items()}
            yield {"tried": number, "correct": correct, "figures": figures, "refused": dict(refused)}


def _cases(folder: Path) -> dict[str, Case]:
    model = small_model(folder / "small")
    text, parsed, saved, packages = (folder / name for name in ("text.txt", "p.conllu", "saved", "packages"))
    text.write_text("\n".join(" ".join(s.forms) for s in generate(150, seed=1)))
    parse = ["parse", text, "--output", parsed, "--model", model]
    package = [
        "package",
        model,
        "--name",
        "toy",
        "--version",
        "1.0",
        "--output",
        packages,
        "--licence",
        "MIT",
    ]
    return {
        "parse": Case(verb(*parse), parsed, kept=False),
        "parse --workers 2": Case(verb(*parse, "--workers", "2"), parsed, kept=False),
        "save": Case(lambda: biatt.load(model).save(saved), saved, kept=False),
        "package": Case(verb(*package, "--output", packages), packages, kept=False),
        "corpus": Case(verb(*corpus(folder, model)), folder / "parsed", kept=True),
        "train": Case(verb(*training(folder, *PIPELINE, "--resume")), folder / "model", kept=True),
    }


def limits(files: Files) -> list[int]:
    """Sizes below those of the files: nothing, next to nothing, the half and all but one byte of each."""
    sizes = list(map(len, files.values()))
    below = sorted({size - 1 for size in sizes if size > 1} | {size // 2 for size in sizes})
    return sorted({0, 1, 100, *below[:: 1 + len(below) // MOST_LIMITS], below[-1]})


def _files(out: Path) -> Files:
    if out.is_file():
        return {out.name: out.read_bytes()}
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.name not in TIMES and not path.name.endswith(".lock")
    }


def _with_limit(case: Case, limit: int, expected: Files) -> tuple[str, bool]:
    """What is wrong after the command had to do with files of so many bytes, and whether it was refused."""
    if case.kept:
        shutil.rmtree(case.out)
    done = finished(with_limit(case.action, limit))
    if done.code == 0:  # all that it writes is small enough, or can be done without
        return "" if _files(case.out) == expected else "it succeeds, and has written something else", False
    lines = [line for line in done.errors.splitlines() if line.startswith("biatt: ")]
    if done.code != 2 or len(lines) != 1 or "Traceback" in done.errors:
        return f"exit code {done.code}: {done.errors[-600:]}", True
    if not case.kept:
        return "" if _files(case.out) == expected else "what it should have replaced is not as it was", True
    for path in case.out.rglob("part-*") if case.out.exists() else []:
        if path.read_bytes() != expected.get(path.name):
            return f"{path.name} is not whole", True
    again = finished(case.action)
    if again.code:
        return f"it does not go on: {again.errors[-600:]}", True
    left = [path for path in case.out.rglob("*") if is_temporary(path)]
    same = _files(case.out) == expected and not left
    return "" if same else "after it has gone on, it has written something else", True
