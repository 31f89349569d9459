"""Adam, with the rows of **E** updated only by batches that contain them, as in the authors' program.

Each row has its own moments and its own count of steps. A batch contains a few hundred of many thousand rows,
so this also makes steps fast. `Adam` computes in torch, on any device; `CompiledAdam` in compiled loops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from biatt.config import TrainingConfig
from biatt.kernels.adam import step_all, step_rows, sum_of_squares
from biatt.kernels.rounding import Floats
from biatt.machine.threads import run
from biatt.network.model import TUNED_ENCODER

BETA1 = 0.9  # decay of the first moment (the authors')
EPSILON = 1e-8  # the authors'


class Adam:
    """Steps of all parameters; `threads` share the dense ones, which does not change the result."""

    def __init__(
        self, parameters: Mapping[str, nn.Parameter], config: TrainingConfig, *, threads: int = 1
    ) -> None:
        self.config, self.threads = config, threads
        self.parameters = dict(sorted(parameters.items()))
        self.moments: dict[str, Tensor] = {}
        for name, parameter in self.parameters.items():
            self.moments[f"{name}.first"] = torch.zeros_like(parameter)
            self.moments[f"{name}.second"] = torch.zeros_like(parameter)
            self.moments[f"{name}.steps"] = torch.zeros(len(parameter), device=parameter.device)

    @torch.no_grad()
    def step(self, rate: float, encoder_rate: float = 0.0) -> None:
        """Clip the gradients to their global norm, take one step, and clear them.

        The weights of a tuned encoder have a rate of their own.
        """
        gradients: dict[str, Tensor] = {}
        for name, parameter in self.parameters.items():
            if parameter.grad is not None:
                gradients[name] = parameter.grad.coalesce() if parameter.grad.is_sparse else parameter.grad
        values = [gradient.values() if gradient.is_sparse else gradient for gradient in gradients.values()]
        excess = max(self._norm(values) / self.config.clip, 1.0)  # what the gradients are divided by
        dense = [name for name, gradient in gradients.items() if not gradient.is_sparse]
        of_encoder = [name for name in dense if name.startswith(TUNED_ENCODER)]
        of_parser = [name for name in dense if not name.startswith(TUNED_ENCODER)]
        for names, own_rate in ((of_parser, rate), (of_encoder, encoder_rate)):
            self._step_all_dense(names, gradients, excess, own_rate)
        for name, gradient in gradients.items():
            if gradient.is_sparse:
                self._step_rows(name, gradient.indices()[0], gradient.values(), excess, rate)
        for parameter in self.parameters.values():
            parameter.grad = None

    def _step_all_dense(
        self, names: list[str], gradients: Mapping[str, Tensor], excess: float, rate: float
    ) -> None:
        if names:
            largest_first = sorted(names, key=lambda name: -gradients[name].numel())
            groups = [largest_first[k :: self.threads] for k in range(min(self.threads, len(names)))]
            run(lambda group: self._step_dense(group, gradients, excess, rate), groups, self.threads)

    def _norm(self, gradients: list[Tensor]) -> float:
        """The norm of all gradients together."""
        norms = torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients])
        return float(torch.linalg.vector_norm(norms))

    @torch.no_grad()  # is a setting of each thread
    def _step_dense(
        self, names: list[str], gradients: Mapping[str, Tensor], excess: float, rate: float
    ) -> None:
        # The function, not the class torch.optim.Adam: it divides the gradients by `grad_scale` in the same
        # pass, and works on moments that a checkpoint can save by name.
        adam(
            [self.parameters[name] for name in names],
            [gradients[name] for name in names],
            [self.moments[f"{name}.first"] for name in names],
            [self.moments[f"{name}.second"] for name in names],
            [],
            [self.moments[f"{name}.steps"][:1].view(()) for name in names],  # all rows have the same count
            fused=True,
            grad_scale=torch.tensor(excess, device=self.parameters[names[0]].device),
            lr=rate,
            beta1=BETA1,
            beta2=self.config.beta2,
            eps=EPSILON,
            weight_decay=0.0,
            amsgrad=False,
            maximize=False,
        )

    def _step_rows(self, name: str, rows: Tensor, gradient: Tensor, excess: float, rate: float) -> None:
        first, second, steps = (self.moments[f"{name}.{part}"] for part in ("first", "second", "steps"))
        beta2, gradient = self.config.beta2, gradient / excess
        count = steps[rows] + 1
        m = torch.lerp(gradient, first[rows], BETA1)
        v = torch.lerp(gradient * gradient, second[rows], beta2)
        scale = (rate * (1 - beta2**count).sqrt() / (1 - BETA1**count))[:, None]
        epsilon = EPSILON * (1 - beta2**count).sqrt()[:, None]
        self.parameters[name].data.index_add_(0, rows, scale * m / (v.sqrt() + epsilon), alpha=-1)
        first[rows], second[rows], steps[rows] = m, v, count


class CompiledAdam(Adam):
    """The same steps up to rounding, each in one pass over weights, gradient and moments."""

    def __init__(
        self, parameters: Mapping[str, nn.Parameter], config: TrainingConfig, *, threads: int = 1
    ) -> None:
        super().__init__(parameters, config, threads=threads)
        # Making arrays of tensors takes as long as the steps of small ones. Tensors keep their memory.
        self._arrays = {
            name: _Arrays(
                _array(parameter), *(_array(self.moments[f"{name}.{part}"]) for part in _Arrays._fields[1:])
            )
            for name, parameter in self.parameters.items()
        }

    def _norm(self, gradients: list[Tensor]) -> float:
        return math.sqrt(sum(sum_of_squares(_array(gradient).reshape(-1)) for gradient in gradients))

    def _step_dense(
        self, names: list[str], gradients: Mapping[str, Tensor], excess: float, rate: float
    ) -> None:
        factor, decay = 1 / excess, (BETA1, self.config.beta2)
        for name in names:
            weights, first, second, steps = self._arrays[name]
            steps[0] += 1  # all rows have the same count
            count = float(steps[0])
            step_all(
                weights.reshape(-1),
                _array(gradients[name]).reshape(-1),
                first.reshape(-1),
                second.reshape(-1),
                factor,
                decay,
                rate / (1 - BETA1**count),
                1 / math.sqrt(1 - self.config.beta2**count),
                EPSILON,
            )

    def _step_rows(self, name: str, rows: Tensor, gradient: Tensor, excess: float, rate: float) -> None:
        weights, *moments = self._arrays[name]
        decay = BETA1, self.config.beta2
        step_rows(weights, rows.numpy(), gradient.numpy(), *moments, 1 / excess, decay, rate, EPSILON)


class _Arrays(NamedTuple):
    """A parameter and its moments in numpy, on the same memory."""

    weights: Floats
    first: Floats
    second: Floats
    steps: Floats


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().contiguous().numpy()
    return array
