"""What a network says of a sentence: all that decoders, confidence and pictures need of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]

SLOPE = np.float32(0.1)  # of the leaky rectified linear function

LEAST = np.float32(1e-30)  # probability that a mean can have


class Pair(NamedTuple):
    """A hidden layer of size k over a word and its head, that adds to the scores of relations."""

    words: Floats  # (n, k)
    heads: Floats  # (n + 1, k)
    out: Floats  # (k, R)


class Attention(NamedTuple):
    """Probabilities of heads, each (n, n + 1): row t − 1 is the dependent t, column j the head j."""

    left_to_right: Floats
    right_to_left: Floats
    agreement: Floats  # the product of both, normalised


class Scores(NamedTuple):
    """What a network says of one sentence of n words; head position 0 is ROOT."""

    left: Floats  # (n, n + 1)  log aˡ: row t − 1 is the dependent t, column j the head j
    right: Floats  # (n, n + 1)  log aʳ; the same object as `left` in a model of one direction
    logits: Floats  # (n, R)  scores of the relations, without what heads add
    pair: Pair | None = None

    def relation_scores(self, heads: npt.ArrayLike) -> Floats:
        """The scores of the relations (n, R) where the words have these heads."""
        if self.pair is None:
            return self.logits
        hidden = self.pair.words + self.pair.heads[np.asarray(heads)]
        scores: Floats = self.logits + np.maximum(hidden, SLOPE * hidden) @ self.pair.out
        return scores

    def relations(self, heads: npt.ArrayLike) -> Floats:
        """Their log-probabilities."""
        scores = self.relation_scores(heads)
        scores = scores - scores.max(-1, keepdims=True)
        result: Floats = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
        return result

    @property
    def attention(self) -> Attention:
        left, right, both = np.exp(self.left), np.exp(self.right), np.exp(self.agreement)
        return Attention(left, right, both / both.sum(-1, keepdims=True))

    @property
    def agreement(self) -> Floats:
        """The arc scores that both directions agree on, log aˡ + log aʳ: (n, n + 1)."""
        return self.left if self.left is self.right else self.left + self.right


def mean(parts: Sequence[Scores]) -> Scores:
    """What several networks say together: the mean of heads' probabilities, and of relations' scores.

    Their layers over pairs stand side by side, which adds up what they say; so each must speak 1/k as loud.
    """
    if len(parts) == 1:
        return parts[0]
    share = np.float32(1 / len(parts))
    left = _mean_of_logs([part.left for part in parts])
    one_direction = all(part.left is part.right for part in parts)
    pairs = [part.pair for part in parts if part.pair is not None]
    return Scores(
        left,
        left if one_direction else _mean_of_logs([part.right for part in parts]),
        share * np.sum([part.logits for part in parts], 0),
        Pair(
            np.concatenate([pair.words for pair in pairs], -1),
            np.concatenate([pair.heads for pair in pairs], -1),
            share * np.concatenate([pair.out for pair in pairs]),
        )
        if pairs
        else None,
    )


def _mean_of_logs(logs: Sequence[Floats]) -> Floats:
    """The logarithm of the mean of what these are logarithms of; nothing becomes impossible by rounding."""
    total = np.exp(logs[0])
    for one in logs[1:]:
        total += np.exp(one)
    total *= np.float32(1 / len(logs))
    result: Floats = np.log(np.maximum(total, LEAST, out=total), out=total)
    return result
