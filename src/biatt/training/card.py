"""The model card: README.md of a model folder."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from biatt import __version__
from biatt.config import Config
from biatt.encoding.vocabulary import Vocabulary
from biatt.models.card_table import table_lines
from biatt.models.model_folder import METRICS, TOKENISER
from biatt.training.records import best_record
from biatt.training.silver import SilverFiles

MOST_NAMES = 3  # of files in a row
SILVER = "silver"  # in a record: `SilverSentences.facts`
NO_LABEL_FIGURES = ("dev_log_likelihood", "dev_accuracy", "dev_uas", "dev_las")


@dataclass(frozen=True)
class Origin:
    """How a model was made, as far as its configuration does not say."""

    train: str
    dev: str
    embeddings: str | None
    seed: int
    threads: int
    licence: str
    command: str
    members: int = 1  # of an ensemble
    encoder: str | None = None
    silver: SilverFiles | None = None
    start: str | None = None  # the model that the training began with
    label_accuracies: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of tokeniser, tags


def model_card(config: Config, vocabulary: Vocabulary, origin: Origin, best: Mapping[str, Any]) -> str:
    """Markdown with data, scores, licence and command; `best` is the record of the epoch that was kept."""
    versions = f"biatt {__version__}, torch {version('torch')}, numpy {version('numpy')}"
    rows = {
        "training data": origin.train,
        "chosen by": origin.dev,
        **({"begun with the weights of": origin.start} if origin.start else {}),
        **({"silver text": silver_summary(origin, best[SILVER])} if origin.silver else {}),
        "word vectors": origin.embeddings or "none",
        **({"contextual encoder": origin.encoder} if origin.encoder else {}),
        "embedded columns": ", ".join(vocabulary.symbols),
        "relations": len(vocabulary.relations),
        "hidden size": config.model.hidden,
        "dev UAS / LAS, MST": f"{100 * best['dev_uas']:.2f} / {100 * best['dev_las']:.2f}",
        "best epoch": best["epoch"],
        **{
            f"{name}, accuracy on dev, labels of the training data": ", ".join(
                f"{kind} {100 * accuracy:.2f}" for kind, accuracy in accuracies.items()
            )
            for name, accuracies in origin.label_accuracies.items()
        },
        **({"members of the ensemble": origin.members} if origin.members > 1 else {}),
        "seed, threads": f"{origin.seed}, {origin.threads}",
        "licence": origin.licence,
        "command": f"`{origin.command or 'biatt.train(…)'}`",
        "made with": f"{versions}, Python {platform.python_version()}",
    }
    lines = [
        "# A biatt dependency parser",
        "",
        *table_lines(rows),
        "",
        "The licence of the training data may bind the model; this card only repeats what training was told.",
    ]
    return "\n".join(lines) + "\n"


def silver_summary(origin: Origin, facts: Mapping[str, int]) -> str:
    """What silver text a model has learnt from, and what was left out of it."""
    files, exclude = origin.silver or SilverFiles([], [])
    names = ", ".join(map(str, files))
    if len(files) > MOST_NAMES:
        names = f"{len(files)} files from {files[0]} to {files[-1]}"
    excluded = f"{facts['excluded']:,} left out that are in {', '.join(map(str, [origin.dev, *exclude]))}"
    unsure = f", {facts['unsure']:,} that the teacher was not sure of" if facts["unsure"] else ""
    return f"{names}: {facts['sentences']:,} sentences, {facts['words']:,} words; {excluded}{unsure}"


def recorded_accuracies(out: Path) -> dict[str, dict[str, float]]:
    """The dev accuracies of the tokeniser and of the tags in a model folder, by kind of label."""
    records = {"tags": best_record(out)}
    if (out / TOKENISER / METRICS).is_file():
        records[TOKENISER] = best_record(out / TOKENISER)
    accuracies = {
        name: {
            key.removeprefix("dev_"): value
            for key, value in record.items()
            if key.startswith("dev_") and key not in NO_LABEL_FIGURES
        }
        for name, record in records.items()
    }
    return {name: of_kinds for name, of_kinds in accuracies.items() if of_kinds}
