"""Patterns: what can be written, and one sentence with the place for what cannot."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.columns import FEATS, FORM, UPOS, XPOS
from biatt.data.patterns import All, Either, Not, Optional, Relation, Value, read_pattern
from biatt.errors import BiattError, PatternError


def test_a_node_has_attributes_under_the_names_of_conllu_and_of_semgrex() -> None:
    ours, theirs = read_pattern("{form:a;upos:/N.*/;xpos!:NN}"), read_pattern("{word:a;cpos:/N.*/;tag!:NN}")
    assert ours.first == theirs.first
    assert [test.column for test in ours.first.tests] == [FORM, UPOS, XPOS]
    assert [test.value for test in ours.first.tests] == [
        Value("a", False),
        Value("N.*", True),
        Value("NN", False),
    ]
    assert [test.negated for test in ours.first.tests] == [False, False, True]


def test_features_are_a_map() -> None:
    tests = read_pattern("{morphofeatures:{Tense:Past;Person!:3}}").first.tests
    assert [(t.column, t.key, t.value.text, t.negated) for t in tests] == [
        (FEATS, "Tense", "Past", False),
        (FEATS, "Person", "3", True),
    ]


def test_a_value_may_have_signs_that_mean_something_elsewhere() -> None:
    values = read_pattern(r"{form:don't.; deprel:nmod:poss; lemma:/a\/[{;}]/; xpos:/}").first.tests
    assert [test.value.text for test in values] == ["don't.", "nmod:poss", "a/[{;}]", "/"]


def test_a_label_may_have_a_subtype() -> None:
    relation = read_pattern("{} >nmod:poss {}").first.relations
    assert isinstance(relation, Relation)
    assert relation.label == Value("nmod:poss", False)


@pytest.mark.parametrize("text", ["{} > {}", "{} >% {}", "{}>{}", "( {} > ( {} ) )"])
def test_a_label_may_be_left_out(text: str) -> None:
    relation = read_pattern(text).first.relations
    assert isinstance(relation, Relation)
    assert (relation.symbol, relation.label) == (">", None)


def test_and_binds_closer_than_or_and_brackets_bind_closest() -> None:
    loose = read_pattern("{} >a {} & >b {} | >c {}").first.relations
    assert isinstance(loose, Either)
    assert isinstance(loose.parts[0], All)
    tight = read_pattern("{} >a {} [>b {} | >c {}]").first.relations
    assert isinstance(tight, All)
    assert isinstance(tight.parts[1], Either)


def test_relations_can_be_negated_and_optional() -> None:
    both = read_pattern("{} !>a {} ?>b {}").first.relations
    assert isinstance(both, All)
    assert isinstance(both.parts[0], Not)
    assert isinstance(both.parts[1], Optional)


def test_chains_can_have_lengths() -> None:
    for text, lengths in (("{} >> {}", (1, None)), ("{} 2>> {}", (2, 2)), ("{} 0,3<<a {}", (0, 3))):
        relation = read_pattern(text).first.relations
        assert isinstance(relation, Relation)
        assert (relation.shortest, relation.longest) == lengths


@pytest.mark.parametrize(
    ("text", "place", "fault"),
    [
        ("", 1, "it ends where a node in braces was expected"),
        ("nsubj", 1, "a node in braces was expected, not 'nsubj'"),
        ("{} >nsubj", 10, "it ends where a node in braces was expected"),
        ("{upos}", 6, ": or !: was expected, not '}'"),
        ("{upos:}", 7, "a value was expected, not '}'"),
        ("{upos:VERB", 11, "it ends where ; or } was expected"),
        ("{color:red}", 2, "there is no attribute color; known are id, form"),
        ("{lemma:{Number:Sing}}", 2, "only feats and misc have keys"),
        ("{lemma:/(/}", 8, "the regular expression cannot be read"),
        ("{lemma:/be}", 8, "the regular expression has no / at its end"),
        ("{} >/a {}", 5, "the regular expression has no / at its end"),
        ("{} {}", 4, "a relation or the end was expected, not '{}'"),
        ("{} > ({}", 9, "it ends where a relation or ) was expected"),
        ("{} [>a {}", 10, "it ends where a relation or ] was expected"),
        ("{} | {}", 4, "a relation or the end was expected"),
        ("{} !>a {}=b", 11, "the node b is inside a negation, where only earlier names can stand"),
        ("{}=", 4, "it ends where a name after = was expected"),
        ("{} 2> {}", 4, "a number of arcs goes with << and >> only, not with >"),
        ("{} 3,2>> {}", 4, "the second number of arcs is smaller than the first, or 0"),
        ("{} >a=r {}", 6, "names of relations are not supported"),
        ("{} > {} :: uniq", 10, "`::` with uniq or sort is not supported"),
        ("{} @ {}", 4, "a relation or the end was expected"),
        ("{} 12345>> {}", 4, "a relation or the end was expected"),
        ("(" * 200 + "{}" + ")" * 200, 102, "there are more than 100 brackets"),
        ("{}" + " > {}" * 200, 504, "there are more than 100 nodes"),
    ],
)
def test_a_fault_is_one_sentence_with_its_place(text: str, place: int, fault: str) -> None:
    with pytest.raises(PatternError) as raised:
        read_pattern(text)
    assert isinstance(raised.value, BiattError)
    assert f"is wrong at character {place}: {fault}" in str(raised.value)
    assert raised.value.place == place - 1
    assert "\n" not in str(raised.value)
    assert str(raised.value).endswith(".")


PIECES = ["{", "}", "{}", "(", ")", "[", "]", "!", "?", "&", "|", "=a", "==", ">", "<<", "$+", "..", "-", ":"]
PIECES += [
    "::",
    "{upos:X",
    "feats:{",
    ";",
    "/",
    "/a/",
    "\\",
    "2,",
    "3",
    "%",
    "~",
    "@",
    "#",
    " ",
    "ü",
    "(?i)",
    "*",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text_is_a_pattern_or_a_pattern_error(text: str) -> None:
    with suppress(PatternError):
        assert read_pattern(text).slots > 0
