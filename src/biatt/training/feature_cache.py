"""Features of a frozen encoder on disk, so that they are computed once for all epochs and resumed trainings.

A cache folder has a file for about SHARD_WORDS words, named by a digest of the encoder, its layers and the
words. So an interrupted computation goes on after the last file, and files of other data do no harm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from biatt.data.files import replacing
from biatt.data.folders import make_folder
from biatt.encoding.features import FeatureEncoder, Features
from biatt.errors import TrainingError
from biatt.training.listener import Listener

SHARD_WORDS = 8192  # a minute of the slowest encoder; 50 MB of four layers that are 768 wide


def cached_features(
    encoder: FeatureEncoder,
    sentences: Sequence[Sequence[str]],
    folder: Path,
    listener: Listener,
    *,
    threads: int = 1,
) -> list[Features]:
    """The features of each sentence, memory-mapped; those that the folder does not have are computed."""
    make_folder(folder, "features")
    features: list[Features] = []
    listener.start("encoder", sum(map(len, sentences)), words_after=0)
    for shard in _shards(sentences):
        lengths = [len(forms) for forms in shard]
        shape = sum(lengths), len(encoder.layers), encoder.width
        path = folder / f"{_digest(encoder, shard)}.npy"
        array = _mapped(path, shape)
        if array is None:
            with replacing(path) as file:
                np.save(file, np.concatenate(encoder.features(shard, threads=threads)))
            array = _mapped(path, shape)
            if array is None:
                raise TrainingError(f"{path} cannot be read back.")
        features += np.split(array, np.cumsum(lengths)[:-1])
        listener.batch(sum(lengths))
    return features


def _shards(sentences: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    shard: list[Sequence[str]] = []
    words = 0
    for forms in sentences:
        shard.append(forms)
        words += len(forms)
        if words >= SHARD_WORDS:
            yield shard
            shard, words = [], 0
    if shard:
        yield shard


def _digest(encoder: FeatureEncoder, shard: Sequence[Sequence[str]]) -> str:
    content = encoder.reference.checksum, encoder.layers, [list(forms) for forms in shard]
    return hashlib.sha256(repr(content).encode(errors="surrogatepass")).hexdigest()[:32]


def _mapped(path: Path, shape: tuple[int, ...]) -> Features | None:
    """The array of a file, or None if there is none of this shape, e.g. because it was cut short."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return array if array.shape == shape and array.dtype == np.float16 else None
