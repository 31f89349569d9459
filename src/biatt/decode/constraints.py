"""Constraints on the tree of a sentence: fixed heads and relations, forbidden arcs, brackets.

Fixed heads and forbidden arcs are scores of −inf, which all decoders and distributions understand
(`arc_scores`). A bracket (i, j) makes the words i … j a constituent: exactly one of them has its head
outside, where ROOT is, and the others have theirs inside. Words outside may depend on words inside.

Brackets are penalties. All words reach ROOT, so at least one arc enters each bracket. If an arc costs a
penalty for each bracket that it enters, and one penalty outweighs all other differences between trees, then
the best trees enter each bracket once, if any tree does. That holds for nested and for crossing brackets, for
every decoder of trees, and for the k best trees; all other trees have a negligible share of the distribution.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from biatt.data.arcs import crossing_arcs, cycle
from biatt.data.scores import Floats, log_softmax
from biatt.data.sentence import NO_HEAD, Sentence
from biatt.decode.arc_scores import NO_ARC, Heads, without_self_arcs
from biatt.errors import ConfigError
from biatt.options import Decoder, Roots

Fixed = Mapping[int, "int | tuple[int | None, str | None]"]  # word: head, or head and relation
Pairs = Iterable[tuple[int, int]]

NEGLIGIBLE = 80.0  # trees with a probability below exp(−80) change no other by more than rounding does


@dataclass(frozen=True)
class Constraints:
    """What a tree must have; words are numbered from 1, and head 0 is ROOT."""

    heads: Mapping[int, int] = field(default_factory=dict)  # fixed heads, by word
    relations: Mapping[int, str] = field(default_factory=dict)  # fixed relations, by word
    forbidden: frozenset[tuple[int, int]] = frozenset()  # (word, head)
    brackets: tuple[tuple[int, int], ...] = ()  # (first word, last word)

    @classmethod
    def given(cls, fixed: Fixed | None = None, forbidden: Pairs = (), brackets: Pairs = ()) -> Constraints:
        """Constraints as a user writes them; in `fixed`, a head or a relation of None is free."""
        heads: dict[int, int] = {}
        relations: dict[int, str] = {}
        for word, arc in _items(fixed):
            head, relation = _pair(arc, "a head and a relation") if isinstance(arc, tuple) else (arc, None)
            word = _number(word)
            if head is not None:
                heads[word] = _number(head)
            if relation is not None:
                if not isinstance(relation, str) or not relation:
                    raise ConfigError(f"A fixed relation must be a string with its name, not {relation!r}.")
                relations[word] = relation
        return cls(
            heads,
            relations,
            frozenset(_numbers(forbidden, "forbidden", "a word and a head")),
            tuple(_numbers(brackets, "brackets", "a first and a last word")),
        )

    @classmethod
    def of_tree(cls, sentence: Sentence) -> Constraints:
        """The heads and relations that the sentence has."""
        heads = {word: head for word, head in enumerate(sentence.heads, 1) if head != NO_HEAD}
        relations = {word: relation for word, relation in enumerate(sentence.deprels, 1) if relation != "_"}
        return cls(heads, relations)

    def __bool__(self) -> bool:
        return bool(self.heads or self.relations or self.forbidden or self.brackets)

    def fault(self, words: int, *, decoder: Decoder, roots: Roots) -> str:
        """Why no tree of this length can meet the constraints, if they alone tell; otherwise ""."""
        if not self:
            return ""
        return (
            self._outside(words)
            or self._contradiction(words, decoder, roots)
            or self._broken_bracket()
            or self._headless(words)
        )

    def unmet(self, heads: Heads, *, decoder: Decoder, roots: Roots) -> str:
        """Which constraints the best tree does not meet, so that no tree meets all; or ""."""
        if not self:
            return ""
        kind = "projective tree" if decoder == "projective" else "tree"
        if roots == "single":
            kind += " with a single root"
        arcs = dict(enumerate(heads.tolist(), 1))
        if any(arcs[word] != head for word, head in self.heads.items()) or self.forbidden & set(arcs.items()):
            return f"no {kind} has all fixed heads and no forbidden arc."
        for first, last in self.brackets:
            if sum(not first <= arcs[word] <= last for word in range(first, last + 1)) != 1:
                bracket = f"words {first} to {last} as a bracket"
                return f"no {kind} that meets the other constraints has {bracket}."
        return ""

    def unknown_relation(self, relations: Sequence[str]) -> str:
        """A fixed relation that is none of these, or ""."""
        return next((relation for relation in self.relations.values() if relation not in relations), "")

    def on_arcs(self, arc_scores: Floats) -> Floats:
        """The arc scores (n, n + 1) with −inf for every arc that these constraints forbid."""
        if not self.heads and not self.forbidden:
            return arc_scores
        scores = without_self_arcs(arc_scores)
        for word, head in self.forbidden:
            scores[word - 1, head] = NO_ARC
        for word, head in self.heads.items():
            scores[word - 1] = NO_ARC
            scores[word - 1, head] = 0.0  # whatever it was: every tree has this arc
        return scores

    def on_heads(self, log_probabilities: Floats) -> Floats:
        """Log-probabilities of heads, (n, n + 1), given that no arc is forbidden."""
        scores = self.on_arcs(log_probabilities)
        return scores if scores is log_probabilities else log_softmax(scores)

    def on_trees(self, arc_scores: Floats) -> Floats:
        """The arc scores of `on_arcs` or `on_heads` with a penalty for each bracket that an arc enters."""
        if not self.brackets:
            return arc_scores
        scores = without_self_arcs(arc_scores)
        n = len(scores)
        finite = scores > NO_ARC
        lowest = scores.min(1, where=finite, initial=np.inf)
        # Trees differ by at most `widest`, and there are at most (n + 1)ⁿ of them.
        widest = float((scores.max(1) - lowest).sum())
        first, last = np.array(self.brackets).T[..., None]
        inside = (first <= np.arange(n + 1)) & (np.arange(n + 1) <= last)  # (brackets, n + 1)
        entered = inside[:, 1:].T.astype(np.float64) @ ~inside
        scores -= (widest + n * math.log(n + 1) + NEGLIGIBLE) * entered
        return scores

    def on_relations(self, scores: Floats, names: Sequence[str]) -> tuple[Floats, Sequence[str]]:
        """Relation scores (n, R) in which a fixed relation is certain; and the names of their columns.

        A fixed relation that is not among the names becomes a further column, which no other word can have.
        """
        if not self.relations:
            return scores, names
        further = sorted(set(self.relations.values()).difference(names))
        names = [*names, *further]
        result = np.full((len(scores), len(names)), -np.inf)
        result[:, : scores.shape[1]] = scores
        for word, relation in self.relations.items():
            result[word - 1] = -np.inf
            result[word - 1, names.index(relation)] = 0.0
        return result, names

    def _outside(self, words: int) -> str:
        """A number that is not in the sentence."""
        for word in (*self.heads, *self.relations):
            if not 1 <= word <= words:
                return f"the fixed word is {word} where a number from 1 to {words} was expected."
        for word, head in (*self.heads.items(), *sorted(self.forbidden)):
            if not 1 <= word <= words:
                return f"the forbidden arc is to word {word} where a number from 1 to {words} was expected."
            if not 0 <= head <= words:
                return f"the head of word {word} is {head} where a number from 0 to {words} was expected."
        for first, last in self.brackets:
            if not 1 <= first <= last <= words:
                return (
                    f"the bracket is {first} to {last} where words from 1 to {words} in order were expected."
                )
        return ""

    def _contradiction(self, words: int, decoder: Decoder, roots: Roots) -> str:
        """Fixed heads that exclude each other or are forbidden; brackets without a tree."""
        if decoder == "argmax" and self.brackets:
            return "the decoder argmax finds no trees, which brackets need: choose mst or projective."
        roots_of_tree = [word for word, head in self.heads.items() if head == 0]
        if roots == "single" and len(roots_of_tree) > 1:
            return f"words {_listed(roots_of_tree)} have the fixed head 0, but a tree has a single root."
        for word, head in self.heads.items():
            if (word, head) in self.forbidden:
                return f"head {head} of word {word} is both fixed and forbidden."
            if word == head:
                return f"word {word} is its own fixed head."
        if in_cycle := cycle([self.heads.get(word, 0) for word in range(1, words + 1)]):
            return f"the fixed heads form a cycle through words {_listed(in_cycle)}."
        if decoder == "projective":
            crossed = crossing_arcs([self.heads.get(word, NO_HEAD) for word in range(1, words + 1)])
            crossing = [word for word, crosses in enumerate(crossed, 1) if crosses]
            if crossing:
                return (
                    f"the arcs from words {_listed(crossing)} to their fixed heads cross: no projective tree."
                )
        return ""

    def _broken_bracket(self) -> str:
        """A bracket with two words that have fixed heads outside of it."""
        for first, last in self.brackets:
            leaving = [
                word
                for word, head in self.heads.items()
                if first <= word <= last and not first <= head <= last
            ]
            if len(leaving) > 1:
                bracket = f"the bracket {first} to {last}"
                return f"words {_listed(leaving)} have fixed heads outside {bracket}, where one is allowed."
        return ""

    def _headless(self, words: int) -> str:
        """A word all of whose heads are forbidden."""
        for word in sorted({word for word, _ in self.forbidden}):
            if all((word, head) in self.forbidden for head in range(words + 1) if head != word):
                return f"every head of word {word} is forbidden."
        return ""


FREE = Constraints()


def _listed(words: Iterable[int]) -> str:
    numbers = sorted(words)
    return ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")


def _items(fixed: Any) -> Iterable[tuple[Any, Any]]:
    if fixed is not None and not isinstance(fixed, Mapping):
        raise ConfigError(f"fixed must be a dictionary from words to heads, not {type(fixed).__name__}.")
    return (fixed or {}).items()


def _numbers(pairs: Any, name: str, content: str) -> list[tuple[int, int]]:
    if isinstance(pairs, (str, Mapping)) or not isinstance(pairs, Iterable):
        raise ConfigError(f"{name} must be a list of pairs, not {type(pairs).__name__}.")
    return [(_number(a), _number(b)) for a, b in (_pair(pair, content) for pair in pairs)]


def _pair(value: Any, content: str) -> tuple[Any, Any]:
    if not isinstance(value, Sequence) or len(value) != 2 or isinstance(value, str):
        raise ConfigError(f"A constraint is {value!r} where a pair was expected: {content}.")
    return value[0], value[1]


def _number(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ConfigError(f"A constraint has {value!r} where the number of a word was expected.") from None
