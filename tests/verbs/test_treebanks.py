"""generate: a toy treebank."""

from __future__ import annotations

from biatt.data.toy_treebank import generate
from commands import invoke


def test_generate_writes_a_toy_treebank() -> None:
    assert invoke("generate", 3, "--seed", 4) == "".join(
        sentence.to_text() for sentence in generate(3, seed=4)
    )
