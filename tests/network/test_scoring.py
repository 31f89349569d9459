"""A trained network in torch as a parser uses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from biatt.encoding.batches import collate
from biatt.errors import ConfigError, ModelError
from biatt.network.scoring import TorchNetwork, scores, torch_device
from builders import LARGER, RELATIONS, ROWS, network, parts, random_sentences, sentence_scores


@pytest.mark.parametrize(
    "variant", [{}, {"directions": "left-to-right"}, LARGER], ids=["paper", "l", "larger"]
)
def test_loaded_weights_give_the_scores_of_the_network(variant: dict[str, Any]) -> None:
    model, batch = network(variant).float(), collate(random_sentences([3, 1, 4]))
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    loaded = TorchNetwork(model.config, weights, rows=ROWS, relations=RELATIONS, device="cpu")
    for part, expected in zip(parts(loaded.score(batch)), parts(scores(model(batch))), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-5, atol=1e-5)


def test_weights_that_do_not_fit_are_named() -> None:
    model = network({})
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    with pytest.raises(
        ModelError, match=r"do not fit the configuration and the vocabulary \(U, W, relation_bias\)"
    ):
        TorchNetwork(model.config, weights, rows=ROWS, relations=RELATIONS + 1, device="cpu")


def test_unknown_device_is_refused() -> None:
    with pytest.raises(ConfigError, match="There is no device 'abacus' here"):
        torch_device("abacus")


def test_one_attention_serves_as_both_in_scores() -> None:
    batch = collate(random_sentences([2]))
    (one,) = sentence_scores(network({"directions": "right-to-left"}), batch)
    (two,) = sentence_scores(network({}), batch)
    assert one.left is one.right
    assert not np.allclose(two.left, two.right)
