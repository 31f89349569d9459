"""The training objective against the paper's equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from biatt.encoding.batches import collate
from biatt.encoding.vocabulary import Encoded
from biatt.network.losses import log_likelihood
from biatt.network.model import ParserOutput, RelationTensors
from builders import (
    ABLATIONS,
    RELATIONS,
    VARIANTS,
    encoded,
    encoded_sentences,
    every_ablation,
    log_y_by_head,
    network,
    random_sentences,
)
from equations import slow_forward, slow_log_likelihood


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(VARIANTS), st.lists(encoded_sentences(), min_size=1, max_size=4), st.integers(0, 99))
def test_log_likelihood_of_a_batch_equals_the_sum_over_its_sentences(
    variant: dict[str, Any], treebank: list[Encoded], seed: int
) -> None:
    model, batch = network(variant, seed=seed), collate(treebank)
    expected = sum(slow_log_likelihood(*slow_forward(model, sentence), sentence) for sentence in treebank)
    assert log_likelihood(model(batch), batch).item() == pytest.approx(expected, abs=1e-8)


@every_ablation
def test_unknown_relation_contributes_nothing(variant: dict[str, Any]) -> None:
    model = network(variant)
    bags, heads = [[1], [2, 3], [4]], [2, 0, 2]
    batch = collate([encoded(bags, heads, [1, -1, 3])])
    output = model(batch)
    arcs = sum(a[t, head].item() for a in output.log_a for t, head in enumerate(heads))
    log_y = log_y_by_head(output)
    labels = log_y[0, 2, 1] + log_y[2, 2, 3]
    assert log_likelihood(output, batch).item() == pytest.approx(arcs + labels, abs=1e-12)

    without = collate([encoded(bags, heads, [-1, -1, -1])])
    assert log_likelihood(output, without).item() == pytest.approx(arcs, abs=1e-12)
    model.zero_grad()
    log_likelihood(model(without), without).backward()  # type: ignore[no-untyped-call]
    pair = model.pair.parameters() if "pair_hidden" in variant else ()
    for parameter in (model.U, model.W, model.relation_bias, *pair):
        assert parameter.grad is None or not parameter.grad.any()


@settings(deadline=None, max_examples=30)
@given(
    st.sampled_from(ABLATIONS), st.lists(encoded_sentences(), min_size=1, max_size=4), st.floats(0.01, 0.99)
)
def test_smoothing_spreads_a_share_of_each_target_over_all_choices(
    variant: dict[str, Any], treebank: list[Encoded], smoothing: float
) -> None:
    model, batch = network(variant), collate(treebank)
    expected = sum(
        slow_log_likelihood(*slow_forward(model, sentence), sentence, smoothing=smoothing)
        for sentence in treebank
    )
    found = log_likelihood(model(batch), batch, smoothing=smoothing)
    assert found.item() == pytest.approx(expected, abs=1e-8)


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 6))
def test_log_likelihood_bounds_the_disagreement_of_the_attentions(seed: int, n: int) -> None:
    """H²(aˡ, aʳ) ≤ 2 √(D(g ‖ aˡ) + D(g ‖ aʳ)), the paper's appendix; g is the gold head."""
    (sentence,) = random_sentences([n], seed=seed)
    left, right = slow_forward(network({}, seed=seed), sentence)[0]
    for t, head in enumerate(sentence.heads):
        distance = 0.5 * ((np.exp(left[t] / 2) - np.exp(right[t] / 2)) ** 2).sum()
        assert distance <= 2 * np.sqrt(-left[t, head] - right[t, head])


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_gradient_of_the_log_likelihood(smoothing: float) -> None:
    batch = collate([encoded([[], [], []], [2, 0, 3], [1, -1, 0])])
    shapes = (2, 3, 4), (3, RELATIONS), (3, 2), (4, 2), (2, RELATIONS)
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]

    def objective(log_a: Tensor, logits: Tensor, *layer: Tensor) -> Tensor:
        output = ParserOutput(log_a, logits, RelationTensors(*layer) if layer else None)
        return log_likelihood(output, batch, smoothing=smoothing)

    assert torch.autograd.gradcheck(objective, inputs[:2])
    assert torch.autograd.gradcheck(objective, inputs)
