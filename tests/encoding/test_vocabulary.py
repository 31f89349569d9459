"""Words to numbers and back, against what the treebank says."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.config import COLUMNS
from biatt.data.sentence import Sentence
from biatt.encoding.vocabulary import AFFIX, ROOT, Encoded, Vocabulary, spelling

CAT = Sentence.from_words(
    ["the", "cat", "saw", "the", "moon"],
    lemmas=["the", "cat", "see", "the", "moon"],
    upos=["DET", "NOUN", "VERB", "DET", "NOUN"],
    feats=["_", "Number=Sing|Case=Nom", "Tense=Past", "_", "Case=Acc|Number=Sing"],
    heads=[2, 3, 0, 5, 3],
    deprels=["det", "nsubj", "root", "det", "obj"],
)


def build(
    *sentences: Sentence, columns: tuple[str, ...] = COLUMNS, min_count: int = 2, affixes: int = 0
) -> Vocabulary:
    return Vocabulary.build(sentences, columns=columns, min_count=min_count, affixes=affixes)


def bags(encoded: Encoded) -> list[list[int]]:
    """The rows of E of ROOT and of each word."""
    return [
        encoded.rows[start:end].tolist()
        for start, end in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)
    ]


def meanings(vocabulary: Vocabulary) -> list[tuple[str, str | None]]:
    """What each row of E stands for, numbered by hand: column and symbol, None for the unknown one."""
    rows: list[tuple[str, str | None]] = [("ROOT", None)]
    for column in (*COLUMNS, AFFIX):
        if column in vocabulary.symbols:
            if column not in ("feats", AFFIX):
                rows.append((column, None))
            rows += [(column, symbol) for symbol in vocabulary.symbols[column]]
    return rows


symbols = st.sampled_from(["_", "a", "b", "c", "Ä", "日本", "a b"])
morphemes = st.just("_") | st.lists(
    st.sampled_from(["A=1", "A=2", "B=1", "C"]), min_size=1, max_size=3, unique=True
).map("|".join)


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    n = draw(st.integers(1, 5))
    column = st.lists(symbols, min_size=n, max_size=n)
    return Sentence.from_words(
        draw(column),
        lemmas=draw(column),
        upos=draw(column),
        xpos=draw(column),
        feats=draw(st.lists(morphemes, min_size=n, max_size=n)),
        heads=draw(st.lists(st.integers(-1, n), min_size=n, max_size=n)),
        deprels=draw(st.lists(st.sampled_from(["root", "obj", "det", "x:y"]), min_size=n, max_size=n)),
    )


def test_singletons_become_unknown() -> None:
    vocabulary = build(CAT, columns=("form",))
    assert vocabulary.symbols == {"form": ["the"]}
    the, cat, saw, _, moon = bags(vocabulary.encode(CAT))[1:]
    assert cat == saw == moon != the
    assert cat == bags(vocabulary.encode(Sentence.from_words(["never-seen"])))[1]


def test_words_keep_their_case() -> None:
    vocabulary = build(Sentence.from_words(["The", "the"]), columns=("form",), min_count=1)
    assert vocabulary.symbols["form"] == ["The", "the"]


def test_minimum_count_of_one_keeps_all() -> None:
    vocabulary = build(CAT, columns=("form",), min_count=1)
    assert set(vocabulary.symbols["form"]) == {"the", "cat", "saw", "moon"}


def test_columns_that_are_empty_in_the_data_are_left_out() -> None:
    vocabulary = build(CAT)
    assert list(vocabulary.symbols) == ["form", "lemma", "upos", "feats"]  # no xpos
    assert list(build(Sentence.from_words(["a", "a"])).symbols) == ["form"]


def test_columns_that_were_not_asked_for_are_left_out() -> None:
    assert list(build(CAT, columns=("upos", "form")).symbols) == ["form", "upos"]


def test_empty_lemma_among_full_ones_is_a_symbol() -> None:
    sentence = Sentence.from_words(["a", "b", "c", "d"], lemmas=["_", "_", "x", "x"])
    assert build(sentence, columns=("lemma",)).symbols == {"lemma": ["_", "x"]}


def test_morphemes_are_a_bag() -> None:
    vocabulary = build(CAT, columns=("feats",))
    assert vocabulary.symbols == {"feats": ["Number=Sing", "Case=Acc", "Case=Nom", "Tense=Past"]}  # no cut
    number, accusative, nominative, past = (vocabulary.row("feats", s) for s in vocabulary.symbols["feats"])
    assert bags(vocabulary.encode(CAT)) == [
        [ROOT],
        [],
        [number, nominative],
        [past],
        [],
        [accusative, number],
    ]


def test_underscore_is_no_morpheme_and_unseen_morphemes_are_ignored() -> None:
    vocabulary = build(CAT, columns=("feats",))
    assert vocabulary.row("feats", "_") is None
    unseen = Sentence.from_words(["x", "y"], feats=["Mood=Ind|Tense=Past", "Mood=Ind"])
    assert bags(vocabulary.encode(unseen))[1:] == [[vocabulary.row("feats", "Tense=Past")], []]


def test_root_has_a_row_of_its_own() -> None:
    vocabulary = build(CAT, min_count=1)
    encoded = vocabulary.encode(CAT)
    assert bags(encoded)[0] == [ROOT]
    assert ROOT not in encoded.rows[1:]
    assert encoded.words == len(CAT)


def test_unknown_relation_and_missing_head_are_minus_one() -> None:
    vocabulary = build(CAT)
    encoded = vocabulary.encode(Sentence.from_words(["the", "cat"], heads=[2, -1], deprels=["det", "never"]))
    assert encoded.heads.tolist() == [2, -1]
    assert encoded.relations.tolist() == [vocabulary.relations.index("det"), -1]


def test_rows_of_words_do_not_depend_on_the_tree_nor_on_the_cache() -> None:
    vocabulary = build(CAT)
    first, again, encoded = vocabulary.encode_words(CAT), vocabulary.encode_words(CAT), vocabulary.encode(CAT)
    assert bags(first) == bags(again) == bags(encoded)
    assert len(first.heads) == len(first.relations) == 0
    assert encoded.heads.tolist() == CAT.heads
    other = Sentence.from_words(CAT.forms, lemmas=CAT.lemmas, upos=["X"] * 5, feats=CAT.feats)
    assert bags(vocabulary.encode_words(other)) != bags(first)  # the same forms with other tags


def test_sentence_without_words_is_root_alone() -> None:
    encoded = build(CAT).encode(Sentence([], []))
    assert (bags(encoded), encoded.words, len(encoded.heads)) == ([[ROOT]], 0, 0)


def test_order_is_by_frequency_then_by_symbol() -> None:
    sentence = Sentence.from_words(
        ["c", "b", "a", "c", "a", "b", "c"], deprels=["z", "y", "y", "x", "x", "w", "w"]
    )
    vocabulary = build(sentence, columns=("form",))
    assert vocabulary.symbols["form"] == ["c", "a", "b"]
    assert vocabulary.relations == ["w", "x", "y", "z"]


@given(st.lists(sentences(), min_size=1, max_size=4), st.randoms())
def test_order_does_not_depend_on_that_of_the_sentences(treebank: list[Sentence], random: object) -> None:
    shuffled = treebank[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert build(*treebank).to_json() == build(*shuffled).to_json()


@given(st.lists(sentences(), min_size=1, max_size=4), st.integers(0, 3))
def test_json_round_trip(treebank: list[Sentence], affixes: int) -> None:
    vocabulary = build(*treebank, affixes=affixes)
    again = Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert again.to_json() == vocabulary.to_json()
    assert again.size == vocabulary.size
    for sentence in treebank:
        for one, other in zip(vocabulary.encode(sentence), again.encode(sentence), strict=True):
            np.testing.assert_array_equal(one, other)


@given(st.lists(sentences(), min_size=1, max_size=4), sentences(), st.integers(1, 3), st.integers(0, 2))
def test_decoding_the_encoded_gives_back_what_is_known(
    treebank: list[Sentence], sentence: Sentence, min_count: int, affixes: int
) -> None:
    vocabulary = build(*treebank, min_count=min_count, affixes=affixes)
    meaning = meanings(vocabulary)
    assert len(meaning) == vocabulary.size
    seen = {
        column: Counter(
            value
            for other in treebank
            for cell in getattr(other, column if column in ("upos", "xpos", "feats") else column + "s")
            for value in (cell.split("|") if column == "feats" else [cell])
        )
        for column in COLUMNS
    }
    spelled = Counter(
        item
        for other in treebank
        for form in other.forms
        for item in (spelling(form, affixes) if affixes else ())
    )
    used = [column for column in COLUMNS if set(seen[column]) - {"_"}]
    encoded = vocabulary.encode(sentence)
    for token, bag in zip(sentence, bags(encoded)[1:], strict=True):
        expected: list[tuple[str, str | None]] = []
        for column in used:
            value = str(getattr(token, column))
            if column == "feats":
                expected += [
                    ("feats", item) for item in value.split("|") if item != "_" and seen["feats"][item]
                ]
            else:
                expected.append((column, value if seen[column][value] >= min_count else None))
        if affixes:
            expected += [
                (AFFIX, item) for item in spelling(token.form, affixes) if spelled[item] >= min_count
            ]
        assert [meaning[row] for row in bag] == expected
    known = {relation for other in treebank for relation in other.deprels}
    decoded = [None if i < 0 else vocabulary.relations[i] for i in encoded.relations]
    assert decoded == [relation if relation in known else None for relation in sentence.deprels]
    assert encoded.heads.tolist() == sentence.heads


# Spelling


@pytest.mark.parametrize(
    ("form", "longest", "expected"),
    [
        ("Going", 2, ["<g", "<go", ">g", ">ng", "=going", "~Xx"]),
        ("a", 3, ["<a", ">a", "=a", "~x"]),  # no affix is longer than its form
        ("McDonald's", 1, ["<m", ">s", "=mcdonald's", "~XxXx'x"]),
        ("1,000.50", 1, ["<1", ">0", "=1,000.50", "~0,0.0"]),
        ("日本", 2, ["<日", "<日本", ">本", ">日本", "=日本", "~x"]),
        ("a" * 20 + "B", 0, ["=" + "a" * 20 + "b", "~x"]),  # the shape is of the first letters
    ],
)
def test_spelling_is_prefixes_suffixes_lower_case_and_shape(
    form: str, longest: int, expected: list[str]
) -> None:
    assert spelling(form, longest) == expected


def test_affixes_are_counted_by_token() -> None:
    vocabulary = build(Sentence.from_words(["aa", "aa", "ab", "b"]), columns=("form",), affixes=1)
    assert vocabulary.symbols[AFFIX] == ["~x", "<a", "=aa", ">a", ">b"]  # no <b, =ab, =b


def test_form_that_was_never_seen_is_known_by_its_spelling() -> None:
    walks = Sentence.from_words(["walking", "talking", "Walks", "talks"])
    vocabulary = build(walks, columns=("form",), min_count=2, affixes=3)
    meaning = meanings(vocabulary)
    (bag,) = bags(vocabulary.encode(Sentence.from_words(["Taking"])))[1:]
    assert [meaning[row] for row in bag] == [
        ("form", None),
        *((AFFIX, item) for item in ("<t", "<ta", ">g", ">ng", ">ing")),
    ]


def test_unknown_full_width_form_has_the_rows_of_its_half_width_form() -> None:
    known = Sentence.from_words(["!", "＋", "+"])
    vocabulary = build(known, columns=("form",), min_count=1, affixes=1)
    plain, full = (vocabulary.encode_words(Sentence.from_words([form])) for form in ("!", "！"))
    assert bags(full) == bags(plain)
    wide, narrow = bags(vocabulary.encode_words(known))[2:]
    assert wide != narrow  # both are known


def test_affixes_can_be_had_without_forms_and_are_left_out_unless_asked_for() -> None:
    assert list(build(CAT, columns=("upos",), affixes=2).symbols) == ["upos", AFFIX]
    assert AFFIX not in build(CAT).symbols


# Symbols left out


@given(st.lists(sentences(), min_size=1, max_size=4), st.integers(1, 2), st.integers(0, 2))
def test_symbol_left_out_becomes_the_unknown_of_its_column_or_nothing(
    treebank: list[Sentence], min_count: int, affixes: int
) -> None:
    vocabulary = build(*treebank, min_count=min_count, affixes=affixes)
    meaning = meanings(vocabulary)
    becomes, is_tag = vocabulary.dropped()
    assert len(becomes) == len(is_tag) == len(meaning)
    for (column, symbol), other, tag in zip(meaning, becomes, is_tag, strict=True):
        if column in ("feats", AFFIX):
            assert other == -1
        else:
            assert meaning[other] == (column, None)
        if symbol is not None:
            assert tag == (column in ("upos", "xpos", "feats"))


def test_forms_of_another_text_are_added_if_they_are_frequent() -> None:
    vocabulary = build(CAT, CAT)
    forms = {"the": 9, "sun": 2, "star": 3, "comet": 3, "void": 1}
    extended = vocabulary.extended(forms, min_count=2, most=2)
    assert extended.symbols["form"] == [*vocabulary.symbols["form"], "comet", "star"]
    assert {**extended.symbols, "form": []} == {**vocabulary.symbols, "form": []}
    assert extended.relations == vocabulary.relations
    assert vocabulary.extended(forms, min_count=2, most=9).symbols["form"][-1] == "sun"


def test_affixes_of_another_text_are_added_by_the_number_of_its_words() -> None:
    vocabulary = build(CAT, columns=("form",), min_count=1, affixes=2)
    extended = vocabulary.extended({"cats": 2, "bats": 2, "CAT": 3}, min_count=3, most=99)
    new = set(extended.symbols[AFFIX]) - set(vocabulary.symbols[AFFIX])
    assert new == {">s", ">ts", "~X"}
    assert vocabulary.extended({"cats": 2}, min_count=3, most=99).to_json() == vocabulary.to_json()


def test_columns_that_a_vocabulary_does_not_have_are_not_added() -> None:
    vocabulary = build(CAT, columns=("upos",), min_count=1)
    assert vocabulary.extended({"cats": 2}, min_count=1, most=99).to_json() == vocabulary.to_json()


def test_words_with_a_vector_have_a_row_past_those_of_the_table() -> None:
    """A word is looked up as it is, then in lower case."""
    plain = Vocabulary({"form": ["a", "The"], "upos": ["X"]}, ["r"])
    vocabulary = plain.with_vectors(["the", "The", "bird"])
    assert vocabulary.size == plain.size
    forms = ["The", "THE", "Bird", "a"]
    rows = [vocabulary.encode(Sentence.from_words([form])).rows[1:].tolist() for form in forms]
    without = [plain.encode(Sentence.from_words([form])).rows[1:].tolist() for form in forms]
    added = [[plain.size + 1], [plain.size], [plain.size + 2], []]
    assert rows == [bag + more for bag, more in zip(without, added, strict=True)]
    replacement, is_tag = vocabulary.dropped()
    assert replacement[plain.size :].tolist() == [plain.size, plain.size + 1, plain.size + 2]
    assert not is_tag[plain.size :].any()
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again.to_json() == vocabulary.to_json()
