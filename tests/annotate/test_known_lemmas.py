"""Known lemmas: what a treebank says has the last word, and other words get a plausible lemma."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.annotate import known_lemmas, lemmas
from biatt.annotate.known_lemmas import ENDING, MARGIN, KnownLemmas
from biatt.annotate.lemmas import constant, rule
from biatt.data.columns import LEMMA, UPOS
from biatt.data.scores import Floats
from biatt.data.sentence import Sentence
from biatt.parser import load
from builders import TREEBANK, random_parser

RULES = [
    *(rule(form, lemma) for form, lemma in [("walked", "walk"), ("baked", "bake"), ("dog", "dog")]),
    *(rule(form, lemma) for form, lemma in [("Dog", "dog"), ("hopping", "hop"), ("ran", "run")]),
    *(constant("be"), constant("see"), constant("_")),
]
WALK, BAKE, SAME, LOWER, HOP, RUN, BE, SEE, NONE = range(len(RULES))


def sentence(*words: str) -> Sentence:
    """Words as form/UPOS/lemma."""
    forms, upos, lemmas = zip(*(word.split("/") for word in words), strict=True)
    return Sentence.from_words(forms, upos=upos, lemmas=lemmas)


def scored(*numbers: int, step: float = 1.0) -> Floats:
    """Scores of the rules: these are the best, in this order; all others are far below."""
    scores = np.full(len(RULES), -99.0)
    for place, number in enumerate(numbers):
        scores[number] = -step * place
    return scores


KNOWN = KnownLemmas.of(
    [
        sentence("bought/VERB/buy", "saw/VERB/see", "saw/VERB/saw", "saw/NOUN/saw", "observe/VERB/observe"),
        sentence("walk/VERB/walk", "mouse/NOUN/mouse", "Paris/PROPN/Paris", "hope/NOUN/hope", "(/PUNCT/_"),
    ]
)


def choose(form: str, upos: str, scores: Floats) -> str:
    return KNOWN.choose(form, upos, RULES, scores, int(scores.argmax()))


@pytest.mark.parametrize(
    ("form", "upos", "numbers", "lemma"),
    [
        ("bought", "VERB", [WALK], "buy"),
        ("Bought", "VERB", [WALK], "buy"),
        ("BOUGHT", "VERB", [BE], "buy"),
        ("saw", "VERB", [BE, SAME, SEE], "saw"),
        ("saw", "VERB", [BE, SEE, SAME], "see"),
        ("saw", "VERB", [BE], "saw"),  # no rule gives a known lemma: the first
        ("saw", "NOUN", [SEE], "saw"),
        ("(", "PUNCT", [SAME], "_"),
    ],
)
def test_known_form_has_a_known_lemma(form: str, upos: str, numbers: list[int], lemma: str) -> None:
    assert choose(form, upos, scored(*numbers)) == lemma


@pytest.mark.parametrize(
    ("form", "upos", "numbers", "lemma"),
    [
        ("observed", "VERB", [WALK, BAKE], "observe"),  # a known lemma
        ("reserved", "VERB", [WALK, BAKE], "reserve"),  # an ending of known lemmas
        ("swam", "VERB", [BE, SAME], "swam"),  # the lemma of other forms
        ("ed", "VERB", [WALK], "ed"),  # nothing would be left
        ("aed", "VERB", [WALK, SAME], "aed"),  # one letter
        ("begged", "VERB", [WALK, BAKE], "begged"),  # no rule is plausible
        ("Zebra", "NOUN", [SAME, LOWER], "zebra"),  # all known nouns are in lower case
        ("Zebra", "PROPN", [SAME, LOWER], "Zebra"),
        ("xyz", "VERB", [NONE, SAME], "_"),
        ("swam", "INTJ", [BE, SAME], "be"),  # a tag without lemmas
    ],
)
def test_unknown_form_has_a_plausible_lemma(form: str, upos: str, numbers: list[int], lemma: str) -> None:
    assert choose(form, upos, scored(*numbers)) == lemma


def test_rule_far_below_the_best_is_not_tried() -> None:
    near, far = (scored(SAME, BAKE, step=MARGIN * share) for share in (0.99, 1.01))
    assert choose("observed", "VERB", near) == "observe"
    assert choose("observed", "VERB", far) == "observed"


def test_rare_lemma_of_a_form_is_left_out() -> None:
    words = ["left/VERB/leave"] * 8 + ["left/VERB/left"] * 2 + ["can/AUX/can"] * 3 + ["can/AUX/be"] * 2
    table = KnownLemmas.of([sentence(*words)]).table
    assert table == {"AUX": {"can": ["can", "be"]}, "VERB": {"left": ["leave"]}}


def test_form_with_many_lemmas_keeps_the_first() -> None:
    words = [f"x/X/{letter}" for letter in "dcbae"]
    assert KnownLemmas.of([sentence(*words)]).table == {"X": {"x": ["a"]}}


def test_most_frequent_forms_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_lemmas, "MOST_FORMS", 2)
    words = ["b/X/b", "a/X/a", "c/X/c", "c/X/c"]
    assert KnownLemmas.of([sentence(*words)]).table == {"X": {"a": ["a"], "c": ["c"]}}


def slowly_chosen(table: dict[str, list[str]], form: str, scores: list[float]) -> str:
    """As `choose`, written out, for one tag, whose lemmas have no capitals."""
    order = sorted(range(len(RULES)), key=lambda number: (-scores[number], number))
    tried = [RULES[number] for number in order if scores[number] >= max(scores) - MARGIN]
    known = table.get(form, table.get(form.lower(), []))
    if known:
        return ([a for a in (lemmas.apply(r, form) for r in tried) if a in known] + known)[0]
    if tried[0] == constant("_"):
        return "_"
    all_known = [lemma for values in table.values() for lemma in values]
    results = [lemmas.apply(r, form).lower() for r in tried if not r.startswith("=")]
    results = [result for result in results if len(result) > 1 or len(form) == 1]
    of_other_forms = [result for result in results if result in all_known]
    like_others = [
        result
        for result in results
        if result == form.lower() or any(result[-ENDING:] == lemma[-ENDING:] for lemma in all_known)
    ]
    return [*of_other_forms, *like_others, form.lower()][0]


SMALL_WORDS = st.text("aed", min_size=1, max_size=5)


@given(
    st.dictionaries(
        SMALL_WORDS, st.lists(SMALL_WORDS, min_size=1, max_size=2, unique=True), min_size=1, max_size=6
    ),
    st.text("aedA", min_size=1, max_size=6),
    st.lists(st.integers(0, 8), min_size=len(RULES), max_size=len(RULES)),
)
def test_choice_is_that_of_a_slow_twin(table: dict[str, list[str]], form: str, scores: list[int]) -> None:
    chosen = KnownLemmas({"X": table}).choose(
        form, "X", RULES, np.array(scores, np.float64), int(np.argmax(scores))
    )
    assert chosen == slowly_chosen(table, form, [float(score) for score in scores])
    only = KnownLemmas({"X": table}).only(form, "X")
    assert only is None or only == chosen


def test_parser_writes_known_lemmas_with_the_tags_that_words_have_or_get(tmp_path: Path) -> None:
    known = KnownLemmas.of(TREEBANK)
    known = KnownLemmas(
        {upos: {form: [f"{upos}-{form}"] for form in forms} for upos, forms in known.table.items()}
    )
    parser = random_parser({"tags": True, "columns": ("form",)}, known_lemmas=known)
    parser.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    bare = [Sentence.from_words(s.forms, upos=s.upos) for s in TREEBANK[:5]]
    for tagged in loaded.parse(bare):
        assert tagged.lemmas == [
            f"{upos}-{form}" for form, upos in zip(tagged.forms, tagged.upos, strict=True)
        ]
    untagged = list(loaded.parse([Sentence.from_words(s.forms) for s in TREEBANK]))
    words = [(row[1], row[LEMMA], row[UPOS]) for s in untagged for row in s.rows]
    in_table = [word for word in words if word[0] in known.table.get(word[2], {})]
    assert in_table
    assert all(lemma == f"{upos}-{form}" for form, lemma, upos in in_table)


def test_model_without_known_lemmas_applies_the_best_rules(tmp_path: Path) -> None:
    parser = random_parser({"tags": True, "columns": ("form",)})
    parser.save(tmp_path / "model")
    assert "lemmas" not in json.loads((tmp_path / "model" / "vocabulary.json").read_text("utf-8"))
    loaded, bare = load(tmp_path / "model"), Sentence.from_words(TREEBANK[0].forms)
    assert loaded.tags is not None
    (scores,) = loaded.scores([bare])
    assert scores.label_scores is not None
    best = loaded.tags.labels.best(scores.label_scores)[:, -1]
    rules = loaded.tags.labels.kinds["lemma"]
    expected = [lemmas.apply(rules[number], form) for number, form in zip(best, bare.forms, strict=True)]
    assert next(loaded.parse([bare])).lemmas == expected
