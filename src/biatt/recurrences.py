"""The fused kernels over a whole batch: all directions, all sentences, one or more threads; numpy only.

Each direction, and each share of a batch's sentences, is a task of its own, so that two threads have a
direction each. What tasks add up is added in a fixed order: the same threads give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt import kernels
from biatt.kernels import Floats


class Share(NamedTuple):
    """Some sentences of a batch, longest first."""

    starts: NDArray[np.int64]  # of the words; or of all rows, for a recurrence over all rows
    lengths: NDArray[np.int64]
    memory_starts: NDArray[np.int64]  # of the positions, where ROOT is


class Recurrent(NamedTuple):
    """U as the forward kernels want it; made once where the weights stay the same."""

    gates: Floats  # (d, h, 2h); or (d, h, 3h) with D behind it
    candidate: Floats  # (d, h, h)


class States(NamedTuple):
    """A GRU's states and what its backward pass needs; each (d, rows, h)."""

    states: Floats
    previous: Floats
    r: Floats
    z: Floats
    c: Floats
    inner: Floats


class Attention(NamedTuple):
    """What attention gives, and what its backward pass needs."""

    f: Floats  # (A, N, h): exp(2 D q)
    log_a: Floats  # (A, N, T)
    soft: Floats  # (A, N, width of the values)
    memory: Floats  # (1 or A, M, h): exp(2 (C m − middle))
    middle: Floats  # (1 or A, M, h): of the sentence's C m, in the row of its ROOT


def shares(lengths: NDArray[np.int32], count: int) -> list[Share]:
    """The batch's sentences dealt out to at most `count` shares."""
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    order = np.argsort(-lengths, kind="stable")
    picks = [order[k::count] for k in range(min(count, len(lengths)))]
    return [Share(starts[pick], lengths[pick].astype(np.int64), starts[pick] + pick) for pick in picks]


def recurrent(U: Floats, D: Floats | None = None) -> Recurrent:
    gates, candidate = _split(U)
    return Recurrent(gates if D is None else np.concatenate([gates, D], -1), candidate)


def gru(
    inputs: Floats,
    weights: Recurrent,
    first: Floats,
    lengths: NDArray[np.int32],
    directions: str,
    *,
    after: bool,
    threads: int = 1,
) -> States:
    """inputs (d, rows, 3h) → states (d, rows, h)."""
    saved = _states(inputs, after)

    def task(k: int, share: Share) -> None:
        kernels.gru_forward(
            inputs[k], weights.gates[k], weights.candidate[k], first[k], share.starts, share.lengths,
            directions[k] == "r", after, *(part[k] for part in saved),
        )  # fmt: skip

    _run(task, directions, lengths, threads)
    return saved


def gru_backward(
    d_states: Floats,
    U: Floats,
    saved: States,
    lengths: NDArray[np.int32],
    directions: str,
    *,
    after: bool,
    threads: int = 1,
) -> tuple[Floats, Floats, Floats]:
    """Gradients of the inputs, of what U's candidate part gave, and of the first states."""
    d, rows, h = d_states.shape
    d_inputs, d_inner, d_first = _empty(d, rows, 3 * h), _empty(d, rows, h), {}
    U_gates, U_candidate = _split(U, transpose=True)

    def task(k: int, share: Share) -> None:
        total = d_first[k, int(share.starts[0])] = np.zeros(h, np.float32)
        kernels.gru_backward(
            d_states[k], U_gates[k], U_candidate[k], share.starts, share.lengths, directions[k] == "r", after,
            *(part[k] for part in saved[1:]), d_inputs[k], d_inner[k], total,
        )  # fmt: skip

    _run(task, directions, lengths, threads)
    return d_inputs, d_inner, _gather(d_first, d)


def attention(
    queries: Floats,
    values: Floats,
    projected: Floats,
    v: Floats,
    words: NDArray[np.int32],
    *,
    threads: int = 1,
) -> Attention:
    """The attention of queries (A, N, h) that do not wait for it."""
    found = _attention(queries, values, projected, words)

    def task(k: int, share: Share) -> None:
        kernels.attend_all(
            queries[k], values[k], _of(found.memory, k), _of(found.middle, k), v[k], *share,
            found.f[k], found.log_a[k], found.soft[k],
        )  # fmt: skip

    _run(task, "l" * len(queries), words, threads)
    return found


def attention_backward(
    d_log_a: Floats,
    d_soft: Floats,
    found: Attention,
    values: Floats,
    v: Floats,
    words: NDArray[np.int32],
    *,
    threads: int = 1,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Gradients of the queries, of the values, of C m (raw) and of v."""
    d_queries, d_values = np.empty_like(found.f), np.empty_like(values)
    d_memory, d_v = np.zeros((len(v), values.shape[1], v.shape[1]), np.float32), {}

    def task(k: int, share: Share) -> None:
        total = d_v[k, int(share.starts[0])] = np.zeros_like(v[k])
        kernels.attend_all_backward(
            d_log_a[k], d_soft[k], values[k], _of(found.memory, k), v[k], *share, found.f[k], found.log_a[k],
            d_queries[k], d_memory[k], total,
        )  # fmt: skip
        kernels.values_backward(found.log_a[k], d_soft[k], *share, d_values[k])

    _run(task, "l" * len(v), words, threads)
    return d_queries, d_values, d_memory, _gather(d_v, len(v))


def query(
    inputs: Floats, values: Floats, projected: Floats, weights: Recurrent, first: Floats, v: Floats,
    words: NDArray[np.int32], directions: str, *, after: bool, threads: int = 1,
) -> tuple[States, Attention]:  # fmt: skip
    """The query components with feedback, `weights` being U and D; `inputs` take in what is fed back."""
    saved, found = _states(inputs, after), _attention(first, values, projected, words)

    def task(k: int, share: Share) -> None:
        kernels.query_forward(
            inputs[k], values[k], _of(found.memory, k), _of(found.middle, k),
            weights.gates[k], weights.candidate[k], first[k], v[k], *share, directions[k] == "r", after,
            *(part[k] for part in saved), found.f[k], found.log_a[k], found.soft[k],
        )  # fmt: skip

    _run(task, directions, words, threads)
    return saved, found


def query_backward(
    d_states: Floats, d_log_a: Floats, d_soft: Floats, saved: States, found: Attention,
    values: Floats, U: Floats, D: Floats, v: Floats, words: NDArray[np.int32], directions: str,
    *, after: bool, threads: int = 1,
) -> tuple[Floats, ...]:  # fmt: skip
    """Gradients of inputs, U's candidate part, first states, D q, values, C m (raw), v; adds to d_soft."""
    d, rows, h = d_states.shape
    d_inputs, d_inner, d_queries, d_values = (
        _empty(d, rows, 3 * h),
        _empty(d, rows, h),
        _empty(d, rows, h),
        np.empty_like(values),
    )
    d_memory, d_first, d_v = np.zeros((d, values.shape[1], h), np.float32), {}, {}
    U_gates, U_candidate = _split(U, transpose=True)
    D_T = np.ascontiguousarray(D.swapaxes(1, 2))

    def task(k: int, share: Share) -> None:
        at = k, int(share.starts[0])
        d_first[at], d_v[at] = np.zeros(h, np.float32), np.zeros(h, np.float32)
        kernels.query_backward(
            d_states[k], d_log_a[k], d_soft[k], values[k], _of(found.memory, k),
            U_gates[k], U_candidate[k], D_T[k], v[k], *share, directions[k] == "r", after,
            *(part[k] for part in saved[1:]), found.f[k], found.log_a[k],
            d_inputs[k], d_inner[k], d_first[at], d_queries[k], d_memory[k], d_v[at],
        )  # fmt: skip
        kernels.values_backward(found.log_a[k], d_soft[k], *share, d_values[k])

    _run(task, directions, words, threads)
    return d_inputs, d_inner, _gather(d_first, d), d_queries, d_values, d_memory, _gather(d_v, d)


@lru_cache(maxsize=1)
def _executor(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def _run(
    task: Callable[[int, Share], None], directions: str, lengths: NDArray[np.int32], threads: int
) -> None:
    """Do the task for every direction and share; the kernels leave the other threads running."""
    parts = shares(lengths, -(-threads // len(directions)))
    work = [(k, share) for share in parts for k in range(len(directions))]
    if threads == 1:
        for item in work:
            task(*item)
    else:
        list(_executor(threads).map(lambda item: task(*item), work))


def _empty(*shape: int) -> Floats:
    return np.empty(shape, np.float32)


def _states(inputs: Floats, after: bool) -> States:
    d, rows, width = inputs.shape
    states, previous, r, z, c = (_empty(d, rows, width // 3) for _ in range(5))
    inner = np.empty_like(c) if after else c  # only touched where the reset acts after U
    return States(states, previous, r, z, c, inner)


def _attention(queries: Floats, values: Floats, projected: Floats, words: NDArray[np.int32]) -> Attention:
    count, rows = len(queries), int(words.sum())
    memory, middle = np.empty_like(projected), np.empty_like(projected)
    for k in range(len(projected)):
        kernels.prepare_memory(projected[k], words, memory[k], middle[k])
    log_a = np.full((count, rows, int(words.max()) + 1), -np.inf, np.float32)
    f, soft = _empty(count, rows, queries.shape[-1]), _empty(count, rows, values.shape[2])
    return Attention(f, log_a, soft, memory, middle)


def _of(memory: Floats, k: int) -> Floats:
    """The memory of attention k, which all attentions may share."""
    one: Floats = memory[k if len(memory) > 1 else 0]
    return one


def _split(U: Floats, *, transpose: bool = False) -> tuple[Floats, Floats]:
    """U of the gates and of the candidate, each in one piece."""
    h = U.shape[1]
    parts = U[..., : 2 * h], U[..., 2 * h :]
    gates, candidate = (np.ascontiguousarray(part.swapaxes(1, 2) if transpose else part) for part in parts)
    return gates, candidate


def _gather(parts: dict[tuple[int, int], Floats], count: int) -> Floats:
    """The sums over shares, added in the order of their first sentence."""
    return np.stack([np.sum([parts[key] for key in sorted(parts) if key[0] == k], 0) for k in range(count)])
