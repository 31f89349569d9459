"""The network around the compiled kernels against the plain one in torch and the paper's equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from biatt.config import ParserConfig
from biatt.encoding.batches import Batch, collate
from biatt.network.autograd import FUSED, in_threads
from biatt.network.losses import log_likelihood
from biatt.network.model import BiAtt
from biatt.network.operations import PLAIN, GruTensors, LookupTensors, Operations
from builders import (
    LARGER,
    RELATIONS,
    ROWS,
    VARIANTS,
    dropout,
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


def fused_and_plain(variant: dict[str, Any], **options: Any) -> tuple[BiAtt, BiAtt]:
    """A fused network in float32, and a plain one with the same weights in float64."""
    reference = network(variant, **options)
    with torch.no_grad():  # larger weights give states in the hundreds, where float32 has few digits
        for parameter in reference.parameters():
            parameter.mul_(0.5)
    result = BiAtt(reference.config, rows=ROWS, relations=RELATIONS, operations=FUSED)
    result.load_state_dict(reference.state_dict())
    reference.load_state_dict(result.state_dict())  # rounded to float32
    return result, reference


def assert_same_scores(fused: BiAtt, plain: BiAtt, batch: Batch, *, tolerance: float) -> None:
    for one, other in zip(sentence_scores(fused, batch), sentence_scores(plain, batch), strict=True):
        for part, value in zip(parts(one), parts(other), strict=True):
            np.testing.assert_allclose(part, value, rtol=tolerance, atol=tolerance)


def assert_same_gradients(
    fused: dict[str, Tensor], expected: dict[str, Tensor], *, relative: float, scale: float = 0.0
) -> None:
    assert fused.keys() == expected.keys()
    for name, value in expected.items():
        error = (fused[name].double() - value).abs().max().item()
        assert error <= relative * max(value.abs().max().item(), scale), name


# The same numbers


@every_variant
@pytest.mark.parametrize("lengths", [[1], [1, 1, 1], [6], [3, 1, 9, 3, 5, 12, 1]], ids=str)
def test_fused_network_equals_the_torch_network(variant: dict[str, Any], lengths: list[int]) -> None:
    fused, plain = fused_and_plain(variant, hidden=6, embedding=5)
    batch = collate(random_sentences(lengths))
    assert_same_scores(fused, plain, batch, tolerance=1e-5)
    assert_same_gradients(gradients(fused, batch), gradients(plain, batch), relative=1e-4)


@every_variant
def test_fused_network_equals_the_equations_step_by_step(variant: dict[str, Any]) -> None:
    fused, plain = fused_and_plain(variant, hidden=5, seed=2)
    (sentence,) = random_sentences([5], seed=2)
    log_a, log_y = slow_forward(plain, sentence)
    output = fused(collate([sentence]))
    np.testing.assert_allclose(output.log_a.detach().numpy(), log_a, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(log_y_by_head(output), log_y, rtol=1e-5, atol=1e-5)


@examples(60)
@given(
    st.sampled_from(VARIANTS),
    st.integers(1, 13),
    st.integers(1, 9),
    st.lists(st.integers(1, 9), min_size=1, max_size=10),
    st.integers(0, 999),
)
def test_fused_network_equals_the_torch_network_for_any_shape(
    variant: dict[str, Any], hidden: int, embedding: int, lengths: list[int], seed: int
) -> None:
    fused, plain = fused_and_plain(variant, hidden=hidden, embedding=embedding, seed=seed)
    batch = collate(random_sentences(lengths, seed=seed))
    assert_same_scores(fused, plain, batch, tolerance=1e-5)
    expected = gradients(plain, batch)
    # Gradients that are nearly 0 beside the others, as that of D for tiny states, are sums that cancel.
    scale = 1e-2 * max(value.abs().max().item() for value in expected.values())
    assert_same_gradients(gradients(fused, batch), expected, relative=1e-4, scale=scale)


@pytest.mark.parametrize("variant", [{}, LARGER, {**LARGER, "feedback": False}], ids=str)
def test_loss_with_dropout_and_smoothing_equals_that_of_the_torch_network(
    variant: dict[str, Any],
) -> None:
    def objective(network: BiAtt, batch: Batch) -> Tensor:
        return log_likelihood(network(batch, dropout(0.3)), batch, smoothing=0.1)

    fused, plain = fused_and_plain(variant, hidden=6, embedding=5)
    batch = collate(random_sentences([3, 1, 9, 5]))
    assert objective(fused, batch).item() == pytest.approx(objective(plain, batch).item(), rel=1e-5)
    expected = gradients(plain, batch, objective)
    assert_same_gradients(gradients(fused, batch, objective), expected, relative=1e-4)


def test_operations_have_the_gradients_of_their_namesakes_for_any_outer_gradient() -> None:
    words, generator = np.array([3, 5, 1], np.int32), torch.Generator().manual_seed(0)
    gru = [(2, 5, 12), (2, 12), (2, 4, 12), (2, 4)]
    lookup = [(2, 8, 12), (2, 8, 3), (1, 8, 4), (2, 4, 4), (2, 4)]

    def recurrence(run: Operations, x: Tensor, *gru: Tensor) -> tuple[Tensor]:
        return (run.recurrence(x, GruTensors(*gru, limit=0.7), words, "lr"),)

    def attention(run: Operations, *tensors: Tensor) -> tuple[Tensor, ...]:
        return run.attention(*tensors, words)

    def query_recurrence(run: Operations, x: Tensor, m: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
        gru, lookup = GruTensors(*weights[:4], limit=0.7), LookupTensors(*weights[4:])
        return run.query_recurrence(x, m, gru, lookup, words, "lr")

    for call, shapes in (
        (recurrence, [(9, 5), *gru]),
        (attention, [(2, 9, 4), (2, 12, 3), (1, 12, 4), (2, 4)]),
        (query_recurrence, [(9, 5), (12, 8), *gru, *lookup]),
    ):
        tensors = [torch.randn(shape, generator=generator) * 0.5 for shape in shapes]
        results = []
        for operations in (FUSED, PLAIN):
            inputs = [tensor.clone().requires_grad_() for tensor in tensors]
            outputs = call(operations, *inputs)
            outer = torch.Generator().manual_seed(1)
            total = sum(
                (out.masked_fill(out == -torch.inf, 0) * torch.randn(out.shape, generator=outer)).sum()
                for out in outputs
            )
            total.backward()
            results.append([*outputs, *(tensor.grad for tensor in inputs)])
            assert all(torch.equal(one, other) for one, other in zip(inputs, tensors, strict=True))
        for fused, expected in zip(*results, strict=True):
            torch.testing.assert_close(fused, expected, rtol=1e-4, atol=1e-5)


# Threads


@every_ablation
def test_two_threads_give_the_same_numbers_and_the_same_bits_each_time(variant: dict[str, Any]) -> None:
    fused, _ = fused_and_plain(variant, hidden=9, seed=3)
    batch = collate(random_sentences([7, 2, 11, 1, 5, 5, 3, 9], seed=3))

    def run(threads: int) -> dict[str, Tensor]:
        with in_threads(threads):
            output = fused(batch)
            results = gradients(fused, batch)
        return {**results, "log a": output.log_a.exp().detach(), "log y": output.logits.detach()}

    one, two = run(1), run(2)
    for name, expected in one.items():
        scale = max(1.0, expected.abs().max().item())
        torch.testing.assert_close(two[name], expected, rtol=0, atol=1e-6 * scale)
    for _ in range(3):
        assert all(torch.equal(value, two[name]) for name, value in run(2).items())


# Numbers that could overflow


@pytest.mark.slow
@every_ablation
@pytest.mark.parametrize("hidden", [5, 40])
def test_scores_and_gradients_stay_finite_for_weights_a_hundred_times_too_large(
    variant: dict[str, Any], hidden: int
) -> None:
    config = ParserConfig(hidden=hidden, **variant)
    large = BiAtt(config, rows=ROWS, relations=RELATIONS, operations=FUSED)
    large.initialise(torch.Generator().manual_seed(hidden))
    with torch.no_grad():
        for parameter in large.parameters():
            parameter.mul_(100)
    batch = collate(random_sentences([60, 33, 1], seed=hidden))
    for scores in sentence_scores(large, batch):
        assert all(np.isfinite(part).all() for part in parts(scores))
    for name, gradient in gradients(large, batch).items():
        assert gradient.isfinite().all(), name
