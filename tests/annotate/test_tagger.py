"""Tags and lemmas: a labeller that runs without torch as it does with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from biatt.annotate.tagger import Tagger
from biatt.annotate.tags import gold_columns, labels_of
from biatt.data.columns import FEATS, HEAD, LEMMA, UPOS, XPOS
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.encoding.batches import collate
from biatt.encoding.labels import Labels
from biatt.network.autograd import FUSED
from biatt.network.model import Labeller
from biatt.network.operations import PLAIN, Operations
from builders import random_tagger

TREEBANK = generate(40, seed=5)
BARE = [Sentence.from_words(sentence.forms) for sentence in TREEBANK]


@pytest.mark.parametrize("operations", [FUSED, PLAIN], ids=["fused", "plain"])
def test_network_without_torch_is_the_one_in_torch(operations: Operations) -> None:
    tagger = random_tagger()
    network = Labeller(
        tagger.config.model, rows=tagger.vocabulary.size, labels=tagger.labels.size, operations=operations
    )
    network.load_state_dict({name: torch.from_numpy(value) for name, value in tagger.weights.items()})
    batch = collate([tagger.vocabulary.encode(sentence) for sentence in BARE[:7]])
    with torch.no_grad():
        scores = network(batch).numpy()
    assert np.array_equal(tagger.network.best(batch), tagger.labels.best(scores))


def test_tags_do_not_depend_on_the_company_of_a_sentence() -> None:
    tagger = random_tagger()
    assert tagger.tag(BARE) == [tagger.tag([sentence])[0] for sentence in BARE]


def test_tagging_sets_tags_and_lemmas_and_leaves_the_rest() -> None:
    sentence = TREEBANK[0].with_comment("# kept")
    (tagged,) = random_tagger().tag([sentence])
    assert tagged.verbatim == sentence.verbatim
    changed = (LEMMA, UPOS, XPOS, FEATS)
    for before, after in zip(sentence.rows, tagged.rows, strict=True):
        assert [value for i, value in enumerate(before) if i not in changed] == [
            value for i, value in enumerate(after) if i not in changed
        ]
    assert sentence.rows == TREEBANK[0].rows  # the one given is as it was


def test_empty_sentence_stays_empty() -> None:
    empty = Sentence([], [(0, "# nothing")])
    assert random_tagger().tag([empty, BARE[0], empty])[::2] == [empty, empty]


def test_column_that_is_empty_in_the_treebank_is_no_kind_of_label() -> None:
    bare = [
        sentence.with_rows([[*row[:XPOS], "_", *row[FEATS:]] for row in sentence.rows])
        for sentence in TREEBANK
    ]
    labels = labels_of(bare)
    assert list(labels.kinds) == ["upos", "feats", "lemma"]
    (tagged,) = random_tagger(labels=labels).tag(BARE[:1])
    assert set(tagged.xpos) == {"_"}


def test_labels_of_a_sentence_are_its_columns() -> None:
    labels = labels_of(TREEBANK)
    gold = gold_columns(TREEBANK[0])
    numbers = labels.encode(*(gold[kind] for kind in labels.kinds))
    assert [labels.kinds["upos"][i] for i in numbers[:, 0]] == TREEBANK[0].upos
    assert labels.encode(*([["never seen"]] * len(labels.kinds))).tolist() == [[-1] * len(labels.kinds)]


# Partly tagged sentences


def without(sentence: Sentence, *cells: tuple[int, int]) -> Sentence:
    """The sentence with "_" in the cells (word, column)."""
    rows = [row[:] for row in sentence.rows]
    for word, column in cells:
        rows[word][column] = "_"
    return sentence.with_rows(rows)


TAGS = (LEMMA, UPOS, XPOS, FEATS)
LONG = max(TREEBANK, key=len)
EVERY_WORD = range(len(LONG))
FILLED = random_tagger(labels=Labels({"upos": ["X"], "xpos": ["x"], "feats": ["_", "F=1"], "lemma": ["=l"]}))


def test_missing_values_are_set_and_given_ones_kept() -> None:
    tagger = random_tagger()
    (expected,) = tagger.tag([LONG])
    for keep in [(0, UPOS), (1, XPOS), (2, LEMMA)]:
        cells = [(word, column) for word in EVERY_WORD for column in TAGS if (word, column) != keep]
        (tagged,) = tagger.tag([without(LONG, *cells)], keep=True)
        for word, column in cells:
            assert tagged.rows[word][column] == expected.rows[word][column]
        assert tagged.rows[keep[0]][keep[1]] == LONG.rows[keep[0]][keep[1]]


@pytest.mark.parametrize("column", TAGS)
def test_column_that_is_empty_in_the_whole_sentence_is_missing(column: int) -> None:
    sentence = without(LONG, *((word, column) for word in EVERY_WORD))
    (tagged,) = FILLED.tag([sentence], keep=True)
    allowed = {LEMMA: {"l"}, UPOS: {"X"}, XPOS: {"x"}, FEATS: {"_", "F=1"}}[column]
    assert {row[column] for row in tagged.rows} <= allowed
    assert without(tagged, *((word, column) for word in EVERY_WORD)) == sentence


@pytest.mark.parametrize(("column", "value"), [(UPOS, "X"), (XPOS, "x"), (LEMMA, "l")])
def test_value_is_missing_where_the_treebank_always_has_one(column: int, value: str) -> None:
    (tagged,) = FILLED.tag([without(LONG, (1, column))], keep=True)
    assert tagged.rows[1][column] == value
    assert without(tagged, (1, column)) == without(LONG, (1, column))


def test_tagged_word_without_features_stays_without() -> None:
    tagger = random_tagger(
        labels=Labels({"upos": ["X"], "xpos": ["x"], "feats": ["F=1", "_"], "lemma": ["=_"]})
    )
    tagger.network.weights["out_bias"][:] = [0, 0, 50, 0, 0]  # it would give F=1 to every word
    sentence = without(LONG.with_rows([[*row[:FEATS], "G=2", *row[HEAD:]] for row in LONG.rows]), (1, FEATS))
    assert tagger.tag([sentence], keep=True)[0] is sentence
    untagged = without(sentence, (1, UPOS), (1, XPOS))
    assert tagger.tag([untagged], keep=True)[0].feats == ["G=2", "F=1", *sentence.feats[2:]]


def test_whole_sentence_is_returned_as_it_is() -> None:
    (sentence,) = FILLED.tag([LONG])
    tagged = FILLED.tag([sentence, BARE[0], sentence], keep=True)
    assert (tagged[0] is sentence, tagged[2] is sentence) == (True, True)
    assert tagged[1] == FILLED.tag([BARE[0]])[0]


def test_model_comes_back_from_its_folder(tmp_path: Path) -> None:
    tagger = random_tagger()
    tagger.save(tmp_path)
    assert Tagger.load(tmp_path).tag(BARE) == tagger.tag(BARE)
