"""The training objective against the paper's equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from biatt.encoding.batches import collate
from biatt.encoding.doubts import FIRST_LABEL, HEAD, RELATION, Doubts
from biatt.encoding.labels import Labels
from biatt.encoding.vocabulary import Encoded
from biatt.network.losses import label_losses, log_likelihood
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
from examples import examples


@examples(30)
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


@every_ablation
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_word_without_a_head_contributes_nothing(variant: dict[str, Any], smoothing: float) -> None:
    model, bags = network(variant), [[1], [2, 3], [4]]
    missing = collate([encoded(bags, [2, -1, 2], [1, 2, 3])])
    output = model(missing)
    alone = 0.0
    for other in ([-1, -1, 2], [2, -1, -1]):
        alone += log_likelihood(
            output, collate([encoded(bags, other, [1, 2, 3])]), smoothing=smoothing
        ).item()
    assert log_likelihood(output, missing, smoothing=smoothing).item() == pytest.approx(alone, abs=1e-12)
    nothing = collate([encoded(bags, [-1, -1, -1], [1, 2, 3])])
    loss = log_likelihood(model(nothing), nothing, smoothing=smoothing)
    assert loss.item() == 0
    model.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    assert not any(p.grad is not None and p.grad.any() for p in model.parameters())


@examples(30)
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


# Doubts of a teacher

LABELS = Labels({"upos": ["a", "b", "c"], "xpos": ["a", "b"]})
KIND_SIZES = {RELATION: RELATIONS, FIRST_LABEL: 3, FIRST_LABEL + 1: 2}


def random_doubts(n: int, draw: np.random.Generator) -> Doubts:
    """Doubts about some choices of some words of a sentence."""
    elements = []
    for word in range(n):
        for kind, size in {HEAD: n + 1, **KIND_SIZES}.items():
            chosen = draw.permutation(size)[: draw.integers(0, 4)]
            shares = draw.dirichlet(np.ones(len(chosen))) if len(chosen) else []
            elements += [(word, kind, choice, p) for choice, p in zip(chosen, shares, strict=True)]
    columns = zip(*elements, strict=True) if elements else [[]] * 4
    types = (np.int32, np.uint8, np.int16, np.float16)
    return Doubts(*(np.array(column, kind) for column, kind in zip(columns, types, strict=True)))


def slow_expected(
    log_y: np.ndarray[Any, Any], word: int, kind: int, gold: int, doubts: Doubts, smoothing: float
) -> float:
    """The expected log-probability of a choice of one word, from log-probabilities (choices,)."""
    target = np.zeros(len(log_y))
    for w, k, choice, p in zip(*doubts, strict=True):
        if (w, k) == (word, kind):
            target[choice] += p
    if not target.any():
        if gold < 0:
            return 0.0
        target[gold] = 1
    target = (1 - smoothing) * target + smoothing / len(target)
    return float((target * log_y).sum())


@examples(40)
@given(
    st.lists(encoded_sentences(), min_size=1, max_size=4), st.integers(0, 999), st.sampled_from([0.0, 0.2])
)
def test_doubts_are_targets_in_the_place_of_gold_choices(
    treebank: list[Encoded], seed: int, smoothing: float
) -> None:
    draw = np.random.default_rng(seed)
    treebank = [s._replace(heads=np.maximum(s.heads, 0)) for s in treebank]  # a teacher gives whole trees
    model = network({"pair_hidden": 5}, seed=seed)
    labels = [draw.integers(-1, [3, 2], (s.words, 2)).astype(np.int32) for s in treebank]
    doubts = [random_doubts(s.words, draw) for s in treebank]
    expected, expected_labels, label_scores = 0.0, np.zeros(2), []
    for i, s in enumerate(treebank):
        output = model(collate([s]))
        log_y = log_y_by_head(output)
        scores = torch.from_numpy(draw.normal(size=(s.words, 5)))
        label_scores.append(scores)
        for t, (head, relation) in enumerate(zip(s.heads, s.relations, strict=True)):
            for direction in output.log_a.detach().numpy():
                expected += slow_expected(direction[t], t, HEAD, head, doubts[i], smoothing)
            expected += slow_expected(log_y[t, head], t, RELATION, relation, doubts[i], smoothing)
            for kind, part in enumerate(LABELS.slices):
                log_p = torch.log_softmax(scores[t, part], -1).numpy()
                gold = labels[i][t, kind]
                expected_labels[kind] -= slow_expected(
                    log_p, t, FIRST_LABEL + kind, gold, doubts[i], smoothing
                )
    batch = collate([s._replace(labels=labels[i], doubts=doubts[i]) for i, s in enumerate(treebank)])
    assert batch.labels is not None
    found = log_likelihood(model(batch), batch, smoothing=smoothing)
    assert found.item() == pytest.approx(expected, abs=1e-3)
    losses = label_losses(
        torch.cat(label_scores), batch.labels, LABELS, doubts=batch.doubts, smoothing=smoothing
    )
    np.testing.assert_allclose(losses.numpy(), expected_labels, atol=1e-3)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_certain_sentences_have_the_loss_that_they_have_without_doubts(smoothing: float) -> None:
    treebank, draw = random_sentences([3, 5]), np.random.default_rng(1)
    model = network({})
    nothing = random_doubts(0, draw)
    without, batch = collate(treebank), collate([s._replace(doubts=nothing) for s in treebank])
    output = model(batch)
    assert log_likelihood(output, batch, smoothing=smoothing).item() == pytest.approx(
        log_likelihood(output, without, smoothing=smoothing).item()
    )
    scores, gold = torch.randn(8, 5), draw.integers(-1, 2, (8, 2)).astype(np.int32)
    losses = [label_losses(scores, gold, LABELS, doubts=d, smoothing=smoothing) for d in (None, nothing)]
    np.testing.assert_allclose(*losses, rtol=1e-5)
