"""The fingerprint changes with everything that determines the weights, and with nothing else."""

from __future__ import annotations

import numpy as np

from biatt.config import Config, with_settings
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.encoding.word_vectors import WordVectors
from biatt.training.fingerprint import fingerprint_of


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
