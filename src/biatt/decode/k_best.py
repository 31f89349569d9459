"""The k best trees of arc scores, by Lawler's partition (1972).

All trees but the best are split into parts by the first word whose head differs from the best tree's. The
best tree of a part is found by `decoders.mst`. When it is taken, the rest of the part is split in the same
way. `differences` says what makes one tree another.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from biatt.data.sentence import Sentence
from biatt.decode.arc_scores import NO_ARC, Heads, Matrix, relative
from biatt.decode.decoders import mst
from biatt.options import Roots

EPSILON = float(np.finfo(np.float64).eps)


class Difference(NamedTuple):
    """A word whose head or relation differs from that of another tree of the same sentence."""

    word: int  # from 1
    form: str
    head: int
    relation: str
    other_head: int
    other_relation: str

    def __str__(self) -> str:
        return (
            f"{self.word} {self.form} {self.head}:{self.relation} not {self.other_head}:{self.other_relation}"
        )


def differences(sentence: Sentence, other: Sentence) -> list[Difference]:
    """The words whose head or relation is not that of the other tree."""
    arcs, other_arcs = zip(sentence.heads, sentence.deprels), zip(other.heads, other.deprels)  # noqa: B905
    return [
        Difference(number, form, *arc, *other_arc)
        for number, (form, arc, other_arc) in enumerate(zip(sentence.forms, arcs, other_arcs, strict=True), 1)
        if arc != other_arc
    ]


class _Part(NamedTuple):
    """A set of trees. Parts are compared by their loss first, and then by `tree`, an unknown one first."""

    loss: float  # the negative score of its best tree; a lower bound while that is unknown
    tree: tuple[int, ...]  # the heads of its best tree; empty while that is unknown
    fixed: int  # words, from the first on, whose heads are those of `origin` in all trees of the part
    excluded: tuple[int, ...]  # heads that the next word has in none of its trees
    origin: tuple[int, ...]  # the best tree of the part that it was split from


def k_best(arc_scores: npt.ArrayLike, k: int, *, roots: Roots = "single") -> list[tuple[Heads, float]]:
    """The k trees with the highest scores and these scores, best first; fewer if there are fewer trees.

    The first is that of `decoders.mst`. Ties are broken in the same way every time. No tree has a forbidden
    arc; if every tree has one, the tree of `decoders.mst` is returned alone, with the score −inf.

    Each tree costs at most n calls of `decoders.mst`, O(n³). A part whose bound is too low to matter costs
    none, so that peaked scores, as a trained network gives them, cost only a few calls.
    """
    if k < 1:
        raise ValueError(f"The number of trees is {k}, but must be at least 1.")
    scores, offset = relative(arc_scores)
    best = mst(arc_scores, roots=roots)
    score = _total(scores, best)
    if score == -math.inf or len(best) == 0:
        return [(best, score)]
    trees: list[tuple[Heads, float]] = []
    parts = [_Part(-score, tuple(best.tolist()), 0, (), ())]
    while parts and len(trees) < k:
        part = heapq.heappop(parts)
        if part.tree:
            trees.append((np.array(part.tree, dtype=np.int32), offset - part.loss))
            for rest in _split(scores, part):
                heapq.heappush(parts, rest)
        else:
            allowed = _allowed(scores, part)
            tree = mst(allowed, roots=roots)
            score = _total(allowed, tree)
            if score > -math.inf:
                # mst rounds, so a part can seem better than the part that it was split from.
                known = part._replace(loss=max(part.loss, -score), tree=tuple(tree.tolist()))
                heapq.heappush(parts, known)
    return trees


def _split(scores: Matrix, part: _Part) -> list[_Part]:
    """The trees of a part other than its best, split by the first word whose head differs."""
    n, heads = len(scores), np.array(part.tree)
    words = np.arange(n)
    allowed = scores.copy()
    allowed[words, heads] = NO_ARC
    allowed[part.fixed, list(part.excluded)] = NO_ARC
    # The words before have the heads of the best tree; the words after lose nothing at best. The sum of up to
    # n numbers of one sign has a relative error of at most n · EPSILON.
    before = np.concatenate([[0.0], np.cumsum(scores[words, heads])[:-1]])
    losses = np.maximum(-(before + allowed.max(axis=1)) * (1 - n * EPSILON), part.loss)
    return [
        _Part(
            float(losses[t]),
            (),
            t,
            (*(part.excluded if t == part.fixed else ()), part.tree[t]),
            part.tree,
        )
        for t in range(part.fixed, n)
        if losses[t] < np.inf
    ]


def _allowed(scores: Matrix, part: _Part) -> Matrix:
    """The scores with all arcs forbidden that no tree of the part has."""
    allowed = scores.copy()
    words, heads = np.arange(part.fixed), list(part.origin[: part.fixed])
    allowed[: part.fixed] = NO_ARC
    allowed[words, heads] = scores[words, heads]
    allowed[part.fixed, list(part.excluded)] = NO_ARC
    return allowed


def _total(scores: Matrix, heads: Heads) -> float:
    return math.fsum(scores[np.arange(len(scores)), heads])
