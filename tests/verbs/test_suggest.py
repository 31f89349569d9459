"""suggest: sentences to annotate next."""

from __future__ import annotations

from pathlib import Path

import biatt
from biatt.data.toy_treebank import generate
from builders import random_parser
from commands import invoke


def test_suggest_writes_the_sentences_to_annotate_next(tmp_path: Path) -> None:
    random_parser().save(tmp_path / "model")
    biatt.write(generate(30, seed=7), tmp_path / "pool.conllu")
    command = ["suggest", tmp_path / "pool.conllu", "--model", tmp_path / "model", "--count", 3]
    text = invoke(*command)
    assert invoke(*command) == text
    sentences = biatt.reads(text)
    assert [f"# suggestion = {rank}" in s.comments for rank, s in enumerate(sentences, 1)] == [True] * 3
    assert all(head is not None for s in sentences for head in s.heads)
