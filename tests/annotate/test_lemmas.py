"""Lemma rules: what a rule is made from, it gives back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.annotate.lemmas import apply, rule

WORDS = st.text(
    st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@given(WORDS, WORDS)
def test_rule_gives_back_the_lemma_that_it_was_made_from(form: str, lemma: str) -> None:
    assert apply(rule(form, lemma), form) == lemma


@pytest.mark.parametrize(
    ("form", "lemma", "other", "expected"),
    [
        ("walks", "walk", "talks", "talk"),
        ("Walked", "walk", "TALKED", "talk"),
        ("Flies", "fly", "CRIES", "cry"),
        ("unhappier", "happy", "unluckier", "lucky"),
        ("paris", "Paris", "london", "London"),
        ("went", "go", "went", "go"),
        ("the", "the", "The", "The"),
    ],
)
def test_rule_of_one_word_serves_another(form: str, lemma: str, other: str, expected: str) -> None:
    assert apply(rule(form, lemma), other) == expected


def test_form_that_is_too_short_for_a_rule_is_its_own_lemma() -> None:
    assert apply(rule("happiest", "happy"), "est") == "est"
    assert apply(rule("sss", "s"), "ss") == "ss"


def test_rule_keeps_the_first_of_the_longest_common_strings() -> None:
    assert rule("abxab", "cabd") == "s\t0\tc\t3\td"
    assert rule("xaab", "aa") == "s\t1\t\t1\t"
    assert rule("ab", "cd") == "=cd"
