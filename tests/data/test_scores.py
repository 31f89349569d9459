"""Scores: agreement, relations given heads, batches and ensembles."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from biatt.data.scores import DeferredColumns, Floats, RelationLayer, Scores, log_softmax, mean, split_scores

Matrix = npt.NDArray[np.floating[Any]]


def test_agreement_is_the_sum_of_both_directions_and_one_direction_counts_once() -> None:
    left, right = np.array([[0.0, -1.0]], dtype=np.float32), np.array([[-2.0, -3.0]], dtype=np.float32)
    relations = np.zeros((1, 4), dtype=np.float32)
    assert Scores(left, right, relations).agreement.tolist() == [[-2.0, -4.0]]
    assert Scores(left, left, relations).agreement is left


@given(n=st.integers(1, 4), relations=st.integers(1, 4), hidden=st.integers(1, 3), data=st.data())
def test_relation_layer_of_word_and_head_is_added_to_the_scores_of_relations(
    n: int, relations: int, hidden: int, data: st.DataObject
) -> None:
    def numbers(*shape: int) -> Matrix:
        return data.draw(arrays(np.float64, shape, elements=st.floats(-50, 50)))

    arcs, logits = numbers(n, n + 1), numbers(n, relations)
    layer = RelationLayer(numbers(n, hidden), numbers(n + 1, hidden), numbers(hidden, relations))
    heads = data.draw(st.lists(st.integers(0, n), min_size=n, max_size=n))
    expected = logits.copy()
    for t, r, k in product(range(n), range(relations), range(hidden)):
        total = layer.words[t, k] + layer.heads[heads[t], k]
        expected[t, r] += (total if total > 0 else 0.1 * total) * layer.out[k, r]
    scores = Scores(arcs, arcs, logits, layer).relation_scores(heads)
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-4)  # the slope is a float32
    assert Scores(arcs, arcs, logits).relation_scores(heads).tolist() == logits.tolist()


def test_relations_are_log_probabilities_even_of_huge_scores() -> None:
    arcs, scores = np.zeros((2, 3)), np.array([[0.0, np.log(3.0)], [1e5, -1e5]])
    relations = Scores(arcs, arcs, scores).relations([0, 1])
    np.testing.assert_allclose(np.exp(relations), [[0.25, 0.75], [1.0, 0.0]])
    assert np.isfinite(relations).all()


def random_scores(n: int, columns: int, *, positions: int, seed: int, one_direction: bool = False) -> Scores:
    draw = np.random.default_rng(seed)
    left, right = log_softmax(draw.normal(size=(2, n, columns)))
    layer = RelationLayer(
        draw.normal(size=(n, 3)), draw.normal(size=(positions, 3)), draw.normal(size=(3, 4))
    )
    return Scores(left, left if one_direction else right, draw.normal(size=(n, 4)), layer)


@pytest.mark.parametrize("one_direction", [False, True])
def test_batch_is_split_into_its_sentences(one_direction: bool) -> None:
    lengths = [3, 1, 2]
    batch = random_scores(6, 4, positions=9, seed=1, one_direction=one_direction)
    parts = split_scores(batch, np.array(lengths))
    heads_by_batch, word, position = [], 0, 0
    for n, part in zip(lengths, parts, strict=True):
        assert part.left.tolist() == batch.left[word : word + n, : n + 1].tolist()
        assert part.right.tolist() == batch.right[word : word + n, : n + 1].tolist()
        assert (part.left is part.right) == one_direction
        heads_by_batch += [position + t for t in range(n)]
        word, position = word + n, position + n + 1
    together = np.concatenate([part.relation_scores(range(len(part.left))) for part in parts])
    np.testing.assert_allclose(together, batch.relation_scores(heads_by_batch))


@pytest.mark.parametrize("one_direction", [False, True])
def test_mean_averages_probabilities_of_heads_and_scores_of_relations(one_direction: bool) -> None:
    members = [random_scores(3, 4, positions=4, seed=s, one_direction=one_direction) for s in range(3)]
    ensemble = mean(members)
    for side in ("left", "right"):
        expected = np.mean([np.exp(getattr(member, side)) for member in members], 0)
        np.testing.assert_allclose(np.exp(getattr(ensemble, side)), expected, rtol=1e-6)
    assert (ensemble.left is ensemble.right) == one_direction
    heads = [2, 0, 1]
    expected = np.mean([member.relation_scores(heads) for member in members], 0)
    np.testing.assert_allclose(ensemble.relation_scores(heads), expected, rtol=1e-6)
    assert mean(members[:1]) is members[0]


def test_mean_of_impossible_heads_is_finite() -> None:
    with np.errstate(divide="ignore"):
        table = np.log(np.array([[1.0, 0.0]], np.float32))
    scores = Scores(table, table, np.zeros((1, 1), np.float32))
    assert np.isfinite(mean([scores, scores]).left).all()


def test_deferred_columns_are_computed_once_when_they_are_used() -> None:
    calls = []

    def compute() -> dict[str, Floats]:
        calls.append(1)
        return {"upos": np.ones(2)}

    columns = DeferredColumns(compute)
    assert calls == []
    assert list(columns) == ["upos"]
    assert columns["upos"].tolist() == [1.0, 1.0]
    assert len(columns) == len(calls) == 1
    copy = pickle.loads(pickle.dumps(columns))
    assert type(copy) is dict
    assert copy["upos"].tolist() == [1.0, 1.0]
