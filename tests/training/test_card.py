"""The model card says where a model comes from, and stays a table whatever it is told."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy
import torch
from hypothesis import given
from hypothesis import strategies as st

import biatt
from biatt.config import Config
from biatt.encoding.vocabulary import Vocabulary
from biatt.training.card import Origin, model_card, silver_summary
from biatt.training.silver import SilverFiles

ORIGIN = Origin(
    train="one.conllu, two.conllu",
    dev="dev.conllu",
    embeddings="words.vec",
    seed=7,
    threads=2,
    licence="CC BY-SA 4.0",
    command="biatt train --train one.conllu two.conllu --output model",
)
BEST = {"epoch": 9, "dev_uas": 0.91564, "dev_las": 0.855}
VOCABULARY = Vocabulary({"form": ["the"], "xpos": ["DT"]}, ["det", "nsubj", "root"])


def card(**changes: Any) -> str:
    return model_card(Config(), VOCABULARY, replace(ORIGIN, **changes), BEST)


def rows(text: str) -> dict[str, str]:
    """The table of the card as a reader of Markdown sees it: an escaped bar is no border."""
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.split("\n") if line.startswith("|")]
    assert all(len(row) == 2 for row in cells)
    return {name.strip(): value.strip() for name, value in cells[2:]}


def test_card_tells_data_scores_licence_and_command() -> None:
    found = rows(card())
    made_with = found.pop("made with")
    assert found == {
        "training data": "one.conllu, two.conllu",
        "chosen by": "dev.conllu",
        "word vectors": "words.vec",
        "embedded columns": "form, xpos",
        "relations": "3",
        "hidden size": "176",
        "dev UAS / LAS, MST": "91.56 / 85.50",
        "best epoch": "9",
        "seed, threads": "7, 2",
        "licence": "CC BY-SA 4.0",
        "command": "`biatt train --train one.conllu two.conllu --output model`",
    }
    for part in (f"biatt {biatt.__version__}", f"torch {torch.__version__}", f"numpy {numpy.__version__}"):
        assert part in made_with


def test_card_without_vectors_or_command_says_so() -> None:
    found = rows(card(embeddings=None, command=""))
    assert (found["word vectors"], found["command"]) == ("none", "`biatt.train(…)`")


def test_card_warns_of_the_datas_licence() -> None:
    assert "licence of the training data may bind the model" in card()


def test_card_is_the_same_every_time() -> None:
    assert card() == card()


@given(st.text("ab|\n`", max_size=20))
def test_no_licence_or_file_name_breaks_the_table(text: str) -> None:
    found = rows(card(licence=text, train=text))
    assert len(found) == 12
    assert found["licence"].replace("\\|", "|") == text.replace("\n", " ").strip()


def test_card_of_an_ensemble_and_of_a_pipeline_says_so() -> None:
    accuracies = {"tokeniser": {"end": 0.98}, "tags": {"upos": 0.955, "lemma": 1.0}}
    cells = rows(card(members=3, label_accuracies=accuracies))
    assert cells["members of the ensemble"] == "3"
    assert cells["tokeniser, accuracy on dev, labels of the training data"] == "end 98.00"
    assert cells["tags, accuracy on dev, labels of the training data"] == "upos 95.50, lemma 100.00"


def test_card_tells_what_silver_text_there_was_and_what_was_left_out() -> None:
    facts = {"sentences": 1200, "words": 34567, "excluded": 8, "unsure": 0}
    few = replace(ORIGIN, silver=SilverFiles(["a", "b"], ["test"]))
    expected = "a, b: 1,200 sentences, 34,567 words; 8 left out that are in dev.conllu, test"
    assert rows(model_card(Config(), VOCABULARY, few, {**BEST, "silver": facts}))["silver text"] == expected
    many = replace(ORIGIN, silver=SilverFiles(list("abcd"), []))
    expected = "4 files from a to d: 1,200 sentences, 34,567 words; 8 left out that are in dev.conllu"
    assert silver_summary(many, facts) == expected
    assert silver_summary(many, {**facts, "unsure": 5}) == f"{expected}, 5 that the teacher was not sure of"
