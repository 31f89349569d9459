"""Attention of words over the positions of their sentence (equations 1 and 2), forward and backward.

The score of a position is vᵀ tanh(C m + D q). tanh(x + y) needs no exponential in the loop over positions:
with e = exp(2x) once for each position and f = exp(2y) once for each word it is 1 − 2 / (1 + e f). The middle
of a sentence's C m is moved from x to y first, which keeps both small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biatt.kernels.elements import CLAMPED, ONE, ZERO, add_weighted_rows, exp, exp_doubled
from biatt.kernels.gru import Sentences
from biatt.kernels.rounding import Floats
from biatt.machine.compiled import compiled, compiled_fast


class Lookup(NamedTuple):
    """What the queries of one attention are compared with, and what their soft headwords are sums of."""

    keys: Floats  # (M, h): exp(2 (C m − middle))
    middle: Floats  # (M, h): the middle of a sentence's C m, in the row of its ROOT
    values: Floats  # (M, width)
    v: Floats  # (h,)


class Attended(NamedTuple):
    """Arrays that attention writes, with a row for each word."""

    f: Floats  # (N, h): exp(2 (D q + middle))
    log_a: Floats  # (N, T)
    soft: Floats  # (N, width): Σⱼ aⱼ valuesⱼ


class AttentionGradients(NamedTuple):
    """Gradients of D q (N, h), of C m (M, h) without its factor 4v, and of v (h,)."""

    queries: Floats
    keys: Floats
    v: Floats


@compiled_fast
def prepare_keys(projected: Floats, sentences: Sentences, keys: Floats, middle: Floats) -> None:
    """Fill `keys` and `middle` of a `Lookup`; `projected` is C m."""
    for i in range(len(sentences.starts)):
        start = sentences.memory_starts[i]
        end = start + sentences.lengths[i] + 1
        low, high = projected[start].copy(), projected[start].copy()
        for p in range(start + 1, end):
            row = projected[p]
            for k in range(len(low)):
                low[k] = min(low[k], row[k])
                high[k] = max(high[k], row[k])
        centre = middle[start]
        for k in range(len(low)):
            centre[k] = np.float32(0.5) * (low[k] + high[k])
        for p in range(start, end):
            exp_doubled(projected[p] - centre, keys[p])


@compiled
def look_up(
    query: Floats, lookup: Lookup, start: int, f: Floats, log_a: Floats, a: Floats, soft: Floats
) -> None:
    """Attention and soft headword of one word; `query` is D q + middle, `start` the ROOT of its sentence."""
    exp_doubled(query, f)
    attend(lookup, start, f, log_a, a)
    soft[:] = ZERO
    add_weighted_rows(a, lookup.values, start, soft)


@compiled_fast
def attend(lookup: Lookup, start: int, f: Floats, log_a: Floats, a: Floats) -> None:
    """log a and a of one word over the positions of its sentence."""
    keys, v = lookup.keys, lookup.v
    top = np.float32(-np.inf)
    for j in range(len(a)):
        e = keys[start + j]
        total = ZERO
        for k in range(len(f)):
            total += v[k] / (ONE + e[k] * f[k])
        log_a[j] = np.float32(-2) * total  # Σ v tanh(…) without the constant Σ v, which cancels in softmax
        top = max(top, log_a[j])
    for j in range(len(a)):
        a[j] = exp(log_a[j] - top)
    total = ZERO
    for j in range(len(a)):  # apart from the loop above: see `compiled_fast`
        total += a[j]
    shift = top + np.log(total)
    for j in range(len(a)):
        log_a[j] -= shift
        a[j] /= total


@compiled_fast
def attend_backward(
    lookup: Lookup,
    start: int,
    p: int,
    attended: Attended,
    d_log_a: Floats,
    d_soft: Floats,
    ds: Floats,
    gradients: AttentionGradients,
) -> None:
    """From the gradients of log a and of the soft headword of word p to `gradients`.

    `ds`, as long as the sentence has positions, is overwritten with the gradients of the scores.
    """
    keys, values, v = lookup.keys, lookup.values, lookup.v
    f, log_a, d_y, d_v = attended.f[p], attended.log_a[p], gradients.queries[p], gradients.v
    d_soft_p, d_log_a_p = d_soft[p], d_log_a[p]
    total = ZERO
    for j in range(len(ds)):
        row = values[start + j]
        product = ZERO
        for k in range(len(d_soft_p)):
            product += d_soft_p[k] * row[k]
        ds[j] = d_log_a_p[j] + exp(log_a[j]) * product
        total += ds[j]
    top = 0
    for j in range(len(ds)):
        ds[j] -= exp(log_a[j]) * total
        top = j if abs(ds[j]) > abs(ds[top]) else top
    # The sum of ds is 0, so a constant may be subtracted from its factors: less is lost in rounding. The
    # constant is the factor of the largest ds, which is 0 where tanh is flat: what rounding leaves of the sum
    # is then multiplied by 0.
    constant = np.empty_like(f)
    for k in range(len(f)):
        s = ONE / (ONE + keys[start + top, k] * f[k])
        constant[k] = s * (ONE - s)
    d_y[:] = ZERO
    for j in range(len(ds)):
        weight = ds[j]
        e, d_e = keys[start + j], gradients.keys[start + j]
        for k in range(len(f)):
            s = ONE / (ONE + e[k] * f[k])
            factor = s * (ONE - s)
            d_v[k] += weight * (ONE - np.float32(2) * s)
            d_y[k] += weight * (factor - constant[k])
            d_e[k] += weight * factor
    for k in range(len(f)):
        inside = f[k] < CLAMPED and f[k] > ONE / CLAMPED
        d_y[k] *= np.float32(4) * v[k] if inside else ZERO


@compiled
def attend_all(queries: Floats, lookup: Lookup, sentences: Sentences, attended: Attended) -> None:
    """Attention of all words where no step waits for it; `queries` is D q."""
    a = np.empty(sentences.lengths[0] + 1, np.float32)
    for i in range(len(sentences.starts)):
        start, root, n = sentences.starts[i], sentences.memory_starts[i], sentences.lengths[i]
        for p in range(start, start + n):
            look_up(
                queries[p] + lookup.middle[root],
                lookup,
                root,
                attended.f[p],
                attended.log_a[p, : n + 1],
                a[: n + 1],
                attended.soft[p],
            )


@compiled
def attend_all_backward(
    d_log_a: Floats,
    d_soft: Floats,
    lookup: Lookup,
    sentences: Sentences,
    attended: Attended,
    gradients: AttentionGradients,
) -> None:
    """Fill the gradients of the queries, and add to those of keys and v."""
    ds = np.empty(sentences.lengths[0] + 1, np.float32)
    for i in range(len(sentences.starts)):
        start, root, n = sentences.starts[i], sentences.memory_starts[i], sentences.lengths[i]
        for p in range(start, start + n):
            attend_backward(lookup, root, p, attended, d_log_a, d_soft, ds[: n + 1], gradients)


@compiled_fast
def values_backward(log_a: Floats, d_soft: Floats, sentences: Sentences, d_values: Floats) -> None:
    """The gradient of `values`: each position collects a · d_soft from all words of its sentence."""
    column = np.empty(sentences.lengths[0], np.float32)
    for i in range(len(sentences.starts)):
        start, root, n = sentences.starts[i], sentences.memory_starts[i], sentences.lengths[i]
        for j in range(n + 1):
            for t in range(n):
                column[t] = exp(log_a[start + t, j])
            total = d_values[root + j]
            total[:] = ZERO
            add_weighted_rows(column[:n], d_soft, start, total)
