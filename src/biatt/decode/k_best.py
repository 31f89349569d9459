"""The distribution over trees that arc scores define: p(tree) ∝ exp(sum of the scores of its arcs).

Arc scores, ROOT, self arcs, forbidden arcs and `roots` are as in `decode`; crossing arcs are allowed. A
forbidden arc has probability 0, and so has every tree that is none, or has several children of ROOT where
`roots` is "single".

By the matrix-tree theorem (Koo et al. 2007) the sum over all trees, Z, is a determinant, and the marginals
come from the inverse. Both cancel badly where words prefer each other to the rest of the sentence, as peaked
scores make them do, so neither is formed. The words are eliminated one by one instead, in the manner of
Grassmann, Taksar and Heyman (1985). With w[t, j] = exp(score), a word k hands its heads on to its dependents,

    w[s, j] += w[s, k] · w[k, j] / d[k]      where d[k] = Σⱼ w[k, j],      and Z = ∏ d[k].

That is Gaussian elimination of the Laplacian with its diagonal never stored. Only positive numbers are added,
so no digits are lost. For a single root, ROOT's column is left out of every d but the last, as `decode.mst`
leaves it out of every scan but the last. O(n³), like the determinant.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from biatt.compiled import compiled, compiled_fast
from biatt.decode import decoders as decode

Matrix = npt.NDArray[np.float64]

# Weights are normalised so that losing one changes Z by hardly more than that weight. So those that float64
# loses, below exp(−708), count only where Z itself is about as small. From here on logarithms are used.
UNDERFLOW = -600.0
NEGLIGIBLE = 40.0  # exp(−40) is lost when added to 1


def log_partition(scores: npt.ArrayLike, *, roots: decode.Roots = "single") -> float:
    """The logarithm of Z, the sum of exp(score) over all trees; −inf where every tree has forbidden arcs.

    Scores may have any offset, and any range within ±LIMIT. Rounding is that of numbers as large as the
    widest range in a row: some 1e-12 where it is 1e4. Where heads drawn for each word by itself form a tree
    with a probability below exp(−600), the work takes up to 20 times as long.
    """
    shifted, offset = _shifted(scores)
    return offset + _eliminated(shifted, decode._wants_single(roots)).log_z


def marginals(scores: npt.ArrayLike, *, roots: decode.Roots = "single") -> Matrix:
    """The probability (n, n + 1) of every arc over all trees; each row sums to 1.

    Rounding is that of `log_partition`. Where every tree has forbidden arcs, those with the fewest stand in
    for all, as in `decode`: each forbidden arc is then as far below the best of its row as any other.
    """
    single = decode._wants_single(roots)
    shifted, _ = _shifted(scores)
    done = _eliminated(shifted, single)
    if done.log_z == -np.inf:
        done = _eliminated(_penalised(shifted), single)
    gradients = _log_gradients if done.in_logs else _gradients
    slopes = gradients(done.factors, done.pivots, single)
    result = np.zeros_like(shifted)
    rows, columns = done.order[1:, None] - 1, done.order[None, :]
    if done.in_logs:
        result[rows, columns] = np.exp(np.minimum(done.weights[rows, columns] + slopes, 0.0))
    else:
        result[rows, columns] = done.weights[rows, columns] * slopes
    result /= result.sum(axis=1, keepdims=True)
    return result


def log_probability(
    heads: Sequence[int] | npt.NDArray[np.integer[Any]],
    scores: npt.ArrayLike,
    *,
    roots: decode.Roots = "single",
) -> float:
    """The logarithm of the probability of one tree; −inf for what is no tree or has forbidden arcs."""
    single = decode._wants_single(roots)
    shifted, _ = _shifted(scores)
    n = len(shifted)
    if len(heads) != n:
        raise ValueError(f"There are {len(heads)} heads, but must be {n}, one for each row of the scores.")
    if not decode._spans(np.array(heads, np.int32), single):
        return -math.inf
    score = _total(shifted, heads)
    return score if score == -math.inf else min(score - _eliminated(shifted, single).log_z, 0.0)


def k_best(
    scores: npt.ArrayLike, k: int, *, roots: decode.Roots = "single"
) -> list[tuple[decode.Heads, float]]:
    """The k trees of the highest scores with their scores, best first; fewer where there are fewer trees.

    The first is that of `decode.mst`. Equal scores are settled the same way every time. None of them has a
    forbidden arc; where every tree has, that of `decode.mst` comes back alone, with the score −inf.

    Lawler's partition (1972): all trees but the best are split by the first word whose head differs from the
    best tree's, and each part is split again once its own best tree is taken. A tree costs at most n calls of
    `decode.mst`, O(n³).
    """
    if k < 1:
        raise ValueError(f"The number of trees is {k}, but must be at least 1.")
    shifted, offset = _shifted(scores)
    best = decode.mst(scores, roots=roots)
    score = _total(shifted, best)
    if score == -math.inf:
        return [(best, score)]
    found: list[tuple[decode.Heads, float]] = []
    # A part: the negative score of its best tree; that tree; how many words, from the first on, have the same
    # head in all of its trees; and the heads that the next word has in none of them.
    parts: list[tuple[float, tuple[int, ...], int, tuple[int, ...]]] = [(-score, tuple(best.tolist()), 0, ())]
    while parts:
        loss, heads, fixed, excluded = heapq.heappop(parts)
        found.append((np.array(heads, dtype=np.int32), offset - loss))
        if len(found) == k:
            break
        allowed = shifted.copy()
        for t, head in enumerate(heads):
            if t >= fixed:
                excluded = (*excluded, head) if t == fixed else (head,)
                allowed[t, list(excluded)] = -np.inf
                other = decode.mst(allowed, roots=roots)
                if _total(allowed, other) > -math.inf:
                    # Where mst rounds, a part could seem better than the whole.
                    other_loss = max(loss, -_total(shifted, other))
                    heapq.heappush(parts, (other_loss, tuple(other.tolist()), t, excluded))
            allowed[t] = -np.inf
            allowed[t, head] = shifted[t, head]
    return found


class _Eliminated(NamedTuple):
    """What is left of normalised weights once all words are eliminated, the last in `order` first.

    All but `order` and `log_z` are logarithms if `in_logs`.
    """

    log_z: float  # of the scores before they were normalised
    weights: Matrix  # (n, n + 1)  of the arcs, normalised
    factors: Matrix  # (n, n + 1)  in `order`, as used: w[k, j] / d[k] for j < k, w[k, j] for j > k
    pivots: Matrix  # (n,)  in `order`: d[k]
    order: npt.NDArray[np.int64]  # (n + 1,)  the word at each position; ROOT, 0, stays the first
    in_logs: bool


def _shifted(scores: npt.ArrayLike) -> tuple[Matrix, float]:
    """The scores relative to each row's best, −inf for forbidden and self arcs; and the sum of the best."""
    shifted, best = decode._prepared(scores)
    given = np.asarray(scores, dtype=np.float64)
    shifted[given <= -decode.LIMIT] = -np.inf  # where decoders have a penalty
    tops = given[np.arange(len(given)), best]
    return shifted, math.fsum(tops[tops > -decode.LIMIT])


def _penalised(shifted: Matrix) -> Matrix:
    """Forbidden arcs made so unlikely that all trees together with one more than they need do not count."""
    n = len(shifted)
    widest = -float(shifted.min(where=shifted > -np.inf, initial=0.0))
    scores = np.where(shifted > -np.inf, shifted, -n * (widest + math.log(n + 1)) - 2 * NEGLIGIBLE)
    scores[np.arange(n), np.arange(1, n + 1)] = -np.inf
    return scores


def _total(scores: Matrix, heads: Sequence[int] | npt.NDArray[np.integer[Any]]) -> float:
    return math.fsum(scores[np.arange(len(scores)), np.asarray(heads, dtype=np.intp)])


def _eliminated(shifted: Matrix, single: bool) -> _Eliminated:
    n = len(shifted)
    logs = shifted.copy()
    offset = _normalise(logs, single)
    weights = np.exp(logs)
    factors, pivots, order = weights.copy(), np.empty(n), np.arange(n + 1)
    log_z = _eliminate(factors, pivots, order, single)
    if UNDERFLOW < log_z < np.inf:
        return _Eliminated(offset + log_z, weights, factors, pivots, order, False)
    factors, order = logs.copy(), np.arange(n + 1)
    log_z = _log_eliminate(factors, pivots, order, single)
    return _Eliminated(offset + log_z, logs, factors, pivots, order, True)


@compiled
def _log_sum(logs: Matrix) -> float:
    """log Σ exp(logs)."""
    top = -np.inf
    for log in logs:
        top = max(top, log)
    if top == -np.inf:
        return top
    total = 0.0
    for log in logs:
        if top - log < NEGLIGIBLE:
            total += math.exp(log - top)
    return top + math.log(total)


@compiled
def _normalise(logs: Matrix, single: bool) -> float:
    """Make the weights of each word's heads sum to 1, in place, and return what that takes off from log Z.

    Z is then the probability that heads drawn for each word by itself form a tree. For a single root, ROOT's
    column is not in the sums; every tree has one arc of it, so its highest weight is made 1.
    """
    taken = 0.0
    top = -np.inf
    for t in range(logs.shape[0]):
        total = _log_sum(logs[t, 1:] if single else logs[t])
        if total > -np.inf:
            logs[t] -= total
            taken += total
        top = max(top, logs[t, 0])
    if single and top > -np.inf:
        logs[:, 0] -= top
        taken += top
    return taken


@compiled
def _swap(weights: Matrix, order: npt.NDArray[np.int64], a: int, b: int) -> None:
    """Exchange the words at two positions, as dependents and as heads."""
    order[a], order[b] = order[b], order[a]
    for j in range(weights.shape[1]):
        weights[a - 1, j], weights[b - 1, j] = weights[b - 1, j], weights[a - 1, j]
    for t in range(weights.shape[0]):
        weights[t, a], weights[t, b] = weights[t, b], weights[t, a]


@compiled_fast
def _eliminate(weights: Matrix, pivots: Matrix, order: npt.NDArray[np.int64], single: bool) -> float:
    """log Z; weights become the factors of `_Eliminated`, and order the order of elimination."""
    log_z = 0.0
    for k in range(weights.shape[0], 0, -1):
        first = 1 if single and k > 1 else 0
        # A word that has only ROOT left to hang on has to wait until it is the last.
        position, pivot = k + 1, 0.0
        while pivot == 0.0 and position > 1:
            position -= 1
            pivot = weights[position - 1, first : k + 1].sum()
        if pivot == 0.0:
            return -np.inf
        if position != k:
            _swap(weights, order, position, k)
        pivots[k - 1] = pivot
        log_z += math.log(pivot)
        for j in range(k):
            weights[k - 1, j] /= pivot
        for s in range(1, k):
            share = weights[s - 1, k]
            if share > 0.0:
                for j in range(k):
                    weights[s - 1, j] += share * weights[k - 1, j]
                weights[s - 1, s] = 0.0
    return log_z


@compiled_fast
def _gradients(factors: Matrix, pivots: Matrix, single: bool) -> Matrix:
    """The derivatives (n, n + 1) of log Z with respect to the weights, both in the order of elimination.

    Backwards through `_eliminate`. Weights were only added to, so a derivative, once known, stays; the word k
    adds those of the arcs from k and to k. One difference is taken, for arcs to k: times w[k, j], which makes
    it a marginal, no term is above 1 or the expected number of children of k, so its rounding does no harm.
    """
    n = factors.shape[0]
    slopes = np.zeros((n, n + 1))
    through = np.empty(n)  # of log Z, with respect to factors[k − 1]
    for k in range(1, n + 1):
        through[:k] = 0.0
        children = 0.0
        for s in range(1, k):
            share = factors[s - 1, k]
            slope = 0.0
            for j in range(k):
                slope += slopes[s - 1, j] * factors[k - 1, j]
                through[j] += slopes[s - 1, j] * share
            slopes[s - 1, k] = slope
            children += slope * share
        for j in range(k):
            slopes[k - 1, j] = max(1.0 + through[j] - children, 0.0) / pivots[k - 1]
        if single and k > 1:  # ROOT is not in the pivot
            slopes[k - 1, 0] = through[0] / pivots[k - 1]
    return slopes


@compiled
def _log_eliminate(logs: Matrix, pivots: Matrix, order: npt.NDArray[np.int64], single: bool) -> float:
    """`_eliminate` in logarithms, where no weight is too small."""
    log_z = 0.0
    for k in range(logs.shape[0], 0, -1):
        first = 1 if single and k > 1 else 0
        position, pivot = k + 1, -np.inf
        while pivot == -np.inf and position > 1:
            position -= 1
            pivot = _log_sum(logs[position - 1, first : k + 1])
        if pivot == -np.inf:
            return -np.inf
        if position != k:
            _swap(logs, order, position, k)
        pivots[k - 1] = pivot
        log_z += pivot
        for j in range(k):
            logs[k - 1, j] -= pivot
        for s in range(1, k):
            share = logs[s - 1, k]
            if share > -np.inf:
                for j in range(k):
                    old, new = logs[s - 1, j], share + logs[k - 1, j]
                    logs[s - 1, j] = max(old, new)
                    if abs(old - new) < NEGLIGIBLE:
                        logs[s - 1, j] += math.log1p(math.exp(-abs(old - new)))
                logs[s - 1, s] = -np.inf
    return log_z


@compiled
def _log_gradients(factors: Matrix, pivots: Matrix, single: bool) -> Matrix:
    """`_gradients` in logarithms, of what it takes and of what it gives."""
    n = factors.shape[0]
    slopes = np.full((n, n + 1), -np.inf)
    for k in range(1, n + 1):
        children = 0.0
        for s in range(1, k):
            slopes[s - 1, k] = _log_sum(slopes[s - 1, :k] + factors[k - 1, :k])
            children += math.exp(slopes[s - 1, k] + factors[s - 1, k])
        for j in range(k):
            through = _log_sum(slopes[: k - 1, j] + factors[: k - 1, k])
            # Far above the number of children, which is at most n, the rest does not count.
            if through < 2 * NEGLIGIBLE and not (single and k > 1 and j == 0):
                rest = 1.0 + math.exp(through) - children
                through = math.log(rest) if rest > 0.0 else -np.inf
            slopes[k - 1, j] = through - pivots[k - 1]
    return slopes
