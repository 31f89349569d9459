"""The kernels at every vector width, whatever this processor's is: 4 (SSE), 8 (AVX), 16 (AVX-512)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from biatt.errors import ConfigError
from biatt.machine import compiled

FOLDER = Path(__file__).parent
TESTS = [
    f"{FOLDER}/test_products.py",
    f"{FOLDER}/test_forward.py::test_scores_equal_those_of_the_torch_network_for_any_shape",
]


@pytest.mark.slow
@pytest.mark.skipif("BIATT_LANES" in os.environ, reason="the width is fixed")
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_kernels_are_right_at_every_vector_width(lanes: int) -> None:
    """Run a part of this folder's tests in a process with another width; compilation is most of the time."""
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
