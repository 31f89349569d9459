"""Comparison of two parsers: two files of trees for the same gold sentences.

Every difference is B − A. Two tests estimate how likely it is by chance. Both take sentences as the unit,
since the errors inside a sentence depend on each other:

- The paired bootstrap draws as many sentences as there are, with replacement, many times, and scores A and B
  on each draw. The interval holds the middle 95 % of the differences. The p is the share of draws whose
  difference is as far from the observed difference as that is from 0. It estimates how often a difference of
  at least this size, in either direction, would come from the choice of sentences if A and B were equally
  good (Efron and Tibshirani 1993, chapter 16; Berg-Kirkpatrick, Burkett and Klein 2012). The observed sample
  counts as one of the draws, so that p is never 0.
- The sign test only counts the sentences in which each of the two has more correct words; sentences with
  equally many are left out. Its p is exact: the probability that fair coins, one for each sentence, fall at
  least as unequally. It tests who wins more sentences, not by how much, so the parser with the lower score
  can win.

With few sentences the bootstrap underestimates p (of one sentence, every draw is the same); trust the sign
test. A and B need heads, not trees: argmax decoding can be compared too. Every value is a fraction between 0
and 1; only :meth:`Comparison.tables` gives percentages.
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
from biatt.errors import ConfigError, FormatError
from biatt.evaluation.html import tables_html
from biatt.evaluation.metrics import ARC_LENGTHS, ScoredArc, scored_arcs
from biatt.evaluation.results import Ratio, Row, Table, percent, plain
from biatt.evaluation.trees import (
    check_same_words,
    gold_sentences,
    scored_trees,
    scoring_options,
    system_sentences,
)
from biatt.options import Punctuation, Style

_DRAWN_AT_ONCE = 1 << 20  # sentences; limits the memory of the bootstrap
_TEXT_SHOWN = 60  # characters

_correct_head, _correct = attrgetter("correct_head"), attrgetter("correct")


@dataclass(frozen=True)
class PairedRatio:
    """Correct arcs of A and of B, out of the same gold arcs."""

    a: Ratio
    b: Ratio

    @property
    def difference(self) -> float | None:
        """B − A; None if there are no gold arcs."""
        return (self.b.correct - self.a.correct) / self.a.total if self.a.total else None


@dataclass(frozen=True)
class PairedScore(PairedRatio):
    """The scores of A and B on all words, and the two tests of their difference."""

    low: float  # ends of the 95 % interval of the difference
    high: float
    bootstrap_p: float
    a_better: int  # sentences in which A has more correct words
    b_better: int
    sign_p: float


@dataclass(frozen=True)
class UnequalSentence:
    """A sentence in which A and B have different numbers of correct words, head and relation."""

    source: str  # file and line in gold
    line: int
    sent_id: str | None
    text: str
    words: int  # counted ones
    a: int  # correct ones
    b: int


@dataclass(frozen=True, repr=False)
class Comparison:
    """The difference between two files of trees for the same gold sentences."""

    style: Style
    punctuation: Punctuation
    samples: int
    seed: int
    scores: dict[str, PairedScore]  # UAS and LAS
    relations: dict[str, PairedRatio]  # of labeled arcs; most frequent in gold first
    arc_lengths: dict[str, PairedRatio]  # of unlabeled arcs
    sentences: list[UnequalSentence]  # the largest difference first

    def as_dict(self) -> dict[str, Any]:
        """All counts and values, as JSON can hold them."""
        return cast("dict[str, Any]", plain(self))

    def __repr__(self) -> str:
        scores = (
            f"{name} {pair.a.value or 0:.2%} and {pair.b.value or 0:.2%}"
            for name, pair in self.scores.items()
        )
        return f"<Comparison: {', '.join(scores)}; {self.style}, punctuation {self.punctuation}>"

    def _repr_html_(self) -> str:
        return tables_html(self.tables())

    def tables(self, *, show: int = 10) -> list[Table]:
        """The tests, scores by relation and length, and `show` of the sentences; scores are in percent."""
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
            tables.append(Table("Sentences that differ most: correct words of A and B", columns, rows))
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
    """Compare the trees of two systems, which must have the words of the gold trees.

    style, punctuation: as in biatt.evaluate.
    samples, seed: draws of the bootstrap; the same seed gives the same result.
    """
    if samples < 1:
        raise ConfigError(f"The bootstrap needs at least 1 sample, not {samples}.")
    gold = gold_sentences(gold)
    style, punctuation = scoring_options(gold, style, punctuation)
    gold_trees = scored_trees(gold, style, punctuation, allow_cycles=False)
    systems: list[list[ScoredArc]] = []
    for system, fallback in ((a, "file A"), (b, "file B")):
        name = name_of(system) if isinstance(system, (str, Path)) else fallback
        sentences = system_sentences(system)
        check_same_words(gold, sentences, system_name=name)
        trees = scored_trees(sentences, style, punctuation, allow_cycles=True)
        systems.append(list(scored_arcs(gold_trees, trees)))
    if not systems[0]:
        raise FormatError("no word is counted, so there is nothing to compare.", source=gold[0].source)

    numbers, words = np.unique([arc.sentence for arc in systems[0]], return_counts=True)
    correct_words = {
        "UAS": [_correct_words(arcs, numbers, _correct_head) for arcs in systems],
        "LAS": [_correct_words(arcs, numbers, _correct) for arcs in systems],
    }
    differences = [in_b - in_a for in_a, in_b in correct_words.values()]
    sizes, *drawn = _bootstrap(np.stack([words, *differences]), samples, seed)
    return Comparison(
        style,
        punctuation,
        samples,
        seed,
        scores={
            name: _tested(words, in_a, in_b, sizes, sums)
            for (name, (in_a, in_b)), sums in zip(correct_words.items(), drawn, strict=True)
        },
        relations=_paired_ratios(*systems, key=lambda arc: arc.relation, is_correct=_correct),
        arc_lengths=_paired_ratios(
            *systems, key=lambda arc: arc.length, is_correct=_correct_head, names=ARC_LENGTHS
        ),
        sentences=_unequal([gold[number] for number in numbers], words, *correct_words["LAS"]),
    )


def _correct_words(
    arcs: Iterable[ScoredArc], numbers: NDArray[np.int64], is_correct: Callable[[ScoredArc], bool]
) -> NDArray[np.int64]:
    """The number of correct words in each of the sentences with these numbers."""
    counts = Counter(arc.sentence for arc in arcs if is_correct(arc))
    return np.array([counts[number] for number in numbers.tolist()])


def _bootstrap(counts: NDArray[np.int64], samples: int, seed: int) -> NDArray[np.int64]:
    """Sums (k, samples) of counts (k, sentences) over sentences drawn with replacement, as many as given."""
    generator = np.random.default_rng(seed)
    k, n = counts.shape
    sums = np.empty((k, samples), np.int64)
    step = max(1, _DRAWN_AT_ONCE // n)
    for start in range(0, samples, step):
        drawn = generator.integers(n, size=(min(step, samples - start), n))
        for row, out in zip(counts, sums, strict=True):
            out[start : start + step] = row[drawn].sum(axis=1)
    return sums


def _tested(
    words: NDArray[np.int64],
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    sizes: NDArray[np.int64],
    differences: NDArray[np.int64],
) -> PairedScore:
    """Both tests, from the correct words of each sentence, and the words and B − A of each draw."""
    total, difference = int(words.sum()), int((b - a).sum())
    # |differences / sizes − difference / total| ≥ |difference / total|, without rounding
    as_far = abs(differences * total - difference * sizes) >= abs(difference) * sizes
    low, high = np.quantile(differences / sizes, (0.025, 0.975)).tolist()
    a_better, b_better = int((a > b).sum()), int((b > a).sum())
    return PairedScore(
        a=Ratio(int(a.sum()), total),
        b=Ratio(int(b.sum()), total),
        low=low,
        high=high,
        bootstrap_p=(1 + int(as_far.sum())) / (1 + len(sizes)),
        a_better=a_better,
        b_better=b_better,
        sign_p=sign_test(a_better, b_better),
    )


def sign_test(a_better: int, b_better: int) -> float:
    """The probability that as many fair coins fall at least as unequally as this."""
    n = a_better + b_better
    ways = tail = 1  # number of outcomes with k heads, and with at most k heads
    for k in range(min(a_better, b_better)):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << n))  # integers until here, so that no n is too large


def _paired_ratios(
    in_a: Sequence[ScoredArc],
    in_b: Sequence[ScoredArc],
    *,
    key: Callable[[ScoredArc], str],
    is_correct: Callable[[ScoredArc], bool],
    names: Iterable[str] | None = None,
) -> dict[str, PairedRatio]:
    """Correct arcs of A and B by key; without `names`, the most frequent in gold first."""
    total = Counter(map(key, in_a))
    a, b = (Counter(key(arc) for arc in arcs if is_correct(arc)) for arcs in (in_a, in_b))
    return {
        name: PairedRatio(Ratio(a[name], total[name]), Ratio(b[name], total[name]))
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
            sentence.text,
            *counts,
        )
        for sentence, *counts in zip(sentences, words.tolist(), a.tolist(), b.tolist(), strict=True)
        if counts[1] != counts[2]
    ]
    return sorted(unequal, key=lambda sentence: -abs(sentence.b - sentence.a))  # stable: ties stay in order


def _row(pair: PairedRatio) -> tuple[float | None, ...]:
    return percent(pair.a.value), percent(pair.b.value), percent(pair.difference)


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "<.0001"


def _place(sentence: UnequalSentence) -> str:
    place = f"{sentence.source}, line {sentence.line}"
    return place if sentence.sent_id is None else f"{place}, {sentence.sent_id}"


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN else text[: _TEXT_SHOWN - 1] + "…"
