"""Tags as labels: the probabilities of those that a parser has chosen."""

from __future__ import annotations

import numpy as np
import pytest

from biatt.annotate.tags import Tags
from biatt.data.columns import MISC
from biatt.data.doubts import read_doubts
from biatt.data.scores import log_softmax
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.encoding.labels import Labels
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


def test_tags_that_were_given_have_no_probabilities() -> None:
    given = list(PARSER.parse(TREEBANK, probabilities=True))
    assert not any(name in row[MISC] for s in given for row in s.rows for name in ("Upos", "Xpos", "Feats"))
    again = list(PARSER.parse(TREEBANK, probabilities=True, retag=True))
    assert any("UposProbs=" in row[MISC] for s in again for row in s.rows)
