"""Whole batches: how sentences are dealt out to threads, attention, and the kernels from disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.kernels import recurrences
from biatt.machine.compiled import LANES


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(1, 4))
def test_every_sentence_is_in_one_group_longest_first(lengths: list[int], count: int) -> None:
    groups = recurrences.sentence_groups(np.array(lengths, np.int32), count)
    assert len(groups) == min(count, len(lengths))
    for group in groups:
        assert group.lengths.tolist() == sorted(group.lengths.tolist(), reverse=True)
    sentences = sorted(sentence for group in groups for sentence in zip(*group, strict=True))
    starts = np.cumsum([0, *lengths[:-1]])
    assert sentences == list(zip(starts, lengths, starts + np.arange(len(lengths)), strict=True))


def test_large_projections_of_opposite_signs_still_meet_in_the_middle() -> None:
    """C m around 60 and D q around −60: each alone is far outside of what exp can hold, their sum is not."""
    generator = np.random.default_rng(3)
    words, h = np.array([3, 1], np.int32), 16
    projected = generator.normal(60 * np.sign(generator.normal(size=h)), 1.0, (6, h)).astype(np.float32)
    queries = (generator.normal(size=(1, 4, h)) - projected.mean(0)).astype(np.float32)
    v, values = generator.normal(size=(1, h)).astype(np.float32), np.zeros((1, 6, 2), np.float32)
    attended, _ = recurrences.attention(queries, values, projected, v, words)
    for word, positions in ((0, range(4)), (1, range(4)), (2, range(4)), (3, range(4, 6))):
        s = np.array([v[0] @ np.tanh(projected[j].astype(float) + queries[0, word]) for j in positions])
        expected = s - np.log(np.exp(s).sum())
        np.testing.assert_allclose(attended.log_a[0, word, : len(positions)], expected, atol=1e-4)


WEIGHTS = """
import sys
import numpy as np
from biatt.kernels import recurrences
generator = np.random.default_rng(0)
words, h = np.array([7, 5, 1], np.int32), 20
positions, rows = int((words + 1).sum()), int(words.sum())
def normal(*shape):
    return generator.normal(0, 0.3, shape).astype(np.float32)
gru = recurrences.GruWeights(normal(2, h, 3 * h), normal(2, 3 * h), normal(2, h, 3 * h), normal(2, h))
inputs = normal(positions, h)
memory = recurrences.gru(inputs, gru, words + 1, "lr", limit=1.0)
"""
MEMORY = f"""
{WEIGHTS}
d_states = normal(2, positions, h)
d_x, d_gru = recurrences.gru_backward(d_states, inputs, gru, memory, words + 1, "lr", limit=1.0)
np.savez(sys.argv[1], *memory, d_x, *d_gru)
"""
QUERY = f"""
{WEIGHTS}
x, m = normal(rows, h), normal(positions, 2 * h)
weights = recurrences.LookupWeights(
    normal(2, 2 * h, 3 * h), normal(2, 2 * h, 5), normal(1, 2 * h, h), normal(2, h, h), normal(2, h)
)
forward = recurrences.query(x, m, gru, weights, words, "lr", limit=1.0)
d_outputs = normal(2, rows, h), normal(2, rows, 8), normal(2, rows, 5)
d_x, d_m, d_gru, d_weights = recurrences.query_backward(*d_outputs, forward, words, "lr")
arrays = *memory, *forward.states, *forward.attended, forward.lookup.keys, d_x, d_m, *d_gru, *d_weights
np.savez(sys.argv[1], *arrays)
"""


def arrays_of(program: str, path: Path, **environment: str) -> list[np.ndarray[Any, Any]]:
    """What a program saves in a process of its own."""
    subprocess.run([sys.executable, "-c", program, str(path)], env={**os.environ, **environment}, check=True)
    with np.load(path) as arrays:
        return list(arrays.values())


@pytest.mark.slow
def test_numbers_are_the_same_from_disk(tmp_path: Path) -> None:
    just_compiled, from_disk = (
        arrays_of(MEMORY, tmp_path / name, BIATT_CACHE_DIR=str(tmp_path)) for name in ("a.npz", "b.npz")
    )
    assert any(tmp_path.glob("*.kernel"))
    assert all(np.array_equal(a, b) for a, b in zip(just_compiled, from_disk, strict=True))


@pytest.mark.slow
def test_gradients_are_the_same_at_another_vector_width(tmp_path: Path) -> None:
    other = arrays_of(QUERY, tmp_path / "other.npz", BIATT_LANES="8" if LANES == 4 else "4")
    for a, b in zip(arrays_of(QUERY, tmp_path / "usual.npz"), other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
