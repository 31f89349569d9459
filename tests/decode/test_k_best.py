"""The k best trees against all trees written out, and against networkx."""

from __future__ import annotations

import math
from itertools import islice, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from biatt.data.arcs import is_tree
from biatt.data.sentence import Sentence
from biatt.decode.decoders import mst
from biatt.decode.distribution import TreeDistribution
from biatt.decode.k_best import Difference, differences, k_best
from biatt.options import Roots
from examples import examples
from tree_enumeration import Matrix, all_trees, arc_score_matrices, hard_arc_scores, tree_scores

both_roots = pytest.mark.parametrize("roots", ["single", "any"])


def assert_k_best(scores: Matrix, k: int, roots: Roots, rounding: float) -> None:
    n = len(scores)
    found = k_best(scores, k, roots=roots)
    totals = np.sort(tree_scores(scores, all_trees(n, roots)))[::-1]
    totals = totals[totals > -np.inf][:k]
    assert found[0][0].tolist() == mst(scores, roots=roots).tolist()
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
def test_k_best_trees_are_those_of_all_trees(n: int, count: int, k: int, roots: Roots) -> None:
    for scores in hard_arc_scores(n, count):
        assert_k_best(scores, k, roots, 1e-8)


@both_roots
@examples(60)
@given(data=st.data(), n=st.integers(1, 4), k=st.integers(1, 150))
def test_k_best_trees_are_exact_where_scores_are_equal(
    data: st.DataObject, n: int, k: int, roots: Roots
) -> None:
    score = st.one_of(st.integers(-2, 0).map(float), st.just(-np.inf))
    assert_k_best(data.draw(arrays(np.float64, (n, n + 1), elements=score)), k, roots, 0.0)


@both_roots
@examples(40)
@given(scores=arc_score_matrices(), k=st.integers(1, 12))
def test_k_best_trees_are_distinct_trees_and_never_get_better(scores: Matrix, k: int, roots: Roots) -> None:
    n = len(scores)
    found = k_best(scores, k, roots=roots)
    assert 1 <= len(found) <= k
    assert found[0][0].tolist() == mst(scores, roots=roots).tolist()
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
def test_k_best_trees_agree_with_networkx(roots: Roots) -> None:
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
    assert [heads.tolist() for heads, _ in k_best(scores, k, roots=roots)] == others


def test_k_best_trees_have_the_highest_probabilities() -> None:
    scores = np.random.default_rng(12).normal(size=(4, 5))
    everything = k_best(scores, 10**6, roots="any")
    assert len(everything) == 125
    trees = TreeDistribution(scores, roots="any")
    by_tree = [trees.log_probability(heads) for heads, _ in everything]
    assert by_tree == sorted(by_tree, reverse=True)
    assert math.fsum(map(math.exp, by_tree)) == pytest.approx(1.0)


def test_peaked_scores_need_few_spanning_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    n, k, calls = 40, 5, []
    monkeypatch.setattr(
        "biatt.decode.k_best.mst", lambda scores, roots: (calls.append(1), mst(scores, roots=roots))[1]
    )
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(n, n + 1))
    scores[np.arange(n), mst(scores)] += 20 + 5 * rng.random(n)
    assert len(k_best(scores, k)) == k
    assert len(calls) < 3 * k  # without bounds on the parts: n for each tree


@both_roots
def test_no_words_have_one_tree(roots: Roots) -> None:
    ((heads, score),) = k_best(np.zeros((0, 1)), 3, roots=roots)
    assert heads.shape == (0,)
    assert score == 0.0


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="number of trees is 0"):
        k_best(np.zeros((2, 3)), 0)
    with pytest.raises(ValueError, match="roots is 'two'"):
        k_best(np.zeros((2, 3)), 2, roots="two")  # type: ignore[arg-type]


def test_differences_are_words_with_another_head_or_relation() -> None:
    best = Sentence.from_words(["I", "saw", "her"], heads=[2, 0, 2], deprels=["nsubj", "root", "obj"])
    other = Sentence.from_words(["I", "saw", "her"], heads=[2, 0, 1], deprels=["dep", "root", "obj"])
    assert differences(other, best) == [
        Difference(1, "I", 2, "dep", 2, "nsubj"),
        Difference(3, "her", 1, "obj", 2, "obj"),
    ]
    assert str(differences(other, best)[1]) == "3 her 1:obj not 2:obj"
    assert differences(best, best) == []
