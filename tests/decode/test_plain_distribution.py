"""Decoders and distributions without compiled kernels give what they give with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from biatt.decode import distribution
from biatt.decode.decoders import argmax, mst, projective
from biatt.decode.distribution import TreeDistribution
from biatt.options import Roots
from examples import examples
from tree_enumeration import Matrix, arc_score_matrices, hard_arc_scores
from ways import on_the

both_roots = pytest.mark.parametrize("roots", ["single", "any"])


@both_roots
@examples(60)
@given(scores=arc_score_matrices())
def test_decoders_choose_the_same_trees(scores: Matrix, roots: Roots) -> None:
    assert_same_trees(scores, roots)


def assert_same_trees(scores: Matrix, roots: Roots) -> None:
    """Bit for bit: both ways take the same sums of double precision in the same order."""
    expected = [mst(scores, roots=roots), projective(scores, roots=roots), argmax(scores)]
    with on_the("plain"):
        found = [mst(scores, roots=roots), projective(scores, roots=roots), argmax(scores)]
    assert [heads.tolist() for heads in found] == [heads.tolist() for heads in expected]


@both_roots
def test_hard_scores_have_the_same_trees(roots: Roots) -> None:
    draw = np.random.default_rng(0)
    for words in (40, 130):  # with ties and with many cycles
        assert_same_trees(draw.normal(0, 3, (words, words + 1)).round(1), roots)
    for scores in hard_arc_scores(9, 3):
        assert_same_trees(scores, roots)


@both_roots
@pytest.mark.parametrize("arithmetic", ["weights", "panels", "logarithms"])
@pytest.mark.parametrize("words", [1, 2, 4, 11])
def test_distributions_are_the_same(
    words: int, arithmetic: str, roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    if arithmetic == "logarithms":
        monkeypatch.setattr(distribution, "UNDERFLOW", np.inf)
    if arithmetic == "panels":
        monkeypatch.setattr(distribution, "PANEL", 3)
    for scores in hard_arc_scores(words, 2):
        assert_same_distribution(scores, roots)


def assert_same_distribution(scores: Matrix, roots: Roots) -> None:
    expected = TreeDistribution(scores, roots=roots)
    marginals, entropy = expected.marginals, expected.entropy
    with on_the("plain"):
        found = TreeDistribution(scores, roots=roots)
        np.testing.assert_allclose(found.marginals, marginals, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.entropy, entropy, rtol=1e-7, atol=1e-7)
    if expected.log_partition == -np.inf:
        assert found.log_partition == -np.inf
    else:
        np.testing.assert_allclose(found.log_partition, expected.log_partition, rtol=1e-9, atol=1e-7)
