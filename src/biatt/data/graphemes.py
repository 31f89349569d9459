"""Grapheme clusters: characters that a reader sees as one, such as a letter and its accent, or a flag.

The rules are Unicode's (UAX 29), from the package `regex`. It is slow, and most texts have no cluster of
several characters, so only the surroundings of characters that can join others are looked at, and `regex` is
only imported for them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FIRST_JOINING = 0x300  # before it, only "\r\n" joins, and space is never cut
_CLASSES = "Extend SpacingMark ZWJ Prepend L V T RI"  # Grapheme_Cluster_Break of all that can join others
_JOINING = "[" + "".join(rf"\p{{GCB={name}}}" for name in _CLASSES.split()) + "]"


def joined(text: str, codes: NDArray[np.uint32]) -> NDArray[np.bool_] | None:
    """Whether each character is in one cluster with the one before it; None if no two are.

    `codes` are the text's code points. "\\r\\n" does not count.
    """
    if text.isascii():
        return None
    joining = [code for code in np.unique(codes[codes >= FIRST_JOINING]).tolist() if _joins(code)]
    if not joining:
        return None
    import regex

    joins = np.isin(codes, joining)
    result = np.zeros(len(codes), bool)
    # Two characters can only be in one cluster if one of them is joining.
    pairs = np.concatenate([[False], joins[1:] | joins[:-1], [False]])
    edges = np.flatnonzero(pairs[1:] != pairs[:-1]).tolist()
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        for cluster in regex.finditer(r"\X", text[start : end + 1]):
            result[start + cluster.start() + 1 : start + cluster.end()] = True
    return result


@lru_cache(1 << 16)
def _joins(code: int) -> bool:
    import regex

    return regex.match(_JOINING, chr(code)) is not None


def boundary_before(text: str, place: int) -> int:
    """The last place up to this one, and after the start of the text, that is not inside of a cluster.

    A cluster of more than a hundred characters, which no language has, is cut all the same.
    """
    import regex

    start = max(0, place - 100)
    ends = (start + cluster.end() for cluster in regex.finditer(r"\X", text[start : place + 100]))
    return max((end for end in ends if end <= place), default=place)
