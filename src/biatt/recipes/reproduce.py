"""Experiments from a recipe: train, parse, score, and write down all that is needed to do it again.

A recipe is a TOML file with one table for each run:

    [[run]]
    name = "danish"                                # of its results
    train = ["danish-conllx/train.conllx.xz"]      # files below the folder of treebanks
    test = "danish-conllx/test.conllx.xz"          # optional: without it, only dev scores, to choose by
    dev = "…"                                      # optional: else 5 % of train is held out
    settings = ["hidden=176"]                      # optional: as for `biatt train --set`
    preset = "paper"                               # optional
    seeds = [1, 2, 3]
    style = "conllx"                               # optional: how to score
    punctuation = "ignore"                         # optional
    embeddings = "vectors.txt"                     # optional: word vectors, a file beside the recipe
    beside = "paper 91.56 / 85.53"                 # optional: a figure to stand beside ours
    against = "danish-paper"                       # optional: an earlier run to compare with, seed by seed

Each run and seed gives one JSON file in a folder named after the recipe; what has one is not run again. A
table of all results, `RESULTS.md`, is written anew after each, and so are plots of them (`plots.py`).
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from statistics import mean, stdev
from typing import Any, get_args

from biatt.config import with_settings
from biatt.data.conll import read
from biatt.data.files import replacing
from biatt.decode.decoders import Decoder
from biatt.errors import ConfigError
from biatt.evaluation.comparison import compare
from biatt.evaluation.metrics import evaluate
from biatt.model_folder import METRICS, is_finished
from biatt.options import Punctuation, Style
from biatt.parser import load
from biatt.presets import preset
from biatt.recipes.plots import draw
from biatt.training.run import Listener
from biatt.training.train import train

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Run:
    """One table of a recipe."""

    name: str
    train: Sequence[str]
    seeds: Sequence[int]
    test: str | None = None
    dev: str | None = None
    preset: str = "paper"
    settings: Sequence[str] = ()
    style: Style | None = None
    punctuation: Punctuation | None = None
    embeddings: str | None = None
    beside: str = ""
    against: str | None = None


def reproduce(
    recipe: str | Path,
    *,
    treebanks: str | Path,
    models: str | Path = "runs",
    only: Sequence[str] = (),
    threads: int = 1,
    listener: Callable[[str], Listener],
) -> list[Path]:
    """Do what of a recipe is not done yet, or `only` the runs of these names; returns the result files.

    `models` keeps the trained models, finished or not. `listener` makes the listener of one run.
    """
    recipe, treebanks = Path(recipe), Path(treebanks)
    results = recipe.with_suffix("")
    results.mkdir(exist_ok=True)
    done, home = [], Path(models) / recipe.stem
    runs = read_recipe(recipe)
    if unknown := set(only) - {run.name for run in runs}:
        raise ConfigError(f"{recipe}: there is no run '{sorted(unknown)[0]}'.")
    for run in runs:
        if only and run.name not in only:
            continue
        for seed in run.seeds:
            path = results / f"{run.name}-seed{seed}.json"
            if not path.exists():
                folder, others = home / path.stem, [home / f"{run.against}-seed{seed}"] if run.against else []
                _check_models(others, path)
                vectors = recipe.parent / run.embeddings if run.embeddings else None
                found = measure(
                    run,
                    seed,
                    treebanks,
                    folder,
                    vectors,
                    threads=threads,
                    listener=listener(path.stem),
                )
                for other in others:
                    found["against"] = compared(run, treebanks, other, folder)
                with replacing(path) as file:
                    file.write(json.dumps(found, ensure_ascii=False, indent=1).encode() + b"\n")
            done.append(path)
            with replacing(results / "RESULTS.md") as file:
                file.write(summary(results, runs).encode())
    shown = {run.name: runs_of for run in runs if (runs_of := results_of(run, results))}
    if shown and not draw(shown, results):
        listener("pictures").message("None were drawn: they need matplotlib, pip install 'biatt[bench]'.")
    return done


def _check_models(needed: Sequence[Path], result: Path) -> None:
    """Models of earlier runs may have been removed, or made elsewhere, though their results are here."""
    for folder in needed:
        if not is_finished(folder):
            raise ConfigError(
                f"'{result.stem}' needs the model {folder}: run that first; where it has a result, "
                f"remove {result.parent / folder.name}.json, so that it is trained again."
            )


def results_of(run: Run, folder: Path) -> list[dict[str, Any]]:
    """The results of a run that exist, one for each seed."""
    paths = [folder / f"{run.name}-seed{seed}.json" for seed in run.seeds]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]


def read_recipe(path: Path) -> list[Run]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("run", [])
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not a TOML file: {error}.") from error
    known = {field.name for field in fields(Run)}
    for table in tables:
        if unknown := table.keys() - known:
            raise ConfigError(
                f"{path}: a run has no '{sorted(unknown)[0]}'; it has {', '.join(sorted(known))}."
            )
        if missing := {"name", "train", "seeds"} - table.keys():
            raise ConfigError(f"{path}: a run lacks '{sorted(missing)[0]}'.")
    if not tables:
        raise ConfigError(f"{path}: there is no [[run]] in it.")
    runs = [Run(**table) for table in tables]
    for number, run in enumerate(runs):
        if run.against and run.against not in [one.name for one in runs[:number]]:
            raise ConfigError(
                f"{path}: '{run.name}' is compared with '{run.against}', which is no earlier run."
            )
    return runs


def measure(
    run: Run,
    seed: int,
    treebanks: Path,
    folder: Path,
    embeddings: Path | None = None,
    *,
    threads: int,
    listener: Listener,
) -> dict[str, Any]:
    """Train (or go on with) one model and score it on the test file, once for each decoder."""
    config = with_settings(preset(run.preset), run.settings)
    names = [*run.train, *(name for name in (run.dev, run.test) if name)]
    command = (
        f"biatt train --train {' '.join(run.train)} --preset {run.preset} --seed {seed} --threads {threads}"
    )
    command += "".join(f" --set {setting}" for setting in run.settings) + (
        f" --dev {run.dev}" if run.dev else ""
    )
    command += f" --embeddings {run.embeddings}" if run.embeddings else ""
    parser = train(
        [treebanks / name for name in run.train],
        out=folder,
        dev=treebanks / run.dev if run.dev else None,
        config=config,
        embeddings=embeddings,
        seed=seed,
        threads=threads,
        resume=True,
        command=command,
        listener=listener,
    )
    scores = {}
    if run.test:
        gold = list(read(treebanks / run.test, trees=True))
        scores = {
            decoder: evaluate(
                gold,
                parser.parse(gold, decoder=decoder, threads=threads),
                style=run.style,
                punctuation=run.punctuation,
                allow_cycles=decoder == "argmax",
            ).as_dict()
            for decoder in get_args(Decoder)
        }
    history = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    return {
        "name": run.name,
        "seed": seed,
        "command": command,
        "preset": run.preset,
        "settings": list(run.settings),
        "config": config.to_json(),
        "data": {name: hashlib.sha256((treebanks / name).read_bytes()).hexdigest() for name in names},
        "commit": _commit(),
        "versions": {name: version(name) for name in ("biatt", "torch", "numpy", "numba")},
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {threads} thread(s)",
        "history": history,
        "test": scores,
    }


def compared(run: Run, treebanks: Path, other: Path, own: Path) -> dict[str, Any]:
    """What `biatt compare` says of two models' trees for the test file: UAS and LAS, own minus other."""
    if not run.test:
        raise ConfigError(f"The run '{run.name}' has no test file to be compared on.")
    gold = list(read(treebanks / run.test, trees=True))
    a, b = (load(folder).parse(gold) for folder in (other, own))
    found = compare(gold, a, b, style=run.style, punctuation=run.punctuation)
    scores: dict[str, Any] = found.as_dict()["scores"]
    return scores


def summary(results: Path, runs: Sequence[Run]) -> str:
    """A Markdown table of the results that exist: mean and standard deviation over seeds, in percent."""
    tested = any(run.test for run in runs)
    lines = [
        "# Results",
        "",
        f"Written by `biatt reproduce {results.name}.toml`. Scores are in percent, mean ± standard deviation",
        "over seeds; dev is what the epoch was chosen by, with MST decoding.",
        "",
    ]
    columns = ["run", "seeds", "epochs", "dev UAS", "dev LAS"]
    if tested:
        columns += ["UAS mst", "LAS mst", "UAS argmax", "LAS argmax", "crossed", "uncrossed", "% crossed"]
    if any(run.against for run in runs):
        columns += ["gain in UAS, p", "gain in LAS, p"]
    if any(run.beside for run in runs):
        columns.append("beside it")
    lines += ["| " + " | ".join(columns) + " |", "|" + len(columns) * "---|"]
    for run in runs:
        found = results_of(run, results)
        if not found:
            continue
        cells = [
            run.name,
            ", ".join(str(one["seed"]) for one in found),
            ", ".join(str(sum("epoch" in record for record in one["history"])) for one in found),
            *(_spread([best_record(one)[score] for one in found]) for score in ("dev_uas", "dev_las")),
        ]
        if run.test:
            trees = [one["test"]["mst"]["breakdown"] for one in found]
            cells += [
                _spread([one["test"][decoder][score] for one in found])
                for decoder in ("mst", "argmax")
                for score in ("uas", "las")
            ]
            cells += [
                _spread([tree[name]["value"] for tree in trees])
                for name in ("crossed", "uncrossed", "crossed_share")
            ]
        elif tested:
            cells += 7 * [""]
        if any(one.against for one in runs):
            cells += [_gains(found, name) for name in ("UAS", "LAS")]
        if "beside it" in columns:
            cells.append(run.beside)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def best_record(result: dict[str, Any]) -> dict[str, Any]:
    """The record of the epoch whose weights were kept."""
    record: dict[str, Any] = next(one for one in reversed(result["history"]) if one.get("best"))
    return record


def _gains(found: Sequence[dict[str, Any]], score: str) -> str:
    """The gains over the run compared with, each with the p of its bootstrap."""
    pairs = [one["against"][score] for one in found if "against" in one]
    return ", ".join(f"{100 * pair['difference']:+.2f} ({pair['bootstrap_p']:.4f})" for pair in pairs)


def _spread(values: Sequence[float]) -> str:
    text = f"{100 * mean(values):.2f}"
    return f"{text} ± {100 * stdev(values):.2f}" if len(values) > 1 else text


def _commit() -> str:
    """The commit that produced a result, marked if the code had changes on top of it."""
    here = Path(__file__).parents[1]  # the whole package
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True
        )
        changes = subprocess.run(
            ["git", "status", "--porcelain", "--", "."], cwd=here, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit.stdout.strip() + (" with changes" if changes.stdout.strip() else "")
