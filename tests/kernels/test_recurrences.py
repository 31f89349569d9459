"""Whole batches: how sentences are dealt out to threads, attention, and the kernels from disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biatt.compiled import LANES
from biatt.kernels import recurrences


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(1, 4))
def test_every_sentence_is_in_one_share_longest_first(lengths: list[int], count: int) -> None:
    parts = recurrences.shares(np.array(lengths, np.int32), count)
    assert len(parts) == min(count, len(lengths))
    found = {}
    for part in parts:
        assert part.lengths.tolist() == sorted(part.lengths.tolist(), reverse=True)
        found.update(
            zip(part.starts.tolist(), zip(part.lengths, part.memory_starts, strict=True), strict=True)
        )
    start = 0
    for i, n in enumerate(lengths):
        assert found.pop(start) == (n, start + i)
        start += n
    assert not found


def test_large_projections_of_opposite_signs_still_meet_in_the_middle() -> None:
    """C m around 60 and D q around −60: each alone is far outside of what exp can hold, their sum is not."""
    generator = np.random.default_rng(3)
    words, h = np.array([3, 1], np.int32), 16
    projected = generator.normal(60 * np.sign(generator.normal(size=h)), 1.0, (1, 6, h)).astype(np.float32)
    queries = (generator.normal(size=(1, 4, h)) - projected.mean(1)).astype(np.float32)
    v, values = generator.normal(size=(1, h)).astype(np.float32), np.zeros((1, 6, 2), np.float32)
    found = recurrences.attention(queries, values, projected, v, words)
    for word, positions in ((0, range(4)), (1, range(4)), (2, range(4)), (3, range(4, 6))):
        s = np.array([v[0] @ np.tanh(projected[0, j].astype(float) + queries[0, word]) for j in positions])
        expected = s - np.log(np.exp(s).sum())
        np.testing.assert_allclose(found.log_a[0, word, : len(positions)], expected, atol=1e-4)


GRADIENTS = """
import sys
import numpy as np
import pytest
from biatt.kernels import recurrences
generator = np.random.default_rng(0)
words, h = np.array([7, 5, 1], np.int32), 20
positions, rows = int((words + 1).sum()), int(words.sum())
def normal(*shape):
    return generator.normal(0, 0.3, shape).astype(np.float32)
cell = recurrences.Cell(normal(2, h, 3 * h), normal(2, 3 * h), normal(2, h, 3 * h), normal(2, h))
memory = recurrences.gru(normal(positions, h), cell, words + 1, "lr", after=False)
x, m = normal(rows, h), normal(positions, 2 * h)
lookup = recurrences.Lookup(
    normal(2, 2 * h, 3 * h), normal(2, 2 * h, 5), normal(1, 2 * h, h), normal(2, h, h), normal(2, h)
)
saved, found = recurrences.query(x, m, cell, lookup, words, "lr", after=False)
d_x, d_m, d_cell, d_lookup = recurrences.query_backward(
    normal(2, rows, h), normal(2, rows, 8), normal(2, rows, 5), x, m, cell, lookup, saved, found, words, "lr",
    after=False,
)
np.savez(
    sys.argv[1], *memory, *saved, found.f, found.log_a, found.soft, found.memory, d_x, d_m, *d_cell, *d_lookup
)
"""


@pytest.mark.slow
def test_gradients_are_the_same_from_disk_and_at_another_vector_width(tmp_path: Path) -> None:
    def gradients(name: str, **environment: str) -> list[np.ndarray[Any, Any]]:
        program = [sys.executable, "-c", GRADIENTS, str(tmp_path / name)]
        subprocess.run(program, env={**os.environ, **environment}, check=True)
        with np.load(tmp_path / f"{name}.npz") as arrays:
            return list(arrays.values())

    other = {"BIATT_LANES": "8" if LANES == 4 else "4", "BIATT_CACHE_DIR": str(tmp_path)}
    just_compiled = gradients("compiled", **other)
    assert any(tmp_path.glob("*.kernel"))
    from_disk = gradients("loaded", **other)
    assert all(np.array_equal(a, b) for a, b in zip(just_compiled, from_disk, strict=True))
    for a, b in zip(just_compiled, gradients("usual"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
