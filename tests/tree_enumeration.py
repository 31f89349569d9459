"""All trees of short sentences, one by one: the slow twin of decoders and distributions. And hard input."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from biatt.options import Roots

Matrix = npt.NDArray[np.float64]
Trees = npt.NDArray[np.int64]


@cache
def all_trees(n: int, roots: Roots) -> Trees:
    """Every tree over n words: (trees, n)."""
    heads = np.array(list(product(range(n + 1), repeat=n)), dtype=np.int64).reshape(-1, n)
    if roots == "single":
        heads = heads[(heads == 0).sum(axis=1) == min(n, 1)]
    reached = np.broadcast_to(np.arange(1, n + 1), heads.shape)
    with_root = np.hstack([np.zeros((len(heads), 1), dtype=np.int64), heads])
    for _ in range(n):
        reached = np.take_along_axis(with_root, reached, axis=1)
    return heads[(reached == 0).all(axis=1)]


def tree_scores(arc_scores: Matrix, trees: Trees) -> Matrix:
    """The score of each tree, without the rounding of large offsets of rows."""
    offsets = arc_scores.max(axis=1, where=np.isfinite(arc_scores), initial=-1e15)
    shifted = (arc_scores - offsets[:, None])[np.arange(len(arc_scores)), trees].sum(axis=1)
    return np.asarray(shifted + math.fsum(offsets))


def hard_arc_scores(n: int, count: int) -> Iterator[Matrix]:
    """Matrices of every hard kind: equal scores, forbidden arcs, peaks, offsets."""
    draw = np.random.default_rng(n)
    shape = (n, n + 1)
    column = np.arange(n + 1)
    for _ in range(count):
        plain = draw.normal(size=shape)
        yield plain
        yield np.zeros(shape)
        yield np.where(draw.random(shape) < 0.3, -np.inf, plain)
        yield np.where(draw.random(shape) < 0.6, -np.inf, plain)
        yield 50.0 * draw.integers(-2, 1, size=shape) + plain
        yield 500.0 * draw.integers(-2, 1, size=shape) + plain
        yield np.where(draw.random(shape) < 0.3, -np.inf, 500.0 * draw.integers(-3, 1, size=shape))
        yield -1e4 * draw.random(shape)
        yield plain + 1e5 * draw.normal(size=(n, 1))
        # ROOT is the best head of every word, or of none.
        yield plain + np.where(column == 0, draw.choice([-50.0, 50.0, -900.0, 900.0]), 0.0)
        # Best heads form one long cycle, or pairs: the determinant nearly vanishes.
        yield plain + draw.choice([50.0, 2000.0]) * (column == (np.arange(1, n + 1) % n + 1)[:, None])
        yield plain + draw.choice([50.0, 2000.0]) * (column == (np.arange(n) ^ 1)[:, None] + 1)


@st.composite
def arc_score_matrices(draw: st.DrawFn) -> Matrix:
    """Arc scores of up to 30 words, drawn one by one if they are few."""
    n = draw(st.integers(1, 30))
    score = st.one_of(st.floats(-10, 0), st.floats(-1e4, 0), st.integers(-3, 0).map(float), st.just(-np.inf))
    if n <= 5:
        return draw(arrays(np.float64, (n, n + 1), elements=score))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    widths = random.choice([0.0, 1.0, 50.0, 2000.0], size=(n, n + 1))
    allowed = random.random((n, n + 1)) < draw(st.sampled_from([0.3, 0.9, 1.0]))
    return np.where(allowed, -widths * random.random((n, n + 1)), -np.inf)
