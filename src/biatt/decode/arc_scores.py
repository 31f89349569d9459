"""Arc scores as all decoders and distributions take them.

Arc scores are a matrix (n, n + 1) for n words: row t − 1 is the dependent t, column j the head j, and column
0 is ROOT. A tree's score is the sum of its arcs' scores. Rules for all of them:

- The self arc (t, t) is never chosen, and its score is never read.
- −inf, or a score below −LIMIT, forbids an arc.
- NaN, +inf, or a score above LIMIT is a ValueError.

Scores are computed in float64. Results are exact up to float64's rounding of the widest range of scores
within a row.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from biatt.data.scores import Floats, Scores, log_softmax
from biatt.machine.kernel_choice import deferred, use_compiled
from biatt.options import Roots

Matrix = npt.NDArray[np.float64]
Heads = npt.NDArray[np.int32]

NO_ARC = -np.inf
LIMIT = 1e250  # scores stay within ±LIMIT, so that no sum of them overflows


def has_single_root(roots: Roots) -> bool:
    """Whether exactly one word must have ROOT as its head."""
    if roots not in ("single", "any"):
        raise ValueError(f"The number of roots is {roots!r}, but must be 'single' or 'any'.")
    return roots == "single"


def prepared(arc_scores: npt.ArrayLike) -> tuple[Matrix, Heads]:
    """A finite float64 copy of the scores, relative to each row's best; and each row's best head.

    Forbidden arcs get a score so low that the best tree has as few of them as possible; it is finite, because
    a decoder returns a tree even where every tree has forbidden arcs. Self arcs are −inf.
    """
    # Always a fresh, writable, C-ordered copy: the kernels work in it, and are compiled for one type only.
    scores = np.array(arc_scores, dtype=np.float64, order="C")
    if scores.ndim != 2 or scores.shape[1] != scores.shape[0] + 1:
        raise ValueError(f"Arc scores have the shape {scores.shape}, but must have (n, n + 1) for n words.")
    best = np.empty(len(scores), dtype=np.int32)
    use_compiled(1e-4 + 2e-8 * scores.size)
    if not _prepare(scores, best):
        row, head = np.argwhere(~(scores < LIMIT))[0]
        raise ValueError(
            f"The score of the arc from head {head} to dependent {row + 1} is {scores[row, head]}, "
            f"but must be −inf or a number below {LIMIT:g}."
        )
    return scores, best


def relative(arc_scores: npt.ArrayLike) -> tuple[Matrix, float]:
    """The scores relative to each row's best, −inf for forbidden and self arcs; and the sum of the best."""
    scores, best = prepared(arc_scores)
    original = np.asarray(arc_scores, dtype=np.float64)
    scores[original <= -LIMIT] = NO_ARC
    tops = original[np.arange(len(original)), best]
    return scores, math.fsum(tops[tops > -LIMIT])


def without_self_arcs(arc_scores: Floats) -> Matrix:
    """A float64 copy of the scores with −inf for self arcs."""
    scores = arc_scores.astype(np.float64)
    words = np.arange(len(scores))
    scores[words, words + 1] = NO_ARC
    return scores


def head_distribution(scores: Scores, temperature: float = 1.0) -> Floats:
    """Log-probabilities of the heads of each word, (n, n + 1), under the product of both directions."""
    return log_softmax(without_self_arcs(scores.agreement) / temperature)


def _plain_first_best(row: Matrix, first: int) -> int:
    return first + int(row[first:].argmax())


@deferred(plain=_plain_first_best)
def first_best(row: Matrix, first: int) -> int:
    """The first position of the highest score in row[first:]."""
    top, position = row[first], first
    for u in range(first + 1, len(row)):
        if row[u] > top:
            top, position = row[u], u
    return position


def _plain_prepare(scores: Matrix, best: Heads) -> bool:
    words = np.arange(len(scores))
    scores[words, words + 1] = NO_ARC
    if not (scores < LIMIT).all():
        return False
    scores[scores <= -LIMIT] = NO_ARC
    best[:] = scores.argmax(axis=1)
    tops = scores[words, best][:, None]
    forbidden = np.count_nonzero(scores == NO_ARC) > len(scores)
    with np.errstate(invalid="ignore"):  # −∞ − −∞
        scores -= tops
    scores[tops[:, 0] == NO_ARC] = 0.0  # all heads are forbidden: treat them as equal
    scores[words, words + 1] = NO_ARC
    if forbidden:
        _penalise(scores)
    return True


@deferred(plain=_plain_prepare)
def _prepare(scores: Matrix, best: Heads) -> bool:
    """Rewrite scores in place and fill best; False if there is a NaN or a score above LIMIT.

    A word takes exactly one head, so a constant added to its row changes no comparison of trees: each row is
    shifted to have its best arc at 0, which keeps small differences when rows differ widely in size.
    """
    n = scores.shape[0]
    faults = 0
    forbidden = -n  # without the self arcs
    for t in range(n):
        scores[t, t + 1] = NO_ARC
        for j in range(n + 1):
            score = scores[t, j]
            faults += not score < LIMIT  # this form also counts NaN
            forbidden += score <= -LIMIT
            scores[t, j] = NO_ARC if score <= -LIMIT else score
    if faults > 0:
        return False
    for t in range(n):
        best[t] = first_best(scores[t], 0)
        top = scores[t, best[t]]
        if top == NO_ARC:  # all heads are forbidden: treat them as equal
            scores[t] = 0.0
            scores[t, t + 1] = NO_ARC
            continue
        for j in range(n + 1):
            scores[t, j] -= top
    if forbidden > 0:
        _penalise(scores)
    return True


def _plain_penalise(scores: Matrix) -> None:
    widest = -float(scores.min(where=scores > NO_ARC, initial=0.0))
    words = np.arange(len(scores))
    scores[scores == NO_ARC] = -2.0 * len(scores) * widest if widest > 0 else -1.0
    scores[words, words + 1] = NO_ARC


@deferred(plain=_plain_penalise)
def _penalise(scores: Matrix) -> None:
    """Give forbidden arcs, other than self arcs, a finite penalty."""
    n = scores.shape[0]
    widest = 0.0
    for score in scores.flat:
        if score != NO_ARC:
            widest = max(widest, -score)
    # Trees with the same number of forbidden arcs differ by at most n · widest.
    penalty = -2.0 * n * widest if widest > 0 else -1.0
    for t in range(n):
        for j in range(n + 1):
            if j != t + 1 and scores[t, j] == NO_ARC:
                scores[t, j] = penalty
