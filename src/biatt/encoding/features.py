"""What a contextual encoder reads and gives, for those who do not need to know how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from biatt.models.encoder_folder import EncoderReference

Features = NDArray[np.float16]  # (n, layers, width) of a sentence


class Pieces(NamedTuple):
    """The subwords of a sentence; each word has at least one."""

    ids: NDArray[np.int32]  # numbers of the subwords, one after the other
    words: NDArray[np.int32]  # the word that each belongs to, from 0, ascending


class FeatureEncoder(Protocol):
    """See `network.contextual.ContextualEncoder`."""

    reference: EncoderReference
    layers: tuple[int, ...]
    width: int

    def features(self, sentences: Sequence[Sequence[str]], *, threads: int = 1) -> list[Features]: ...
