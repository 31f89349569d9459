"""The result of an evaluation: counts, the values computed from them, and tables.

Every value is a fraction between 0 and 1; only :meth:`Evaluation.tables` gives percentages.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from inspect import getmembers
from typing import Any, NamedTuple, cast

from biatt.options import Punctuation, Style

Row = tuple[str | int | float | None, ...]


@dataclass(frozen=True)
class Ratio:
    """Correct items out of a total."""

    correct: int
    total: int

    @property
    def value(self) -> float | None:
        """None if the total is 0."""
        return self.correct / self.total if self.total else None


@dataclass(frozen=True)
class Score:
    """Correct items out of those in gold and those in system."""

    correct: int
    gold: int
    system: int
    aligned: int | None = None  # words in both files; None if not words are compared

    @property
    def precision(self) -> float:
        return self.correct / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        both = self.gold + self.system
        return 2 * self.correct / both if both else 0.0

    @property
    def aligned_accuracy(self) -> float | None:
        """The share of aligned words that are correct, which leaves out errors of tokenisation."""
        return self.correct / self.aligned if self.aligned else None


@dataclass(frozen=True)
class RelationScore(Score):
    """Labeled arcs of one relation; `attached` counts gold arcs whose head is correct."""

    attached: int = 0

    @property
    def unlabeled_recall(self) -> float:
        return self.attached / self.gold if self.gold else 0.0


@dataclass(frozen=True)
class Attachment:
    """Correct heads, and correct heads with the correct relation: of words, or of whole sentences."""

    unlabeled: Ratio
    labeled: Ratio


@dataclass(frozen=True)
class Breakdown:
    """Figures of two files with the same words."""

    words: Attachment
    label: Ratio  # correct relations, whatever the head
    sentences: Attachment  # exact match, among the sentences that have a counted word
    crossed: Ratio  # recall of gold arcs that cross another gold arc (Pitler and McDonald 2015)
    uncrossed: Ratio
    relations: dict[str, RelationScore]  # most frequent in gold first
    sentence_lengths: dict[str, Attachment]
    arc_lengths: dict[str, Score]  # of unlabeled arcs

    @property
    def crossed_share(self) -> Ratio:
        """The share of gold arcs that are crossed."""
        return Ratio(self.crossed.total, self.crossed.total + self.uncrossed.total)


class Table(NamedTuple):
    """Rows to print: text, counts (int) and percentages (float, None for 0 of 0)."""

    title: str
    columns: tuple[str, ...]
    rows: list[Row]


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The scores of one system file; `breakdown` is None if its words differ from those of the gold file."""

    style: Style
    punctuation: Punctuation
    scores: dict[str, Score]
    breakdown: Breakdown | None

    @property
    def uas(self) -> float:
        return self.scores["UAS"].f1

    @property
    def las(self) -> float:
        return self.scores["LAS"].f1

    def as_dict(self) -> dict[str, Any]:
        """All counts and values, as JSON can hold them."""
        return cast("dict[str, Any]", plain(self))

    def __repr__(self) -> str:
        scores = f"UAS {self.uas:.2%}, LAS {self.las:.2%}"
        return f"<Evaluation: {scores}; {self.style}, punctuation {self.punctuation}>"

    def _repr_html_(self) -> str:
        from biatt.evaluation.html import tables_html

        return tables_html(self.tables())

    def tables(self) -> list[Table]:
        """All figures in percent: the scores first, then the breakdown if there is one."""
        if self.style == "conllx":
            rows: list[Row] = [
                (name, score.correct, score.gold, percent(score.f1)) for name, score in self.scores.items()
            ]
            scores = Table("Scores", ("metric", "correct", "total", "%"), rows)
        else:
            columns = ("metric", "precision", "recall", "F1", "aligned accuracy")
            rows = [
                (name, *map(percent, (score.precision, score.recall, score.f1, score.aligned_accuracy)))
                for name, score in self.scores.items()
            ]
            scores = Table("Scores", columns, rows)
        return [scores, *(_breakdown_tables(self.breakdown) if self.breakdown else [])]


def plain(value: Any) -> Any:
    """Dataclasses, also inside dictionaries and lists, as dictionaries of their fields and properties."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not is_dataclass(value):
        return value
    names = [field.name for field in fields(value)]
    names += [name for name, member in getmembers(type(value)) if isinstance(member, property)]
    return {name: plain(getattr(value, name)) for name in names}


def percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _breakdown_tables(breakdown: Breakdown) -> list[Table]:
    ratios = {
        "unlabeled exact match": breakdown.sentences.unlabeled,
        "labeled exact match": breakdown.sentences.labeled,
        "recall of crossed arcs": breakdown.crossed,
        "recall of uncrossed arcs": breakdown.uncrossed,
        "crossed arcs in gold": breakdown.crossed_share,
    }
    return [
        Table(
            "Trees",
            ("measure", "count", "of", "%"),
            [(name, r.correct, r.total, percent(r.value)) for name, r in ratios.items()],
        ),
        Table(
            "By relation",
            ("relation", "gold", "system", "precision", "recall", "F1", "unlabeled recall"),
            [
                (name, r.gold, r.system, *map(percent, (r.precision, r.recall, r.f1, r.unlabeled_recall)))
                for name, r in breakdown.relations.items()
            ],
        ),
        Table(
            "By sentence length",
            ("words", "gold arcs", "UAS", "LAS"),
            [
                (name, r.unlabeled.total, percent(r.unlabeled.value), percent(r.labeled.value))
                for name, r in breakdown.sentence_lengths.items()
            ],
        ),
        Table(
            "By arc length",
            ("length", "gold", "system", "precision", "recall", "F1"),
            [
                (name, r.gold, r.system, *map(percent, (r.precision, r.recall, r.f1)))
                for name, r in breakdown.arc_lengths.items()
            ],
        ),
    ]
