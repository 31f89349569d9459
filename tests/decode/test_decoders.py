"""Decoders against slow and obvious twins: all trees written out, and networkx for longer sentences."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from biatt.data.arcs import is_projective
from biatt.decode import decoders as decode

Matrix = npt.NDArray[np.floating[Any]]
ROOTS: tuple[decode.Roots, ...] = ("single", "any")
TREE_DECODERS: tuple[decode.Decoder, ...] = ("mst", "projective")

both_roots = pytest.mark.parametrize("roots", ROOTS)
both_trees = pytest.mark.parametrize("decoder", TREE_DECODERS)


def reaches_root(heads: tuple[int, ...], word: int) -> bool:
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


def arcs_cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (a, b), (c, d) = sorted(one), sorted(other)
    return a < c < b < d or c < a < d < b


def crosses_nothing(heads: tuple[int, ...]) -> bool:
    arcs = list(zip(heads, range(1, len(heads) + 1), strict=True))
    return not any(arcs_cross(one, other) for one in arcs for other in arcs)


@cache
def all_trees(n: int, decoder: decode.Decoder, roots: decode.Roots) -> npt.NDArray[np.int64]:
    """Every tree over n words that the decoder may answer with: (trees, n)."""
    if (decoder, roots) == ("mst", "any"):
        choices = product(*[[j for j in range(n + 1) if j != t] for t in range(1, n + 1)])
        trees = [heads for heads in choices if all(reaches_root(heads, t) for t in range(1, n + 1))]
    elif roots == "any":
        trees = [heads for heads in map(tuple, all_trees(n, "mst", "any")) if crosses_nothing(heads)]
    else:
        trees = [heads for heads in map(tuple, all_trees(n, decoder, "any")) if heads.count(0) == 1]
    return np.array(trees, dtype=np.int64)


def tree_scores(scores: Matrix, trees: npt.NDArray[np.integer[Any]]) -> Matrix:
    return scores[np.arange(len(scores)), trees].sum(axis=-1)


def assert_valid(heads: decode.Heads, decoder: decode.Decoder, roots: decode.Roots) -> None:
    as_tuple = tuple(heads.tolist())
    assert heads.dtype == np.int32
    assert all(reaches_root(as_tuple, t) for t in range(1, len(heads) + 1))
    assert as_tuple.count(0) == 1 or (roots == "any" and as_tuple.count(0) > 1)
    assert decoder == "mst" or is_projective(heads)


def assert_best_of_all(scores: Matrix, decoder: decode.Decoder, roots: decode.Roots) -> None:
    n = len(scores)
    found = decode.heads(scores, decoder=decoder, roots=roots)
    assert_valid(found, decoder, roots)
    trees = all_trees(n, decoder, roots)
    scores = scores.astype(np.float64)
    allowed = scores > -decode.LIMIT
    forbidden = (~allowed)[np.arange(n), trees].sum(axis=-1)
    taken = int((~allowed)[np.arange(n), found].sum())
    assert taken == forbidden.min()
    if taken:
        return
    best = tree_scores(scores, trees[forbidden == 0]).max()
    # What float64 cannot tell apart, no decoder has to.
    ranges = [row[ok].max() - row[ok].min() for row, ok in zip(scores, allowed, strict=True)]
    rounding = 1e-14 * n * (float(max(ranges)) + np.abs(scores[allowed]).max())
    assert tree_scores(scores, found) >= best - rounding


def random_matrices(n: int, count: int) -> Iterator[Matrix]:
    """Plain ones and every kind of hard one: ties, forbidden arcs, near-equal scores, huge ranges."""
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
        # ROOT is tempting for every word, or for none.
        yield plain + np.where(np.arange(n + 1) == 0, rng.choice([-1e6, 1e6]), 0.0)
        # One long chain of best heads that closes to a cycle: contraction within contraction.
        yield plain + 10 * (np.arange(n + 1) == (np.arange(1, n + 1) % n + 1)[:, None])


@both_roots
@both_trees
@pytest.mark.parametrize(("n", "count"), [(1, 20), (2, 60), (3, 120), (4, 120), (5, 80), (6, 12)])
def test_no_tree_scores_higher(n: int, count: int, decoder: decode.Decoder, roots: decode.Roots) -> None:
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
@settings(deadline=None, max_examples=150)
@given(scores=small_matrices())
def test_no_tree_scores_higher_whatever_the_matrix(
    scores: Matrix, decoder: decode.Decoder, roots: decode.Roots
) -> None:
    assert_best_of_all(scores, decoder, roots)


@both_roots
@pytest.mark.parametrize("n", [20, 35, 60])
def test_mst_agrees_with_networkx(n: int, roots: decode.Roots) -> None:
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
        assert tree_scores(scores, found) == pytest.approx(best, abs=1e-9)


@both_roots
def test_projective_finds_a_projective_tree_planted_in_noise(roots: decode.Roots) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 7, 40):
        planted = decode.projective(rng.normal(size=(n, n + 1)), roots=roots)
        scores = rng.random((n, n + 1))
        scores[np.arange(n), planted] += n + 1
        for decoder in ("mst", "projective", "argmax"):
            assert decode.heads(scores, decoder=decoder, roots=roots).tolist() == planted.tolist()


@both_roots
@both_trees
@settings(deadline=None, max_examples=40)
@given(data=st.data(), n=st.integers(1, 40))
def test_answer_is_always_a_tree(
    data: st.DataObject, n: int, decoder: decode.Decoder, roots: decode.Roots
) -> None:
    seed = data.draw(st.integers(0, 2**32 - 1))
    share = data.draw(st.sampled_from([0.0, 0.5, 0.95, 1.0]))
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((n, n + 1)) < share, -np.inf, rng.integers(0, 5, size=(n, n + 1)))
    assert_valid(decode.heads(scores, decoder=decoder, roots=roots), decoder, roots)


@both_roots
@both_trees
def test_projective_score_is_at_most_the_mst_score_and_single_at_most_any(
    decoder: decode.Decoder, roots: decode.Roots
) -> None:
    rng = np.random.default_rng(5)
    for n in (10, 30, 80):
        scores = rng.normal(size=(n, n + 1))
        score = tree_scores(scores, decode.heads(scores, decoder=decoder, roots=roots))
        assert score <= tree_scores(scores, decode.mst(scores, roots=roots)) + 1e-9
        assert score <= tree_scores(scores, decode.heads(scores, decoder=decoder, roots="any")) + 1e-9


@both_roots
@both_trees
def test_five_hundred_words(decoder: decode.Decoder, roots: decode.Roots) -> None:
    scores = np.random.default_rng(0).normal(size=(500, 501)).astype(np.float32)
    assert_valid(decode.heads(scores, decoder=decoder, roots=roots), decoder, roots)


@both_roots
@pytest.mark.parametrize("decoder", ["mst", "projective", "argmax"])
def test_no_words_give_no_heads(decoder: decode.Decoder, roots: decode.Roots) -> None:
    found = decode.heads(np.zeros((0, 1)), decoder=decoder, roots=roots)
    assert found.shape == (0,)
    assert found.dtype == np.int32


def test_argmax_takes_the_first_best_head_of_each_word_even_in_a_cycle() -> None:
    assert decode.argmax([[0.0, 9.0, 2.0], [1.0, 2.0, 9.0]]).tolist() == [2, 1]
    assert decode.argmax(np.zeros((3, 4))).tolist() == [0, 0, 0]
    assert decode.argmax(np.full((2, 3), -np.inf)).tolist() == [0, 0]


@pytest.mark.parametrize("own", [1e9, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("decoder", ["mst", "projective", "argmax"])
def test_self_arcs_are_never_looked_at(decoder: decode.Decoder, own: float) -> None:
    scores = np.random.default_rng(1).normal(size=(12, 13))
    expected = decode.heads(scores, decoder=decoder)
    scores[np.arange(12), np.arange(1, 13)] = own
    assert decode.heads(scores, decoder=decoder).tolist() == expected.tolist()


@both_roots
@pytest.mark.parametrize("decoder", ["mst", "projective", "argmax"])
def test_layout_and_type_of_the_scores_do_not_matter_and_they_are_left_alone(
    decoder: decode.Decoder, roots: decode.Roots
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


@both_trees
@both_roots
def test_ties_are_settled_the_same_way_every_time(decoder: decode.Decoder, roots: decode.Roots) -> None:
    scores = np.random.default_rng(4).integers(0, 2, size=(30, 31)).astype(np.float32)
    answers = {tuple(decode.heads(scores, decoder=decoder, roots=roots).tolist()) for _ in range(20)}
    program = (
        "import numpy as np; from biatt import decode;"
        "scores = np.random.default_rng(4).integers(0, 2, size=(30, 31)).astype(np.float32);"
        f"print(*decode.heads(scores, decoder={decoder!r}, roots={roots!r}))"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answers == {tuple(map(int, other.stdout.split()))}


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
def test_a_score_that_is_none_is_named_in_the_error(decoder: decode.Decoder, bad: float) -> None:
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


@both_roots
def test_mst_time_grows_with_the_square_of_the_length(roots: decode.Roots) -> None:
    def median_seconds(n: int) -> float:
        rng = np.random.default_rng(n)
        seconds = []
        for _ in range(41):
            scores = rng.normal(size=(n, n + 1))
            begin = time.perf_counter()
            decode.mst(scores, roots=roots)
            seconds.append(time.perf_counter() - begin)
        return float(np.median(seconds))

    decode.mst(np.random.default_rng(0).normal(size=(9, 10)), roots=roots)  # compile
    # 16 for n², 64 for n³; the larger matrices also leave the nearest cache.
    assert median_seconds(400) / median_seconds(100) < 40
