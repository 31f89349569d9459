"""The network against the paper's equations in slow motion, its gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import exp, log, tanh
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from biatt.config import ModelConfig, TrainingConfig
from biatt.data.scores import Scores, split_scores
from biatt.encoding.batches import Batch, collate
from biatt.encoding.vocabulary import Encoded
from biatt.network.losses import disagreement, log_likelihood, taught
from biatt.network.model import (
    BiAtt,
    Grid,
    Noise,
    Output,
    attention,
    gru_step,
    pair_logits,
    query_recurrence,
    recurrence,
    scores,
)
from biatt.training.distillation import Lesson, together

Array = np.ndarray[Any, np.dtype[np.float64]]

ROWS, RELATIONS = 9, 4
CPU = torch.device("cpu")

# What goes beyond the paper.
LARGER: dict[str, Any] = {"layers": 2, "query_input": "memory", "pair_hidden": 5}
# Every network of the paper that the configuration can describe, hidden and embedding sizes aside; what goes
# beyond it, each alone and all with each ablation.
VARIANTS: list[dict[str, Any]] = [
    {"directions": directions, "feedback": feedback, "reset": reset, "shared_memory_projection": shared}
    for directions, feedback, reset, shared in product(
        ("both", "left-to-right", "right-to-left"), (True, False), ("before", "after"), (True, False)
    )
] + [
    {"attention": "single", "feedback": False, "reset": reset, "shared_memory_projection": shared}
    for reset, shared in product(("before", "after"), (True, False))
]
VARIANTS += [{"layers": 3}, {"query_input": "memory"}, {"pair_hidden": 5}]
VARIANTS += [
    {**LARGER, **ablation}
    for ablation in (
        {},
        {"directions": "left-to-right"},
        {"directions": "right-to-left"},
        {"feedback": False},
        {"directions": "left-to-right", "feedback": False},
        {"attention": "single", "feedback": False},
        {"reset": "after", "shared_memory_projection": False},
    )
]
# Each ablation on its own.
ABLATIONS: list[dict[str, Any]] = [
    {},
    {"directions": "left-to-right"},
    {"directions": "right-to-left"},
    {"feedback": False},
    {"attention": "single", "feedback": False},
    {"shared_memory_projection": False},
    {"reset": "after"},
    {"layers": 2},
    {"query_input": "memory"},
    {"pair_hidden": 5},
    LARGER,
]


def named(variant: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in variant.items()) or "paper"


every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=named)
every_ablation = pytest.mark.parametrize("variant", ABLATIONS, ids=named)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Torch's threads wait for each other longer than they work on networks as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def network(variant: dict[str, Any], *, hidden: int = 3, embedding: int = 2, seed: int = 0) -> BiAtt:
    """A network with random biases and first states too, so that each of them matters."""
    config = ModelConfig(hidden=hidden, embedding=embedding, **variant)
    result = BiAtt(config, rows=ROWS, relations=RELATIONS).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in result.parameters():
            parameter.normal_(0.0, 0.7, generator=generator)
    return result


def encoded(bags: list[list[int]], heads: list[int], relations: list[int]) -> Encoded:
    """A sentence from the rows of E of each word; ROOT, row 0, is put before."""
    bags = [[0], *bags]
    return Encoded(
        rows=np.array([row for bag in bags for row in bag], np.int32),
        offsets=np.cumsum([0] + [len(bag) for bag in bags]).astype(np.int32),
        heads=np.array(heads, np.int32),
        relations=np.array(relations, np.int32),
    )


def random_sentences(lengths: list[int], *, seed: int = 0) -> list[Encoded]:
    draw = np.random.default_rng(seed)
    return [
        encoded(
            [draw.integers(1, ROWS, draw.integers(0, 4)).tolist() for _ in range(n)],  # may have no rows
            draw.integers(0, n + 1, n).tolist(),
            draw.integers(0, RELATIONS, n).tolist(),
        )
        for n in lengths
    ]


@st.composite
def sentences(draw: st.DrawFn) -> Encoded:
    n = draw(st.integers(1, 4))
    bag = st.lists(st.integers(1, ROWS - 1), max_size=3)
    return encoded(
        draw(st.lists(bag, min_size=n, max_size=n)),
        draw(st.lists(st.integers(0, n), min_size=n, max_size=n)),
        draw(st.lists(st.integers(-1, RELATIONS - 1), min_size=n, max_size=n)),
    )


# The slow twin: vectors, one word and one head at a time, in the paper's words


def lrel(x: Array) -> Array:
    return np.array([value if value > 0 else 0.1 * value for value in x])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    result: Array = np.exp(x) / np.exp(x).sum()
    return result


def slow_gru(previous: Array, x: Array, W: Array, U: Array, b: Array, reset: str) -> Array:
    """Cho et al. 2014 with LReL: W is 3h × inputs, U is 3h × h, parts in the order r, z, candidate."""
    (W_r, W_z, W_h), (U_r, U_z, U_h), (b_r, b_z, b_h) = (np.split(part, 3) for part in (W, U, b))
    r = sigmoid(W_r @ x + U_r @ previous + b_r)
    z = sigmoid(W_z @ x + U_z @ previous + b_z)
    history = U_h @ (r * previous) if reset == "before" else r * (U_h @ previous)
    return z * previous + (1 - z) * lrel(W_h @ x + history + b_h)


def slow_forward(
    model: BiAtt, sentence: Encoded, masks: Sequence[Array] | None = None
) -> tuple[Array, Array]:
    """log a, (attentions, n, n + 1), and log y of every word and head, (n, n + 1, R), of one sentence.

    Masks are what dropout multiplies by: embeddings, each layer of the memory, and queries.
    """
    config, n, h = model.config, sentence.words, model.config.hidden
    w = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    x_mask, *m_masks, q_mask = masks or [np.float64(1)] * (config.layers + 1) + [np.ones((2, h))]

    def gru(part: str, k: int, previous: Array, x: Array, W: Array) -> Array:
        return slow_gru(previous, x, W.T, w[f"{part}.U"][k].T, w[f"{part}.bias"][k], config.reset)

    # x_i = LReL[P(E e_i + …)], with a bias
    x = []
    for i in range(n + 1):
        total = np.zeros(config.width)
        for row in sentence.rows[sentence.offsets[i] : sentence.offsets[i + 1]]:
            total = total + w["E.weight"][row]
        x.append(x_mask * lrel(w["P"].T @ total + w["P_bias"]))

    # m_j = [hˡ_j; hʳ_j], ROOT included, of x or of the layer before
    m = x
    for name, mask in zip(["memory", "memory2", "memory3"][: config.layers], m_masks, strict=True):
        left, right = {-1: w[f"{name}.first"][0]}, {n + 1: w[f"{name}.first"][1]}
        for j in range(n + 1):
            left[j] = gru(name, 0, left[j - 1], m[j], w[f"{name}.W"][0])
        for j in range(n, -1, -1):
            right[j] = gru(name, 1, right[j + 1], m[j], w[f"{name}.W"][1])
        m = [mask * np.concatenate([left[j], right[j]]) for j in range(n + 1)]
    read = m if config.query_input == "memory" else x

    def headword_probabilities(k: int, q: Array) -> Array:
        """Equations 1 and 2."""
        C = w["C"][0] if config.shared_memory_projection else w["C"][k]
        return softmax(np.array([w["v"][k] @ np.tanh(C.T @ m[j] + w["D"][k].T @ q) for j in range(n + 1)]))

    def soft_headword(a: Array) -> Array:
        total = np.zeros(2 * h)
        for j in range(n + 1):
            total = total + a[j] * m[j]
        return total

    directions = {"both": "lr", "left-to-right": "l", "right-to-left": "r"}[config.directions]
    q: list[dict[int, Array]] = []
    a: list[dict[int, Array]] = []
    soft: list[dict[int, Array]] = []
    for k, direction in enumerate(directions):
        q.append({})
        a.append({})
        soft.append({})
        state, headword = w["query.first"][k], np.zeros(2 * h)
        for t in range(1, n + 1) if direction == "l" else range(n, 0, -1):
            if config.feedback:  # q_t = GRU(q_{t−1}, [m̃_{t−1}; x_t])
                weights = np.concatenate([w["F"][k], w["query.W"][k]])
                state = gru("query", k, state, np.concatenate([headword, read[t]]), weights)
            else:
                state = gru("query", k, state, read[t], w["query.W"][k])
            q[k][t] = state
            if config.attention == "agreement":
                a[k][t] = headword_probabilities(k, state)
                soft[k][t] = headword = soft_headword(a[k][t])
    if config.attention == "single":
        a = [{t: headword_probabilities(0, np.concatenate([q[0][t], q[1][t]])) for t in range(1, n + 1)}]
        soft = [{t: soft_headword(a[0][t]) for t in range(1, n + 1)}]

    # y_t = softmax(U[m̃ˡ_t; m̃ʳ_t] + W[qˡ_t; qʳ_t]), equation 5, with a bias; beyond the paper, a hidden layer
    # over the queries and the memories of the word and of its head j is added before the softmax
    U, W = np.concatenate(list(w["U"])).T, np.concatenate(list(w["W"])).T
    y = np.empty((n, n + 1, RELATIONS))
    for t, j in product(range(1, n + 1), range(n + 1)):
        queries = np.concatenate([mask * part[t] for part, mask in zip(q, q_mask, strict=False)])
        logits = U @ np.concatenate([part[t] for part in soft]) + W @ queries + w["relation_bias"]
        if config.pair_hidden:
            words = w["pair.word"].T @ m[t] + np.concatenate(list(w["pair.query"])).T @ queries
            logits = logits + w["pair.out"].T @ lrel(words + w["pair.head"].T @ m[j] + w["pair.bias"])
        y[t - 1, j] = softmax(logits)
    return np.log([[part[t] for t in range(1, n + 1)] for part in a]), np.log(y)


def slow_log_likelihood(log_a: Array, log_y: Array, sentence: Encoded, *, smoothing: float = 0.0) -> float:
    """Each gold choice, mixed with the mean over all choices in its place."""
    total = 0.0
    for t, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        choices = [(a[t], head) for a in log_a]
        choices += [(log_y[t, head], relation)] if relation >= 0 else []
        for values, gold in choices:
            total += (1 - smoothing) * values[gold] + smoothing * sum(values) / len(values)
    return total


def log_y_by_head(output: Output) -> Array:
    """The log-probabilities of the relations of the only sentence, with each head for all words."""
    n = len(output.relations)
    logits = [pair_logits(output, torch.full((n,), head)) for head in range(n + 1)]
    return torch.log_softmax(torch.stack(logits, 1), -1).detach().numpy()


def parts(found: Scores) -> list[Array]:
    """All arrays of a sentence's scores."""
    return [*found[:3], *(found.relation_layer or ())]


@every_variant
def test_network_equals_the_equations_step_by_step(variant: dict[str, Any]) -> None:
    model = network(variant)
    (sentence,) = random_sentences([4], seed=3)
    log_a, log_y = slow_forward(model, sentence)
    output = model(collate([sentence]))
    np.testing.assert_allclose(output.attention.detach().numpy(), log_a, rtol=0, atol=1e-9)
    np.testing.assert_allclose(log_y_by_head(output), log_y, rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(VARIANTS), st.lists(sentences(), min_size=1, max_size=4), st.integers(0, 99))
def test_batch_equals_the_equations_of_each_sentence(
    variant: dict[str, Any], treebank: list[Encoded], seed: int
) -> None:
    model, batch = network(variant, seed=seed), collate(treebank)
    output = model(batch)
    expected = 0.0
    for sentence, found in zip(treebank, split_scores(scores(output), batch.words), strict=True):
        log_a, log_y = slow_forward(model, sentence)
        np.testing.assert_allclose(found.left, log_a[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.right, log_a[-1], rtol=0, atol=1e-9)
        for head in range(sentence.words + 1):
            relations = found.relations([head] * sentence.words)
            np.testing.assert_allclose(relations, log_y[:, head], rtol=0, atol=1e-6)  # a float32 slope
        expected += slow_log_likelihood(log_a, log_y, sentence)
    assert log_likelihood(output, batch).item() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("reset", ["before", "after"])  # the same for a hidden layer of one number
def test_two_words_by_hand(reset: Any) -> None:
    config = ModelConfig(hidden=1, directions="left-to-right", reset=reset)
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
    np.testing.assert_allclose(output.attention[0].detach().exp().numpy(), [a_1, a_2], rtol=1e-12)
    # logits: the soft headword's left half plus ½, and the query
    for t, (a, q) in enumerate([(a_1, -0.05), (a_2, q_2)]):
        soft = 0.9 * a[0] + 0.6475 * a[1] + 2.1475 * a[2] + 0.5
        y = exp(soft) / (exp(soft) + exp(q))
        np.testing.assert_allclose(output.relations[t].softmax(-1).detach().numpy(), [y, 1 - y], rtol=1e-12)


# Gradients


def plain(model: BiAtt, batch: Batch) -> Tensor:
    return log_likelihood(model(batch), batch)


def gradients(
    model: BiAtt, batch: Batch, objective: Callable[[BiAtt, Batch], Tensor] = plain
) -> dict[str, Tensor]:
    model.zero_grad()
    objective(model, batch).backward()  # type: ignore[no-untyped-call]
    result = {}
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        result[name] = parameter.grad.to_dense()
    return result


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


@every_variant
def test_gradient_of_every_parameter_equals_finite_differences(variant: dict[str, Any]) -> None:
    model, batch = network(variant, seed=1), collate(random_sentences([3, 1, 4], seed=1))
    generator = torch.Generator().manual_seed(2)
    for (name, gradient), parameter in zip(gradients(model, batch).items(), model.parameters(), strict=True):
        assert gradient.abs().max() > 0, name
        direction = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
        expected = slope(model, batch, parameter, direction)
        assert (gradient * direction).sum().item() == pytest.approx(expected, rel=1e-6, abs=1e-7), name


@every_ablation
def test_gradient_of_every_single_weight_equals_finite_differences(variant: dict[str, Any]) -> None:
    model, batch = network(variant, hidden=2, embedding=1, seed=4), collate(random_sentences([3], seed=4))
    for (name, gradient), parameter in zip(gradients(model, batch).items(), model.parameters(), strict=True):
        for i in range(parameter.numel()):
            direction = torch.zeros_like(parameter)
            direction.view(-1)[i] = 1
            found = gradient.reshape(-1)[i].item()
            assert found == pytest.approx(slope(model, batch, parameter, direction), rel=1e-6, abs=1e-7), name


def variables(*shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]


@pytest.mark.parametrize("reset", ["before", "after"])
def test_gradient_of_a_gru_step(reset: Any) -> None:
    assert torch.autograd.gradcheck(
        lambda state, inputs, U: gru_step(state, inputs, U, reset=reset),
        variables((2, 3, 2), (2, 3, 6), (2, 2, 6)),
    )


@pytest.mark.parametrize("reset", ["before", "after"])
def test_gradient_of_a_recurrence_over_sentences_of_mixed_lengths(reset: Any) -> None:
    lengths = np.array([2, 3, 1], np.int32)
    assert torch.autograd.gradcheck(
        lambda *tensors: recurrence(*tensors, lengths, "lr", reset=reset),
        variables((6, 3), (2, 3, 6), (2, 6), (2, 2, 6), (2, 2)),
    )


@pytest.mark.parametrize("projections", [1, 2])
def test_gradient_of_attention(projections: int) -> None:
    def run(*tensors: Tensor) -> tuple[Tensor, Tensor]:
        log_a, soft = attention(*tensors, np.array([1, 2], np.int32))  # type: ignore[call-arg, arg-type]
        return log_a.exp(), soft  # log a is −inf past a sentence, where no difference can be taken

    queries, values, projected, v = variables((2, 3, 2), (2, 5, 3), (projections, 5, 2), (2, 2))
    assert torch.autograd.gradcheck(run, (queries, values, projected, v))


@pytest.mark.parametrize("reset", ["before", "after"])
@pytest.mark.parametrize("projections", [1, 2])
def test_gradient_of_the_query_recurrence(projections: int, reset: Any) -> None:
    def run(*tensors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        words = np.array([1, 2], np.int32)
        q, log_a, soft = query_recurrence(*tensors, words, "lr", reset=reset)  # type: ignore[misc, call-arg, arg-type]
        return q, log_a.exp(), soft

    cell = (2, 3, 6), (2, 6), (2, 2, 6), (2, 2)
    lookup = (2, 4, 6), (2, 4, 1), (projections, 4, 2), (2, 2, 2), (2, 2)
    assert torch.autograd.gradcheck(run, variables((3, 3), (5, 4), *cell, *lookup))


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_gradient_of_the_log_likelihood(smoothing: float) -> None:
    batch = collate([encoded([[], [], []], [2, 0, 3], [1, -1, 0])])
    attention, relations, *pair = variables((2, 3, 4), (3, RELATIONS), (3, 2), (4, 2), (2, RELATIONS))
    for inputs in ([attention, relations], [attention, relations, *pair]):
        assert torch.autograd.gradcheck(
            lambda *parts: log_likelihood(Output(*parts), batch, smoothing=smoothing), inputs
        )


def test_gradient_of_what_a_teacher_says() -> None:
    batch = collate([encoded([[], [], []], [2, 0, 3], [1, -1, 0])])
    lesson = random_lesson(random_sentences([3])[0], np.random.default_rng(1))
    inputs = variables((2, 3, 4), (3, RELATIONS), (3, 2), (4, 2), (2, RELATIONS))
    assert torch.autograd.gradcheck(lambda *parts: taught(Output(*parts), batch, *lesson), inputs)


def test_gradient_of_what_a_teacher_says_is_finite_past_the_end_of_a_sentence() -> None:
    treebank, generator = random_sentences([1, 4]), np.random.default_rng(1)
    lesson = together([random_lesson(sentence, generator) for sentence in treebank])
    found = gradients(
        network({}), collate(treebank), lambda model, batch: taught(model(batch), batch, *lesson)
    )
    assert all(gradient.isfinite().all() for gradient in found.values())
    assert found["v"].any()


def test_gradient_of_the_disagreement() -> None:
    attention, relations = variables((2, 3, 4), (3, RELATIONS))
    assert torch.autograd.gradcheck(lambda *parts: disagreement(Output(*parts)), (attention, relations))


def test_gradient_of_the_disagreement_is_finite_past_the_end_of_a_sentence() -> None:
    model, batch = network({}), collate(random_sentences([1, 4]))
    found = gradients(model, batch, lambda model, batch: disagreement(model(batch)) + 0 * plain(model, batch))
    assert all(gradient.isfinite().all() for gradient in found.values())
    assert found["v"].any()


# Batches


@every_ablation
def test_batch_of_64_equals_64_batches_of_one(variant: dict[str, Any]) -> None:
    lengths = [1, 12, *np.random.default_rng(6).integers(1, 13, 62).tolist()]
    treebank = random_sentences(lengths, seed=6)
    model = network(variant, hidden=5, embedding=0, seed=6)
    batch = collate(treebank)
    together = split_scores(scores(model(batch)), batch.words)
    summed: dict[str, Tensor] = {}
    for sentence, found in zip(treebank, together, strict=True):
        alone = collate([sentence])
        (expected,) = split_scores(scores(model(alone)), alone.words)
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
        split_scores(scores(model(forwards)), forwards.words),
        split_scores(scores(model(backwards)), backwards.words)[::-1],
        strict=True,
    ):
        for found, expected in zip(parts(one), parts(other), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@every_variant
def test_probabilities_sum_to_one_and_stay_inside_the_sentence(variant: dict[str, Any]) -> None:
    batch = collate(random_sentences([3, 1], seed=8))
    output = network(variant)(batch)
    attentions = 2 if variant.get("directions", "both") == "both" and "attention" not in variant else 1
    assert output.attention.shape == (attentions, 4, 4)
    np.testing.assert_allclose(output.attention.exp().sum(-1).detach().numpy(), 1.0)
    for found, heads in zip(split_scores(scores(output), batch.words), ([3, 0, 2], [0]), strict=True):
        np.testing.assert_allclose(np.exp(found.relations(heads)).sum(-1), 1.0)
    assert (output.attention[:, 3, 2:] == -torch.inf).all()
    assert output.attention[:, :3].isfinite().all()


@every_ablation
def test_sentence_of_one_word(variant: dict[str, Any]) -> None:
    model, batch = network(variant), collate([encoded([[1, 2]], [0], [1])])
    (found,) = split_scores(scores(model(batch)), batch.words)
    assert found.agreement.shape == (1, 2)
    assert found.relations([0]).shape == (1, RELATIONS)
    assert all(gradient.isfinite().all() for gradient in gradients(model, batch).values())


def test_one_attention_serves_as_both_in_scores() -> None:
    batch = collate(random_sentences([2]))
    (one,) = split_scores(scores(network({"directions": "right-to-left"})(batch)), batch.words)
    (two,) = split_scores(scores(network({})(batch)), batch.words)
    assert one.left is one.right
    assert not np.allclose(two.left, two.right)


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


# Loss


@every_ablation
def test_unknown_relation_contributes_nothing(variant: dict[str, Any]) -> None:
    model = network(variant)
    bags, heads = [[1], [2, 3], [4]], [2, 0, 2]
    batch = collate([encoded(bags, heads, [1, -1, 3])])
    output = model(batch)
    arcs = sum(a[t, head].item() for a in output.attention for t, head in enumerate(heads))
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
@given(st.sampled_from(ABLATIONS), st.lists(sentences(), min_size=1, max_size=4), st.floats(0.01, 0.99))
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


def random_lesson(sentence: Encoded, generator: np.random.Generator) -> Lesson:
    """Probabilities, some of them 0."""
    n = sentence.words
    tables = [generator.random((n, width)) for width in (n + 1, RELATIONS)]
    for table in tables:
        table[:, 1:] *= generator.random(table[:, 1:].shape) < 0.8
    return Lesson(*(table / table.sum(-1, keepdims=True) for table in tables))


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(ABLATIONS), st.lists(sentences(), min_size=1, max_size=4), st.integers(0, 99))
def test_what_a_teacher_says_is_the_target_in_place_of_the_gold_tree(
    variant: dict[str, Any], treebank: list[Encoded], seed: int
) -> None:
    model, batch, generator = network(variant), collate(treebank), np.random.default_rng(seed)
    lessons = [random_lesson(sentence, generator) for sentence in treebank]
    expected = 0.0
    for sentence, lesson in zip(treebank, lessons, strict=True):
        log_a, log_y = slow_forward(model, sentence)
        for t, head in enumerate(sentence.heads):
            expected += sum(lesson.heads[t, j] * a[t, j] for a in log_a for j in range(sentence.words + 1))
            expected += sum(lesson.relations[t, r] * log_y[t, head, r] for r in range(RELATIONS))
    assert taught(model(batch), batch, *together(lessons)).item() == pytest.approx(expected, abs=1e-8)


@every_variant
def test_teacher_that_is_sure_of_the_gold_tree_says_no_more_than_it(variant: dict[str, Any]) -> None:
    model, treebank = network(variant), random_sentences([1, 4, 2], seed=5)
    batch = collate(treebank)
    sure = [
        Lesson(np.eye(item.words + 1)[item.heads], np.eye(RELATIONS)[item.relations]) for item in treebank
    ]
    values = [taught(model(batch), batch, *together(sure)), log_likelihood(model(batch), batch)]
    assert values[0].item() == pytest.approx(values[1].item(), abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.sampled_from([{}, LARGER]), st.lists(sentences(), min_size=1, max_size=4))
def test_disagreement_is_the_squared_hellinger_distance_of_the_directions(
    variant: dict[str, Any], treebank: list[Encoded]
) -> None:
    model = network(variant)
    expected = 0.0
    for sentence in treebank:
        left, right = np.exp(slow_forward(model, sentence)[0])
        for t, j in product(range(sentence.words), range(sentence.words + 1)):
            expected += 0.5 * (np.sqrt(left[t, j]) - np.sqrt(right[t, j])) ** 2
    assert disagreement(model(collate(treebank))).item() == pytest.approx(expected, abs=1e-9)


def test_disagreement_is_0_for_equal_attentions_and_1_a_word_for_disjoint_ones() -> None:
    left = torch.tensor([[0.0, -torch.inf, -torch.inf], [-torch.inf, 0.0, -torch.inf]])
    for right, expected in ((left, 0.0), (left.roll(1, -1), 2.0)):
        assert disagreement(Output(torch.stack([left, right]), torch.zeros(2, 1))).item() == expected


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 6))
def test_log_likelihood_bounds_the_disagreement_of_the_attentions(seed: int, n: int) -> None:
    """H²(aˡ, aʳ) ≤ 2 √(D(g ‖ aˡ) + D(g ‖ aʳ)), the paper's appendix; g is the gold head."""
    (sentence,) = random_sentences([n], seed=seed)
    left, right = slow_forward(network({}, seed=seed), sentence)[0]
    for t, head in enumerate(sentence.heads):
        distance = 0.5 * ((np.exp(left[t] / 2) - np.exp(right[t] / 2)) ** 2).sum()
        assert distance <= 2 * np.sqrt(-left[t, head] - right[t, head])


# Dropout


def noise(share: float, *, seed: int = 0) -> Noise:
    return Noise(share, torch.Generator().manual_seed(seed))


class Remembering(Noise):
    """Dropout that keeps its masks."""

    def __init__(self, share: float, *, seed: int = 0) -> None:
        super().__init__(share, torch.Generator().manual_seed(seed))
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
    lengths: list[int], directions: tuple[int, ...], share: float, seed: int
) -> None:
    sentence_of = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    rows = torch.rand(*directions, sum(lengths), 7, dtype=torch.float64) + 1
    masks = (noise(share, seed=seed)(rows, sentence_of) / rows).numpy()
    assert (np.isclose(masks, 0) | np.isclose(masks, 1 / (1 - share))).all()
    for i in range(len(lengths)):
        own = masks[..., sentence_of.numpy() == i, :]
        np.testing.assert_allclose(own, np.broadcast_to(own[..., :1, :], own.shape))


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_dropout_leaves_out_its_share_and_keeps_the_mean(share: float) -> None:
    found = noise(share)(torch.ones(2, 100, 100), torch.arange(100))  # each row a sentence
    error = 5 * np.sqrt(share * (1 - share) / 20_000)  # five standard errors
    assert (found == 0).float().mean().item() == pytest.approx(share, abs=error)
    assert found.mean().item() == pytest.approx(1.0, abs=error / (1 - share))
    assert not torch.equal(found[0], found[1])  # directions have masks of their own


@pytest.mark.parametrize("variant", [{}, {"layers": 3}, LARGER, {"attention": "single", "feedback": False}])
def test_dropout_is_of_embeddings_memory_and_the_relations_queries(variant: dict[str, Any]) -> None:
    model = network(variant, hidden=4)
    (sentence,) = random_sentences([4], seed=9)
    remembering = Remembering(0.4)
    output = model(collate([sentence]), remembering)
    log_a, log_y = slow_forward(model, sentence, [mask[..., 0, :].numpy() for mask in remembering.masks])
    np.testing.assert_allclose(output.attention.detach().numpy(), log_a, rtol=0, atol=1e-9)
    np.testing.assert_allclose(log_y_by_head(output), log_y, rtol=0, atol=1e-9)
    assert all((mask == 0).any() for mask in remembering.masks)


def test_dropout_is_the_same_for_a_seed_and_none_without_noise() -> None:
    model, batch = network(LARGER), collate(random_sentences([4, 2]))
    one, same, other = (model(batch, noise(0.3, seed=seed)).relations for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    for mode in (model.train(), model.eval()):
        assert torch.equal(mode(batch).relations, model(batch, noise(0.0)).relations)
    assert not torch.equal(model(batch).relations, one)


# Initial weights


def initialised(variant: dict[str, Any], *, seed: int) -> BiAtt:
    model = BiAtt(ModelConfig(hidden=40, **variant), rows=500, relations=30)
    paper = TrainingConfig()
    generator = torch.Generator().manual_seed(seed)
    model.initialise(deviation=paper.deviation, first_state=paper.first_state, generator=generator)
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
        ({"shared_memory_projection": False}, {"C": (2, 6, 3)}),
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
