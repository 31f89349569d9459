"""The distribution over trees that arc scores define: p(tree) ∝ exp(sum of the scores of its arcs).

`arc_scores` describes the matrix; arcs may cross. Trees with forbidden arcs have probability 0, and with
`roots="single"` so have trees with several children of ROOT.

By the matrix-tree theorem (Koo et al. 2007) the sum over all trees, Z, is a determinant, and the marginals
are entries of the inverse. Both lose digits by cancellation where words prefer each other to the rest of the
sentence, which peaked scores cause. So the words are eliminated one by one instead, by the method of
Grassmann, Taksar and Heyman (1985). With w[t, j] = exp(score), a word k hands its heads on to its dependents,

    w[s, j] += w[s, k] · w[k, j] / d[k]      where d[k] = Σⱼ w[k, j],      and Z = ∏ d[k].

This is Gaussian elimination of the Laplacian without storing its diagonal. Only positive numbers are added,
so no digits are lost. For a single root, ROOT's column is left out of every d but the last, as in
`decoders.mst`. O(n³), like the determinant; words are eliminated in panels, so that most of the work is
matrix products.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import biatt.decode.plain_distribution as plain  # not all of decode: it is part of the kernels' cache key
from biatt.decode.arc_scores import NO_ARC, Matrix, has_single_root, relative
from biatt.decode.decoders import spans
from biatt.machine.kernel_choice import deferred, use_compiled
from biatt.options import Roots

# Weights are normalised so that losing a weight changes Z by hardly more than that weight. float64 loses
# weights below exp(−708), so they matter only if Z itself is about as small. Below this log Z, logarithms are
# used.
UNDERFLOW = -600.0
NEGLIGIBLE = 40.0  # exp(−40) is lost when added to 1
PANEL = 64  # words that are eliminated between two matrix products
ROWS = 128  # that such a product has


class TreeDistribution:
    """All trees of one sentence; log Z and the marginals are computed once, for any number of trees.

    Scores may have any offset, and any range within ±LIMIT. Rounding is that of numbers as large as the
    widest range in a row: about 1e-12 for a range of 1e4. The work takes about 20 times as long if heads
    drawn for each word independently form a tree with a probability below exp(−600).
    """

    def __init__(self, arc_scores: npt.ArrayLike, *, roots: Roots = "single") -> None:
        self._single = has_single_root(roots)
        self._scores, offset = relative(arc_scores)
        n = len(self._scores)
        use_compiled(1e-4 + 3e-5 * n + 2e-10 * n**3)
        self._elimination = _eliminated(self._scores, self._single)
        # log Z, where Z is the sum of exp(score) over all trees; −inf if every tree has forbidden arcs.
        self.log_partition = offset + self._elimination.log_z

    def log_probability(self, heads: npt.ArrayLike) -> float:
        """The log-probability of a tree; −inf if these heads form no tree or have forbidden arcs."""
        tree, n = np.array(heads, dtype=np.int32), len(self._scores)
        if len(tree) != n:
            raise ValueError(f"There are {len(tree)} heads, but must be {n}, one for each row of the scores.")
        if not spans(tree, self._single):
            return -math.inf
        score = math.fsum(self._scores[np.arange(n), tree])
        return score if score == -math.inf else min(score - self._elimination.log_z, 0.0)

    @cached_property
    def entropy(self) -> float:
        """The entropy in nats: log Z less the expected score of a tree, which the marginals give.

        If every tree has forbidden arcs, it is that of the trees with the fewest.
        """
        scores, done = self._possible
        expected = np.where(self.marginals > 0, scores, 0.0)
        expected *= self.marginals
        return max(done.log_z - float(expected.sum()), 0.0)

    @cached_property
    def _possible(self) -> tuple[Matrix, _Elimination]:
        """The scores, and their elimination; if every tree has forbidden arcs, with penalties for these."""
        if self._elimination.log_z > -np.inf:
            return self._scores, self._elimination
        scores = _penalised(self._scores)
        return scores, _eliminated(scores, self._single)

    @cached_property
    def marginals(self) -> Matrix:
        """The probability of every arc over all trees, (n, n + 1); each row sums to 1.

        If every tree has forbidden arcs, the trees with the fewest take the place of all, as in `decoders`;
        each forbidden arc is then as far below the best of its row as any other.
        """
        done = self._possible[1]
        gradients = _log_gradients if done.in_logs else _gradients
        slopes = gradients(done.factors, done.pivots, self._single)
        _swap(slopes, done.swapped)
        if done.in_logs:
            result = np.exp(np.minimum(done.weights + slopes, 0.0))
        else:
            result = np.multiply(done.weights, slopes, out=slopes)
        result /= result.sum(axis=1, keepdims=True)
        return result


class _Elimination(NamedTuple):
    """Normalised weights after the elimination of all words, from the last to the first.

    If `in_logs`, weights, factors and pivots are logarithms.
    """

    log_z: float  # of the scores before they were normalised
    weights: Matrix  # (n, n + 1)  of the arcs, normalised
    factors: Matrix  # (n, n + 1)  as used: w[k, j] / d[k] for j < k, w[k, j] for j > k
    pivots: Matrix  # (n,)  d[k]
    swapped: int  # in factors and pivots, this word and word 1 have changed places
    in_logs: bool


def _penalised(scores: Matrix) -> Matrix:
    """Scores in which trees with more forbidden arcs than necessary have a negligible share of Z."""
    n = len(scores)
    widest = -float(scores.min(where=scores > NO_ARC, initial=0.0))
    penalised = np.where(scores > NO_ARC, scores, -n * (widest + math.log(n + 1)) - 2 * NEGLIGIBLE)
    penalised[np.arange(n), np.arange(1, n + 1)] = NO_ARC
    return penalised


def _eliminated(scores: Matrix, single: bool) -> _Elimination:
    n = len(scores)
    weights = scores.copy()
    offset = _normalise(weights, single)
    np.exp(weights, out=weights)
    factors, pivots = weights.copy(), np.empty(n)
    log_z, swapped = _eliminate(factors, pivots, single)
    if UNDERFLOW < log_z < np.inf:
        return _Elimination(offset + log_z, weights, factors, pivots, swapped, False)
    logs = scores.copy()
    _normalise(logs, single)
    factors = logs.copy()
    log_z, swapped = _log_eliminate(factors, pivots, single)
    return _Elimination(offset + log_z, logs, factors, pivots, swapped, True)


def _eliminate(weights: Matrix, pivots: Matrix, single: bool) -> tuple[float, int]:
    """log Z and the word that changed places with word 1; weights become the factors of `_Elimination`.

    A panel of words is eliminated from its own rows, and then from all rows before it at once.
    """
    high, swapped = len(weights), 1
    while high > 0:
        rest = max(high - PANEL, 0)  # rows before the panel
        low = _eliminate_panel(weights, pivots, rest, high, single)
        if low == high:  # this word has no head left but ROOT, so it must be the last
            if swapped > 1 or high == 1 or not single:  # there is another such word, or not even ROOT
                return -np.inf, swapped
            swapped = high
            _swap(weights, swapped)
        elif rest > 0:
            _eliminate_columns(weights, rest, low, high)
            for row in range(0, rest, ROWS):  # a product of some rows stays in the cache until it is added
                rows = slice(row, min(row + ROWS, rest))
                weights[rows, : low + 1] += weights[rows, low + 1 : high + 1] @ weights[low:high, : low + 1]
            np.fill_diagonal(weights[:rest, 1:], 0.0)
        high = low
    return float(np.log(pivots).sum()), swapped


@deferred(plain=plain.log_sum)
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


@deferred(plain=plain.normalise)
def _normalise(logs: Matrix, single: bool) -> float:
    """Make the weights of each word's heads sum to 1, in place, and return by how much that lowers log Z.

    Z is then the probability that heads drawn for each word independently form a tree. For a single root,
    ROOT's column is not in the sums; every tree has one arc of it, so its highest weight is made 1.
    """
    lowered = 0.0
    top = -np.inf
    for t in range(logs.shape[0]):
        total = _log_sum(logs[t, 1:] if single else logs[t])
        if total > -np.inf:
            logs[t] -= total
            lowered += total
        top = max(top, logs[t, 0])
    if single and top > -np.inf:
        logs[:, 0] -= top
        lowered += top
    return lowered


@deferred(plain=plain.swap)
def _swap(weights: Matrix, word: int) -> None:
    """Exchange word 1 and another word, as dependents and as heads."""
    if word == 1:
        return
    for j in range(weights.shape[1]):
        weights[0, j], weights[word - 1, j] = weights[word - 1, j], weights[0, j]
    for t in range(weights.shape[0]):
        weights[t, 1], weights[t, word] = weights[t, word], weights[t, 1]


@deferred(plain=plain.eliminate_panel, fast=True)
def _eliminate_panel(weights: Matrix, pivots: Matrix, rest: int, high: int, single: bool) -> int:
    """Eliminate the words high, high − 1, … from the rows after `rest`.

    Returns `rest`, or before it a word that has no head left but ROOT; from that word on nothing is
    eliminated.
    """
    for k in range(high, rest, -1):
        first = 1 if single and k > 1 else 0
        pivot = weights[k - 1, first : k + 1].sum()
        if pivot == 0.0:
            return k
        pivots[k - 1] = pivot
        for j in range(k):
            weights[k - 1, j] /= pivot
        for s in range(rest + 1, k):
            share = weights[s - 1, k]
            if share > 0.0:
                for j in range(k):
                    weights[s - 1, j] += share * weights[k - 1, j]
                weights[s - 1, s] = 0.0
    return rest


@deferred(plain=plain.eliminate_columns, fast=True)
def _eliminate_columns(weights: Matrix, rest: int, low: int, high: int) -> None:
    """Eliminate the words high … low + 1 from each other's columns in the rows up to `rest`."""
    for s in range(rest):
        for k in range(high, low + 1, -1):
            share = weights[s, k]
            for j in range(low + 1, k):
                weights[s, j] += share * weights[k - 1, j]


def _gradients(factors: Matrix, pivots: Matrix, single: bool) -> Matrix:
    """The derivatives (n, n + 1) of log Z with respect to the weights, with words as in `factors`.

    Backwards through `_eliminate`, panel by panel. Weights were only added to, so a derivative, once known,
    does not change; the word k adds those of the arcs from k and to k.
    """
    n = len(factors)
    slopes = np.zeros((n, n + 1))
    for low in range(0, n, PANEL):
        high = min(low + PANEL, n)
        through = np.zeros((high - low, high + 1))
        if low > 0:
            slopes[:low, low + 1 : high + 1] = slopes[:low, : low + 1] @ factors[low:high, : low + 1].T
            _gradients_of_columns(factors, slopes, low, high)
            np.matmul(factors[:low, low + 1 : high + 1].T, slopes[:low, : high + 1], out=through)
        _gradients_of_panel(factors, pivots, slopes, through, low, single)
    return slopes


@deferred(plain=plain.gradients_of_columns, fast=True)
def _gradients_of_columns(factors: Matrix, slopes: Matrix, low: int, high: int) -> None:
    """Complete the derivatives of arcs from the panel's words to all words before the panel."""
    for s in range(low):
        for k in range(low + 2, high + 1):
            slope = slopes[s, k]
            for j in range(low + 1, k):
                slope += slopes[s, j] * factors[k - 1, j]
            slopes[s, k] = slope


@deferred(plain=plain.gradients_of_panel, fast=True)
def _gradients_of_panel(
    factors: Matrix, pivots: Matrix, slopes: Matrix, through_panel: Matrix, low: int, single: bool
) -> None:
    """The derivatives of arcs to the words of a panel.

    through_panel: derivatives of log Z with respect to the panel's factors, by way of all words before it.
    One difference is computed. Times w[k, j], which makes it a marginal, no term is above 1 or the expected
    number of children of k, so its rounding is harmless.
    """
    for k in range(low + 1, low + 1 + len(through_panel)):
        through = through_panel[k - low - 1]
        children = 0.0
        for s in range(low):
            children += slopes[s, k] * factors[s, k]
        for s in range(low, k - 1):
            share = factors[s, k]
            slope = 0.0
            for j in range(k):  # apart from the next loop: see `compiled_fast`
                slope += slopes[s, j] * factors[k - 1, j]
            for j in range(k):
                through[j] += slopes[s, j] * share
            slopes[s, k] = slope
            children += slope * share
        for j in range(k):
            slopes[k - 1, j] = max(1.0 + through[j] - children, 0.0) / pivots[k - 1]
        if single and k > 1:  # ROOT is not in the pivot
            slopes[k - 1, 0] = through[0] / pivots[k - 1]


@deferred(plain=plain.log_eliminate)
def _log_eliminate(logs: Matrix, pivots: Matrix, single: bool) -> tuple[float, int]:
    """`_eliminate` on logarithms of weights, which cannot underflow."""
    log_z, swapped = 0.0, 1
    for k in range(logs.shape[0], 0, -1):
        first = 1 if single and k > 1 else 0
        pivot = _log_sum(logs[k - 1, first : k + 1])
        if pivot == -np.inf and single and swapped == 1:  # no head is left but ROOT: eliminate this word last
            swapped = k
            _swap(logs, swapped)
            pivot = _log_sum(logs[k - 1, first : k + 1])
        if pivot == -np.inf:
            return pivot, swapped
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
    return log_z, swapped


@deferred(plain=partial(plain.log_gradients, negligible=NEGLIGIBLE))
def _log_gradients(factors: Matrix, pivots: Matrix, single: bool) -> Matrix:
    """`_gradients` with logarithms as arguments and as results."""
    n = factors.shape[0]
    slopes = np.full((n, n + 1), -np.inf)
    for k in range(1, n + 1):
        children = 0.0
        for s in range(1, k):
            slopes[s - 1, k] = _log_sum(slopes[s - 1, :k] + factors[k - 1, :k])
            children += math.exp(slopes[s - 1, k] + factors[s - 1, k])
        for j in range(k):
            through = _log_sum(slopes[: k - 1, j] + factors[: k - 1, k])
            # Children are at most n: where `through` is far above, 1 − children is lost in rounding.
            if through < 2 * NEGLIGIBLE and not (single and k > 1 and j == 0):
                rest = 1.0 + math.exp(through) - children
                through = math.log(rest) if rest > 0.0 else -np.inf
            slopes[k - 1, j] = through - pivots[k - 1]
    return slopes
