"""Networks with a contextual encoder's features and with tags of their own, against the equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from biatt.config import ParserConfig
from biatt.data.scores import Scores, split_scores
from biatt.encoding.batches import Batch, collate
from biatt.encoding.labels import NO_LABEL, Labels
from biatt.encoding.vocabulary import Encoded
from biatt.kernels.forward import FusedNetwork
from biatt.network.autograd import FUSED
from biatt.network.losses import label_losses, log_likelihood
from biatt.network.model import BiAtt
from biatt.network.operations import PLAIN, Operations
from biatt.network.scoring import scores
from builders import LARGER, RELATIONS, ROWS, log_y_by_head, random_sentences
from equations import slow_forward
from examples import examples
from ways import ROUNDED, without_rounding

LABELS = Labels({"upos": ["N", "V", "A"], "feats": ["_", "F=1"], "lemma": ["=a", "=b", "=c", "=d"]})
FEATURES: dict[str, Any] = {"feature_layers": (1, 3), "feature_width": 3}
VARIANTS: list[dict[str, Any]] = [
    {"tags": True},
    {**LARGER, "tags": True},
    FEATURES,
    {**LARGER, **FEATURES, "tags": True},
]
every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=["tags", "larger", "features", "all"])


def joint(
    variant: dict[str, Any], *, hidden: int = 3, seed: int = 0, operations: Operations = PLAIN
) -> BiAtt:
    config = ParserConfig(hidden=hidden, **variant)
    labels = LABELS.sizes if config.tags else {}
    model = BiAtt(config, rows=ROWS, relations=RELATIONS, labels=labels, operations=operations)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for value in model.state_dict().values():
            value.normal_(0.0, 0.5, generator=generator)
    return model


def annotated(lengths: list[int], *, seed: int = 0, known: float = 0.5) -> list[Encoded]:
    """Random sentences with features, some of whose tags are known."""
    draw, result = np.random.default_rng(seed), []
    for sentence in random_sentences(lengths, seed=seed):
        n = sentence.words
        labels = np.stack([draw.integers(0, size, n) for size in LABELS.sizes.values()], -1)
        labels[draw.random(labels.shape) >= known] = NO_LABEL
        features = draw.normal(size=(n, 2, 3)).astype(np.float16)
        result.append(sentence._replace(labels=labels.astype(np.int32), features=features))
    return result


@every_variant
def test_network_is_the_equations_step_by_step(variant: dict[str, Any]) -> None:
    model = joint(variant).double()
    for sentence in annotated([4, 1, 6], seed=3):
        output = model(collate([sentence]))
        log_a, log_y = slow_forward(model, sentence)
        np.testing.assert_allclose(output.log_a.detach().numpy(), log_a, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(log_y_by_head(output), log_y, rtol=1e-9, atol=1e-9)


@examples(25)
@given(
    st.sampled_from(VARIANTS),
    st.integers(1, 9),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.integers(0, 999),
)
def test_scores_without_torch_are_those_with_it(
    variant: dict[str, Any], hidden: int, lengths: list[int], known: float, seed: int
) -> None:
    model = joint(variant, hidden=hidden, seed=seed)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    labels = LABELS.sizes if model.config.tags else {}
    fused = FusedNetwork(model.config, weights, rows=ROWS, relations=RELATIONS, labels=labels)
    batch = collate(annotated(lengths, seed=seed, known=known))
    assert_scores_are_those_of_torch(fused, model, batch)


def assert_scores_are_those_of_torch(fused: FusedNetwork, model: BiAtt, batch: Batch) -> None:
    """Up to rounding, and without rounding up to the last digits."""
    expected = split_scores(scores(model(batch)), batch.words)
    assert_same(split_scores(fused.score(batch), batch.words), expected, tolerance=ROUNDED)
    with without_rounding():
        assert_same(split_scores(fused.score(batch), batch.words), expected, tolerance=1e-4)


def assert_same(found: list[Scores], expected: list[Scores], *, tolerance: float) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one.label_scores is None) == (other.label_scores is None)
        for name in ("left", "right", "logits", "label_scores"):
            part = getattr(other, name)
            if part is not None:
                np.testing.assert_allclose(getattr(one, name), part, rtol=tolerance, atol=tolerance)


@every_variant
def test_gradients_of_the_compiled_operations_are_those_of_torch(variant: dict[str, Any]) -> None:
    gradients = []
    for operations in (PLAIN, FUSED):
        model = joint(variant, operations=operations)
        sentences = annotated([5, 2], seed=1)
        batch = collate(sentences)
        output = model(batch)
        loss = -log_likelihood(output, batch)
        if output.label_scores is not None and batch.labels is not None:
            loss = loss + label_losses(output.label_scores, batch.labels, LABELS).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        gradients.append(
            {name: p.grad.to_dense() for name, p in model.named_parameters() if p.grad is not None}
        )
        assert len(gradients[-1]) == len(list(model.parameters()))
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, rtol=1e-3, atol=1e-4, msg=name)


def test_standardising_constants_are_not_trained() -> None:
    names = {name for name, _ in joint(FEATURES).named_parameters()}
    assert {"features.mix", "features.P"} < names
    assert not names & {"features.shift", "features.factor"}


def test_tag_that_is_known_replaces_the_one_that_the_network_would_choose() -> None:
    model = joint({"tags": True})
    (sentence,) = annotated([4], known=0.0)
    assert sentence.labels is not None
    free = model(collate([sentence]))
    for number in range(3):
        labels = sentence.labels.copy()
        labels[1, 0] = number
        given = model(collate([sentence._replace(labels=labels)]))
        torch.testing.assert_close(given.label_scores, free.label_scores)  # the choice itself is the same
        assert not torch.allclose(given.log_a, free.log_a)


def test_lemmas_that_are_known_change_nothing() -> None:
    model = joint({"tags": True})
    (sentence,) = annotated([4], known=0.0)
    assert sentence.labels is not None
    labels = sentence.labels.copy()
    labels[:, 2] = 1
    given, free = (model(collate([s])) for s in (sentence._replace(labels=labels), sentence))
    torch.testing.assert_close(given.log_a, free.log_a)


def test_network_that_only_chooses_lemmas_has_no_tags_to_go_on_with() -> None:
    config = ParserConfig(hidden=3, tags=True)
    model = BiAtt(config, rows=ROWS, relations=RELATIONS, labels={"lemma": 4})
    model.initialise(torch.Generator().manual_seed(1))
    weights = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    fused = FusedNetwork(config, weights, rows=ROWS, relations=RELATIONS, labels={"lemma": 4})
    batch = collate(random_sentences([3, 1]))
    assert_scores_are_those_of_torch(fused, model, batch)


def test_label_losses_are_the_logarithms_of_the_right_labels() -> None:
    draw = np.random.default_rng(4)
    table = draw.normal(size=(5, LABELS.size)).astype(np.float32)
    gold = np.stack([draw.integers(-1, size, 5) for size in LABELS.sizes.values()], -1).astype(np.int32)
    losses = label_losses(torch.from_numpy(table), gold, LABELS)
    for kind, part in enumerate(LABELS.slices):
        expected = 0.0
        for row, label in zip(table[:, part].astype(np.float64), gold[:, kind], strict=True):
            if label != NO_LABEL:
                expected -= row[label] - np.log(np.exp(row).sum())
        assert float(losses[kind]) == pytest.approx(expected, rel=1e-4)
