"""The distribution over trees against all trees written out, and against exact determinants."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice, product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from biatt.decode import distribution
from biatt.decode.decoders import mst
from biatt.decode.distribution import TreeDistribution
from biatt.options import Roots
from examples import examples
from tree_enumeration import Matrix, all_trees, arc_score_matrices, hard_arc_scores, tree_scores

both_roots = pytest.mark.parametrize("roots", ["single", "any"])


def log_partition(scores: Matrix, *, roots: Roots = "single") -> float:
    return TreeDistribution(scores, roots=roots).log_partition


def marginals(scores: Matrix, *, roots: Roots = "single") -> Matrix:
    return TreeDistribution(scores, roots=roots).marginals


def log_probability(heads: npt.ArrayLike, scores: Matrix, *, roots: Roots = "single") -> float:
    return TreeDistribution(scores, roots=roots).log_probability(heads)


@pytest.fixture(params=["weights", "panels", "logarithms"])
def any_arithmetic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs as usual, with panels of 3 words, and in logarithms whatever the scores."""
    if request.param == "logarithms":
        monkeypatch.setattr(distribution, "UNDERFLOW", np.inf)
    if request.param == "panels":
        monkeypatch.setattr(distribution, "PANEL", 3)


def expected_log_partition(scores: Matrix, roots: Roots) -> float:
    totals = tree_scores(scores, all_trees(len(scores), roots))
    top = totals.max()
    return top if top == -np.inf else float(top + np.log(np.exp(totals - top).sum()))


def expected_marginals(scores: Matrix, roots: Roots) -> Matrix:
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


def has_tree(scores: Matrix, roots: Roots) -> bool:
    return expected_log_partition(scores, roots) > -np.inf


sizes = pytest.mark.parametrize(("n", "count"), [(1, 5), (2, 15), (3, 20), (4, 20), (5, 6), (6, 1)])


@both_roots
@sizes
@pytest.mark.usefixtures("any_arithmetic")
def test_log_partition_sums_over_all_trees(n: int, count: int, roots: Roots) -> None:
    for scores in hard_arc_scores(n, count):
        found = log_partition(scores, roots=roots)
        assert isinstance(found, float)
        np.testing.assert_allclose(found, expected_log_partition(scores, roots), rtol=1e-13, atol=1e-10)


@both_roots
@sizes
@pytest.mark.usefixtures("any_arithmetic")
def test_marginals_are_the_shares_of_all_trees(n: int, count: int, roots: Roots) -> None:
    for scores in hard_arc_scores(n, count):
        found = marginals(scores, roots=roots)
        np.testing.assert_allclose(found, expected_marginals(scores, roots), atol=1e-9)
        if has_tree(scores, roots):
            assert not found[np.isneginf(scores)].any()


@both_roots
@sizes
@pytest.mark.usefixtures("any_arithmetic")
def test_entropy_is_that_of_all_trees(n: int, count: int, roots: Roots) -> None:
    for scores in hard_arc_scores(n, count):
        distribution = TreeDistribution(scores, roots=roots)
        if distribution.log_partition == -np.inf:
            continue
        totals = tree_scores(scores, all_trees(n, roots))
        totals = totals[totals > -np.inf] - totals.max()
        shares = np.exp(totals) / np.exp(totals).sum()
        expected = np.log(np.exp(totals).sum()) - (shares * totals).sum()
        assert distribution.entropy == pytest.approx(expected, rel=1e-9, abs=1e-9 * max(1, -totals.min()))


def test_entropy_where_every_tree_has_forbidden_arcs_is_that_of_the_trees_with_the_fewest() -> None:
    nothing = np.full((3, 4), -np.inf)
    assert TreeDistribution(nothing, roots="any").entropy == pytest.approx(math.log(16))
    assert TreeDistribution(nothing, roots="single").entropy == pytest.approx(math.log(9))
    assert TreeDistribution(np.zeros((1, 2))).entropy == 0


@both_roots
@sizes
def test_probabilities_of_all_trees_sum_to_one(n: int, count: int, roots: Roots) -> None:
    for scores in islice(hard_arc_scores(n, count), 24):
        candidates = all_trees(n, roots)[:200] if n == 6 else all_trees(n, roots)
        trees = TreeDistribution(scores, roots=roots)
        found = [trees.log_probability(heads) for heads in candidates]
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
    widest: int, roots: Roots
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
    found = log_partition(math.log(2) * np.array(powers), roots=roots)
    assert found == pytest.approx(exact_log_determinant(laplacian), rel=1e-13, abs=1e-12)


def test_number_of_trees_is_cayleys() -> None:
    for n in (1, 2, 10, 50, 200):
        scores = np.zeros((n, n + 1))
        assert log_partition(scores, roots="any") == pytest.approx((n - 1) * math.log(n + 1), rel=1e-13)
        assert log_partition(scores, roots="single") == pytest.approx((n - 1) * math.log(n), rel=1e-13)
        uniform = marginals(scores, roots="single")
        np.testing.assert_allclose(uniform[:, 0], 1 / n, rtol=1e-11)


def separate_halves(n: int, gap: float) -> Matrix:
    """Words prefer heads in their own half by the gap, but a tree has to take two arcs that none prefers."""
    group = np.concatenate([[2], np.arange(n) * 2 // n])
    return np.where(group[1:, None] == group, 0.0, -gap) + np.random.default_rng(n).normal(size=(n, n + 1))


@both_roots
@pytest.mark.parametrize("gap", [0.0, 20.0, 299.0, 301.0, 5000.0])
@pytest.mark.usefixtures("any_arithmetic")
def test_marginals_are_the_derivatives_of_log_partition(gap: float, roots: Roots) -> None:
    n, step = 9, 1e-4
    scores = separate_halves(n, gap)
    found = marginals(scores, roots=roots)
    for t, j in product(range(n), range(n + 1)):
        up, down = scores.copy(), scores.copy()
        up[t, j] += step
        down[t, j] -= step
        rise = log_partition(up, roots=roots) - log_partition(down, roots=roots)
        assert found[t, j] == pytest.approx(rise / (2 * step), abs=1e-6)


@both_roots
@pytest.mark.parametrize("n", [7, 40, 64, 65, 150])
@pytest.mark.parametrize("gap", [0.0, 20.0, 280.0])
@pytest.mark.parametrize("only_root", [None, 0, -1])
def test_weights_and_logarithms_agree(
    n: int, gap: float, only_root: int | None, roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = separate_halves(n, gap)
    if only_root is not None:
        scores[only_root, 1:] = -np.inf
    by_weights = log_partition(scores, roots=roots), marginals(scores, roots=roots)
    monkeypatch.setattr(distribution, "UNDERFLOW", np.inf)
    assert log_partition(scores, roots=roots) == pytest.approx(by_weights[0], rel=1e-12)
    np.testing.assert_allclose(marginals(scores, roots=roots), by_weights[1], atol=1e-11)


@both_roots
def test_nothing_is_lost_where_weights_come_near_the_smallest_number(roots: Roots) -> None:
    plain = np.random.default_rng(10).normal(size=(4, 5))
    preferred = np.arange(5) == (np.arange(4) ^ 1)[:, None] + 1  # 1 and 2 prefer each other, 3 and 4 too
    for gap in np.arange(250.0, 800.0, 7.3):
        scores = np.where(preferred, plain, plain - gap)
        found = log_partition(scores, roots=roots)
        assert found == pytest.approx(expected_log_partition(scores, roots), abs=1e-10)
        np.testing.assert_allclose(
            marginals(scores, roots=roots), expected_marginals(scores, roots), atol=1e-10
        )


@both_roots
def test_logarithms_are_for_extremes_only(roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> float:
        raise AssertionError("The slow way was taken.")

    monkeypatch.setattr(distribution, "_log_eliminate", fail)
    for n, gap in ((1, 0.0), (2, 20.0), (30, 20.0), (30, 250.0)):
        scores = separate_halves(n, gap)
        marginals(scores, roots=roots)
        marginals(scores + 900.0 * (np.arange(n + 1) == 0), roots=roots)  # ROOT is preferred
        scores[-1, 1:] = -np.inf  # only ROOT is left for the last word
        marginals(scores, roots=roots)


@both_roots
@examples(80)
@given(scores=arc_score_matrices())
@example(scores=np.full((4, 5), -np.inf))
def test_marginals_are_probabilities_whatever_the_matrix(scores: Matrix, roots: Roots) -> None:
    n = len(scores)
    found = marginals(scores, roots=roots)
    assert found.shape == (n, n + 1)
    assert found.dtype == np.float64
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    assert not found[np.arange(n), np.arange(1, n + 1)].any()
    roots_expected = found[:, 0].sum()
    assert roots_expected == pytest.approx(1.0, abs=1e-7) if roots == "single" else roots_expected > 1 - 1e-7
    if log_partition(scores, roots=roots) > -np.inf:
        assert not found[np.isneginf(scores)].any()


@both_roots
@examples(80)
@given(scores=arc_score_matrices(), data=st.data())
def test_order_of_the_words_and_offsets_of_rows_change_nothing(
    scores: Matrix, data: st.DataObject, roots: Roots
) -> None:
    n = len(scores)
    order = np.array(data.draw(st.permutations(range(n))))
    columns = np.concatenate([[0], order + 1])
    offsets = 1e3 * np.round(10 * np.sin(np.arange(n)))
    moved = scores[order][:, columns] + offsets[:, None]
    found = marginals(scores, roots=roots)
    np.testing.assert_allclose(marginals(moved, roots=roots), found[order][:, columns], atol=1e-7)
    log_z = log_partition(scores, roots=roots)
    expected = log_z if log_z == -np.inf else pytest.approx(log_z + offsets.sum(), rel=1e-12, abs=1e-9)
    assert log_partition(moved, roots=roots) == expected


@both_roots
@examples(80)
@given(scores=arc_score_matrices())
def test_best_tree_is_the_most_probable_and_bounds_the_sum(scores: Matrix, roots: Roots) -> None:
    n = len(scores)
    best = mst(scores, roots=roots)
    total = scores[np.arange(n), best].sum()
    log_z = log_partition(scores, roots=roots)
    assert (log_z == -np.inf) == (total == -np.inf)
    if log_z > -np.inf:
        slack = 1e-12 * (1 + abs(total))
        assert total - slack <= log_z <= total + (n - 1) * math.log(n + 1) + slack
        found = log_probability(best, scores, roots=roots)
        assert found == pytest.approx(min(total - log_z, 0.0), abs=10 * slack)
        # A tree is no more probable than any of its arcs.
        arcs = marginals(scores, roots=roots)[np.arange(n), best]
        assert math.exp(found) <= arcs.min() + 1e-7


@both_roots
@pytest.mark.parametrize("gap", [50.0, 500.0])
def test_very_peaked_scores_leave_one_tree(gap: float, roots: Roots) -> None:
    n = 40
    rng = np.random.default_rng(7)
    planted = mst(rng.normal(size=(n, n + 1)), roots="single")
    scores = np.full((n, n + 1), -gap)
    scores[np.arange(n), planted] = 0.0
    found = marginals(scores, roots=roots)
    np.testing.assert_allclose(found[np.arange(n), planted], 1.0, atol=1e-12)
    assert log_partition(scores, roots=roots) == pytest.approx(0.0, abs=1e-12)
    assert log_probability(planted, scores, roots=roots) == pytest.approx(0.0, abs=1e-12)
    planted[planted == 0] = n + 1 - planted[planted == 0]  # no tree any more
    assert log_probability(planted, scores, roots=roots) == -np.inf


@both_roots
def test_huge_offsets_are_only_added(roots: Roots) -> None:
    plain = np.random.default_rng(8).integers(-4, 5, size=(6, 7)).astype(np.float64)
    for offset in (1e9, -1e9, 1e14):
        scores = plain + offset
        np.testing.assert_allclose(marginals(scores, roots=roots), marginals(plain, roots=roots), rtol=1e-12)
        heads = mst(plain, roots=roots)
        expected = log_probability(heads, plain, roots=roots)
        assert log_probability(heads, scores, roots=roots) == pytest.approx(expected, rel=1e-12)
        expected = log_partition(plain, roots=roots) + 6 * offset
        assert log_partition(scores, roots=roots) == pytest.approx(expected, rel=1e-15)


@both_roots
def test_scores_of_any_size_give_numbers(roots: Roots) -> None:
    rng = np.random.default_rng(9)
    for exponent in (6, 12, 100, 240):
        scores = -(10.0**exponent) * rng.random((8, 9))
        assert math.isfinite(log_partition(scores, roots=roots))
        np.testing.assert_allclose(marginals(scores, roots=roots).sum(axis=1), 1.0)
    assert log_partition(np.full((3, 4), np.finfo(np.float64).min), roots=roots) == -np.inf


def test_two_words_that_only_root_can_head_have_no_single_rooted_tree() -> None:
    scores = np.zeros((4, 5))
    scores[[1, 3], 1:] = -np.inf
    assert log_partition(scores, roots="single") == -np.inf
    assert log_probability([2, 0, 2, 0], scores, roots="single") == -np.inf
    assert log_partition(scores, roots="any") > 0
    found = marginals(scores, roots="single")
    np.testing.assert_allclose(found, expected_marginals(scores, "single"), atol=1e-12)


def test_heads_that_form_no_tree_have_probability_zero() -> None:
    scores = np.zeros((3, 4))
    for heads in ([2, 1, 0], [0, 2, 1], [0, 4, 1], [0, -1, 1]):
        assert log_probability(heads, scores, roots="any") == -np.inf
    assert log_probability([0, 0, 1], scores, roots="single") == -np.inf
    assert log_probability([0, 0, 1], scores, roots="any") == pytest.approx(-math.log(16))
    assert log_probability([0, 1, 1], scores, roots="single") == pytest.approx(-math.log(9))
    scores[2, 1] = -np.inf
    assert log_probability([0, 1, 1], scores) == -np.inf
    with pytest.raises(ValueError, match="are 2 heads, but must be 3"):
        log_probability([0, 1], scores)


@both_roots
def test_no_words_have_one_tree(roots: Roots) -> None:
    nothing = np.zeros((0, 1))
    assert log_partition(nothing, roots=roots) == 0.0
    assert log_probability([], nothing, roots=roots) == 0.0
    assert marginals(nothing, roots=roots).shape == (0, 1)


@pytest.mark.parametrize("score", [1e9, np.nan, np.inf, -np.inf])
def test_self_arcs_are_never_read_and_scores_are_not_changed(score: float) -> None:
    scores = np.random.default_rng(1).normal(size=(6, 7)).astype(np.float32)
    changed = scores.copy()
    changed[np.arange(6), np.arange(1, 7)] = score
    before = changed.copy()
    assert log_partition(changed) == log_partition(scores)
    assert np.array_equal(marginals(changed), marginals(scores))
    assert np.array_equal(changed, before, equal_nan=True)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="roots is 'two'"):
        TreeDistribution(np.zeros((2, 3)), roots="two")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shape"):
        TreeDistribution(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="from head 2 to dependent 1 is nan"):
        TreeDistribution([[0.0, 0.0, np.nan], [0.0, 0.0, 0.0]])
