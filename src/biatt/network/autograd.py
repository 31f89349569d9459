"""The operations of `operations.py` around the compiled kernels, with their gradients: `FUSED`.

They take and return the same tensors. `in_threads` sets the number of threads that share their work; numpy's
and torch's matrix products then use one thread each.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from biatt.encoding.vocabulary import Indices
from biatt.kernels import recurrences
from biatt.kernels.recurrences import GruWeights, LookupWeights
from biatt.kernels.rounding import Floats
from biatt.machine.threads import one_matrix_thread
from biatt.network.operations import GruTensors, LookupTensors, Operations

_threads = 1


@contextmanager
def in_threads(count: int) -> Iterator[None]:
    """Use this number of threads for the operations inside the block."""
    global _threads
    before, _threads = _threads, count
    try:
        with one_matrix_thread:
            yield
    finally:
        _threads = before


def recurrence(x: Tensor, gru: GruTensors, lengths: Indices, directions: str) -> Tensor:
    states: Tensor = _Recurrence.apply(x, *gru, lengths, directions)
    return states


def attention(
    queries: Tensor, values: Tensor, projected: Tensor, v: Tensor, words: Indices
) -> tuple[Tensor, Tensor]:
    log_a, soft = _Attention.apply(queries, values, projected, v, words)
    return log_a, soft


def query_recurrence(
    x: Tensor, m: Tensor, gru: GruTensors, lookup: LookupTensors, words: Indices, directions: str
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    *weights, limit = gru
    q, log_a, soft = _QueryRecurrence.apply(x, m, *weights, *lookup, limit, words, directions)
    return q, log_a, soft


FUSED = Operations(recurrence, attention, query_recurrence)


class _Recurrence(Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        x, *weights = map(_array, arguments[:5])
        ctx.rest = arguments[5:]
        limit, lengths, directions = ctx.rest
        gru = GruWeights(*weights)
        saved = recurrences.gru(x, gru, lengths, directions, limit=limit, threads=_threads)
        ctx.saved = x, gru, saved
        return torch.from_numpy(saved.states)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        limit, lengths, directions = ctx.rest
        x, gru, saved = ctx.saved
        d_x, d_weights = recurrences.gru_backward(
            _array(gradients[0]), x, gru, saved, lengths, directions, limit=limit, threads=_threads
        )
        return *map(torch.from_numpy, (d_x, *d_weights)), None, None, None


class _Attention(Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        queries, values, projected, v = map(_array, arguments[:4])
        words = arguments[4]
        attended, lookup = recurrences.attention(queries, values, projected[0], v, words, threads=_threads)
        ctx.saved = attended, lookup, words
        return torch.from_numpy(attended.log_a), torch.from_numpy(attended.soft)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        attended, lookup, words = ctx.saved
        d_log_a, d_soft = map(_array, gradients)
        d_queries, d_values, d_projected, d_v = recurrences.attention_backward(
            d_log_a, d_soft, attended, lookup, words, threads=_threads
        )
        return *map(torch.from_numpy, (d_queries, d_values, d_projected[None], d_v)), None


class _QueryRecurrence(Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        x, m, *weights = map(_array, arguments[:11])
        gru, lookup = GruWeights(*weights[:4]), LookupWeights(*weights[4:])
        ctx.rest = arguments[11:]
        limit, words, directions = ctx.rest
        ctx.saved = saved = recurrences.query(
            x, m, gru, lookup, words, directions, limit=limit, threads=_threads
        )
        relations = saved.attended.soft[..., -lookup.U.shape[2] :]
        return tuple(map(torch.from_numpy, (saved.states.states, saved.attended.log_a, relations)))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        _, words, directions = ctx.rest
        d_q, d_log_a, d_relations = map(_array, gradients)
        d_x, d_m, d_gru, d_lookup = recurrences.query_backward(
            d_q, d_log_a, d_relations, ctx.saved, words, directions, threads=_threads
        )
        return *map(torch.from_numpy, (d_x, d_m, *d_gru, *d_lookup)), None, None, None


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().contiguous().numpy()
    return array
