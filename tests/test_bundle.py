"""scripts/bundle, which prepares a model for the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from biatt.parser import load
from builders import random_pipeline

SCRIPT = Path(__file__).parents[1] / "scripts" / "bundle"


def bundle(*arguments: Path) -> None:
    subprocess.run([sys.executable, SCRIPT, *arguments], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.skipif(not SCRIPT.is_file(), reason="the scripts are not part of the package")
def test_bundled_model_is_small_and_has_a_card_without_paths(tmp_path: Path) -> None:
    parser = random_pipeline(hidden=40)
    parser.card = "| command | `biatt train --train /home/me/da/train.conllu` |\n"
    parser.save(tmp_path / "whole")
    (tmp_path / "card").write_text("Licence: CC BY \u2713\n", "utf-8")
    bundle(tmp_path / "whole", tmp_path / "small", tmp_path / "card")
    small = load(tmp_path / "small")
    assert small.card == "Licence: CC BY \u2713\n\n| command | `biatt train --train train.conllu` |\n"
    assert small.tokeniser is not None
    for part in (".", "tokeniser"):
        sizes = [(tmp_path / name / part / "model.safetensors").stat().st_size for name in ("whole", "small")]
        assert sizes[1] < 0.6 * sizes[0]
    bundle(tmp_path / "small", tmp_path / "again", tmp_path / "card")  # packed weights stay as they are
    for part in (".", "tokeniser"):
        first, second = ((tmp_path / name / part / "model.safetensors") for name in ("small", "again"))
        assert first.read_bytes() == second.read_bytes()
