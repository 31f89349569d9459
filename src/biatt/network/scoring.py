"""A trained network in torch as a parser uses it: load its weights, choose its device, score a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray

from biatt.config import ParserConfig
from biatt.data.scores import RelationLayer, Scores
from biatt.encoding.batches import Batch
from biatt.errors import ConfigError
from biatt.models.weights import NO_LABELS, check_shapes, parser_shapes
from biatt.network.model import BiAtt, ParserOutput


class TorchNetwork:
    """A trained network on any device that torch knows; `kernels.forward.FusedNetwork` is the fast one."""

    def __init__(
        self,
        config: ParserConfig,
        weights: Mapping[str, NDArray[Any]],
        *,
        rows: int,
        relations: int,
        labels: Mapping[str, int] = NO_LABELS,
        device: str,
    ) -> None:
        shapes = {name: value.shape for name, value in weights.items()}
        check_shapes(shapes, parser_shapes(config, rows=rows, relations=relations, labels=labels))
        network = BiAtt(config, rows=rows, relations=relations, labels=labels)
        network.load(weights)
        self.network = network.to(torch_device(device)).eval()

    def score(self, batch: Batch) -> Scores:
        """The scores of all sentences of a batch, one after the other."""
        with torch.inference_mode():
            return scores(self.network(batch))


def scores(output: ParserOutput) -> Scores:
    """The output of a network as arrays."""
    log_a, logits = output.log_a.detach().cpu().numpy(), output.logits.detach().cpu().numpy()
    layer = None
    if output.relation_layer is not None:
        layer = RelationLayer(*(part.detach().cpu().numpy() for part in output.relation_layer))
    labels = None if output.label_scores is None else output.label_scores.detach().cpu().numpy()
    left = log_a[0]
    return Scores(left, left if len(log_a) == 1 else log_a[1], logits, layer, labels)


def torch_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"There is no device '{name}' here.") from error
    return device
