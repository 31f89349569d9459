"""Running the experiments of a recipe: train, parse, score, and record all that is needed to repeat them."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import subprocess
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, get_args

import biatt
from biatt.data.conll import read
from biatt.data.files import replacing
from biatt.data.sentence import Sentence
from biatt.errors import BiattError, ConfigError
from biatt.evaluation.comparison import PairedScore, compare
from biatt.evaluation.metrics import evaluate
from biatt.models.model_folder import METRICS, is_finished
from biatt.options import Decoder
from biatt.parser import Parser, load
from biatt.recipes import plots
from biatt.recipes.recipe import Experiment, read_recipe
from biatt.recipes.records import (
    RESULTS,
    Record,
    Scoring,
    add_record,
    history_columns,
    locked,
    model_name,
    read_records,
)
from biatt.recipes.report import records_of, results_table
from biatt.training.listener import Listener
from biatt.training.train import train

TABLE = "RESULTS.md"
_DIGEST_DIGITS = 16


class Folders(NamedTuple):
    """The folders of a recipe."""

    treebanks: Path
    models: Path  # of this recipe
    results: Path
    recipe: Path  # where the recipe is: word vectors and encoders are beside it


def reproduce(
    recipe: str | Path,
    *,
    treebanks: str | Path,
    models: str | Path = "runs",
    only: Sequence[str] = (),
    threads: int = 1,
    listener: Callable[[str], Listener],
) -> list[Record]:
    """Run the experiments of a recipe that have no result yet, or `only` those of these names.

    A folder beside the recipe, of the same name, receives `results.jsonl`, a table of all results and
    pictures. `models` keeps the trained models, finished or not. `listener` makes the listener of one model.
    Returns the records of these experiments.
    """
    recipe = Path(recipe)
    experiments = read_recipe(recipe)
    if unknown := set(only) - {experiment.name for experiment in experiments}:
        raise ConfigError(f"{recipe}: there is no run '{min(unknown)}'.")
    folders = Folders(Path(treebanks), Path(models) / recipe.stem, recipe.with_suffix(""), recipe.parent)
    try:
        folders.results.mkdir(exist_ok=True)
    except OSError as error:
        fault = f"cannot be made a folder: {(error.strerror or str(error)).lower()}."
        raise BiattError(f"{folders.results}: {fault}") from error
    chosen = [experiment for experiment in experiments if not only or experiment.name in only]
    added = False
    for experiment in chosen:
        for seed in experiment.seeds:
            # Read again for each model: another process may have finished it by now.
            if model_name(experiment.name, seed) in {record.name for record in read_records(folders.results)}:
                continue
            record = measure(experiment, seed, folders, threads=threads, listener=listener)
            with locked(folders.results):
                order = [model_name(e.name, number) for e in experiments for number in e.seeds]
                records = add_record(folders.results, record, order=order)
                _write_table(folders.results, experiments, records)
            added = True
    return _finish(folders.results, experiments, chosen, added=added, listener=listener)


def measure(
    experiment: Experiment,
    seed: int,
    folders: Folders,
    *,
    threads: int,
    listener: Callable[[str], Listener],
) -> Record:
    """Train one model, or resume its training, and score it on the test file, once for each decoder."""
    name = model_name(experiment.name, seed)
    if experiment.against:
        _check_model(folders, model_name(experiment.against, seed), needed_by=name)
    files = [*experiment.train, *(name for name in (experiment.dev, experiment.test) if name)]
    digests = {file: _digest(folders.treebanks / file) for file in files}
    parser = train(
        [folders.treebanks / file for file in experiment.train],
        out=folders.models / name,
        dev=folders.treebanks / experiment.dev if experiment.dev else None,
        config=experiment.config(),
        embeddings=folders.recipe / experiment.embeddings if experiment.embeddings else None,
        encoder=folders.recipe / experiment.encoder if experiment.encoder else None,
        seed=seed,
        threads=threads,
        resume=True,
        command=train_command(experiment, seed, threads=threads),
        listener=listener(name),
    )
    lines = (folders.models / name / METRICS).read_text(encoding="utf-8").splitlines()
    epochs = [epoch for epoch in map(json.loads, lines) if "epoch" in epoch]  # not the search for a rate
    return Record(
        run=experiment.name,
        seed=seed,
        preset=experiment.preset,
        settings=list(experiment.settings),
        data=digests,
        commit=_commit(),
        versions={"python": platform.python_version(), **_versions("biatt", "torch", "numpy", "numba")},
        machine=f"{platform.machine()}, {threads} thread(s)",
        seconds=round(sum(epoch["seconds"] for epoch in epochs)),
        best_epoch=max(epoch["epoch"] for epoch in epochs if epoch["best"]),
        history=history_columns(epochs),
        test=_scoring(experiment, parser, folders) if experiment.test else None,
        gain=_gain(experiment, parser, folders, seed) if experiment.against else None,
    )


def train_command(experiment: Experiment, seed: int, *, threads: int) -> str:
    """The command that trains the same model, for its card."""
    words = ["biatt", "train", "--train", *experiment.train, "--preset", experiment.preset]
    words += ["--seed", str(seed), "--threads", str(threads)]
    words += [word for setting in experiment.settings for word in ("--set", setting)]
    for option in ("dev", "embeddings", "encoder"):
        value = getattr(experiment, option)
        words += [f"--{option}", value] if value else []
    return shlex.join(words)


def _scoring(experiment: Experiment, parser: Parser, folders: Folders) -> Scoring:
    gold = _test_sentences(experiment, folders)
    return Scoring.of(
        {
            decoder: evaluate(
                gold,
                parser.parse(gold, decoder=decoder),
                style=experiment.style,
                punctuation=experiment.punctuation,
                allow_cycles=decoder == "argmax",
            )
            for decoder in get_args(Decoder)
        }
    )


def _gain(experiment: Experiment, parser: Parser, folders: Folders, seed: int) -> dict[str, PairedScore]:
    """UAS and LAS beside those of the run compared with, as `biatt compare` gives them."""
    assert experiment.against is not None
    gold = _test_sentences(experiment, folders)
    other = load(folders.models / model_name(experiment.against, seed))
    comparison = compare(
        gold,
        other.parse(gold),
        parser.parse(gold),
        style=experiment.style,
        punctuation=experiment.punctuation,
    )
    return comparison.scores


def _test_sentences(experiment: Experiment, folders: Folders) -> list[Sentence]:
    assert experiment.test is not None
    return list(read(folders.treebanks / experiment.test, trees=True))


def _check_model(folders: Folders, name: str, *, needed_by: str) -> None:
    """Models of earlier runs may be missing although their results are there."""
    if not is_finished(folders.models / name):
        raise ConfigError(
            f"'{needed_by}' needs the model {folders.models / name}: run it first, or remove its line from "
            f"{folders.results / RESULTS}, so that it is trained again."
        )


def _finish(
    folder: Path,
    experiments: Sequence[Experiment],
    chosen: Sequence[Experiment],
    *,
    added: bool,
    listener: Callable[[str], Listener],
) -> list[Record]:
    """Write the table and the pictures of all results, and return the records of the chosen experiments."""
    with locked(folder):
        records = read_records(folder)
        _write_table(folder, experiments, records)
        results = {e.name: finished for e in experiments if (finished := records_of(e, records))}
        if results and plots.can_draw():
            plots.draw(results, folder, changed=added)
        elif results:
            listener("pictures").message("Pictures need matplotlib: pip install 'biatt[bench]'.")
    return [record for experiment in chosen for record in records_of(experiment, records)]


def _write_table(folder: Path, experiments: Sequence[Experiment], records: Sequence[Record]) -> None:
    with replacing(folder / TABLE) as file:
        file.write(results_table(folder.name, experiments, records).encode())


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGEST_DIGITS]
    except OSError as error:
        raise BiattError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}.") from error


def _versions(*packages: str) -> dict[str, str]:
    return {package: version(package) for package in packages}


def _commit() -> str:
    """The commit that produced a result, marked if the package had changes on top of it."""
    package = Path(biatt.__file__).parent  # all of it, not just this room
    try:
        commit = _git("rev-parse", "HEAD", folder=package)
        changes = _git("status", "--porcelain", "--", ".", folder=package)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit + (" with changes" if changes else "")


def _git(*words: str, folder: Path) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()
