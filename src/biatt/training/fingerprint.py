"""A digest of everything that determines the weights, so that a run is resumed with the same only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from biatt.data.files import checksum_of
from biatt.data.sentence import Sentence
from biatt.encoding.word_vectors import WordVectors


def fingerprint_of(
    options: Sequence[object], vectors: WordVectors | None, *treebanks: Iterable[Sentence]
) -> str:
    """A digest of options (by their repr), word vectors and sentences."""
    digest = hashlib.sha256(repr(options).encode())
    if vectors is not None:
        digest.update(repr(vectors.words).encode())
        digest.update(vectors.vectors.tobytes())
    for sentences in treebanks:
        digest.update(b"\0")
        for sentence in sentences:
            digest.update(sentence.to_text().encode())
    return digest.hexdigest()


def digest_of_files(files: Iterable[str | Path]) -> str:
    """A digest of the bytes of files, in order, whatever they are called."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(bytes.fromhex(checksum_of(file)))
    return digest.hexdigest()
