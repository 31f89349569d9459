"""The distribution over trees against all trees written out, exact determinants, and networkx."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import islice, product

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from biatt.data.arcs import is_tree
from biatt.decode import decoders as decode
from biatt.decode import k_best as trees

Matrix = npt.NDArray[np.float64]
Trees = npt.NDArray[np.int64]
ROOTS: tuple[decode.Roots, ...] = ("single", "any")

both_roots = pytest.mark.parametrize("roots", ROOTS)


@pytest.fixture(params=["weights", "logarithms"])
def either_arithmetic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs once as usual, and once in logarithms whatever the scores."""
    if request.param == "logarithms":
        monkeypatch.setattr(trees, "UNDERFLOW", np.inf)


@cache
def all_trees(n: int, roots: decode.Roots) -> Trees:
    """Every tree over n words: (trees, n)."""
    heads = np.array(list(product(range(n + 1), repeat=n)), dtype=np.int64).reshape(-1, n)
    if roots == "single":
        heads = heads[(heads == 0).sum(axis=1) == min(n, 1)]
    reached = np.broadcast_to(np.arange(1, n + 1), heads.shape)
    with_root = np.hstack([np.zeros((len(heads), 1), dtype=np.int64), heads])
    for _ in range(n):
        reached = np.take_along_axis(with_root, reached, axis=1)
    return heads[(reached == 0).all(axis=1)]


def tree_scores(scores: Matrix, candidates: Trees) -> Matrix:
    offsets = scores.max(axis=1, where=np.isfinite(scores), initial=-1e15)
    shifted = (scores - offsets[:, None])[np.arange(len(scores)), candidates].sum(axis=1)
    return shifted + math.fsum(offsets)


def expected_log_partition(scores: Matrix, roots: decode.Roots) -> float:
    totals = tree_scores(scores, all_trees(len(scores), roots))
    top = totals.max()
    return top if top == -np.inf else float(top + np.log(np.exp(totals - top).sum()))


def expected_marginals(scores: Matrix, roots: decode.Roots) -> Matrix:
    n = len(scores)
    candidates = all_trees(n, roots)
    forbidden = np.isneginf(scores)[np.arange(n), candidates].sum(axis=1)
    candidates = candidates[forbidden == forbidden.min()]
    # In a row, forbidden arcs are all as good as the best, now that their number is settled.
    others = np.arange(n + 1) != np.arange(1, n + 1)[:, None]
    tops = scores.max(axis=1, where=others, initial=-np.inf, keepdims=True)
    totals = tree_scores(np.where(np.isneginf(scores), np.maximum(tops, -1e9), scores), candidates)
    weights = np.exp(totals - totals.max())
    result = np.zeros((n, n + 1))
    for t in range(n):
        np.add.at(result[t], candidates[:, t], weights)
    return result / weights.sum()


def random_matrices(n: int, count: int) -> Iterator[Matrix]:
    """Plain ones and every kind of hard one: equal scores, forbidden arcs, peaks, offsets."""
    rng = np.random.default_rng(n)
    shape = (n, n + 1)
    column = np.arange(n + 1)
    for _ in range(count):
        plain = rng.normal(size=shape)
        yield plain
        yield np.zeros(shape)
        yield np.where(rng.random(shape) < 0.3, -np.inf, plain)
        yield np.where(rng.random(shape) < 0.6, -np.inf, plain)
        yield 50.0 * rng.integers(-2, 1, size=shape) + plain
        yield 500.0 * rng.integers(-2, 1, size=shape) + plain
        yield np.where(rng.random(shape) < 0.3, -np.inf, 500.0 * rng.integers(-3, 1, size=shape))
        yield -1e4 * rng.random(shape)
        yield plain + 1e5 * rng.normal(size=(n, 1))
        # ROOT is tempting for every word, or for none.
        yield plain + np.where(column == 0, rng.choice([-50.0, 50.0, -900.0, 900.0]), 0.0)
        # Best heads form one long cycle, or pairs: the determinant nearly vanishes.
        yield plain + rng.choice([50.0, 2000.0]) * (column == (np.arange(1, n + 1) % n + 1)[:, None])
        yield plain + rng.choice([50.0, 2000.0]) * (column == (np.arange(n) ^ 1)[:, None] + 1)


def has_tree(scores: Matrix, roots: decode.Roots) -> bool:
    return expected_log_partition(scores, roots) > -np.inf


sizes = pytest.mark.parametrize(("n", "count"), [(1, 10), (2, 30), (3, 40), (4, 40), (5, 20), (6, 2)])


@both_roots
@sizes
@pytest.mark.usefixtures("either_arithmetic")
def test_log_partition_sums_over_all_trees(n: int, count: int, roots: decode.Roots) -> None:
    for scores in random_matrices(n, count):
        found = trees.log_partition(scores, roots=roots)
        assert isinstance(found, float)
        np.testing.assert_allclose(found, expected_log_partition(scores, roots), rtol=1e-13, atol=1e-10)


@both_roots
@sizes
@pytest.mark.usefixtures("either_arithmetic")
def test_marginals_are_the_shares_of_all_trees(n: int, count: int, roots: decode.Roots) -> None:
    for scores in random_matrices(n, count):
        found = trees.marginals(scores, roots=roots)
        np.testing.assert_allclose(found, expected_marginals(scores, roots), atol=1e-9)
        if has_tree(scores, roots):
            assert not found[np.isneginf(scores)].any()


@both_roots
@sizes
def test_probabilities_of_all_trees_sum_to_one(n: int, count: int, roots: decode.Roots) -> None:
    for scores in islice(random_matrices(n, count), 24):
        candidates = all_trees(n, roots)[:1000] if n == 6 else all_trees(n, roots)
        found = [trees.log_probability(heads, scores, roots=roots) for heads in candidates]
        if not has_tree(scores, roots):
            assert set(found) == {-np.inf}
            continue
        expected = tree_scores(scores, candidates) - expected_log_partition(scores, roots)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-9)
        assert max(found) <= 0.0
        assert n == 6 or math.fsum(np.exp(found)) == pytest.approx(1.0, abs=1e-9)


def exact_log_determinant(matrix: list[list[Fraction]]) -> float:
    n = len(matrix)
    result = Fraction(1)
    for k in range(n):
        pivot = next(i for i in range(k, n) if matrix[i][k] != 0)
        if pivot != k:
            matrix[k], matrix[pivot] = matrix[pivot], matrix[k]
            result = -result
        result *= matrix[k][k]
        for i in range(k + 1, n):
            factor = matrix[i][k] / matrix[k][k]
            matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[k], strict=True)]
    return math.log(result.numerator) - math.log(result.denominator)


@both_roots
@pytest.mark.parametrize("widest", [3, 60, 1500])
def test_log_partition_is_the_determinant_of_koo_et_al_without_its_rounding(
    widest: int, roots: decode.Roots
) -> None:
    n = 12
    powers = np.random.default_rng(widest).integers(-widest, 1, size=(n, n + 1)).tolist()
    laplacian = [[Fraction(0)] * n for _ in range(n)]  # column t − 1 is the dependent t
    for t, j in product(range(1, n + 1), range(n + 1)):
        if j != t and (j > 0 or roots == "any"):
            weight = Fraction(1, 2 ** -powers[t - 1][j])
            laplacian[t - 1][t - 1] += weight
            if j > 0:
                laplacian[j - 1][t - 1] -= weight
    if roots == "single":
        laplacian[0] = [Fraction(1, 2 ** -powers[t][0]) for t in range(n)]
    found = trees.log_partition(math.log(2) * np.array(powers), roots=roots)
    assert found == pytest.approx(exact_log_determinant(laplacian), rel=1e-13, abs=1e-12)


def test_number_of_trees_is_cayleys() -> None:
    for n in (1, 2, 10, 50, 200):
        scores = np.zeros((n, n + 1))
        assert trees.log_partition(scores, roots="any") == pytest.approx((n - 1) * math.log(n + 1), rel=1e-13)
        assert trees.log_partition(scores, roots="single") == pytest.approx((n - 1) * math.log(n), rel=1e-13)
        uniform = trees.marginals(scores, roots="single")
        np.testing.assert_allclose(uniform[:, 0], 1 / n, rtol=1e-11)


def separate_halves(n: int, gap: float) -> Matrix:
    """Words prefer heads in their own half by the gap, but a tree has to take two arcs that none prefers."""
    group = np.concatenate([[2], np.arange(n) * 2 // n])
    return np.where(group[1:, None] == group, 0.0, -gap) + np.random.default_rng(n).normal(size=(n, n + 1))


@both_roots
@pytest.mark.parametrize("gap", [0.0, 20.0, 299.0, 301.0, 5000.0])
@pytest.mark.usefixtures("either_arithmetic")
def test_marginals_are_the_derivatives_of_log_partition(gap: float, roots: decode.Roots) -> None:
    n, step = 9, 1e-4
    scores = separate_halves(n, gap)
    found = trees.marginals(scores, roots=roots)
    for t, j in product(range(n), range(n + 1)):
        up, down = scores.copy(), scores.copy()
        up[t, j] += step
        down[t, j] -= step
        rise = trees.log_partition(up, roots=roots) - trees.log_partition(down, roots=roots)
        assert found[t, j] == pytest.approx(rise / (2 * step), abs=1e-6)


@both_roots
@pytest.mark.parametrize("n", [7, 40, 120])
@pytest.mark.parametrize("gap", [0.0, 20.0, 280.0])
def test_weights_and_logarithms_agree(
    n: int, gap: float, roots: decode.Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = separate_halves(n, gap)
    by_weights = trees.log_partition(scores, roots=roots), trees.marginals(scores, roots=roots)
    monkeypatch.setattr(trees, "UNDERFLOW", np.inf)
    assert trees.log_partition(scores, roots=roots) == pytest.approx(by_weights[0], rel=1e-12)
    np.testing.assert_allclose(trees.marginals(scores, roots=roots), by_weights[1], atol=1e-11)


@both_roots
def test_nothing_is_lost_where_weights_come_near_the_smallest_number(roots: decode.Roots) -> None:
    plain = np.random.default_rng(10).normal(size=(4, 5))
    preferred = np.arange(5) == (np.arange(4) ^ 1)[:, None] + 1  # 1 and 2 prefer each other, 3 and 4 too
    for gap in np.arange(250.0, 800.0, 3.7):
        scores = np.where(preferred, plain, plain - gap)
        found = trees.log_partition(scores, roots=roots)
        assert found == pytest.approx(expected_log_partition(scores, roots), abs=1e-10)
        marginals = trees.marginals(scores, roots=roots)
        np.testing.assert_allclose(marginals, expected_marginals(scores, roots), atol=1e-10)


@both_roots
def test_logarithms_are_for_extremes_only(roots: decode.Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> float:
        raise AssertionError("The slow way was taken.")

    monkeypatch.setattr(trees, "_log_eliminate", fail)
    for n, gap in ((1, 0.0), (2, 20.0), (30, 20.0), (30, 250.0)):
        scores = separate_halves(n, gap)
        trees.marginals(scores, roots=roots)
        trees.marginals(scores + 900.0 * (np.arange(n + 1) == 0), roots=roots)  # ROOT is tempting
        scores[-1, 1:] = -np.inf  # only ROOT is left for the last word
        trees.marginals(scores, roots=roots)


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """Of up to 30 words, drawn one by one if they are few."""
    n = draw(st.integers(1, 30))
    score = st.one_of(st.floats(-10, 0), st.floats(-1e4, 0), st.integers(-3, 0).map(float), st.just(-np.inf))
    if n <= 5:
        return draw(arrays(np.float64, (n, n + 1), elements=score))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    widths = rng.choice([0.0, 1.0, 50.0, 2000.0], size=(n, n + 1))
    allowed = rng.random((n, n + 1)) < draw(st.sampled_from([0.3, 0.9, 1.0]))
    return np.where(allowed, -widths * rng.random((n, n + 1)), -np.inf)


@both_roots
@settings(deadline=None, max_examples=150)
@given(scores=matrices())
@example(scores=np.full((4, 5), -np.inf))
def test_marginals_are_probabilities_whatever_the_matrix(scores: Matrix, roots: decode.Roots) -> None:
    n = len(scores)
    found = trees.marginals(scores, roots=roots)
    assert found.shape == (n, n + 1)
    assert found.dtype == np.float64
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    assert not found[np.arange(n), np.arange(1, n + 1)].any()
    roots_expected = found[:, 0].sum()
    assert roots_expected == pytest.approx(1.0, abs=1e-7) if roots == "single" else roots_expected > 1 - 1e-7
    if trees.log_partition(scores, roots=roots) > -np.inf:
        assert not found[np.isneginf(scores)].any()


@both_roots
@settings(deadline=None, max_examples=150)
@given(scores=matrices(), data=st.data())
def test_order_of_the_words_and_offsets_of_rows_change_nothing(
    scores: Matrix, data: st.DataObject, roots: decode.Roots
) -> None:
    n = len(scores)
    order = np.array(data.draw(st.permutations(range(n))))
    columns = np.concatenate([[0], order + 1])
    offsets = 1e3 * np.round(10 * np.sin(np.arange(n)))
    moved = scores[order][:, columns] + offsets[:, None]
    found = trees.marginals(scores, roots=roots)
    np.testing.assert_allclose(trees.marginals(moved, roots=roots), found[order][:, columns], atol=1e-7)
    log_z = trees.log_partition(scores, roots=roots)
    expected = log_z if log_z == -np.inf else pytest.approx(log_z + offsets.sum(), rel=1e-12, abs=1e-9)
    assert trees.log_partition(moved, roots=roots) == expected


@both_roots
@settings(deadline=None, max_examples=150)
@given(scores=matrices())
def test_best_tree_is_the_most_probable_and_bounds_the_sum(scores: Matrix, roots: decode.Roots) -> None:
    n = len(scores)
    best = decode.mst(scores, roots=roots)
    total = scores[np.arange(n), best].sum()
    log_z = trees.log_partition(scores, roots=roots)
    assert (log_z == -np.inf) == (total == -np.inf)
    if log_z > -np.inf:
        slack = 1e-12 * (1 + abs(total))
        assert total - slack <= log_z <= total + (n - 1) * math.log(n + 1) + slack
        found = trees.log_probability(best, scores, roots=roots)
        assert found == pytest.approx(min(total - log_z, 0.0), abs=10 * slack)
        # A tree is no more probable than any of its arcs.
        arcs = trees.marginals(scores, roots=roots)[np.arange(n), best]
        assert math.exp(found) <= arcs.min() + 1e-7


@both_roots
@pytest.mark.parametrize("gap", [50.0, 500.0])
def test_very_peaked_scores_leave_one_tree(gap: float, roots: decode.Roots) -> None:
    n = 40
    rng = np.random.default_rng(7)
    planted = decode.mst(rng.normal(size=(n, n + 1)), roots="single")
    scores = np.full((n, n + 1), -gap)
    scores[np.arange(n), planted] = 0.0
    found = trees.marginals(scores, roots=roots)
    np.testing.assert_allclose(found[np.arange(n), planted], 1.0, atol=1e-12)
    assert trees.log_partition(scores, roots=roots) == pytest.approx(0.0, abs=1e-12)
    assert trees.log_probability(planted, scores, roots=roots) == pytest.approx(0.0, abs=1e-12)
    planted[planted == 0] = n + 1 - planted[planted == 0]  # no tree any more
    assert trees.log_probability(planted, scores, roots=roots) == -np.inf


@both_roots
def test_huge_offsets_are_no_more_than_added(roots: decode.Roots) -> None:
    plain = np.random.default_rng(8).integers(-4, 5, size=(6, 7)).astype(np.float64)
    for offset in (1e9, -1e9, 1e14):
        scores = plain + offset
        np.testing.assert_allclose(
            trees.marginals(scores, roots=roots), trees.marginals(plain, roots=roots), rtol=1e-12
        )
        heads = decode.mst(plain, roots=roots)
        expected = trees.log_probability(heads, plain, roots=roots)
        assert trees.log_probability(heads, scores, roots=roots) == pytest.approx(expected, rel=1e-12)
        expected = trees.log_partition(plain, roots=roots) + 6 * offset
        assert trees.log_partition(scores, roots=roots) == pytest.approx(expected, rel=1e-15)


@both_roots
def test_scores_of_any_size_give_numbers(roots: decode.Roots) -> None:
    rng = np.random.default_rng(9)
    for exponent in (6, 12, 100, 240):
        scores = -(10.0**exponent) * rng.random((8, 9))
        assert math.isfinite(trees.log_partition(scores, roots=roots))
        np.testing.assert_allclose(trees.marginals(scores, roots=roots).sum(axis=1), 1.0)
    assert trees.log_partition(np.full((3, 4), np.finfo(np.float64).min), roots=roots) == -np.inf


def test_two_words_that_only_root_can_head_have_no_single_rooted_tree() -> None:
    scores = np.zeros((4, 5))
    scores[[1, 3], 1:] = -np.inf
    assert trees.log_partition(scores, roots="single") == -np.inf
    assert trees.log_probability([2, 0, 2, 0], scores, roots="single") == -np.inf
    assert trees.log_partition(scores, roots="any") > 0
    found = trees.marginals(scores, roots="single")
    np.testing.assert_allclose(found, expected_marginals(scores, "single"), atol=1e-12)


def test_what_is_no_tree_has_no_probability() -> None:
    scores = np.zeros((3, 4))
    for heads in ([2, 1, 0], [0, 2, 1], [0, 4, 1], [0, -1, 1]):
        assert trees.log_probability(heads, scores, roots="any") == -np.inf
    assert trees.log_probability([0, 0, 1], scores, roots="single") == -np.inf
    assert trees.log_probability([0, 0, 1], scores, roots="any") == pytest.approx(-math.log(16))
    assert trees.log_probability([0, 1, 1], scores, roots="single") == pytest.approx(-math.log(9))
    scores[2, 1] = -np.inf
    assert trees.log_probability([0, 1, 1], scores) == -np.inf
    with pytest.raises(ValueError, match="are 2 heads, but must be 3"):
        trees.log_probability([0, 1], scores)


@both_roots
def test_no_words_have_one_tree(roots: decode.Roots) -> None:
    nothing = np.zeros((0, 1))
    assert trees.log_partition(nothing, roots=roots) == 0.0
    assert trees.log_probability([], nothing, roots=roots) == 0.0
    assert trees.marginals(nothing, roots=roots).shape == (0, 1)
    ((heads, score),) = trees.k_best(nothing, 3, roots=roots)
    assert heads.shape == (0,)
    assert score == 0.0


@pytest.mark.parametrize("own", [1e9, np.nan, np.inf, -np.inf])
def test_self_arcs_are_never_looked_at_and_scores_are_left_alone(own: float) -> None:
    scores = np.random.default_rng(1).normal(size=(6, 7)).astype(np.float32)
    changed = scores.copy()
    changed[np.arange(6), np.arange(1, 7)] = own
    before = changed.copy()
    assert trees.log_partition(changed) == trees.log_partition(scores)
    assert np.array_equal(trees.marginals(changed), trees.marginals(scores))
    one, other = trees.k_best(changed, 9), trees.k_best(scores, 9)
    assert [(heads.tolist(), score) for heads, score in one] == [(h.tolist(), score) for h, score in other]
    assert np.array_equal(changed, before, equal_nan=True)


def test_bad_arguments_are_refused() -> None:
    scores = np.zeros((2, 3))
    with pytest.raises(ValueError, match="number of trees is 0"):
        trees.k_best(scores, 0)
    for call in (trees.log_partition, trees.marginals, lambda s, **o: trees.k_best(s, 2, **o)):
        with pytest.raises(ValueError, match="roots is 'two'"):
            call(scores, roots="two")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="shape"):
            call(np.zeros((3, 3)))
        with pytest.raises(ValueError, match="from head 2 to dependent 1 is nan"):
            call([[0.0, 0.0, np.nan], [0.0, 0.0, 0.0]])


def assert_k_best(scores: Matrix, k: int, roots: decode.Roots, rounding: float) -> None:
    n = len(scores)
    found = trees.k_best(scores, k, roots=roots)
    totals = np.sort(tree_scores(scores, all_trees(n, roots)))[::-1]
    totals = totals[totals > -np.inf][:k]
    assert found[0][0].tolist() == decode.mst(scores, roots=roots).tolist()
    if not len(totals):
        assert [score for _, score in found] == [-np.inf]
        return
    heads = np.array([heads for heads, _ in found])
    assert heads.dtype == np.int32
    assert len(np.unique(heads, axis=0)) == len(heads) == len(totals)
    candidates = {tuple(tree) for tree in all_trees(n, roots).tolist()}
    assert all(tuple(tree) in candidates for tree in heads.tolist())
    values = np.array([score for _, score in found])
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(values, totals, rtol=0, atol=rounding)
    np.testing.assert_allclose(values, tree_scores(scores, heads.astype(np.int64)), rtol=0, atol=rounding)


@both_roots
@pytest.mark.parametrize(("n", "count", "k"), [(1, 10, 3), (2, 20, 9), (3, 20, 40), (4, 4, 200), (5, 2, 70)])
def test_k_best_trees_are_those_of_all_trees(n: int, count: int, k: int, roots: decode.Roots) -> None:
    for scores in random_matrices(n, count):
        assert_k_best(scores, k, roots, 1e-8)


@both_roots
@settings(deadline=None, max_examples=60)
@given(data=st.data(), n=st.integers(1, 4), k=st.integers(1, 150))
def test_k_best_trees_are_exact_where_scores_are_equal(
    data: st.DataObject, n: int, k: int, roots: decode.Roots
) -> None:
    score = st.one_of(st.integers(-2, 0).map(float), st.just(-np.inf))
    assert_k_best(data.draw(arrays(np.float64, (n, n + 1), elements=score)), k, roots, 0.0)


@both_roots
@settings(deadline=None, max_examples=40)
@given(scores=matrices(), k=st.integers(1, 12))
def test_k_best_trees_are_distinct_trees_and_never_get_better(
    scores: Matrix, k: int, roots: decode.Roots
) -> None:
    n = len(scores)
    found = trees.k_best(scores, k, roots=roots)
    assert 1 <= len(found) <= k
    assert found[0][0].tolist() == decode.mst(scores, roots=roots).tolist()
    assert len({tuple(heads.tolist()) for heads, _ in found}) == len(found)
    previous = np.inf
    for heads, score in found:
        assert is_tree(heads)
        assert roots == "any" or np.count_nonzero(heads == 0) == 1
        assert score <= previous
        total = scores[np.arange(n), heads].sum()
        assert score == total or score == pytest.approx(total, rel=1e-12, abs=1e-9)
        assert score > -np.inf or len(found) == 1
        previous = score


@both_roots
def test_k_best_trees_agree_with_networkx(roots: decode.Roots) -> None:
    n, k = 9, 25
    scores = np.random.default_rng(11).normal(size=(n, n + 1))
    penalty = 1000.0 if roots == "single" else 0.0  # networkx knows no limit on roots
    graph = nx.DiGraph()
    for t, j in product(range(1, n + 1), range(n + 1)):
        if t != j:
            graph.add_edge(j, t, weight=scores[t - 1, j] - (penalty if j == 0 else 0.0))
    others = [
        [next(iter(tree.predecessors(t))) for t in range(1, n + 1)]
        for tree in islice(nx.ArborescenceIterator(graph, minimum=False), k)
    ]
    assert [heads.tolist() for heads, _ in trees.k_best(scores, k, roots=roots)] == others


def test_k_best_trees_have_the_highest_probabilities() -> None:
    scores = np.random.default_rng(12).normal(size=(4, 5))
    everything = trees.k_best(scores, 10**6, roots="any")
    assert len(everything) == 125
    by_tree = [trees.log_probability(heads, scores, roots="any") for heads, _ in everything]
    assert by_tree == sorted(by_tree, reverse=True)
    assert math.fsum(map(math.exp, by_tree)) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "seconds"), [(25, 1e-3), (200, 50e-3)])
@pytest.mark.parametrize("gap", [0.0, 100.0])
@both_roots
def test_marginals_are_fast(n: int, seconds: float, gap: float, roots: decode.Roots) -> None:
    scores = separate_halves(n, gap)
    taken = []
    for _ in range(20):
        begin = time.perf_counter()
        trees.marginals(scores, roots=roots)
        taken.append(time.perf_counter() - begin)
    assert min(taken) < seconds
