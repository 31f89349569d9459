"""How well a system's trees agree with gold trees.

There are two styles of scoring: that of CoNLL-X (``conllx``: relations compared whole, words made of
punctuation ignored by default, as eval.pl 1.9 does) and that of the CoNLL 2018 shared task (``ud``: relation
subtypes cut, punctuation included, tokenisation scored too). `trees` says what files each of them accepts.
Every value is a fraction between 0 and 1; only :meth:`Evaluation.tables` gives percentages.

To ignore punctuation means that no arc *to* such a word is counted, in any figure about trees, nor makes
another arc a crossed one. Arcs from ROOT, at position 0, may cross; only then does the CoNLL 2006 Danish test
set have the 1.80 % of crossed arcs of the paper's Table 3. Lengths of sentences and arcs are counted with all
words in place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple

from biatt.data.arcs import crossing_arcs
from biatt.data.files import name_of
from biatt.data.sentence import Sentence
from biatt.evaluation.alignment import align, lay_out
from biatt.evaluation.conll18 import Words, shared_task_scores
from biatt.evaluation.results import (
    Attachment,
    Breakdown,
    Evaluation,
    Ratio,
    RelationScore,
    Score,
)
from biatt.evaluation.trees import (
    Tree,
    check_same_words,
    gold_sentences,
    scored_trees,
    scoring_options,
    system_sentences,
)
from biatt.options import Punctuation, Style

# The longest of each bin; an arc from ROOT has no length.
SENTENCE_LENGTHS = {"1-10": 10, "11-20": 20, "21-30": 30, "31-40": 40, "41-50": 50, ">50": math.inf}
ARC_LENGTHS = {"root": 0, "1": 1, "2": 2, "3-6": 6, "7-10": 10, ">10": math.inf}


def evaluate(
    gold: str | Path | Iterable[Sentence],
    system: str | Path | Iterable[Sentence],
    *,
    style: Style | None = None,
    punctuation: Punctuation | None = None,
    allow_cycles: bool = False,
) -> Evaluation:
    """Score a system's trees against gold trees.

    style: "conllx" or "ud"; by default that of the gold file's format.
    punctuation: "ignore" words made only of Unicode punctuation, or "include" them; by default ignored in
    style conllx and included in style ud. Tokens, Sentences, Words, tags and lemmas always include them.
    allow_cycles: score a system whose heads form cycles in style ud too, where the official evaluator refuses
    them; style conllx always does.
    """
    name = name_of(system) if isinstance(system, (str, Path)) else "the system file"
    gold, system = gold_sentences(gold), system_sentences(system)
    style, punctuation = scoring_options(gold, style, punctuation)
    gold_trees = scored_trees(gold, style, punctuation, allow_cycles=False)
    allow_cycles = allow_cycles or style == "conllx"
    system_trees = scored_trees(system, style, punctuation, allow_cycles=allow_cycles)
    if style == "conllx":
        check_same_words(gold, system, system_name=name)
        breakdown = _break_down(gold_trees, system_trees)
        unlabeled, labeled = breakdown.words.unlabeled, breakdown.words.labeled
        ratios = {"UAS": unlabeled, "LAS": labeled, "LA": breakdown.label}
        scores = {name: Score(r.correct, r.total, r.total, r.total) for name, r in ratios.items()}
        return Evaluation(style, punctuation, scores, breakdown)
    gold_layout, system_layout = lay_out(gold), lay_out(system)
    aligned = align(gold_layout, system_layout)
    same_words = list(map(len, gold)) == list(map(len, system)) and len(aligned) == len(gold_layout.words)
    return Evaluation(
        style,
        punctuation,
        shared_task_scores(Words(gold_layout, gold_trees), Words(system_layout, system_trees), aligned),
        _break_down(gold_trees, system_trees) if same_words else None,
    )


class ScoredArc(NamedTuple):
    """A gold arc beside the system's arc to the same word."""

    sentence: int
    sentence_length: str  # lengths are names of bins
    crossed: bool
    relation: str
    system_relation: str
    length: str
    system_length: str
    correct_head: bool

    @property
    def correct(self) -> bool:
        return self.correct_head and self.relation == self.system_relation


def scored_arcs(gold: Sequence[Tree], system: Sequence[Tree]) -> Iterator[ScoredArc]:
    """The arcs to all counted words; both files must have the same words."""
    for number, (tree, system_tree) in enumerate(zip(gold, system, strict=True)):
        sentence_length = _bin(len(tree.forms), SENTENCE_LENGTHS)
        crossing = crossing_arcs(tree.heads, among=tree.counted)
        for word in compress(range(len(tree.heads)), tree.counted):
            yield ScoredArc(
                number,
                sentence_length,
                crossing[word],
                tree.relations[word],
                system_tree.relations[word],
                _arc_bin(word, tree.heads[word]),
                _arc_bin(word, system_tree.heads[word]),
                tree.heads[word] == system_tree.heads[word],
            )


def _break_down(gold: Sequence[Tree], system: Sequence[Tree]) -> Breakdown:
    arcs = list(scored_arcs(gold, system))
    attached = [arc for arc in arcs if arc.correct_head]
    correct = [arc for arc in arcs if arc.correct]

    def ratios(key: Callable[[ScoredArc], str], names: Iterable[str]) -> dict[str, Attachment]:
        every, heads, both = (Counter(map(key, subset)) for subset in (arcs, attached, correct))
        return {
            name: Attachment(Ratio(heads[name], every[name]), Ratio(both[name], every[name]))
            for name in names
        }

    sentences = {arc.sentence for arc in arcs}
    wrong_head = {arc.sentence for arc in arcs if not arc.correct_head}
    wrong = {arc.sentence for arc in arcs if not arc.correct}
    crossing = ratios(lambda arc: "crossed" if arc.crossed else "uncrossed", ("crossed", "uncrossed"))
    return Breakdown(
        words=Attachment(Ratio(len(attached), len(arcs)), Ratio(len(correct), len(arcs))),
        label=Ratio(sum(arc.relation == arc.system_relation for arc in arcs), len(arcs)),
        sentences=Attachment(
            Ratio(len(sentences - wrong_head), len(sentences)), Ratio(len(sentences - wrong), len(sentences))
        ),
        crossed=crossing["crossed"].unlabeled,
        uncrossed=crossing["uncrossed"].unlabeled,
        relations=_relation_scores(arcs, attached, correct),
        sentence_lengths=ratios(lambda arc: arc.sentence_length, SENTENCE_LENGTHS),
        arc_lengths=_arc_length_scores(arcs, attached),
    )


def _relation_scores(
    arcs: Sequence[ScoredArc], attached: Sequence[ScoredArc], correct: Sequence[ScoredArc]
) -> dict[str, RelationScore]:
    """The labeled arcs of each relation, the most frequent in gold first."""
    gold, right_head, right = (
        Counter(arc.relation for arc in subset) for subset in (arcs, attached, correct)
    )
    system = Counter(arc.system_relation for arc in arcs)
    return {
        name: RelationScore(right[name], gold[name], system[name], attached=right_head[name])
        for name in sorted(gold | system, key=lambda name: (-gold[name], name))
    }


def _arc_length_scores(arcs: Sequence[ScoredArc], attached: Sequence[ScoredArc]) -> dict[str, Score]:
    """The unlabeled arcs of each length."""
    gold, right = (Counter(arc.length for arc in subset) for subset in (arcs, attached))
    system = Counter(arc.system_length for arc in arcs)
    return {name: Score(right[name], gold[name], system[name]) for name in ARC_LENGTHS}


def _bin(length: int, bins: dict[str, float]) -> str:
    return next(name for name, longest in bins.items() if length <= longest)


def _arc_bin(word: int, head: int) -> str:
    return _bin(abs(head - word - 1) if head else 0, ARC_LENGTHS)
