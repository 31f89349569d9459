"""Confidence in a tree, from the network's probabilities.

The two directions' attentions give every word a distribution over heads, aˡ · aʳ normalised. These give every
tree a probability: the product of its arcs' probabilities, normalised over all trees (`distribution`). Both
are computed at a temperature that was fitted on dev data after training (`temperature`).

What is said about single words, heads, arcs and relations, is then read off curves, fitted in the same way
(`data.curves`). They change no order of a word's choices and no distribution over trees, so that the best
tree and the order of the k best trees do not depend on them. Where a relation is hard to tell, the head often
is too: the product of their probabilities has a curve of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property

import numpy as np
import numpy.typing as npt

from biatt.data.curves import NO_CURVES, Curves, calibrated_choices
from biatt.data.scores import Confidence, Floats, Scores, Temperature, log_softmax
from biatt.data.sentence import Sentence
from biatt.decode.arc_scores import head_distribution
from biatt.decode.constraints import FREE, Constraints
from biatt.decode.distribution import TreeDistribution
from biatt.errors import ConfigError
from biatt.options import Roots


class SentenceConfidence:
    """Confidence in the trees of one sentence; the distributions are computed once for all of them.

    All probabilities are given the constraints.
    """

    def __init__(
        self,
        scores: Scores,
        *,
        roots: Roots,
        temperature: Temperature = Temperature(),  # noqa: B008 (it cannot change)
        curves: Curves = NO_CURVES,
        constraints: Constraints = FREE,
    ) -> None:
        self.temperature, self.curves = temperature, curves
        self.heads = constraints.on_heads(head_distribution(scores, temperature.arcs))
        self.tree_scores = constraints.on_trees(self.heads)
        self.trees = TreeDistribution(self.tree_scores, roots=roots)
        self.agreement = 1 - hellinger(scores)

    def on(self, curves: Curves) -> SentenceConfidence:
        """The same distributions on other curves."""
        other = copy(self)
        other.curves = curves
        return other

    @cached_property
    def _head_probabilities(self) -> Floats:
        probabilities: Floats = np.exp(self.heads)
        return probabilities

    def of(
        self, heads: npt.ArrayLike, relation_scores: Floats, tags: Mapping[str, Floats] | None = None
    ) -> Confidence:
        """Confidence in a tree with these heads, and with the best relations given the heads.

        `tags` is the confidence in tags and lemmas.
        """
        heads, curves = np.asarray(heads), self.curves
        of_relations = relation_probabilities(relation_scores, self.temperature)
        relations = calibrated_choices(of_relations, of_relations.argmax(-1), curves.get("relation"))
        arcs = calibrated_choices(self.trees.marginals, heads, curves.get("arc"))
        curve = curves.get("word")
        return Confidence(
            heads=calibrated_choices(self._head_probabilities, heads, curves.get("head")),
            arcs=arcs,
            agreement=self.agreement,
            relations=relations,
            log_probability=self.trees.log_probability(heads),
            entropy=self.trees.entropy,
            temperature=self.temperature,
            tags={} if tags is None else tags,
            joint=None if curve is None else np.minimum(curve.at(arcs * relations), arcs),
        )


def relation_probabilities(relation_scores: Floats, temperature: Temperature) -> Floats:
    """Probabilities of the relations of each word, (n, R), in double precision."""
    probabilities: Floats = np.exp(log_softmax(relation_scores.astype(np.float64) / temperature.relations))
    return probabilities


def unfitted_confidence(sentence: Sentence, *, roots: Roots) -> Confidence:
    """The confidence of a sentence that was parsed with confidence, at temperature 1 and without curves."""
    if sentence.scores is None:
        raise ConfigError("The sentence carries no scores: parse it with confidence.")
    relation_scores = sentence.scores.relation_scores(sentence.heads)
    return SentenceConfidence(sentence.scores, roots=roots).of(sentence.heads, relation_scores)


def hellinger(scores: Scores) -> Floats:
    """The Hellinger distance of the two directions' attentions, (n,): from 0, equal, to 1."""
    if scores.left is scores.right:  # one direction; without the rounding of its probabilities
        return np.zeros(len(scores.left))
    overlap = np.exp(0.5 * (scores.left + scores.right)).sum(-1)
    distance: Floats = np.sqrt(np.clip(1 - overlap, 0, 1))
    return distance
