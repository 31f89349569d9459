"""The words of multiword tokens: those that were seen, and those that a rule fits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.annotate.multiword import Multiword

ENGLISH = [
    ("don't", ["do", "n't"]),
    ("can't", ["ca", "n't"]),
    ("she's", ["she", "'s"]),
    ("he's", ["he", "'s"]),
]
SPANISH = [("del", ["de", "el"]), ("al", ["a", "el"]), ("dámelo", ["dá", "me", "lo"]), ("dilo", ["di", "lo"])]
ARABIC = [("wbyt", ["w", "byt"]), ("wktb", ["w", "ktb"])]


@pytest.mark.parametrize(
    ("examples", "token", "words"),
    [
        (ENGLISH, "don't", ["do", "n't"]),
        (ENGLISH, "DON'T", ["DO", "N'T"]),
        (ENGLISH, "Mightn't", ["Might", "n't"]),
        (ENGLISH, "it's", ["it", "'s"]),
        (SPANISH, "Del", ["De", "el"]),
        (SPANISH, "AL", ["A", "EL"]),
        (ARABIC, "wqlm", ["w", "qlm"]),
        (ENGLISH, "sphinx", ["sphinx"]),
        ([], "don't", ["don't"]),
    ],
)
def test_words(examples: list[tuple[str, list[str]]], token: str, words: list[str]) -> None:
    learned = Multiword.learned(examples)
    assert learned.words(token) == words
    assert Multiword.from_json(json.loads(json.dumps(learned.to_json()))).words(token) == words


def test_most_frequent_reading_of_a_token_wins() -> None:
    learned = Multiword.learned([("dos", ["d", "os"]), ("dos", ["de", "os"]), ("dos", ["de", "os"])])
    assert learned.words("dos") == ["de", "os"]


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=4),
        st.lists(st.text("abc", min_size=1, max_size=3), min_size=2, max_size=3),
        max_size=8,
    ),
    st.text("abcABC", min_size=1, max_size=6),
)
def test_every_seen_token_comes_back_and_no_word_is_empty(known: dict[str, list[str]], other: str) -> None:
    learned = Multiword.learned(known.items())
    assert all(learned.words(token) == words for token, words in known.items())
    assert all(learned.words(other))
