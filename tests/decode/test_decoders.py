"""Decoders against slow and obvious twins: all trees written out, and networkx for longer sentences."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from biatt import decode
from biatt.data.arcs import is_projective, is_tree
from biatt.decode.arc_scores import LIMIT, Heads
from biatt.decode.decoders import TILE
from biatt.options import Decoder, Roots
from examples import examples
from tree_enumeration import Trees, all_trees

Matrix = npt.NDArray[np.floating[Any]]
ROOTS: tuple[Roots, ...] = ("single", "any")
TREE_DECODERS: tuple[Decoder, ...] = ("mst", "projective")

both_roots = pytest.mark.parametrize("roots", ROOTS)
both_trees = pytest.mark.parametrize("decoder", TREE_DECODERS)


@cache
def trees_of(n: int, decoder: Decoder, roots: Roots) -> Trees:
    """Every tree over n words that the decoder may return: (trees, n)."""
    trees = all_trees(n, roots)
    return trees if decoder == "mst" else trees[[is_projective(heads) for heads in trees]]


def total_score(scores: Matrix, trees: npt.NDArray[np.integer[Any]]) -> Matrix:
    return scores[np.arange(len(scores)), trees].sum(axis=-1)


def assert_valid(heads: Heads, decoder: Decoder, roots: Roots) -> None:
    roots_of_tree = np.count_nonzero(heads == 0)
    assert heads.dtype == np.int32
    assert is_tree(heads)
    assert roots_of_tree == 1 or (roots == "any" and roots_of_tree > 1)
    assert decoder == "mst" or is_projective(heads)


def assert_best_of_all(scores: Matrix, decoder: Decoder, roots: Roots) -> None:
    n = len(scores)
    found = decode.heads(scores, decoder=decoder, roots=roots)
    assert_valid(found, decoder, roots)
    trees = trees_of(n, decoder, roots)
    scores = scores.astype(np.float64)
    allowed = scores > -LIMIT
    forbidden = (~allowed)[np.arange(n), trees].sum(axis=-1)
    taken = int((~allowed)[np.arange(n), found].sum())
    assert taken == forbidden.min()
    if taken:
        return
    best = total_score(scores, trees[forbidden == 0]).max()
    # Trees may be confused if their scores differ only by float64's rounding.
    ranges = [row[ok].max() - row[ok].min() for row, ok in zip(scores, allowed, strict=True)]
    rounding = 1e-14 * n * (float(max(ranges)) + np.abs(scores[allowed]).max())
    assert total_score(scores, found) >= best - rounding


def random_matrices(n: int, count: int) -> Iterator[Matrix]:
    """Matrices of every hard kind: ties, forbidden arcs, near-equal scores, huge ranges."""
    rng = np.random.default_rng(n)
    shape = (n, n + 1)
    for _ in range(count):
        plain = rng.normal(size=shape)
        yield plain
        yield plain.astype(np.float32)
        yield rng.integers(0, 3, size=shape).astype(np.float64)
        yield 1 + 1e-9 * rng.integers(0, 5, size=shape)
        yield plain * 10.0 ** rng.integers(-30, 31, size=shape)
        yield plain * 10.0 ** rng.integers(-30, 31, size=(n, 1))
        yield np.where(rng.random(shape) < 0.3, -np.inf, plain)
        yield np.where(rng.random(shape) < 0.7, -np.inf, rng.integers(0, 3, size=shape))
        yield np.where(rng.random(shape) < 0.5, -np.inf, plain * 1e30)
        # ROOT is the best head of every word, or of none.
        yield plain + np.where(np.arange(n + 1) == 0, rng.choice([-1e6, 1e6]), 0.0)
        # One long chain of best heads that closes to a cycle: contraction within contraction.
        yield plain + 10 * (np.arange(n + 1) == (np.arange(1, n + 1) % n + 1)[:, None])


@both_roots
@both_trees
@pytest.mark.parametrize(("n", "count"), [(1, 10), (2, 30), (3, 60), (4, 60), (5, 30), (6, 4)])
def test_no_tree_scores_higher(n: int, count: int, decoder: Decoder, roots: Roots) -> None:
    for scores in random_matrices(n, count):
        assert_best_of_all(scores, decoder, roots)


@st.composite
def small_matrices(draw: st.DrawFn) -> Matrix:
    n = draw(st.integers(1, 5))
    score = st.one_of(
        st.integers(-3, 3).map(float), st.floats(-1e6, 1e6), st.just(-np.inf), st.sampled_from([1e30, -1e30])
    )
    return draw(arrays(np.float64, (n, n + 1), elements=score))


@both_roots
@both_trees
@examples(80)
@given(scores=small_matrices())
def test_no_tree_scores_higher_whatever_the_matrix(scores: Matrix, decoder: Decoder, roots: Roots) -> None:
    assert_best_of_all(scores, decoder, roots)


@both_roots
@pytest.mark.parametrize("n", [20, 35])
def test_mst_agrees_with_networkx(n: int, roots: Roots) -> None:
    rng = np.random.default_rng(n)
    for scores in (rng.normal(size=(n, n + 1)), rng.integers(0, 4, size=(n, n + 1)).astype(np.float64)):
        # networkx knows no limit on roots: a penalty that outweighs every other difference stands in for it.
        penalty = 1000.0 if roots == "single" else 0.0
        graph = nx.DiGraph()
        for t, j in product(range(1, n + 1), range(n + 1)):
            if t != j:
                graph.add_edge(j, t, weight=scores[t - 1, j] - (penalty if j == 0 else 0.0))
        tree = nx.maximum_spanning_arborescence(graph)
        best = sum(scores[t - 1, j] for j, t in tree.edges)
        found = decode.mst(scores, roots=roots)
        assert_valid(found, "mst", roots)
        assert total_score(scores, found) == pytest.approx(best, abs=1e-9)


def best_projective_score(scores: Matrix, roots: Roots) -> float:
    """Eisner's recursion in the order of its definition, with ROOT as position 0 or as a last step."""

    @cache
    def arc(head: int, end: int) -> float:
        s, t = min(head, end), max(head, end)
        inside = max(complete(s, r) + complete(t, r + 1) for r in range(s, t))
        return inside + float(scores[end - 1, head]) if end else -np.inf

    @cache
    def complete(head: int, end: int) -> float:
        if head == end:
            return 0.0
        children = range(head + 1, end + 1) if head < end else range(end, head)
        return max(arc(head, child) + complete(child, end) for child in children)

    n = len(scores)
    if roots == "any":
        return complete(0, n)
    return max(complete(t, 1) + complete(t, n) + float(scores[t - 1, 0]) for t in range(1, n + 1))


@both_roots
@pytest.mark.parametrize("n", [1, 2, 9, TILE, TILE + 1, TILE + 7, 2 * TILE + 3])
def test_projective_score_is_that_of_the_recursion(n: int, roots: Roots) -> None:
    rng = np.random.default_rng(n)
    for scores in (rng.normal(size=(n, n + 1)), rng.integers(0, 4, size=(n, n + 1)).astype(np.float64)):
        tree = decode.projective(scores, roots=roots)
        assert_valid(tree, "projective", roots)
        assert total_score(scores, tree) == pytest.approx(best_projective_score(scores, roots), abs=1e-9)


@both_roots
def test_projective_finds_a_projective_tree_planted_in_noise(roots: Roots) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 7, 40):
        planted = decode.projective(rng.normal(size=(n, n + 1)), roots=roots)
        scores = rng.random((n, n + 1))
        scores[np.arange(n), planted] += n + 1
        for decoder in ("mst", "projective", "argmax"):
            assert decode.heads(scores, decoder=decoder, roots=roots).tolist() == planted.tolist()


@both_roots
@both_trees
@examples(40)
@given(data=st.data(), n=st.integers(1, 40))
def test_answer_is_always_a_tree(data: st.DataObject, n: int, decoder: Decoder, roots: Roots) -> None:
    seed = data.draw(st.integers(0, 2**32 - 1))
    share = data.draw(st.sampled_from([0.0, 0.5, 0.95, 1.0]))
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((n, n + 1)) < share, -np.inf, rng.integers(0, 5, size=(n, n + 1)))
    assert_valid(decode.heads(scores, decoder=decoder, roots=roots), decoder, roots)


@both_roots
@both_trees
def test_projective_score_is_at_most_the_mst_score_and_single_at_most_any(
    decoder: Decoder, roots: Roots
) -> None:
    rng = np.random.default_rng(5)
    for n in (10, 30, 50):
        scores = rng.normal(size=(n, n + 1))
        score = total_score(scores, decode.heads(scores, decoder=decoder, roots=roots))
        assert score <= total_score(scores, decode.mst(scores, roots=roots)) + 1e-9
        assert score <= total_score(scores, decode.heads(scores, decoder=decoder, roots="any")) + 1e-9


@both_roots
@both_trees
def test_five_hundred_words(decoder: Decoder, roots: Roots) -> None:
    scores = np.random.default_rng(0).normal(size=(500, 501)).astype(np.float32)
    assert_valid(decode.heads(scores, decoder=decoder, roots=roots), decoder, roots)


@both_roots
@pytest.mark.parametrize("decoder", ["mst", "projective", "argmax"])
def test_no_words_give_no_heads(decoder: Decoder, roots: Roots) -> None:
    found = decode.heads(np.zeros((0, 1)), decoder=decoder, roots=roots)
    assert found.shape == (0,)
    assert found.dtype == np.int32


def test_argmax_takes_the_first_best_head_of_each_word_even_in_a_cycle() -> None:
    assert decode.argmax([[0.0, 9.0, 2.0], [1.0, 2.0, 9.0]]).tolist() == [2, 1]
    assert decode.argmax(np.zeros((3, 4))).tolist() == [0, 0, 0]
    assert decode.argmax(np.full((2, 3), -np.inf)).tolist() == [0, 0]


@pytest.mark.parametrize("score", [1e9, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("decoder", ["mst", "projective", "argmax"])
def test_self_arcs_are_never_read(decoder: Decoder, score: float) -> None:
    scores = np.random.default_rng(1).normal(size=(12, 13))
    expected = decode.heads(scores, decoder=decoder)
    scores[np.arange(12), np.arange(1, 13)] = score
    assert decode.heads(scores, decoder=decoder).tolist() == expected.tolist()


@both_roots
@pytest.mark.parametrize("decoder", ["mst", "projective", "argmax"])
def test_layout_and_type_of_the_scores_do_not_matter_and_they_are_not_changed(
    decoder: Decoder, roots: Roots
) -> None:
    scores = np.random.default_rng(2).integers(-50, 50, size=(15, 16)).astype(np.float64)
    expected = decode.heads(scores.copy(), decoder=decoder, roots=roots).tolist()
    read_only = scores.copy()
    read_only.flags.writeable = False
    strided = np.repeat(scores, 2, axis=1)[:, ::2]
    variants = [scores.astype(kind) for kind in (np.float16, np.float32, np.longdouble, np.int64)]
    for variant in (*variants, np.asfortranarray(scores), read_only, strided, scores.tolist()):
        before = np.array(variant)
        assert decode.heads(variant, decoder=decoder, roots=roots).tolist() == expected
        assert np.array_equal(np.array(variant), before)


TIES = """
import numpy as np
from biatt import decode

scores = np.random.default_rng(4).integers(0, 2, size=(40, 41)).astype(np.float32)
for decoder in ("mst", "projective"):
    for roots in ("single", "any"):
        print(*decode.heads(scores, decoder=decoder, roots=roots))
"""


@pytest.mark.slow
def test_ties_are_broken_the_same_way_in_every_process(capsys: pytest.CaptureFixture[str]) -> None:
    answer = subprocess.run([sys.executable, "-c", TIES], capture_output=True, text=True, check=True).stdout
    exec(TIES, {})
    assert capsys.readouterr().out == answer
    assert len(answer.splitlines()) == 4


def test_one_word_with_only_its_self_arc_allowed_hangs_on_root() -> None:
    assert decode.mst([[-np.inf, 0.0]]).tolist() == [0]
    assert decode.projective([[-np.inf, 0.0]]).tolist() == [0]


def test_single_root_is_kept_where_only_root_arcs_are_allowed() -> None:
    scores = np.full((4, 5), -np.inf)
    scores[:, 0] = [0.0, 1.0, 3.0, 2.0]
    for decoder in TREE_DECODERS:
        assert decode.heads(scores, decoder=decoder, roots="any").tolist() == [0, 0, 0, 0]
        assert_valid(decode.heads(scores, decoder=decoder, roots="single"), decoder, "single")


def test_lowest_float_forbids_an_arc_like_minus_infinity() -> None:
    rng = np.random.default_rng(6)
    scores, forbidden = rng.normal(size=(9, 10)), rng.random((9, 10)) < 0.5
    lowest = np.where(forbidden, np.finfo(np.float64).min, scores)
    infinite = np.where(forbidden, -np.inf, scores)
    assert decode.mst(lowest).tolist() == decode.mst(infinite).tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("decoder", ["mst", "projective", "argmax"])
def test_the_error_names_a_score_that_is_not_a_number(decoder: Decoder, bad: float) -> None:
    scores = np.zeros((4, 5))
    scores[2, 1] = bad
    with pytest.raises(ValueError, match=r"from head 1 to dependent 3 is (nan|inf|1e\+300)"):
        decode.heads(scores, decoder=decoder)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (0, 0), (3,), (1, 3, 4)])
def test_a_matrix_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        decode.mst(np.zeros(shape))


def test_unknown_decoder_and_roots_are_refused() -> None:
    with pytest.raises(ValueError, match="decoder is 'beam'"):
        decode.heads(np.zeros((1, 2)), decoder="beam")  # type: ignore[arg-type]
    for decoder in TREE_DECODERS:
        with pytest.raises(ValueError, match="roots is 'two'"):
            decode.heads(np.zeros((1, 2)), decoder=decoder, roots="two")  # type: ignore[arg-type]
