"""The results of a recipe: `results.jsonl`, one line of JSON for each run and seed.

A record has all that is needed to repeat a run, and the counts from which tables and pictures are computed.
The file is replaced as a whole after each run, under a lock, so that processes that work on different runs
of one recipe keep each other's lines.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from biatt.data.files import replacing
from biatt.errors import BiattError, FormatError
from biatt.evaluation.comparison import PairedScore
from biatt.evaluation.results import Attachment, Evaluation, Ratio, Score
from biatt.options import Decoder, Punctuation, Style

try:
    import fcntl
except ModuleNotFoundError:  # not a POSIX system: nothing locks, and one process at a time must do
    fcntl = None  # type: ignore[assignment]

RESULTS = "results.jsonl"
# Columns of the training history, and the decimals that the table of results needs.
HISTORY = {"dev_log_likelihood": 1, "dev_uas": 7, "dev_las": 7}
METRICS = ("UAS", "LAS", "LA", "CLAS", "MLAS", "BLEX")  # of trees; tokens and tags are those of the gold file
MOST_RELATIONS = 20  # that a picture has room for


@dataclass(frozen=True)
class Scoring:
    """Counts on the test file; all but `scores` are of MST decoding."""

    style: Style
    punctuation: Punctuation
    scores: dict[Decoder, dict[str, Score]]  # by metric
    sentences: Attachment
    crossed: Ratio
    uncrossed: Ratio
    relations: dict[str, Score]  # the most frequent in gold
    arc_lengths: dict[str, Score]

    @property
    def crossed_share(self) -> Ratio:
        """The share of gold arcs that are crossed."""
        return Ratio(self.crossed.total, self.crossed.total + self.uncrossed.total)

    @classmethod
    def of(cls, evaluations: Mapping[Decoder, Evaluation]) -> Scoring:
        """The counts of one evaluation for each decoder; the words are those of the test file."""
        mst = evaluations["mst"]
        breakdown = mst.breakdown
        assert breakdown is not None  # parsing keeps the words
        return cls(
            mst.style,
            mst.punctuation,
            {
                decoder: {name: score for name, score in evaluation.scores.items() if name in METRICS}
                for decoder, evaluation in evaluations.items()
            },
            breakdown.sentences,
            breakdown.crossed,
            breakdown.uncrossed,
            {
                name: score
                for name, score in islice(breakdown.relations.items(), MOST_RELATIONS)
                if score.gold
            },
            breakdown.arc_lengths,
        )

    @classmethod
    def from_json(cls, counts: Mapping[str, Any]) -> Scoring:
        return cls(
            counts["style"],
            counts["punctuation"],
            {
                decoder: {name: Score(*score) for name, score in scores.items()}
                for decoder, scores in counts["scores"].items()
            },
            _attachment(*counts["sentences"]),
            Ratio(*counts["crossed"]),
            Ratio(*counts["uncrossed"]),
            {name: Score(*score) for name, score in counts["relations"].items()},
            {name: Score(*score) for name, score in counts["arc_lengths"].items()},
        )

    def to_json(self) -> dict[str, Any]:
        """A score is [correct, gold, system], a ratio [correct, total], an attachment both and the total."""
        return {
            "style": self.style,
            "punctuation": self.punctuation,
            "scores": {
                decoder: {name: _score_counts(score) for name, score in scores.items()}
                for decoder, scores in self.scores.items()
            },
            "sentences": _attachment_counts(self.sentences),
            "crossed": [self.crossed.correct, self.crossed.total],
            "uncrossed": [self.uncrossed.correct, self.uncrossed.total],
            "relations": {name: _score_counts(score) for name, score in self.relations.items()},
            "arc_lengths": {name: _score_counts(score) for name, score in self.arc_lengths.items()},
        }


@dataclass(frozen=True)
class Record:
    """The result of one run and seed."""

    run: str
    seed: int
    preset: str
    settings: list[str]
    data: dict[str, str]  # the first digits of the SHA-256 of each file: train, dev, test
    commit: str
    versions: dict[str, str]
    machine: str
    seconds: float  # of training
    best_epoch: int  # whose weights were kept, from 1
    history: dict[str, list[float | None]]  # a value for each epoch, by column; None if it was not finite
    test: Scoring | None = None
    gain: dict[str, PairedScore] | None = None  # over the run that it is compared with, by metric

    @property
    def name(self) -> str:
        """The name of the model's folder."""
        return model_name(self.run, self.seed)

    @property
    def epochs(self) -> int:
        return len(self.history["dev_las"])

    def dev(self, column: str) -> float:
        """The dev score of the epoch whose weights were kept."""
        value = self.history[column][self.best_epoch - 1]
        return math.nan if value is None else value

    def to_line(self) -> str:
        """The record as a line of JSON; what it does not have is left out."""
        values = {name: value for name, value in vars(self).items() if value is not None}
        if self.test is not None:
            values["test"] = self.test.to_json()
        if self.gain is not None:
            values["gain"] = {metric: _gain_counts(pair) for metric, pair in self.gain.items()}
        return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str) -> Record:
        values = json.loads(line)
        test, gain = values.pop("test", None), values.pop("gain", None)
        return cls(
            **values,
            test=None if test is None else Scoring.from_json(test),
            gain=None if gain is None else {metric: _gain(**counts) for metric, counts in gain.items()},
        )


def model_name(run: str, seed: int) -> str:
    return f"{run}-seed{seed}"


def history_columns(records: Sequence[Mapping[str, Any]]) -> dict[str, list[float | None]]:
    """The columns of a training history that are kept, from one record for each epoch."""
    return {
        name: [round(record[name], decimals) if math.isfinite(record[name]) else None for record in records]
        for name, decimals in HISTORY.items()
    }


def read_records(folder: Path) -> list[Record]:
    """The records in a recipe's folder, in the order of the file; none if there is no file."""
    path = folder / RESULTS
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise BiattError(f"{path}: cannot be read: {error}.") from error
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(Record.from_line(line))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            fault = f"the line is not a result ({type(error).__name__}: {error}); remove it to run it again."
            raise FormatError(fault, source=str(path), line=number) from error
    return records


def add_record(folder: Path, record: Record, *, order: Sequence[str]) -> list[Record]:
    """Add a record, or replace that of the same run and seed, and return all; the caller holds the lock.

    `order` names the models of the recipe: the lines follow it, so that the file does not depend on which run
    finished first.
    """
    others = [other for other in read_records(folder) if other.name != record.name]
    place = {name: number for number, name in enumerate(order)}
    records = sorted([*others, record], key=lambda item: place.get(item.name, len(place)))
    with replacing(folder / RESULTS) as file:
        file.write("".join(f"{item.to_line()}\n" for item in records).encode())
    return records


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder: other processes wait. The system releases it if the process is killed."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _score_counts(score: Score) -> list[int]:
    return [score.correct, score.gold, score.system]


def _attachment(unlabeled: int, labeled: int, total: int) -> Attachment:
    return Attachment(Ratio(unlabeled, total), Ratio(labeled, total))


def _attachment_counts(attachment: Attachment) -> list[int]:
    return [attachment.unlabeled.correct, attachment.labeled.correct, attachment.labeled.total]


def _gain(a: int, b: int, total: int, **tests: Any) -> PairedScore:
    return PairedScore(Ratio(a, total), Ratio(b, total), **tests)


def _gain_counts(pair: PairedScore) -> dict[str, Any]:
    counts: dict[str, Any] = {"a": pair.a.correct, "b": pair.b.correct, "total": pair.a.total}
    for name, value in vars(pair).items():
        if name not in counts:
            counts[name] = float(f"{value:.4g}") if isinstance(value, float) else value
    return counts
