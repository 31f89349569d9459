"""The steps of `distribution` in plain numpy, for processes that use no compiled kernels.

Each function has the name, the arguments and the results of its compiled twin, which says what it does.
"""

from __future__ import annotations

import math

import numpy as np

from biatt.decode.arc_scores import NO_ARC, Matrix


def log_sum(logs: Matrix) -> float:
    return float(_log_sums(logs, axis=0))


def _log_sums(logs: Matrix, *, axis: int) -> Matrix:
    top = logs.max(axis=axis, initial=NO_ARC)
    shift = np.where(top > NO_ARC, top, 0.0)  # −∞ − −∞ is not a number
    with np.errstate(divide="ignore"):  # log 0 = −∞
        result: Matrix = shift + np.log(np.exp(logs - np.expand_dims(shift, axis)).sum(axis=axis))
    return result


def normalise(logs: Matrix, single: bool) -> float:
    totals = _log_sums(logs[:, 1:] if single else logs, axis=1)
    totals[totals == NO_ARC] = 0.0
    logs -= totals[:, None]
    lowered = math.fsum(totals)
    top = float(logs[:, 0].max(initial=NO_ARC))
    if single and top > NO_ARC:
        logs[:, 0] -= top
        lowered += top
    return lowered


def swap(weights: Matrix, word: int) -> None:
    if word > 1:
        weights[[0, word - 1]] = weights[[word - 1, 0]]
        weights[:, [1, word]] = weights[:, [word, 1]]


def eliminate_panel(weights: Matrix, pivots: Matrix, rest: int, high: int, single: bool) -> int:
    for k in range(high, rest, -1):
        first = 1 if single and k > 1 else 0
        row = weights[k - 1]
        pivot = row[first : k + 1].sum()
        if pivot == 0.0:
            return k
        pivots[k - 1] = pivot
        row[:k] /= pivot
        weights[rest : k - 1, :k] += weights[rest : k - 1, k, None] * row[:k]
        words = np.arange(rest, k - 1)
        weights[words, words + 1] = 0.0
    return rest


def eliminate_columns(weights: Matrix, rest: int, low: int, high: int) -> None:
    for k in range(high, low + 1, -1):
        weights[:rest, low + 1 : k] += weights[:rest, k, None] * weights[k - 1, low + 1 : k]


def gradients_of_columns(factors: Matrix, slopes: Matrix, low: int, high: int) -> None:
    for k in range(low + 2, high + 1):
        slopes[:low, k] += slopes[:low, low + 1 : k] @ factors[k - 1, low + 1 : k]


def gradients_of_panel(
    factors: Matrix, pivots: Matrix, slopes: Matrix, through_panel: Matrix, low: int, single: bool
) -> None:
    for k in range(low + 1, low + 1 + len(through_panel)):
        through, pivot = through_panel[k - low - 1], pivots[k - 1]
        known, shares = slopes[low : k - 1, :k], factors[low : k - 1, k]
        slopes[low : k - 1, k] = known @ factors[k - 1, :k]
        through[:k] += shares @ known
        children = slopes[: k - 1, k] @ factors[: k - 1, k]
        slopes[k - 1, :k] = np.maximum(1.0 + through[:k] - children, 0.0) / pivot
        if single and k > 1:  # ROOT is not in the pivot
            slopes[k - 1, 0] = through[0] / pivot


def log_eliminate(logs: Matrix, pivots: Matrix, single: bool) -> tuple[float, int]:
    log_z, swapped = 0.0, 1
    for k in range(len(logs), 0, -1):
        first = 1 if single and k > 1 else 0
        pivot = log_sum(logs[k - 1, first : k + 1])
        if pivot == NO_ARC and single and swapped == 1:  # no head is left but ROOT: eliminate this word last
            swapped = k
            swap(logs, swapped)
            pivot = log_sum(logs[k - 1, first : k + 1])
        if pivot == NO_ARC:
            return pivot, swapped
        pivots[k - 1] = pivot
        log_z += pivot
        logs[k - 1, :k] -= pivot
        before = logs[: k - 1, :k]
        np.logaddexp(before, logs[: k - 1, k, None] + logs[k - 1, :k], out=before)
        words = np.arange(k - 1)
        logs[words, words + 1] = NO_ARC
    return log_z, swapped


def log_gradients(factors: Matrix, pivots: Matrix, single: bool, *, negligible: float) -> Matrix:
    n = len(factors)
    slopes = np.full((n, n + 1), NO_ARC)
    for k in range(1, n + 1):
        known, shares = slopes[: k - 1, :k], factors[: k - 1, k]
        slopes[: k - 1, k] = _log_sums(known + factors[k - 1, :k], axis=1)
        children = float(np.exp(slopes[: k - 1, k] + shares).sum())
        through = _log_sums(known + shares[:, None], axis=0)
        # Children are at most n: where `through` is far above, 1 − children is lost in rounding.
        near = through < 2 * negligible
        if single and k > 1:
            near[0] = False
        with np.errstate(divide="ignore"):  # log 0 = −∞
            through[near] = np.log(np.maximum(1.0 + np.exp(through[near]) - children, 0.0))
        slopes[k - 1, :k] = through - pivots[k - 1]
    return slopes
