"""info: the card of a model."""

from __future__ import annotations

from pathlib import Path

from builders import random_parser
from commands import invoke


def test_card_of_a_model_cannot_steer_the_terminal(tmp_path: Path) -> None:
    parser = random_parser()
    parser.card = "# Card\n\x1b[2J\u202etxt\n"
    parser.save(tmp_path / "model")
    shown = invoke("info", tmp_path / "model")
    assert "# Card\n" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
