"""How sure a parser is of a tree, from its own probabilities.

The two directions' attentions give every word a distribution over heads, aˡ · aʳ normalised, and these give
every tree a probability: the product of its arcs', normalised over all trees (`trees.py`). Both are taken at
a temperature, fitted on dev data after training: above 1 it makes an overconfident network more modest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from biatt.data.scores import Confidence, Floats, Scores, Temperature, log_softmax
from biatt.data.sentence import Sentence
from biatt.decode import k_best as trees
from biatt.decode.decoders import Roots
from biatt.errors import ConfigError

COOLEST, HOTTEST = 0.1, 10.0  # temperatures to choose from
GOLDEN = (np.sqrt(5) - 1) / 2
ROUNDS = 30  # of the search: more than four digits


def head_distribution(scores: Scores, temperature: float = 1.0) -> Floats:
    """The log-probability of every head of every word, (n, n + 1), on which both directions agree."""
    return log_softmax(without_self(scores.agreement) / temperature)


def confidence(
    scores: Scores,
    heads: npt.ArrayLike,
    relations: npt.ArrayLike,
    *,
    roots: Roots,
    temperature: Temperature = Temperature(),  # noqa: B008 (it cannot change)
) -> Confidence:
    """How sure the scores are of these heads and of these relations, by number."""
    heads, relations = np.asarray(heads), np.asarray(relations)
    words = np.arange(len(heads))
    arcs = head_distribution(scores, temperature.arcs)
    chosen = log_softmax(scores.relation_scores(heads) / temperature.relations)
    return Confidence(
        heads=np.exp(arcs[words, heads]),
        arcs=trees.marginals(arcs, roots=roots)[words, heads],
        agreement=1 - hellinger(scores),
        relations=np.exp(chosen[words, relations]),
        log_probability=trees.log_probability(heads, arcs, roots=roots),
        temperature=temperature,
    )


def without_temperature(sentence: Sentence, *, roots: Roots) -> Confidence:
    """The confidence of a sentence that was parsed with confidence, recomputed at temperature 1."""
    if sentence.scores is None:
        raise ConfigError("The sentence carries no scores: parse it with confidence.")
    relations = np.argmax(sentence.scores.relation_scores(sentence.heads), -1)  # as the parser chose them
    return confidence(sentence.scores, sentence.heads, relations, roots=roots)


def hellinger(scores: Scores) -> Floats:
    """The Hellinger distance of the two directions' attentions, (n,): 0 where they agree, 1 at most."""
    overlap = np.exp(0.5 * (scores.left + scores.right)).sum(-1)
    distance: Floats = np.sqrt(np.clip(1 - overlap, 0, 1))
    return distance


def fitted(scores: Iterable[Scores], gold: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]) -> Temperature:
    """The temperatures under which gold heads, and relations given them, are most probable.

    `gold` are the heads and the numbers of the relations of each sentence, -1 where there is none.
    """
    arcs, relations = [], []
    for found, (heads, labels) in zip(scores, gold, strict=True):
        heads, labels = np.asarray(heads), np.asarray(labels)
        words = np.arange(len(heads))
        known = (heads >= 0) & (heads != words + 1)
        table = without_self(found.agreement)
        arcs.append((table[known], heads[known]))
        known &= labels >= 0
        relations.append((found.relation_scores(np.maximum(heads, 0))[known], labels[known]))

    def loss(pairs: Sequence[tuple[Floats, Floats]]) -> Callable[[float], float]:
        return lambda heat: (
            -sum(
                float(log_softmax(table / heat)[np.arange(len(right)), right].sum()) for table, right in pairs
            )
        )

    return Temperature(lowest(loss(arcs)), lowest(loss(relations)))


def lowest(function: Callable[[float], float]) -> float:
    """Where a function of a temperature is lowest, by golden section over its logarithm."""
    low, high = np.log(COOLEST), np.log(HOTTEST)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(np.exp(left)), function(np.exp(right))
    for _ in range(ROUNDS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(np.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(np.exp(right))
    return round(float(np.exp((low + high) / 2)), 4)


def without_self(table: Floats) -> Floats:
    """Arc scores (n, n + 1) with −inf where a word would be its own head."""
    table = table.astype(np.float64)
    words = np.arange(len(table))
    table[words, words + 1] = -np.inf
    return table
