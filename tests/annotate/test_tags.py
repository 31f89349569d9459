"""Tags as labels: the probabilities of those that a parser has chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from biatt.annotate import lemmas
from biatt.annotate.tags import Tags, labels_of, with_combinations
from biatt.data.columns import FEATS, MISC, UPOS, XPOS
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
