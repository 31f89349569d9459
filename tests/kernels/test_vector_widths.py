"""The kernels at every vector width, whatever this processor's is: 4 (SSE), 8 (AVX), 16 (AVX-512)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.config import ParserConfig
from biatt.data.scores import split_scores
from biatt.encoding.batches import collate
from biatt.errors import ConfigError
from biatt.kernels.forward import FusedNetwork
from biatt.machine import compiled
from biatt.models.weights import parser_shapes
from builders import RELATIONS, ROWS, VARIANTS, parts, random_sentences
from examples import examples
from ways import ROUNDED, Way, on_the

FOLDER = Path(__file__).parent
TESTS = [f"{FOLDER}/test_products.py", f"{__file__}::test_scores_equal_those_of_numpy_for_any_shape"]


@examples(40)
@given(
    st.sampled_from(VARIANTS),
    st.integers(1, 13),
    st.integers(0, 9),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
    st.integers(0, 999),
)
def test_scores_equal_those_of_numpy_for_any_shape(
    variant: dict[str, Any], hidden: int, embedding: int, lengths: list[int], seed: int
) -> None:
    config = ParserConfig(hidden=hidden, embedding=embedding, **variant)
    draw = np.random.default_rng(seed)
    weights = {
        name: draw.normal(0, 0.35, shape).astype(np.float32)
        for name, shape in parser_shapes(config, rows=ROWS, relations=RELATIONS).items()
    }
    batch = collate(random_sentences(lengths, seed=seed))
    scores = {}
    for way in get_args(Way):
        with on_the(way):
            network = FusedNetwork(config, weights, rows=ROWS, relations=RELATIONS)
            scores[way] = split_scores(network.score(batch), batch.words)
    for found, expected in zip(scores["compiled"], scores["plain"], strict=True):
        for part, other in zip(parts(found), parts(expected), strict=True):
            np.testing.assert_allclose(part, other, rtol=ROUNDED, atol=ROUNDED)


@pytest.mark.slow
@pytest.mark.skipif("BIATT_LANES" in os.environ, reason="the width is fixed")
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_kernels_are_right_at_every_vector_width(lanes: int) -> None:
    """Run tests that need no torch in a process with another width; compilation is most of the time."""
    if lanes == compiled.LANES:
        pytest.skip("all other tests have this width")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS],
        cwd=FOLDER.parents[1],
        env={**os.environ, "BIATT_LANES": str(lanes)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("features", "lanes"),
    [("", 4), ("+sse4.2,-avx,-avx2", 4), ("+avx,-avx512f", 8), ("+avx2,+fma", 8), ("+avx,+avx512f", 16)],
)
def test_width_is_the_largest_that_the_features_have(
    features: str, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BIATT_LANES", raising=False)
    monkeypatch.setattr(compiled.config, "CPU_FEATURES", features)
    assert compiled._lanes() == lanes


@pytest.mark.parametrize("lanes", ["0", "5", "32", "wide", "8 "])
def test_width_that_no_processor_has_is_refused(lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIATT_LANES", lanes)
    with pytest.raises(ConfigError, match="BIATT_LANES must be 4, 8 or 16"):
        compiled._lanes()
