"""Is one parser better than another? Two files of trees for the same gold sentences, compared.

Every difference is B − A. Two tests say how easily it could be chance, both with sentences as the unit, since
the errors inside a sentence hang together:

- The paired bootstrap draws as many sentences as there are, with replacement, again and again, and scores A
  and B on each draw. The interval holds the middle 95 % of the differences found. The p is the share of draws
  whose difference is as far from the observed one as that is from 0, which estimates how often a difference
  of at least this size, in either direction, would come from the choice of sentences if A and B were equally
  good (Efron and Tibshirani 1993, chapter 16; Berg-Kirkpatrick, Burkett and Klein 2012). The observed sample
  counts as one of the draws, so that p is never 0.
- The sign test looks only at which of the two has more right words in each sentence; sentences with equally
  many are left out. Its p is exact: how often so many or more of that many fair coins would fall on one side,
  either side. It asks who wins more sentences, not by how much, so the parser with the lower score can win.

With few sentences the bootstrap is too sure of itself (of one sentence, every draw is the same): trust the
sign test. Every value is a fraction between 0 and 1; only :meth:`Comparison.tables` gives percentages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from biatt.data.files import name_of
from biatt.data.sentence import Sentence
from biatt.errors import BiattError, ConfigError
from biatt.evaluation.metrics import (
    ARC_LENGTHS,
    Arc,
    arcs_of,
    check_same_words,
    manner_of,
    sentences_of,
    trees_of,
)
from biatt.evaluation.results import Punctuation, Ratio, Row, Style, Table, percent, plain

_DRAWN_AT_ONCE = 1 << 20  # sentences, which bounds the memory of the bootstrap
_TEXT_SHOWN = 60  # characters

_right_head, _right = attrgetter("right_head"), attrgetter("right")


@dataclass(frozen=True)
class Pair:
    """What A and B have right of the same gold arcs."""

    a: Ratio
    b: Ratio

    @property
    def difference(self) -> float | None:
        """B − A; None if there was nothing to get right."""
        return (self.b.correct - self.a.correct) / self.a.total if self.a.total else None


@dataclass(frozen=True)
class ScorePair(Pair):
    """The scores of A and B on all words, and what the two tests say of their difference."""

    low: float  # the 95 % interval of the difference
    high: float
    bootstrap_p: float
    a_better: int  # sentences in which A has more right words
    b_better: int
    sign_p: float


@dataclass(frozen=True)
class UnequalSentence:
    """A sentence of which A and B have unequally many words right, head and relation."""

    source: str  # where it stands in gold
    line: int
    sent_id: str | None
    text: str
    words: int  # that count
    a: int
    b: int


@dataclass(frozen=True)
class Comparison:
    """How two files of trees for the same gold sentences differ."""

    style: Style
    punctuation: Punctuation
    samples: int
    seed: int
    scores: dict[str, ScorePair]  # UAS and LAS
    relations: dict[str, Pair]  # of labeled arcs; most frequent in gold first
    arc_lengths: dict[str, Pair]  # of unlabeled arcs
    sentences: list[UnequalSentence]  # those that differ most first

    def as_dict(self) -> dict[str, Any]:
        """Everything, counts and values, as what JSON can hold."""
        return cast("dict[str, Any]", plain(self))

    def tables(self, *, show: int = 10) -> list[Table]:
        """The tests, what they rest on, and the first `show` of the sentences; scores are in percent."""
        tables = [
            Table(
                f"Scores: bootstrap of {self.samples:,} samples",
                ("metric", "A", "B", "B − A", "95 % from", "to", "p"),
                [
                    (name, *_row(pair), percent(pair.low), percent(pair.high), _p(pair.bootstrap_p))
                    for name, pair in self.scores.items()
                ],
            ),
            Table(
                "Sentences won: sign test",
                ("metric", "by A", "by B", "p"),
                [(name, pair.a_better, pair.b_better, _p(pair.sign_p)) for name, pair in self.scores.items()],
            ),
            Table(
                "By relation: labeled recall",
                ("relation", "gold", "A", "B", "B − A"),
                [(name, pair.a.total, *_row(pair)) for name, pair in self.relations.items()],
            ),
            Table(
                "By arc length: unlabeled recall",
                ("length", "gold", "A", "B", "B − A"),
                [(name, pair.a.total, *_row(pair)) for name, pair in self.arc_lengths.items()],
            ),
        ]
        if shown := self.sentences[:show]:
            rows: list[Row] = [(s.a, s.b, s.words, _place(s), _shortened(s.text)) for s in shown]
            columns = ("A", "B", "of", "where", "text")
            tables.append(Table("Sentences that differ most: right words of A and B", columns, rows))
        return tables


def compare(
    gold: str | Path | Iterable[Sentence],
    a: str | Path | Iterable[Sentence],
    b: str | Path | Iterable[Sentence],
    *,
    style: Style | None = None,
    punctuation: Punctuation | None = None,
    samples: int = 10_000,
    seed: int = 1,
) -> Comparison:
    """Compare two systems' trees, on the words of the gold trees and no others.

    style, punctuation: as in biatt.evaluate.
    samples, seed: of the bootstrap; the same seed gives the same result.
    """
    if samples < 1:
        raise ConfigError(f"The bootstrap needs at least 1 sample, not {samples}.")
    expected = sentences_of(gold)
    style, punctuation = manner_of(expected, style, punctuation)
    right = trees_of(expected, style)
    found: list[list[Arc]] = []
    for system, fallback in ((a, "file A"), (b, "file B")):
        name = name_of(system) if isinstance(system, (str, Path)) else fallback
        sentences = sentences_of(system)
        check_same_words(expected, sentences, name=name)
        found.append(list(arcs_of(right, trees_of(sentences, style), ignore=punctuation == "ignore")))
    if not found[0]:
        raise BiattError(f"{expected[0].source}: no word counts, so there is nothing to compare.")

    numbers, words = np.unique([arc.sentence for arc in found[0]], return_counts=True)
    right_words = {
        "UAS": [_right_words(arcs, numbers, _right_head) for arcs in found],
        "LAS": [_right_words(arcs, numbers, _right) for arcs in found],
    }
    differences = [in_b - in_a for in_a, in_b in right_words.values()]
    sizes, *drawn = _bootstrap(np.stack([words, *differences]), samples, seed)
    return Comparison(
        style,
        punctuation,
        samples,
        seed,
        scores={
            name: _tested(words, in_a, in_b, sizes, sums)
            for (name, (in_a, in_b)), sums in zip(right_words.items(), drawn, strict=True)
        },
        relations=_pairs(*found, key=lambda arc: arc.relation, is_right=_right),
        arc_lengths=_pairs(*found, key=lambda arc: arc.length, is_right=_right_head, names=ARC_LENGTHS),
        sentences=_unequal([expected[number] for number in numbers], words, *right_words["LAS"]),
    )


def _right_words(
    arcs: Iterable[Arc], numbers: NDArray[np.int64], is_right: Callable[[Arc], bool]
) -> NDArray[np.int64]:
    """How many words are right in each of the sentences with these numbers."""
    counts = Counter(arc.sentence for arc in arcs if is_right(arc))
    return np.array([counts[number] for number in numbers.tolist()])


def _bootstrap(counts: NDArray[np.int64], samples: int, seed: int) -> NDArray[np.int64]:
    """The sums (k, samples) of counts (k, sentences) over as many sentences, drawn with replacement."""
    chance = np.random.default_rng(seed)
    k, n = counts.shape
    sums = np.empty((k, samples), np.int64)
    step = max(1, _DRAWN_AT_ONCE // n)
    for start in range(0, samples, step):
        drawn = chance.integers(n, size=(min(step, samples - start), n))
        for row, out in zip(counts, sums, strict=True):
            out[start : start + step] = row[drawn].sum(axis=1)
    return sums


def _tested(
    words: NDArray[np.int64],
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    sizes: NDArray[np.int64],
    differences: NDArray[np.int64],
) -> ScorePair:
    """Both tests, from the right words of each sentence, and the words and B − A of each draw."""
    total, difference = int(words.sum()), int((b - a).sum())
    # |differences / sizes − difference / total| ≥ |difference / total|, without rounding
    as_far = abs(differences * total - difference * sizes) >= abs(difference) * sizes
    low, high = np.quantile(differences / sizes, (0.025, 0.975)).tolist()
    a_better, b_better = int((a > b).sum()), int((b > a).sum())
    return ScorePair(
        a=Ratio(int(a.sum()), total),
        b=Ratio(int(b.sum()), total),
        low=low,
        high=high,
        bootstrap_p=(1 + int(as_far.sum())) / (1 + len(sizes)),
        a_better=a_better,
        b_better=b_better,
        sign_p=sign_test(a_better, b_better),
    )


def sign_test(one: int, other: int) -> float:
    """The probability that fair coins, one + other of them, fall at least as unequally as this."""
    n = one + other
    ways = tail = 1  # of k heads, and of at most k heads
    for k in range(min(one, other)):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << n))  # whole numbers until here, so that no n is too large


def _pairs(
    in_a: Sequence[Arc],
    in_b: Sequence[Arc],
    *,
    key: Callable[[Arc], str],
    is_right: Callable[[Arc], bool],
    names: Iterable[str] | None = None,
) -> dict[str, Pair]:
    total = Counter(map(key, in_a))
    a, b = (Counter(key(arc) for arc in arcs if is_right(arc)) for arcs in (in_a, in_b))
    return {
        name: Pair(Ratio(a[name], total[name]), Ratio(b[name], total[name]))
        for name in names or sorted(total, key=lambda name: (-total[name], name))
    }


def _unequal(
    sentences: Sequence[Sentence], words: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]
) -> list[UnequalSentence]:
    unequal = [
        UnequalSentence(
            sentence.source,
            sentence.line,
            sentence.sent_id,
            sentence.text or " ".join(sentence.forms),
            *counts,
        )
        for sentence, *counts in zip(sentences, words.tolist(), a.tolist(), b.tolist(), strict=True)
        if counts[1] != counts[2]
    ]
    return sorted(unequal, key=lambda one: -abs(one.b - one.a))  # of equals, the first in the file first


def _row(pair: Pair) -> tuple[float | None, ...]:
    return percent(pair.a.value), percent(pair.b.value), percent(pair.difference)


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "<.0001"


def _place(one: UnequalSentence) -> str:
    place = f"{one.source}, line {one.line}"
    return place if one.sent_id is None else f"{place}, {one.sent_id}"


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN else text[: _TEXT_SHOWN - 1] + "…"
