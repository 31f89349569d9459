from __future__ import annotations

import io
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.columns import FEATS
from biatt.data.conll import UPOS_TAGS, read, write
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from examples import examples

MANY = generate(2000, seed=7)

# https://universaldependencies.org/u/dep/
RELATIONS = {
    "acl:relcl",
    "advcl",
    "advmod",
    "amod",
    "aux",
    "case",
    "cc",
    "ccomp",
    "conj",
    "cop",
    "det",
    "iobj",
}
RELATIONS |= {"mark", "nmod", "nmod:poss", "nsubj", "nummod", "obj", "obl", "punct", "root"}


def crosses(sentence: Sentence) -> bool:
    """Whether two arcs of the tree, that of the root included, cross."""
    spans = [sorted((word, head)) for word, head in enumerate(sentence.heads, 1)]
    return any(a < c < b < d or c < a < d < b for (a, b), (c, d) in combinations(spans, 2))


def heads_of(tool: str, *, after: str) -> Counter[str]:
    """Where "with" and the tool attach, in clauses with this verb, as relation and tag of the head."""
    found: Counter[str] = Counter()
    for sentence in MANY:
        words = list(sentence)
        for word in words:
            if word.lemma == tool and word.head:
                head = words[word.head - 1]
                verb = words[head.head - 1] if word.deprel == "nmod" and head.head else head
                found[f"{word.deprel} of {head.upos}"] += verb.lemma == after
    return +found


def test_same_seed_gives_same_sentences() -> None:
    assert generate(50, seed=3) == generate(50, seed=3)


def test_another_seed_gives_other_sentences() -> None:
    assert not {s.text for s in generate(50, seed=3)} & {s.text for s in generate(50, seed=4)}


def test_fewer_sentences_are_the_first_of_more() -> None:
    assert generate(20, seed=5) == generate(60, seed=5)[:20]


def test_no_sentence_is_generated_for_a_count_of_zero() -> None:
    assert generate(0) == []


@examples(40)
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_every_sentence_is_a_valid_tree_with_one_root_and_3_to_20_words(seed: int, count: int) -> None:
    sentences = generate(count, seed=seed)
    assert len(sentences) == count
    file = io.BytesIO()
    write(sentences, file)
    assert list(read(io.BytesIO(file.getvalue()), format="conllu", trees=True)) == sentences
    for sentence in sentences:
        assert 3 <= len(sentence) <= 20
        assert sentence.heads.count(0) == 1
        assert sentence.deprels[sentence.heads.index(0)] == "root"
        assert sentence.deprels.count("root") == 1


def test_tags_and_relations_are_those_of_universal_dependencies() -> None:
    assert {tag for sentence in MANY for tag in sentence.upos} < UPOS_TAGS
    assert {relation for sentence in MANY for relation in sentence.deprels} == RELATIONS


def test_features_are_sorted_and_distinct() -> None:
    for row in (row for sentence in MANY for row in sentence.rows if row[FEATS] != "_"):
        names = [item.split("=")[0] for item in row[FEATS].split("|")]
        assert names == sorted(set(names), key=str.lower), row


def test_text_is_the_words_with_the_spaces_that_misc_leaves() -> None:
    for sentence in MANY:
        words = (word.form + ("" if word.misc.get("SpaceAfter") == "No" else " ") for word in sentence)
        assert sentence.text == "".join(words).rstrip(" ")


def test_sentence_names_are_distinct() -> None:
    names = [sentence.comments[0] for sentence in MANY]
    assert all(name.startswith("# sent_id = ") for name in names)
    assert len(set(names)) == len(names)


def test_sentences_hardly_repeat() -> None:
    assert len({sentence.text for sentence in MANY}) > 0.95 * len(MANY)


def test_a_subject_agrees_with_its_present_verb() -> None:
    checked = 0
    for sentence in MANY:
        for verb in (word for word in sentence if word.xpos in ("VBZ", "VBP")):
            predicate = verb.head if verb.deprel in ("aux", "cop") else verb.id
            subjects = [w for w in sentence if w.head == predicate and w.deprel == "nsubj"]
            for subject in subjects:
                if subject.upos in ("NOUN", "PROPN", "PRON") and subject.feats.get("PronType") != "Rel":
                    several = any(w.head == subject.id and w.deprel == "conj" for w in sentence)
                    singular = subject.feats.get("Number") == "Sing" and not several
                    assert (verb.xpos == "VBZ") == singular, sentence.text
                    checked += 1
    assert checked > 300


def test_an_article_fits_the_sound_of_the_next_word() -> None:
    articles = [
        (word.form.lower(), sentence.forms[word.id])
        for sentence in MANY
        for word in sentence
        if word.lemma == "a"
    ]
    assert all((article == "an") == (following[0] in "aeiou") for article, following in articles)
    assert {article for article, _ in articles} == {"a", "an"}


@pytest.mark.parametrize(
    ("verb", "tool", "head"),
    [
        ("see", "telescope", "obl of VERB"),
        ("meet", "telescope", "nmod of NOUN"),
        ("break", "hammer", "obl of VERB"),
        ("like", "hammer", "nmod of NOUN"),
    ],
)
def test_the_verb_decides_what_a_tool_belongs_to(verb: str, tool: str, head: str) -> None:
    assert set(heads_of(tool, after=verb)) == {head}


def test_some_trees_are_not_projective() -> None:
    share = sum(map(crosses, MANY)) / len(MANY)
    assert 0.03 < share < 0.25


def test_an_extraposed_relative_clause_crosses_the_main_verb() -> None:
    found = [
        sentence
        for sentence in MANY
        for word in sentence
        if word.deprel == "acl:relcl" and word.head and 0 in sentence.heads[word.head : word.id - 1]
    ]
    assert len(found) > 20
    assert all(map(crosses, found))


def test_some_sentences_are_written_without_capital_and_full_stop() -> None:
    hasty = [s for s in MANY if s.upos[-1] != "PUNCT"]
    assert 0.1 < len(hasty) / len(MANY) < 0.2
    assert any(s.forms[0] == "the" for s in hasty)


def test_words_of_the_first_example_are_known() -> None:
    known = {form for sentence in generate(800) for form in sentence.forms}
    assert {"the", "old", "gardener", "saw", "a", "bird", "with", "telescope"} <= known
