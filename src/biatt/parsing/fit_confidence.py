"""Fit the confidence of a model on gold trees: its temperatures, and its curves.

The temperatures make gold heads and relations most probable (`decode.temperature`). At these temperatures,
the curves say how often a choice of some probability is correct (`data.curves`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from biatt.annotate.tags import KINDS
from biatt.data.curves import Curves, fitted_curve
from biatt.data.scores import Floats, Scores
from biatt.data.sentence import NO_HEAD, Sentence
from biatt.decode.apply import default_roots
from biatt.decode.confidence import SentenceConfidence, relation_probabilities
from biatt.decode.temperature import fitted
from biatt.errors import ConfigError
from biatt.parser import Parser

LEAST_WORDS = 2000  # with a gold head: fewer give temperatures, but no curves
FOLDS = 5

Outcomes = Mapping[str, tuple[Floats, npt.NDArray[np.bool_]]]  # by kind: probabilities, and what is correct


class _Parsed(NamedTuple):
    """A gold sentence, parsed; without curves."""

    sentence: Sentence
    scores: Scores
    confidence: SentenceConfidence
    tags: Mapping[str, Floats]  # confidence in them
    outcomes: Outcomes
    known: npt.NDArray[np.bool_]  # words with a gold head
    correct: npt.NDArray[np.bool_]  # words with the gold head and the gold relation


class ConfidenceFit:
    """Temperatures and curves of a parser that were fitted on gold trees."""

    def __init__(self, parser: Parser, gold: Iterable[Sentence]) -> None:
        gold = [sentence for sentence in gold if len(sentence)]
        words = sum(head != NO_HEAD for sentence in gold for head in sentence.heads)
        if words == 0:
            raise ConfigError("Confidence is fitted on gold trees, but the sentences have none.")
        trees = _without_curves(parser, gold)
        encoded = [parser.vocabulary.encode(sentence) for sentence in gold]
        self.temperature = fitted(
            [scores for _, scores in trees], [(sentence.heads, sentence.relations) for sentence in encoded]
        )
        self._parsed = [self._outcomes(of_gold, *tree) for of_gold, tree in zip(gold, trees, strict=True)]
        self.curves: Curves = _curves(self._parsed) if words >= LEAST_WORDS else {}

    def _outcomes(self, gold: Sentence, sentence: Sentence, scores: Scores) -> _Parsed:
        confidence = SentenceConfidence(scores, roots=default_roots(gold), temperature=self.temperature)
        heads, gold_heads = np.array(sentence.heads), np.array(gold.heads)
        known = gold_heads != NO_HEAD
        outcomes = {
            kind: (rows.max(-1)[known], (rows.argmax(-1) == gold_heads)[known])
            for kind, rows in (("head", np.exp(confidence.heads)), ("arc", confidence.trees.marginals))
        }
        attached = heads == gold_heads
        relations = relation_probabilities(scores.relation_scores(heads), self.temperature).max(-1)
        same_relation = np.equal(sentence.deprels, gold.deprels)
        outcomes["relation"] = relations[attached], same_relation[attached]
        tags = sentence.confidence.tags if sentence.confidence else {}
        for kind, values in tags.items():
            column = KINDS[kind]
            same = [a[column] == b[column] for a, b in zip(sentence.rows, gold.rows, strict=True)]
            written = ~np.isnan(values)
            outcomes[kind] = values[written], np.array(same)[written]
        return _Parsed(sentence, scores, confidence, tags, outcomes, known, attached & same_relation)

    def apply(self, parser: Parser) -> None:
        """Give a parser these temperatures and curves."""
        parser.temperature, parser.curves = self.temperature, self.curves

    def cross_validated(self) -> list[Sentence]:
        """The sentences, parsed, each with the confidence of curves that were fitted without it."""
        if not self.curves:
            raise ConfigError(f"Curves of confidence need at least {LEAST_WORDS:,} words with a gold head.")
        result = [parsed.sentence for parsed in self._parsed]
        for fold in range(FOLDS):
            curves = _curves([parsed for i, parsed in enumerate(self._parsed) if i % FOLDS != fold])
            result[fold::FOLDS] = [_with_curves(parsed, curves) for parsed in self._parsed[fold::FOLDS]]
        return result


def _without_curves(parser: Parser, gold: Sequence[Sentence]) -> list[tuple[Sentence, Scores]]:
    """The sentences, parsed with the tags of the model, and their scores."""
    curves, parser.curves = parser.curves, {}
    try:
        parsed = list(parser.parse(gold, confidence=True, retag=parser.chooses_tags))
    finally:
        parser.curves = curves
    return [(sentence, sentence.scores) for sentence in parsed if sentence.scores is not None]


def _curves(parsed: Sequence[_Parsed]) -> Curves:
    """The curve of each kind of choice; that of head and relation together starts from the others."""
    curves = {}
    for kind in parsed[0].outcomes:
        probabilities, correct = zip(*(tree.outcomes[kind] for tree in parsed), strict=True)
        curves[kind] = fitted_curve(np.concatenate(probabilities), np.concatenate(correct))
    confidence = [_with_curves(tree, curves).confidence for tree in parsed]
    words = [of_tree.words[tree.known] for tree, of_tree in zip(parsed, confidence, strict=True) if of_tree]
    both = [tree.correct[tree.known] for tree in parsed]
    curves["word"] = fitted_curve(np.concatenate(words), np.concatenate(both))
    return curves


def _with_curves(parsed: _Parsed, curves: Curves) -> Sentence:
    """The sentence with its confidence on these curves."""
    tags = {kind: curves[kind].at(values) for kind, values in parsed.tags.items()}
    confidence = parsed.confidence.on(curves)
    copy = parsed.sentence.with_rows(parsed.sentence.rows)
    copy.scores = parsed.scores
    copy.confidence = confidence.of(copy.heads, parsed.scores.relation_scores(copy.heads), tags)
    return copy
