"""Tags as labels: which are missing, which are written, and the probabilities of those."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from biatt.annotate import lemmas
from biatt.annotate.tags import Tags, gold_columns, labels_of, with_combinations
from biatt.data.columns import FEATS, HEAD, LEMMA, MISC, UPOS, XPOS
from biatt.data.curves import Curve
from biatt.data.doubts import LEAST_PROBABLE, read_doubts
from biatt.data.scores import log_softmax
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.encoding.labels import Labels
from biatt.parser import Parser
from builders import TREEBANK as TOY
from builders import random_parser

PARSER = random_parser({"tags": True, "columns": ("form",)})
TREEBANK = generate(10, seed=5)
BARE = [Sentence.from_words(sentence.forms) for sentence in TREEBANK]


# Labels of a treebank


def test_column_that_is_empty_in_the_treebank_is_no_kind_of_label() -> None:
    bare = [
        sentence.with_rows([[*row[:XPOS], "_", *row[FEATS:]] for row in sentence.rows])
        for sentence in TREEBANK
    ]
    labels = labels_of(bare)
    assert list(labels.kinds) == ["upos", "feats", "lemma"]
    assert set(tagged(Tags(labels), BARE[0], keep=False).xpos) == {"_"}


def test_labels_of_a_sentence_are_its_columns() -> None:
    labels = labels_of(TREEBANK)
    gold = gold_columns(TREEBANK[0])
    numbers = labels.encode(*(gold[kind] for kind in labels.kinds))
    assert [labels.kinds["upos"][i] for i in numbers[:, 0]] == TREEBANK[0].upos
    assert labels.encode(*([["never seen"]] * len(labels.kinds))).tolist() == [[-1] * len(labels.kinds)]


# What is missing, and writing it


def tagged(tags: Tags, sentence: Sentence, *, keep: bool) -> Sentence:
    """The sentence with the last label of each kind; with `keep`, only where a value is missing."""
    numbers = np.tile([len(names) - 1 for names in tags.labels.kinds.values()], (len(sentence), 1))
    return tags.write(sentence, numbers, (tags.missing if keep else tags.all_words)(sentence))


def without(sentence: Sentence, *cells: tuple[int, int]) -> Sentence:
    """The sentence with "_" in the cells (word, column)."""
    rows = [row[:] for row in sentence.rows]
    for word, column in cells:
        rows[word][column] = "_"
    return sentence.with_rows(rows)


COLUMNS = (LEMMA, UPOS, XPOS, FEATS)
LONG = max(TREEBANK, key=len)
EVERY_WORD = range(len(LONG))
FILLED = Tags(Labels({"upos": ["X"], "xpos": ["x"], "feats": ["_", "F=1"], "lemma": ["=l"]}))
VALUES = {UPOS: "X", XPOS: "x", FEATS: "F=1", LEMMA: "l"}  # that `tagged` writes


def test_tagging_sets_tags_and_lemmas_and_leaves_the_rest() -> None:
    sentence = TREEBANK[0].with_comment("# kept")
    found = tagged(FILLED, sentence, keep=False)
    assert found.verbatim == sentence.verbatim
    for before, after in zip(sentence.rows, found.rows, strict=True):
        assert after == [VALUES.get(column, value) for column, value in enumerate(before)]
    assert sentence.rows == TREEBANK[0].rows  # the one given is as it was


def test_missing_values_are_set_and_given_ones_kept() -> None:
    for keep in [(0, UPOS), (1, XPOS), (2, LEMMA)]:
        cells = [(word, column) for word in EVERY_WORD for column in COLUMNS if (word, column) != keep]
        found = tagged(FILLED, without(LONG, *cells), keep=True)
        assert found.rows[keep[0]][keep[1]] == LONG.rows[keep[0]][keep[1]]
        assert all(
            found.rows[word][column] == VALUES[column]
            for word, column in cells
            if column != FEATS or word > 1  # a word with a tag can be without features
        )


@pytest.mark.parametrize("column", COLUMNS)
def test_column_that_is_empty_in_the_whole_sentence_is_missing(column: int) -> None:
    sentence = without(LONG, *((word, column) for word in EVERY_WORD))
    found = tagged(FILLED, sentence, keep=True)
    assert {row[column] for row in found.rows} == {VALUES[column]}
    assert without(found, *((word, column) for word in EVERY_WORD)) == sentence


@pytest.mark.parametrize("column", [UPOS, XPOS, LEMMA])
def test_value_is_missing_where_the_treebank_always_has_one(column: int) -> None:
    found = tagged(FILLED, without(LONG, (1, column)), keep=True)
    assert found.rows[1][column] == VALUES[column]
    assert without(found, (1, column)) == without(LONG, (1, column))


def test_tagged_word_without_features_stays_without() -> None:
    sentence = without(LONG.with_rows([[*row[:FEATS], "G=2", *row[HEAD:]] for row in LONG.rows]), (1, FEATS))
    assert tagged(FILLED, sentence, keep=True) is sentence
    untagged = without(sentence, (1, UPOS), (1, XPOS))
    assert tagged(FILLED, untagged, keep=True).feats == ["G=2", "F=1", *sentence.feats[2:]]


# Probabilities


def test_only_tags_that_were_chosen_have_probabilities() -> None:
    tags = Tags(
        Labels({"upos": ["NOUN", "VERB"], "feats": ["_", "Number=Sing"], "lemma": ["=a", "=b", "=c"]})
    )
    scores = np.random.default_rng(1).normal(size=(3, 7))
    choices = tags.choices(scores, [range(3), [1], []])
    assert list(choices) == ["upos", "feats"]
    np.testing.assert_allclose(choices["upos"].probabilities, np.exp(log_softmax(scores[:, :2])))
    np.testing.assert_allclose(choices["feats"].probabilities[1], np.exp(log_softmax(scores[1, 2:4])))
    assert not choices["feats"].probabilities[[0, 2]].any()
    assert choices["upos"].names == ["NOUN", "VERB"]
    assert choices["upos"].written.tolist() == scores[:, :2].argmax(-1).tolist()


def test_probabilities_are_those_of_the_tags_that_are_written() -> None:
    parsed = list(PARSER.parse(BARE, probabilities=True))
    assert PARSER.tags is not None
    seen = 0
    for sentence, scores in zip(parsed, PARSER.scores(BARE), strict=True):
        assert scores.label_scores is not None
        upos = PARSER.tags.labels.kinds["upos"]
        table = np.exp(log_softmax(scores.label_scores[:, PARSER.tags.labels.slices[0]]))
        for row, tag, probabilities in zip(sentence.rows, sentence.upos, table, strict=True):
            names, shares = read_doubts(row[MISC], sentence).get("upos", ([tag], [1.0]))
            assert upos[probabilities.argmax()] == names[0] == tag
            if len(names) > 1:
                seen += 1
                expected = [probabilities[upos.index(name)] for name in names]
                assert shares == pytest.approx(expected, abs=0.00051)
    assert seen > 10


def test_tags_that_are_given_limit_the_others_to_what_the_treebank_has(tmp_path: Path) -> None:
    """Also for a network that knows nothing, and after saving."""
    seen = {(row[UPOS], row[XPOS], row[FEATS]) for sentence in TOY for row in sentence.rows}
    PARSER.save(tmp_path / "model")
    only_upos = [
        Sentence.from_words(sentence.forms, upos=[row[UPOS] for row in sentence.rows])
        for sentence in TREEBANK
    ]
    for parser in (PARSER, Parser.load(tmp_path / "model")):
        parsed = list(parser.parse(only_upos))
        assert [sentence.upos for sentence in parsed] == [sentence.upos for sentence in only_upos]
        pairs = {(row[UPOS], row[XPOS]) for sentence in parsed for row in sentence.rows}
        assert pairs <= {(upos, xpos) for upos, xpos, _ in seen}
        pairs = {(row[UPOS], row[FEATS]) for sentence in parsed for row in sentence.rows}
        assert pairs <= {(upos, feats) for upos, _, feats in seen}
    free = {(row[UPOS], row[XPOS]) for sentence in PARSER.parse(BARE) for row in sentence.rows}
    assert not free <= {(upos, xpos) for upos, xpos, _ in seen}  # it would be no test otherwise


def test_combinations_of_another_treebank_are_added() -> None:
    labels = labels_of(TREEBANK)
    first = with_combinations(Labels(labels.kinds), TREEBANK[:5])
    assert 0 < len(first.combinations) < len(labels.combinations)
    both = with_combinations(first, TREEBANK[5:])
    np.testing.assert_array_equal(both.combinations, labels.combinations)


def test_tags_that_were_given_have_no_probabilities() -> None:
    given = list(PARSER.parse(TREEBANK, probabilities=True))
    assert not any(name in row[MISC] for s in given for row in s.rows for name in ("Upos", "Xpos", "Feats"))
    again = list(PARSER.parse(TREEBANK, probabilities=True, retag=True))
    assert any("UposProbs=" in row[MISC] for s in again for row in s.rows)


def test_confidence_in_tags_is_their_probability_where_the_network_wrote_them() -> None:
    tags = Tags(Labels({"upos": ["NOUN", "VERB"], "feats": ["_", "Number=Sing"]}))
    scores = np.random.default_rng(1).normal(size=(3, 4))
    sentence = Sentence.from_words(["a", "b", "c"])
    plain = tags.confidence(sentence, scores, [range(3), [1]])
    np.testing.assert_allclose(plain["upos"], np.exp(log_softmax(scores[:, :2])).max(-1))
    assert np.isnan(plain["feats"]).tolist() == [True, False, True]
    curve = Curve((0.5,), (0.1,))
    curved = tags.confidence(sentence, scores, [range(3), [1]], {"feats": curve})
    np.testing.assert_allclose(curved["upos"], plain["upos"])
    np.testing.assert_allclose(curved["feats"][1], curve.at(plain["feats"][1]))


def test_confidence_in_a_lemma_is_that_of_all_rules_that_give_it() -> None:
    rules = ["=mouse", lemmas.rule("mice", "mouse"), lemmas.rule("cats", "cat"), "=_"]
    tags = Tags(Labels({"lemma": rules}))
    shares = np.array([[0.5, 0.3, 0.195, 0.005], [0.005, 0.005, 0.49, 0.5]])
    sentence = Sentence.from_words(["mice", "cats"], lemmas=["Mouse", "dog"])
    found = tags.confidence(sentence, np.log(shares), [range(2)])["lemma"]
    np.testing.assert_allclose(found, [0.8, LEAST_PROBABLE])


def test_parsed_sentences_have_confidence_in_the_tags_that_they_lacked() -> None:
    for sentence in PARSER.parse(BARE, confidence=True):
        assert sentence.confidence is not None
        assert list(sentence.confidence.tags) == ["upos", "xpos", "feats", "lemma"]
        assert all(((values > 0) & (values <= 1)).all() for values in sentence.confidence.tags.values())
        assert PARSER.k_best(sentence, 2)[1].confidence is not None
    for sentence in PARSER.parse(TREEBANK, confidence=True):
        assert sentence.confidence is not None
        assert all(np.isnan(values).all() for values in sentence.confidence.tags.values())
