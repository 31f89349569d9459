"""The network without torch against the one with it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from biatt.config import ParserConfig
from biatt.data.scores import Scores, split_scores
from biatt.encoding.batches import Batch, collate
from biatt.errors import ModelError
from biatt.kernels.forward import FusedNetwork
from biatt.models.weights import VECTOR_SCALE, VECTORS, parser_shapes
from biatt.network.model import BiAtt
from biatt.network.scoring import scores
from builders import (
    RELATIONS,
    ROWS,
    VARIANTS,
    encoded,
    every_ablation,
    every_variant,
    frozen_vectors,
    named,
    network,
    parts,
    random_sentences,
)
from equations import slow_forward
from examples import examples
from ways import ROUNDED, Way, both_ways, on_the, without_rounding


def weights_of(model: BiAtt) -> dict[str, NDArray[Any]]:
    return {name: value.numpy() for name, value in model.state_dict().items()}


def without_torch(model: BiAtt) -> FusedNetwork:
    return FusedNetwork(model.config, weights_of(model), rows=ROWS, relations=RELATIONS)


def small(variant: dict[str, Any], **options: Any) -> BiAtt:
    """A network whose states stay small, so that float32 has digits to compare."""
    result = network(variant, **options)
    with torch.no_grad():
        for parameter in result.parameters():
            parameter.mul_(0.5)
    return result


def by_sentence(network: FusedNetwork, batch: Batch) -> list[Scores]:
    return split_scores(network.score(batch), batch.words)


def assert_same(found: list[Scores], expected: list[Scores], *, tolerance: float = ROUNDED) -> None:
    for one, other in zip(found, expected, strict=True):
        for part, wanted in zip(parts(one), parts(other), strict=True):
            assert part.dtype == np.float32
            np.testing.assert_allclose(part, wanted, rtol=tolerance, atol=tolerance)


def assert_same_every_way(model: BiAtt, batch: Batch, expected: list[Scores]) -> None:
    """By compiled kernels and in numpy, up to rounding; and without rounding, up to the last digits."""
    assert_same(by_sentence(without_torch(model), batch), expected)
    with on_the("plain"):
        assert_same(by_sentence(without_torch(model), batch), expected)
    with without_rounding():
        assert_same(by_sentence(without_torch(model), batch), expected, tolerance=1e-5)


@every_variant
@pytest.mark.parametrize("lengths", [[1], [4, 1, 12, 4, 7]], ids=str)
def test_scores_equal_those_of_the_torch_network(variant: dict[str, Any], lengths: list[int]) -> None:
    model, batch = small(variant, hidden=6, embedding=5), collate(random_sentences(lengths))
    assert_same_every_way(model, batch, split_scores(scores(model(batch)), batch.words))


@every_variant
def test_scores_equal_the_equations_step_by_step(variant: dict[str, Any]) -> None:
    model, treebank = small(variant, hidden=5, seed=2), random_sentences([5, 2], seed=2)
    with without_rounding():
        of_sentences = by_sentence(without_torch(model), collate(treebank))
    for found, sentence in zip(of_sentences, treebank, strict=True):
        log_a, log_y = slow_forward(model, sentence)
        np.testing.assert_allclose(found.left, log_a[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.right, log_a[-1], rtol=1e-5, atol=1e-5)
        for head in range(sentence.words + 1):
            relations = found.relations([head] * sentence.words)
            np.testing.assert_allclose(relations, log_y[:, head], rtol=1e-5, atol=1e-5)


@both_ways
def test_flag_of_an_invalid_operation_warns_of_nothing(way: Way) -> None:
    model = network({}, hidden=5)
    with torch.no_grad():
        model.P.fill_(torch.inf)  # ∞ − ∞ sets the flag, as BLAS can do without a reason
    with np.errstate(invalid="raise"):
        without_torch(model).score(collate(random_sentences([5, 2])))


@examples(40)
@given(
    st.sampled_from(VARIANTS),
    st.integers(1, 13),
    st.integers(0, 9),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
    st.integers(0, 999),
)
def test_scores_equal_those_of_the_torch_network_for_any_shape(
    variant: dict[str, Any], hidden: int, embedding: int, lengths: list[int], seed: int
) -> None:
    model = small(variant, hidden=hidden, embedding=embedding, seed=seed)
    batch = collate(random_sentences(lengths, seed=seed))
    assert_same_every_way(model, batch, split_scores(scores(model(batch)), batch.words))


@both_ways
@every_ablation
def test_batch_gives_what_each_of_its_sentences_gives_alone(way: Way, variant: dict[str, Any]) -> None:
    fused = without_torch(small(variant, hidden=7))
    treebank = random_sentences([5, 1, 9, 2, 2, 13, 6])
    alone = [by_sentence(fused, collate([sentence]))[0] for sentence in treebank]
    assert_same(by_sentence(fused, collate(treebank)), alone)


@both_ways
@every_ablation
def test_scoring_changes_neither_the_weights_nor_the_next_result(way: Way, variant: dict[str, Any]) -> None:
    model, batch = small(variant), collate(random_sentences([3, 5]))
    fused = without_torch(model)
    before = {name: value.copy() for name, value in fused.weights.items()}
    first, second = by_sentence(fused, batch), by_sentence(fused, batch)
    assert all(np.array_equal(value, before[name]) for name, value in fused.weights.items())
    for one, other in zip(first, second, strict=True):
        assert all(np.array_equal(part, same) for part, same in zip(parts(one), parts(other), strict=True))


@both_ways
@every_ablation
def test_scores_stay_finite_for_weights_a_hundred_times_too_large(way: Way, variant: dict[str, Any]) -> None:
    config = ParserConfig(hidden=30, **variant)
    draw = np.random.default_rng(0)
    weights = {
        name: draw.normal(0, 10, shape)
        for name, shape in parser_shapes(config, rows=ROWS, relations=RELATIONS).items()
    }
    fused = FusedNetwork(config, weights, rows=ROWS, relations=RELATIONS)
    for found in by_sentence(fused, collate(random_sentences([60, 1, 41]))):
        assert all(np.isfinite(part).all() for part in parts(found))


def missing(weights: dict[str, NDArray[Any]]) -> None:
    del weights["D"]


def unknown(weights: dict[str, NDArray[Any]]) -> None:
    weights["D2"] = weights["v"]


def transposed(weights: dict[str, NDArray[Any]]) -> None:
    weights["P"] = weights["P"].T


def another_size(weights: dict[str, NDArray[Any]]) -> None:
    weights["E.weight"] = weights["E.weight"][:-1]


@pytest.mark.parametrize(
    ("damage", "name"), [(missing, "D"), (unknown, "D2"), (transposed, "P"), (another_size, "E.weight")]
)
def test_weights_that_do_not_fit_are_named(damage: Any, name: str) -> None:
    model = network({})
    weights = weights_of(model)
    damage(weights)
    with pytest.raises(ModelError, match=rf"do not fit .*\({name}\)"):
        FusedNetwork(model.config, weights, rows=ROWS, relations=RELATIONS)


@pytest.mark.parametrize("size", [{"rows": ROWS + 1, "relations": RELATIONS}, {"rows": ROWS, "relations": 1}])
def test_weights_of_another_vocabulary_are_refused(size: dict[str, int]) -> None:
    model = network({})
    with pytest.raises(ModelError, match="vocabulary"):
        FusedNetwork(model.config, weights_of(model), **size)


@pytest.mark.parametrize("variant", [{}, {"layers": 2, "query_input": "memory", "pair_hidden": 5}], ids=named)
def test_frozen_vectors_are_projected_and_added(variant: dict[str, Any]) -> None:
    """With torch, without it, and as rows of E that are written into a network without vectors."""
    vectors = {"vector_rows": 4, "vector_width": 3}
    model, plain = small({**variant, **vectors}), small(variant)
    frozen = frozen_vectors(model.config)
    model.set_frozen(frozen)
    model.float()
    table = frozen[VECTORS] * frozen[VECTOR_SCALE][:, None]
    treebank = random_sentences([5, 1, 3])
    more = [  # with a vector at every second word
        encoded(
            [
                [*sentence.rows[start:end], *([ROWS + j % 4] if j % 2 else [])]
                for j, (start, end) in enumerate(pairwise(sentence.offsets[1:]))
            ],
            sentence.heads.tolist(),
            sentence.relations.tolist(),
        )
        for sentence in treebank
    ]
    batch = collate(more)
    weights = {**weights_of(model), **frozen}
    fused = FusedNetwork(model.config, weights, rows=ROWS, relations=RELATIONS)
    of_torch = split_scores(scores(model(batch)), batch.words)
    assert_same(by_sentence(fused, batch), of_torch)
    with without_rounding():
        assert_same(by_sentence(fused, batch), of_torch, tolerance=1e-5)
    without = by_sentence(fused, collate(treebank))
    assert not np.allclose(without[0].left, of_torch[0].left, atol=1e-4)

    # E' = [E P; V P_v] with P' = 1 has the same sums.
    with torch.no_grad():
        projected = torch.cat([model.E.weight @ model.P, torch.from_numpy(table) @ model.vectors.P])
    h = model.config.hidden
    as_rows = BiAtt(replace(plain.config, embedding=h), rows=ROWS + 4, relations=RELATIONS)
    state = {name: value for name, value in model.state_dict().items() if not name.startswith("vectors")}
    as_rows.load_state_dict({**state, "E.weight": projected, "P": torch.eye(h)})
    assert_same(of_torch, split_scores(scores(as_rows(batch)), batch.words))
