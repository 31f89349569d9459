"""A labeller that runs without torch as it does with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from biatt.annotate.labeller import FusedLabeller
from biatt.annotate.tags import labels_of
from biatt.config import EncoderConfig, TokeniserSettings
from biatt.encoding.batches import collate
from biatt.encoding.vocabulary import Vocabulary
from biatt.models.weights import labeller_shapes
from biatt.network.autograd import FUSED
from biatt.network.model import Labeller
from biatt.network.operations import PLAIN, Operations
from builders import TREEBANK

CONFIG = EncoderConfig(hidden=6, layers=2)
LABELS = labels_of(TREEBANK)
VOCABULARY = Vocabulary.build(TREEBANK, columns=("form",), min_count=1)
ENCODED = [VOCABULARY.encode(sentence) for sentence in TREEBANK]
SIZE = {"rows": VOCABULARY.size, "labels": LABELS.size}


def random_weights() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(1)
    shapes = labeller_shapes(CONFIG, **SIZE)
    return {name: draw.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def labeller() -> FusedLabeller:
    return FusedLabeller(TokeniserSettings(CONFIG), LABELS, random_weights(), rows=VOCABULARY.size)


@pytest.mark.parametrize("operations", [FUSED, PLAIN], ids=["fused", "plain"])
def test_network_without_torch_is_the_one_in_torch(operations: Operations) -> None:
    network = Labeller(CONFIG, **SIZE, operations=operations)
    network.load_state_dict({name: torch.from_numpy(value) for name, value in random_weights().items()})
    batch = collate(ENCODED[:7])
    with torch.no_grad():
        scores = network(batch).numpy()
    assert np.array_equal(labeller().best(batch), LABELS.best(scores))


def test_labels_do_not_depend_on_the_company_of_a_text() -> None:
    network = labeller()
    together = network.label(ENCODED, batch_words=100)
    alone = [network.label([encoded], batch_words=100)[0] for encoded in ENCODED]
    assert all(map(np.array_equal, together, alone))
