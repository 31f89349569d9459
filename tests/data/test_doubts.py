"""Doubts in MISC: which words have them, which choices, and what is read back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.columns import DEPS, HEAD, MISC
from biatt.data.doubts import (
    Choices,
    escaped,
    read_doubts,
    unescaped,
    without_doubtful,
    write_doubts,
)
from biatt.data.scores import Confidence, Temperature
from biatt.data.sentence import Sentence
from biatt.errors import ConfigError, FormatError
from biatt.options import ConllFormat
from examples import examples


def with_doubts(misc: str, probabilities: list[float], names: list[str], written: int = 0) -> str:
    """MISC of a word whose relation has these probabilities."""
    sentence = Sentence.from_words(["so"])
    sentence.rows[0][MISC] = misc
    write_doubts(sentence, {"deprel": Choices(np.array([probabilities]), np.array([written]), names)})
    return sentence.rows[0][MISC]


@pytest.mark.parametrize(
    ("probabilities", "misc"),
    [
        ([0.9, 0.0001, 0], "_"),
        ([0.95, 0.04, 0.01], "DeprelProbs=det 0.95 amod 0.04 dep 0.01"),
        ([0.3, 0.6, 0.1], "DeprelProbs=amod 0.6 det 0.3 dep 0.1"),
        ([0.984, 0.01, 0.006], "DeprelProbs=det 0.984 amod 0.01"),
        ([0.988, 0.006, 0.006], "_"),
    ],
)
def test_choices_of_a_word_that_is_not_certain(probabilities: list[float], misc: str) -> None:
    assert with_doubts("_", probabilities, ["det", "amod", "dep"]) == misc


def test_there_are_doubts_where_another_choice_than_the_written_one_is_certain() -> None:
    assert with_doubts("_", [0.001, 0.999], ["det", "dep"]) == "DeprelProbs=dep 0.999"


def test_only_the_four_best_choices_are_written() -> None:
    assert with_doubts("_", [0.2] * 5, list("abcde")) == "DeprelProbs=a 0.2 b 0.2 c 0.2 d 0.2"


def test_doubts_replace_older_ones_and_other_items_stay() -> None:
    before = "SpaceAfter=No|DeprelProbs=x 0.5|HeadProb=0.9|HeadProbs=3 0.5"
    assert with_doubts(before, [0.5, 0.5], ["a", "b"]) == (
        "SpaceAfter=No|HeadProb=0.9|DeprelProbs=a 0.5 b 0.5"
    )
    assert with_doubts("HeadProbs=3 0.5", [1.0], ["a"]) == "_"


def test_conllx_has_no_column_for_doubts() -> None:
    with pytest.raises(ConfigError, match="MISC column of CoNLL-U"):
        write_doubts(Sentence.from_words(["so"], format="conllx"), {})


@given(st.text())
def test_escaped_choices_have_neither_bars_nor_spaces_and_are_read_back(choice: str) -> None:
    assert not set(escaped(choice)) & {"|", " "}
    assert unescaped(escaped(choice)) == choice


@examples(50)
@given(st.integers(1, 6), st.integers(1, 7), st.integers(0, 99))
def test_what_is_written_is_read_back(n: int, choices: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    names = [f"a|b{i} c\\" for i in range(choices)]
    probabilities = draw.dirichlet(np.full(choices, 0.2), n)
    written = probabilities.argmax(-1)
    sentence = Sentence.from_words(["so"] * n)
    write_doubts(sentence, {"feats": Choices(probabilities, written, names)})
    for row, shares in zip(sentence.rows, probabilities, strict=True):
        doubts = read_doubts(row[MISC], sentence)
        assert ("feats" in doubts) == (np.sort(shares)[::-1][1:2] >= 0.01).any()
        if doubts:
            expected = sorted(zip(shares, names, strict=True))  # before rounding makes some of them equal
            most = expected[-min(4, int((shares >= 0.01).sum())) :]
            thousandths = {name: round(1000 * p) for name, p in zip(*doubts["feats"], strict=True)}
            assert thousandths == {name: int(np.rint(1000 * p)) for p, name in most}


def test_other_items_are_no_doubts() -> None:
    sentence = Sentence.from_words(["so"])
    assert read_doubts("_", sentence) == {}
    assert read_doubts("SpaceAfter=No|HeadProb=0.9", sentence) == {}
    misc = "SpaceAfter=No|HeadProbs=3 0.93 5 0.04|UposProbs=X 0.5"
    assert read_doubts(misc, sentence) == {"head": (["3", "5"], [0.93, 0.04]), "upos": (["X"], [0.5])}


@pytest.mark.parametrize("value", ["", "3", "3 0.9 4", "3 high", "3 0", "3 1.5", "3 nan", "3 -0.1"])
def test_malformed_doubts_are_refused_with_the_place_of_their_sentence(value: str) -> None:
    sentence = Sentence([], [], source="a.conllu", line=7)
    with pytest.raises(FormatError, match=r"a\.conllu, line 7: 'HeadProbs=.* pairs of a choice and a"):
        read_doubts(f"HeadProbs={value}", sentence)


def doubtful_sentence(format: ConllFormat = "conllu") -> Sentence:
    sentence = Sentence.from_words(
        ["a", "b", "c"], heads=[2, 0, 2], deprels=["det", "root", "obj"], format=format
    )
    ones = np.ones(3)
    sentence.confidence = Confidence(
        heads=ones,
        arcs=np.array([0.9, 0.8, 0.5]),
        agreement=ones,
        relations=np.array([1.0, 1.0, 0.5]),
        log_probability=-1.0,
        entropy=1.0,
        temperature=Temperature(),
    )
    return sentence


def test_words_of_less_confidence_are_marked_and_marks_of_others_removed() -> None:
    sentence = doubtful_sentence()
    sentence.rows[0][MISC] = "Doubtful=Yes"
    sentence.rows[2][MISC] = "Doubtful=Yes|Gloss=x"
    marked = without_doubtful(sentence, 0.8)
    assert [row[MISC] for row in marked.rows] == ["_", "_", "Gloss=x|Doubtful=Yes"]
    assert (marked.heads, marked.confidence) == (sentence.heads, sentence.confidence)
    assert [row[MISC] for row in without_doubtful(sentence, 0.81).rows][1] == "Doubtful=Yes"


@pytest.mark.parametrize("format", ["conllu", "conllx"])
def test_words_of_less_confidence_are_left_without_head_and_relation(format: ConllFormat) -> None:
    sentence = doubtful_sentence(format).with_tree([2, 0, 2], ["det", "root", "obj"], fill_deps=True)
    sentence.confidence = doubtful_sentence().confidence
    left = without_doubtful(sentence, 0.8, doubtful="leave-out")
    assert left.rows[:2] == sentence.rows[:2]
    assert left.rows[2] == ["3", "c", *"________"]
    assert sentence.heads == [2, 0, 2]


def test_other_dependencies_of_a_file_are_not_left_out() -> None:
    sentence = doubtful_sentence()
    sentence.rows[2][DEPS] = "1:nsubj|2:obj"
    left = without_doubtful(sentence, 0.8, doubtful="leave-out")
    assert left.rows[2][HEAD:] == ["_", "_", "1:nsubj|2:obj", "_"]


def test_doubtful_words_need_confidence_and_a_place_for_the_mark() -> None:
    with pytest.raises(ConfigError, match="no confidence"):
        without_doubtful(Sentence.from_words(["a"]), 0.5)
    with pytest.raises(ConfigError, match="which CoNLL-X does not have"):
        without_doubtful(doubtful_sentence("conllx"), 0.5)
