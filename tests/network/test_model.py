"""The network against the paper's equations, its gradients against finite differences."""

from __future__ import annotations

from functools import partial
from math import exp, log, tanh
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from biatt.config import ParserConfig
from biatt.encoding.batches import Batch, collate
from biatt.encoding.vocabulary import Encoded
from biatt.network.losses import log_likelihood
from biatt.network.model import BiAtt, Dropout
from biatt.network.operations import (
    Grid,
    GruTensors,
    LookupTensors,
    attention,
    gru_step,
    query_recurrence,
    recurrence,
)
from builders import (
    LARGER,
    RELATIONS,
    ROWS,
    VARIANTS,
    dropout,
    encoded,
    encoded_sentences,
    every_ablation,
    every_variant,
    gradients,
    log_y_by_head,
    network,
    parts,
    random_sentences,
    sentence_scores,
)
from equations import slow_forward
from examples import examples

CPU = torch.device("cpu")


@every_variant
def test_network_equals_the_equations_step_by_step(variant: dict[str, Any]) -> None:
    model = network(variant)
    (sentence,) = random_sentences([4], seed=3)
    log_a, log_y = slow_forward(model, sentence)
    output = model(collate([sentence]))
    np.testing.assert_allclose(output.log_a.detach().numpy(), log_a, rtol=0, atol=1e-9)
    np.testing.assert_allclose(log_y_by_head(output), log_y, rtol=0, atol=1e-9)


@examples(40)
@given(st.sampled_from(VARIANTS), st.lists(encoded_sentences(), min_size=1, max_size=4), st.integers(0, 99))
def test_batch_equals_the_equations_of_each_sentence(
    variant: dict[str, Any], treebank: list[Encoded], seed: int
) -> None:
    model, batch = network(variant, seed=seed), collate(treebank)
    for sentence, found in zip(treebank, sentence_scores(model, batch), strict=True):
        log_a, log_y = slow_forward(model, sentence)
        np.testing.assert_allclose(found.left, log_a[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.right, log_a[-1], rtol=0, atol=1e-9)
        for head in range(sentence.words + 1):
            relations = found.relations([head] * sentence.words)
            np.testing.assert_allclose(relations, log_y[:, head], rtol=0, atol=1e-6)  # a float32 slope


def test_two_words_by_hand() -> None:
    config = ParserConfig(hidden=1, directions="left-to-right")
    model = BiAtt(config, rows=4, relations=2).double()
    values: dict[str, Any] = {
        "E.weight": [[2], [-4], [-5], [4]],
        "P": [[1]],
        "P_bias": [-1],
        # Gates see their biases only: r = ½ everywhere, z = ¾ in the left memory, ½ elsewhere.
        "memory.W": [[[0, 0, 2]], [[0, 0, 1]]],
        "memory.U": [[[0, 0, 2]], [[0, 0, 0]]],
        "memory.bias": [[0, log(3), 0], [0, 0, 0]],
        "memory.first": [[0.4], [1]],
        "query.W": [[[0, 0, 1]]],
        "query.U": [[[0, 0, 0]]],
        "query.bias": [[0, 0, 0]],
        "query.first": [[0]],
        "F": [[[0, 0, 0], [0, 0, 1]]],  # the soft headword's right half is fed to the candidate
        "C": [[[1], [-1]]],
        "D": [[[1]]],
        "v": [[2]],
        "U": [[[1, 0], [0, 0]]],
        "W": [[[0, 1]]],
        "relation_bias": [0.5, 0],
    }
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.tensor(values.pop(name), dtype=torch.float64))
    assert not values
    output = model(collate([encoded([[1, 2], [3]], [2, 0], [0, 1])]))

    # x₀ = 2 − 1 = 1;  x₁ = LReL(−4 − 5 − 1) = −1;  x₂ = 4 − 1 = 3
    # hˡ₀ = ¾·0.4    + ¼·LReL( 2 + 2·½·0.4)    = 0.3      + ¼·2.4    = 0.9
    # hˡ₁ = ¾·0.9    + ¼·LReL(−2 + 2·½·0.9)    = 0.675    − ¼·0.11   = 0.6475
    # hˡ₂ = ¾·0.6475 + ¼·LReL( 6 + 2·½·0.6475) = 0.485625 + ¼·6.6475 = 2.1475
    # hʳ₂ = ½·1 + ½·3 = 2;  hʳ₁ = ½·2 − ½·0.1 = 0.95;  hʳ₀ = ½·0.95 + ½·1 = 0.975
    # C m = hˡ − hʳ = −0.075, −0.3025, 0.1475
    # q₁ = ½·0 + ½·LReL(−1) = −0.05
    s_1 = [2 * tanh(-0.125), 2 * tanh(-0.3525), 2 * tanh(0.0975)]
    a_1 = [exp(s) / sum(map(exp, s_1)) for s in s_1]
    # q₂ = ½·(−0.05) + ½·LReL(3 + m̃₁)
    q_2 = 1.475 + 0.5 * (0.975 * a_1[0] + 0.95 * a_1[1] + 2 * a_1[2])
    s_2 = [2 * tanh(-0.075 + q_2), 2 * tanh(-0.3025 + q_2), 2 * tanh(0.1475 + q_2)]
    a_2 = [exp(s) / sum(map(exp, s_2)) for s in s_2]
    np.testing.assert_allclose(output.log_a[0].detach().exp().numpy(), [a_1, a_2], rtol=1e-12)
    # logits: the soft headword's left half plus ½, and the query
    for t, (a, q) in enumerate([(a_1, -0.05), (a_2, q_2)]):
        soft = 0.9 * a[0] + 0.6475 * a[1] + 2.1475 * a[2] + 0.5
        y = exp(soft) / (exp(soft) + exp(q))
        np.testing.assert_allclose(output.logits[t].softmax(-1).detach().numpy(), [y, 1 - y], rtol=1e-12)


# Gradients


@torch.no_grad()
def slope(model: BiAtt, batch: Batch, parameter: Tensor, direction: Tensor, *, step: float = 1e-6) -> float:
    """The central difference of the log-likelihood along a direction."""
    original = parameter.clone()
    ends = []
    for sign in (1, -1):
        parameter.copy_(original + sign * step * direction)
        ends.append(log_likelihood(model(batch), batch).item())
    parameter.copy_(original)
    return (ends[0] - ends[1]) / (2 * step)


@pytest.mark.slow
@every_variant
def test_gradient_of_every_parameter_equals_finite_differences(variant: dict[str, Any]) -> None:
    model, batch = network(variant, seed=1), collate(random_sentences([3, 1, 4], seed=1))
    generator = torch.Generator().manual_seed(2)
    for (name, gradient), parameter in zip(gradients(model, batch).items(), model.parameters(), strict=True):
        assert gradient.abs().max() > 0, name
        direction = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
        expected = slope(model, batch, parameter, direction)
        assert (gradient * direction).sum().item() == pytest.approx(expected, rel=1e-6, abs=1e-7), name


@pytest.mark.slow
def test_gradient_of_every_single_weight_equals_finite_differences() -> None:
    model, batch = network({}, hidden=2, embedding=1, seed=4), collate(random_sentences([3], seed=4))
    for (name, gradient), parameter in zip(gradients(model, batch).items(), model.parameters(), strict=True):
        for i in range(parameter.numel()):
            direction = torch.zeros_like(parameter)
            direction.view(-1)[i] = 1
            found = gradient.reshape(-1)[i].item()
            assert found == pytest.approx(slope(model, batch, parameter, direction), rel=1e-6, abs=1e-7), name


def variables(*shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]


def test_gradient_of_a_gru_step() -> None:
    assert torch.autograd.gradcheck(partial(gru_step, limit=0.7), variables((2, 3, 2), (2, 3, 6), (2, 2, 6)))


def test_gradient_of_a_recurrence_over_sentences_of_mixed_lengths() -> None:
    lengths = np.array([2, 3, 1], np.int32)
    assert torch.autograd.gradcheck(
        lambda x, *gru: recurrence(x, GruTensors(*gru, limit=0.7), lengths, "lr"),
        variables((6, 3), (2, 3, 6), (2, 6), (2, 2, 6), (2, 2)),
    )


def test_gradient_of_attention() -> None:
    def run(queries: Tensor, values: Tensor, projected: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        log_a, soft = attention(queries, values, projected, v, np.array([1, 2], np.int32))
        return log_a.exp(), soft  # log a is −inf past a sentence, where no difference can be taken

    assert torch.autograd.gradcheck(run, variables((2, 3, 2), (2, 5, 3), (1, 5, 2), (2, 2)))


def test_gradient_of_the_query_recurrence() -> None:
    def run(*tensors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        words = np.array([1, 2], np.int32)
        gru, lookup = GruTensors(*tensors[2:6], limit=0.7), LookupTensors(*tensors[6:])
        q, log_a, soft = query_recurrence(tensors[0], tensors[1], gru, lookup, words, "lr")
        return q, log_a.exp(), soft

    cell = (2, 3, 6), (2, 6), (2, 2, 6), (2, 2)
    lookup = (2, 4, 6), (2, 4, 1), (1, 4, 2), (2, 2, 2), (2, 2)
    assert torch.autograd.gradcheck(run, variables((3, 3), (5, 4), *cell, *lookup))


# Batches


@pytest.mark.slow
@every_ablation
def test_batch_equals_batches_of_one_sentence(variant: dict[str, Any]) -> None:
    treebank = random_sentences([1, 12, 5, 5, 1, 8, 2, 11, 3, 7], seed=6)
    model = network(variant, hidden=5, embedding=0, seed=6)
    batch = collate(treebank)
    together = sentence_scores(model, batch)
    summed: dict[str, Tensor] = {}
    for sentence, found in zip(treebank, together, strict=True):
        alone = collate([sentence])
        (expected,) = sentence_scores(model, alone)
        for one, other in zip(parts(found), parts(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
        for name, gradient in gradients(model, alone).items():
            summed[name] = summed.get(name, torch.zeros_like(gradient)) + gradient
    for name, gradient in gradients(model, batch).items():
        torch.testing.assert_close(
            gradient, summed[name], rtol=0, atol=1e-9 * summed[name].abs().max().item()
        )


@every_ablation
def test_order_of_the_sentences_does_not_matter(variant: dict[str, Any]) -> None:
    model, treebank = network(variant), random_sentences([2, 5, 1], seed=7)
    forwards, backwards = collate(treebank), collate(treebank[::-1])
    for one, other in zip(
        sentence_scores(model, forwards),
        sentence_scores(model, backwards)[::-1],
        strict=True,
    ):
        for found, expected in zip(parts(one), parts(other), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@every_variant
def test_probabilities_sum_to_one_and_stay_inside_the_sentence(variant: dict[str, Any]) -> None:
    batch = collate(random_sentences([3, 1], seed=8))
    model = network(variant)
    output = model(batch)
    attentions = 2 if variant.get("directions", "both") == "both" and "attention" not in variant else 1
    assert output.log_a.shape == (attentions, 4, 4)
    np.testing.assert_allclose(output.log_a.exp().sum(-1).detach().numpy(), 1.0)
    for found, heads in zip(sentence_scores(model, batch), ([3, 0, 2], [0]), strict=True):
        np.testing.assert_allclose(np.exp(found.relations(heads)).sum(-1), 1.0)
    assert (output.log_a[:, 3, 2:] == -torch.inf).all()
    assert output.log_a[:, :3].isfinite().all()


@every_ablation
def test_sentence_of_one_word(variant: dict[str, Any]) -> None:
    model, batch = network(variant), collate([encoded([[1, 2]], [0], [1])])
    (found,) = sentence_scores(model, batch)
    assert found.agreement.shape == (1, 2)
    assert found.relations([0]).shape == (1, RELATIONS)
    assert all(gradient.isfinite().all() for gradient in gradients(model, batch).values())


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_padding_can_be_undone_and_follows_the_reading_order(lengths: list[int]) -> None:
    sentences = Grid(np.array(lengths, np.int32), CPU)
    flat = torch.arange(sum(lengths)).expand(2, -1)
    grid = sentences.pad(flat, "lr")
    start = 0
    for i, n in enumerate(lengths):
        assert grid[0, i, :n].tolist() == list(range(start, start + n))
        assert grid[1, i, :n].tolist() == list(range(start, start + n))[::-1]
        assert sentences.inside[i].tolist() == [step < n for step in range(max(lengths))]
        start += n
    assert sentences.unpad(grid, "lr").tolist() == flat.tolist()


# Dropout


class Remembering(Dropout):
    """Dropout that keeps its masks."""

    def __init__(self, rate: float, *, seed: int = 0) -> None:
        super().__init__(rate, torch.Generator().manual_seed(seed))
        self.masks: list[Tensor] = []

    def __call__(self, rows: Tensor, sentences: Tensor) -> Tensor:
        self.masks.append(super().__call__(torch.ones_like(rows), sentences))
        return rows * self.masks[-1]


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.sampled_from([(), (1,), (2,)]),
    st.floats(0.05, 0.95),
    st.integers(0, 99),
)
def test_all_words_of_a_sentence_lose_the_same_numbers(
    lengths: list[int], directions: tuple[int, ...], rate: float, seed: int
) -> None:
    sentence_of = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    rows = torch.rand(*directions, sum(lengths), 7, dtype=torch.float64) + 1
    masks = (dropout(rate, seed=seed)(rows, sentence_of) / rows).numpy()
    assert (np.isclose(masks, 0) | np.isclose(masks, 1 / (1 - rate))).all()
    for i in range(len(lengths)):
        of_sentence = masks[..., sentence_of.numpy() == i, :]
        np.testing.assert_allclose(of_sentence, np.broadcast_to(of_sentence[..., :1, :], of_sentence.shape))


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_dropout_leaves_out_its_share_and_keeps_the_mean(rate: float) -> None:
    dropped = dropout(rate)(torch.ones(2, 100, 100), torch.arange(100))  # each row a sentence
    error = 5 * np.sqrt(rate * (1 - rate) / 20_000)  # five standard errors
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=error)
    assert dropped.mean().item() == pytest.approx(1.0, abs=error / (1 - rate))
    assert not torch.equal(dropped[0], dropped[1])  # directions have masks of their of_sentence


@pytest.mark.parametrize("variant", [{}, {"layers": 3}, LARGER, {"attention": "single", "feedback": False}])
def test_dropout_is_of_embeddings_memory_and_the_relations_queries(variant: dict[str, Any]) -> None:
    model = network(variant, hidden=4)
    (sentence,) = random_sentences([4], seed=9)
    remembering = Remembering(0.4)
    output = model(collate([sentence]), remembering)
    log_a, log_y = slow_forward(model, sentence, [mask[..., 0, :].numpy() for mask in remembering.masks])
    np.testing.assert_allclose(output.log_a.detach().numpy(), log_a, rtol=0, atol=1e-9)
    np.testing.assert_allclose(log_y_by_head(output), log_y, rtol=0, atol=1e-9)
    assert all((mask == 0).any() for mask in remembering.masks)


def test_dropout_is_the_same_for_a_seed_and_none_without_it() -> None:
    model, batch = network(LARGER), collate(random_sentences([4, 2]))
    one, same, other = (model(batch, dropout(0.3, seed=seed)).logits for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    for mode in (model.train(), model.eval()):
        assert torch.equal(mode(batch).logits, model(batch, dropout(0.0)).logits)
    assert not torch.equal(model(batch).logits, one)


# Initial weights


def initialised(variant: dict[str, Any], *, seed: int) -> BiAtt:
    model = BiAtt(ParserConfig(hidden=40, **variant), rows=500, relations=30)
    model.initialise(torch.Generator().manual_seed(seed))
    return model


@every_ablation
def test_initial_weights_are_gaussian_biases_zero_and_first_states_constant(variant: dict[str, Any]) -> None:
    constants = {"P_bias", "memory.bias", "query.bias", "relation_bias", "memory.first", "query.first"}
    constants |= {"memory2.bias", "memory2.first", "pair.bias"}
    for name, parameter in initialised(variant, seed=0).named_parameters():
        values = parameter.detach().numpy().ravel()
        if name in constants:
            assert (values == np.float32(0.1 if name.endswith("first") else 0.0)).all(), name
        else:  # five standard errors of a mean and of a deviation
            assert abs(values.mean()) < 5 * 0.1 / np.sqrt(values.size), name
            assert abs(values.std() - 0.1) < 5 * 0.1 / np.sqrt(2 * values.size), name


def test_initial_weights_are_repeatable_for_a_seed() -> None:
    one, same, other = (initialised({}, seed=seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["E.weight"], other["E.weight"])


@pytest.mark.parametrize(
    ("variant", "shapes"),
    [
        ({}, {"C": (1, 6, 3), "D": (2, 3, 3), "F": (2, 6, 9), "U": (2, 6, 4), "W": (2, 3, 4)}),
        ({"directions": "left-to-right"}, {"D": (1, 3, 3), "query.W": (1, 3, 9), "memory.W": (2, 3, 9)}),
        ({"feedback": False, "attention": "single"}, {"D": (1, 6, 3), "U": (1, 6, 4), "W": (2, 3, 4)}),
        ({}, {"E.weight": (ROWS, 2), "P": (2, 3)}),
        ({"layers": 3}, {"memory.W": (2, 3, 9), "memory2.W": (2, 6, 9), "memory3.W": (2, 6, 9)}),
        ({"query_input": "memory"}, {"query.W": (2, 6, 9), "query.U": (2, 3, 9)}),
        (
            {"pair_hidden": 5},
            {"pair.query": (2, 3, 5), "pair.word": (6, 5), "pair.head": (6, 5), "pair.out": (5, 4)},
        ),
    ],
)
def test_variants_have_the_weights_they_need(variant: dict[str, Any], shapes: dict[str, Any]) -> None:
    found = {name: tuple(parameter.shape) for name, parameter in network(variant).named_parameters()}
    assert {name: found[name] for name in shapes} == shapes
    assert ("F" in found) == variant.get("feedback", True)
    assert ("memory2.W" in found) == ("layers" in variant)
    assert ("pair.out" in found) == ("pair_hidden" in variant)
