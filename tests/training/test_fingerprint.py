"""The fingerprint changes with everything that determines the weights, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from biatt.config import Config, with_settings
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.encoding.word_vectors import WordVectors
from biatt.errors import BiattError
from biatt.training.fingerprint import digest_of_files, fingerprint_of


def vectors(*words: str, value: float = 1.0) -> WordVectors:
    return WordVectors(list(words), np.full((len(words), 2), value, np.float32))


def test_fingerprint_covers_options_vectors_and_sentences() -> None:
    train, dev = generate(4, seed=1), generate(2, seed=2)
    other_tag = [train[0].with_rows([[*row[:4], "X", *row[5:]] for row in train[0].rows]), *train[1:]]
    fingerprints = [
        fingerprint_of([Config(), 1], None, train, dev),
        fingerprint_of([Config(), 2], None, train, dev),
        fingerprint_of([with_settings(Config(), ["clip=1"]), 1], None, train, dev),
        fingerprint_of([Config(), 1], vectors("a", "b"), train, dev),
        fingerprint_of([Config(), 1], vectors("b", "a"), train, dev),
        fingerprint_of([Config(), 1], vectors("a", "b", value=2.0), train, dev),
        fingerprint_of([Config(), 1], None, other_tag, dev),
        fingerprint_of([Config(), 1], None, train[:-1], dev),
        fingerprint_of([Config(), 1], None, dev, train),
        fingerprint_of([Config(), 1], None, [*train, dev[0]], dev[1:]),
    ]
    assert len(set(fingerprints)) == len(fingerprints)


def test_fingerprint_is_the_same_for_the_same_data_from_elsewhere() -> None:
    def sentence(source: str) -> Sentence:
        return Sentence([["1", "w", *"_____", "root", *"__"]], [], "conllu", source, 7)

    assert fingerprint_of([1], None, [sentence("a")]) == fingerprint_of([1], None, [sentence("b")])


def test_digest_of_files_depends_on_their_bytes_and_order_alone(tmp_path: Path) -> None:
    for name, content in (("a", "xy"), ("b", "z"), ("c", "x"), ("d", "yz"), ("e", "xy")):
        (tmp_path / name).write_text(content)
    ab, ba, cd, eb = (
        digest_of_files([tmp_path / name for name in names]) for names in ("ab", "ba", "cd", "eb")
    )
    assert ab == eb
    assert len({ab, ba, cd}) == 3


def test_digest_of_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BiattError, match=r"a: cannot be read: no such file or directory\.$"):
        digest_of_files([tmp_path / "a"])
