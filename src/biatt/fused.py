"""The operations of `model.py` as differentiable functions around the fused recurrences.

They take and give the same tensors as their namesakes there. Gradients of weights are products of whole
arrays, done here; everything that runs step by step is in `kernels.py`.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from biatt import recurrences
from biatt.config import Reset
from biatt.kernels import CLAMPED, Floats
from biatt.vocabulary import Indices


def recurrence(
    inputs: Tensor, U: Tensor, first: Tensor, lengths: Indices, directions: str, *, reset: Reset
) -> Tensor:
    result: Tensor = _Recurrence.apply(inputs, U, first, lengths, directions, reset == "after")
    return result


def attention(
    queries: Tensor, values: Tensor, projected: Tensor, v: Tensor, words: Indices
) -> tuple[Tensor, Tensor]:
    result: tuple[Tensor, Tensor] = _Attention.apply(queries, values, projected, v, words)
    return result


def query_recurrence(
    inputs: Tensor, values: Tensor, projected: Tensor, U: Tensor, first: Tensor, D: Tensor, v: Tensor,
    words: Indices, directions: str, *, reset: Reset,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    result: tuple[Tensor, Tensor, Tensor] = _QueryRecurrence.apply(
        inputs, values, projected, U, first, D, v, words, directions, reset == "after"
    )
    return result


class _Recurrence(Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        inputs, U, first, lengths, directions, after = arguments
        saved = recurrences.gru(
            _array(inputs),
            recurrences.recurrent(_array(U)),
            _array(first),
            lengths,
            directions,
            after=after,
            threads=torch.get_num_threads(),
        )
        ctx.save_for_backward(U)
        ctx.rest = saved, lengths, directions, after
        return torch.from_numpy(saved.states)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (U,), (saved, lengths, directions, after) = ctx.saved_tensors, ctx.rest
        d_inputs, d_inner, d_first = recurrences.gru_backward(
            _array(gradients[0]),
            _array(U),
            saved,
            lengths,
            directions,
            after=after,
            threads=torch.get_num_threads(),
        )
        d_U = _gradient_of_U(saved, d_inputs, d_inner, after)
        return torch.from_numpy(d_inputs), d_U, torch.from_numpy(d_first), None, None, None


class _Attention(Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        queries, values, projected, v, words = arguments
        found = recurrences.attention(
            _array(queries),
            _array(values),
            _array(projected),
            _array(v),
            words,
            threads=torch.get_num_threads(),
        )
        ctx.save_for_backward(values, v)
        ctx.rest = found, words
        return torch.from_numpy(found.log_a), torch.from_numpy(found.soft)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (values, v), (found, words) = ctx.saved_tensors, ctx.rest
        d_log_a, d_soft = map(_array, gradients)
        d_queries, d_values, d_memory, d_v = recurrences.attention_backward(
            d_log_a, d_soft, found, _array(values), _array(v), words, threads=torch.get_num_threads()
        )
        d_projected = _gradient_of_projection(d_memory, v, found.memory)
        return (
            torch.from_numpy(d_queries),
            torch.from_numpy(d_values),
            d_projected,
            torch.from_numpy(d_v),
            None,
        )


class _QueryRecurrence(Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        inputs, values, projected, U, first, D, v, words, directions, after = arguments
        saved, found = recurrences.query(
            _array(inputs).copy(), _array(values), _array(projected),
            recurrences.recurrent(_array(U), _array(D)), _array(first), _array(v), words, directions,
            after=after, threads=torch.get_num_threads(),
        )  # fmt: skip
        ctx.save_for_backward(values, U, D, v)
        ctx.rest = saved, found, words, directions, after
        return torch.from_numpy(saved.states), torch.from_numpy(found.log_a), torch.from_numpy(found.soft)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (values, U, D, v), (saved, found, words, directions, after) = ctx.saved_tensors, ctx.rest
        d_states, d_log_a, d_soft = map(_array, gradients)
        d_inputs, d_inner, d_first, d_queries, d_values, d_memory, d_v = recurrences.query_backward(
            d_states, d_log_a, d_soft.copy(), saved, found, _array(values), _array(U), _array(D), _array(v),
            words, directions, after=after, threads=torch.get_num_threads(),
        )  # fmt: skip
        d_projected = _gradient_of_projection(d_memory, v, found.memory)
        d_D = torch.from_numpy(saved.states).mT @ torch.from_numpy(d_queries)
        d_U = _gradient_of_U(saved, d_inputs, d_inner, after)
        tensors = [torch.from_numpy(array) for array in (d_inputs, d_values, d_first, d_v)]
        return tensors[0], tensors[1], d_projected, d_U, tensors[2], d_D, tensors[3], None, None, None


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().contiguous().numpy()
    return array


def _gradient_of_U(saved: recurrences.States, d_inputs: Floats, d_inner: Floats, after: bool) -> Tensor:
    """Of the gates: h₋₁ᵀ d; of the candidate: what U multiplied, transposed, times d_inner."""
    previous = torch.from_numpy(saved.previous)
    h = previous.shape[-1]
    multiplied = previous if after else previous * torch.from_numpy(saved.r)
    gates = previous.mT @ torch.from_numpy(d_inputs)[..., : 2 * h]
    return torch.cat([gates, multiplied.mT @ torch.from_numpy(d_inner)], -1)


def _gradient_of_projection(d_memory: Floats, v: Tensor, memory: Floats) -> Tensor:
    """The factor 4v that the kernels leave out, the sum over attentions that share C m, and its clamp."""
    gradient = torch.from_numpy(d_memory) * (4 * v.detach())[:, None]
    if len(memory) == 1:
        gradient = gradient.sum(0, keepdim=True)
    clamped = (memory >= CLAMPED) | (memory <= 1 / CLAMPED)
    return gradient.masked_fill(torch.from_numpy(clamped), 0)
