"""Grapheme clusters: the short way gives what `regex` gives for the whole text."""

from __future__ import annotations

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.graphemes import boundary_before, joined

# Letters, marks, emoji with skin colours and joiners, flags, Hangul, Devanagari, space, line ends
SOME = "ae\u0301\u0308\U0001f468\U0001f3fd\u200d\U0001f469\U0001f1e9\U0001f1ea\u1100\u1161\u11a8\uac00\uac01"
SOME += "\u0915\u094d\u0937\u093f\u0600 \n\r\u00a0\ufe0f\u2764"
TEXTS = st.text(st.sampled_from(SOME), max_size=30) | st.text(max_size=30)


def found(text: str) -> list[bool]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    result = joined(text, codes)
    return [False] * len(text) if result is None else result.tolist()


@given(TEXTS)
def test_clusters_are_those_of_the_whole_text(text: str) -> None:
    expected = [False] * len(text)
    for cluster in regex.finditer(r"\X", text):
        if cluster[0] != "\r\n":
            expected[cluster.start() + 1 : cluster.end()] = [True] * (len(cluster[0]) - 1)
    assert found(text) == expected


@given(TEXTS.filter(bool), st.integers(1, 30))
def test_boundary_is_the_last_one_before_a_place(text: str, place: int) -> None:
    place = min(place, len(text))
    ends = [cluster.end() for cluster in regex.finditer(r"\X", text) if cluster.end() <= place]
    assert boundary_before(text, place) == (ends[-1] if ends else place)


@pytest.mark.parametrize(
    ("text", "joins"),
    [("abc", []), ("cafe\u0301", [4]), ("naïve – “x”", []), ("a\U0001f1e9\U0001f1ea", [2]), ("\r\n", [])],
)
def test_clusters_of_common_texts(text: str, joins: list[int]) -> None:
    assert [i for i, joins_here in enumerate(found(text)) if joins_here] == joins
