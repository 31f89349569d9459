"""generate: a toy treebank."""

from __future__ import annotations

from biatt.data.toy_treebank import generate
from commands import biatt_process


def test_generate_writes_a_toy_treebank() -> None:
    done = biatt_process("generate", 3, "--seed", 4)
    assert done.stdout.decode() == "".join(sentence.to_text() for sentence in generate(3, seed=4))
