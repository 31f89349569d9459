"""The values that networks, decoders and sentences exchange: scores of arcs and relations, and confidence.

Arc scores are a matrix (n, n + 1) for n words: row t − 1 is the dependent t, column j the head j, and
column 0 is ROOT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]

NEGATIVE_SLOPE = 0.1  # of the leaky rectified linear function, for inputs below 0 (section 2.1)
SLOPE = np.float32(NEGATIVE_SLOPE)
LOWEST_MEAN = np.float32(1e-30)  # a mean of probabilities is at least this, so that its logarithm is finite


class RelationLayer(NamedTuple):
    """A hidden layer of size k over a word and its head; its output is added to the scores of relations."""

    words: Floats  # (n, k)
    heads: Floats  # (n + 1, k)
    out: Floats  # (k, R)


class HeadProbabilities(NamedTuple):
    """Probabilities of heads, each (n, n + 1)."""

    left_to_right: Floats
    right_to_left: Floats
    agreement: Floats  # the product of both, normalised


class Scores(NamedTuple):
    """A network's scores of one sentence of n words, or of the sentences of a batch one after the other.

    In a batch, all rows have the columns of the longest sentence, and n is the number of all words;
    `split_scores` makes the scores of each sentence.
    """

    left: Floats  # (n, n + 1)  log aˡ, the log-probabilities of heads from left to right
    right: Floats  # (n, n + 1)  log aʳ; the same object as `left` in a model with one direction
    logits: Floats  # (n, R)  scores of the relations, without the relation layer
    relation_layer: RelationLayer | None = None
    label_scores: Floats | None = None  # (n, all labels)  scores of tags and lemma rules, before softmax

    def relation_scores(self, heads: npt.ArrayLike) -> Floats:
        """Scores of the relations, (n, R), given the head of every word."""
        layer = self.relation_layer
        if layer is None:
            return self.logits
        hidden = layer.heads[np.asarray(heads)]
        hidden += layer.words
        scores: Floats = np.maximum(hidden, SLOPE * hidden, out=hidden) @ layer.out
        scores += self.logits
        return scores

    def relations(self, heads: npt.ArrayLike) -> Floats:
        """Log-probabilities of the relations, (n, R), given the head of every word."""
        return log_softmax(self.relation_scores(heads))

    @property
    def attention(self) -> HeadProbabilities:
        left, right, both = np.exp(self.left), np.exp(self.right), np.exp(self.agreement)
        return HeadProbabilities(left, right, both / both.sum(-1, keepdims=True))

    @property
    def agreement(self) -> Floats:
        """Arc scores of both directions together, log aˡ + log aʳ: (n, n + 1)."""
        return self.left if self.left is self.right else self.left + self.right


class Temperature(NamedTuple):
    """Divisors of arc scores and of relation scores; above 1, probabilities become less extreme."""

    arcs: float = 1.0
    relations: float = 1.0


class DeferredColumns(Mapping[str, Floats]):
    """Columns of values for words, computed when the first of them is used."""

    def __init__(self, compute: Callable[[], dict[str, Floats]]) -> None:
        self._compute = compute

    @cached_property
    def _columns(self) -> dict[str, Floats]:
        return self._compute()

    def __getitem__(self, name: str) -> Floats:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __reduce__(self) -> tuple[type, tuple[dict[str, Floats]]]:
        return dict, (self._columns,)  # a copy needs no network


@dataclass(frozen=True)
class Confidence:
    """Probabilities of the parts of a tree over n words, and of the whole tree.

    Those of single words are calibrated: of the heads with probability 0.8, about 80 % are correct, if the
    model's curves were fitted on similar text (`curves`). The distribution over trees is not.
    """

    heads: Floats  # (n,)  of the head, under the product of both directions
    arcs: Floats  # (n,)  of the arc, over all trees
    agreement: Floats  # (n,)  1 − the Hellinger distance of the two directions; 1 if there is only one
    relations: Floats  # (n,)  of the relation, given the head
    log_probability: float  # of the tree, over all trees
    entropy: float  # of the distribution over all trees, in nats
    temperature: Temperature  # that these were computed with
    # (n,) by kind, upos, xpos, feats or lemma: of what the network has written; NaN where the input has it
    tags: Mapping[str, Floats] = field(default_factory=dict)
    joint: Floats | None = None  # (n,)  of arc and relation together; None: the product of both

    @property
    def words(self) -> Floats:
        """The probability that the arc and its relation are both correct, (n,)."""
        return self.joint if self.joint is not None else self.arcs * self.relations

    @property
    def columns(self) -> dict[str, Floats]:
        """All that is said about single words, by the names that it has in JSON; NaN is nothing."""
        return {
            "confidence": self.words,
            "head_probability": self.heads,
            "arc_probability": self.arcs,
            "agreement": self.agreement,
            "relation_probability": self.relations,
            **{f"{kind}_probability": values for kind, values in self.tags.items()},
        }


def split_scores(scores: Scores, words: npt.NDArray[np.integer[Any]]) -> list[Scores]:
    """The scores of each sentence of a batch, as views; `words` has the number of words of each sentence."""
    result = []
    one_direction = scores.left is scores.right
    for i, (n, end) in enumerate(zip(words.tolist(), np.cumsum(words).tolist(), strict=True)):
        rows, positions = slice(end - n, end), slice(end - n + i, end + i + 1)  # positions include ROOTs
        left = scores.left[rows, : n + 1]
        right = left if one_direction else scores.right[rows, : n + 1]
        layer = scores.relation_layer
        if layer is not None:
            layer = RelationLayer(layer.words[rows], layer.heads[positions], layer.out)
        labels = None if scores.label_scores is None else scores.label_scores[rows]
        result.append(Scores(left, right, scores.logits[rows], layer, labels))
    return result


def mean(members: Sequence[Scores]) -> Scores:
    """The scores of an ensemble: mean probabilities of heads, and mean scores of relations and labels.

    The members' relation layers are concatenated, which adds up their outputs; so each output matrix is
    divided by the number of members.
    """
    if len(members) == 1:
        return members[0]
    share = np.float32(1 / len(members))
    left = _log_mean([member.left for member in members])
    one_direction = all(member.left is member.right for member in members)
    layers = [member.relation_layer for member in members if member.relation_layer is not None]
    labels = [member.label_scores for member in members if member.label_scores is not None]
    return Scores(
        left,
        left if one_direction else _log_mean([member.right for member in members]),
        share * np.sum([member.logits for member in members], 0),
        RelationLayer(
            np.concatenate([layer.words for layer in layers], -1),
            np.concatenate([layer.heads for layer in layers], -1),
            share * np.concatenate([layer.out for layer in layers]),
        )
        if layers
        else None,
        share * np.sum(labels, 0) if labels else None,
    )


def _log_mean(log_probabilities: Sequence[Floats]) -> Floats:
    """The logarithm of the mean probability; at least that of LOWEST_MEAN."""
    total = np.exp(log_probabilities[0])
    for member in log_probabilities[1:]:
        total += np.exp(member)
    total *= np.float32(1 / len(log_probabilities))
    result: Floats = np.log(np.maximum(total, LOWEST_MEAN, out=total), out=total)
    return result


def log_softmax(scores: Floats) -> Floats:
    """Log-probabilities of each row."""
    shifted = scores - scores.max(-1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return result
