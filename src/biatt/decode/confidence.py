"""Confidence in a tree, from the network's probabilities.

The two directions' attentions give every word a distribution over heads, aˡ · aʳ normalised. These give every
tree a probability: the product of its arcs' probabilities, normalised over all trees (`distribution`). Both
are computed at a temperature that was fitted on dev data after training (`temperature`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
        constraints: Constraints = FREE,
    ) -> None:
        self.temperature = temperature
        self.heads = constraints.on_heads(head_distribution(scores, temperature.arcs))
        self.tree_scores = constraints.on_trees(self.heads)
        self.trees = TreeDistribution(self.tree_scores, roots=roots)
        self.agreement = 1 - hellinger(scores)

    def of(self, heads: npt.ArrayLike, relation_scores: Floats) -> Confidence:
        """Confidence in a tree with these heads, and with the best relations given the heads."""
        heads = np.asarray(heads)
        words = np.arange(len(heads))
        relations = log_softmax(relation_scores / self.temperature.relations)
        return Confidence(
            heads=np.exp(self.heads[words, heads]),
            arcs=self.trees.marginals[words, heads],
            agreement=self.agreement,
            relations=np.exp(relations.max(-1)),
            log_probability=self.trees.log_probability(heads),
            temperature=self.temperature,
        )


def without_temperature(sentence: Sentence, *, roots: Roots) -> Confidence:
    """The confidence of a sentence that was parsed with confidence, recomputed at temperature 1."""
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
