"""Documents and sentences as JSON: everything comes back, and the schema is followed."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.conll import dumps, reads
from biatt.data.document import Document
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from builders import ODD_CONLLU, random_parser
from examples import examples

SCHEMA = json.loads(files("biatt.data").joinpath("document.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def through_json(value: Any) -> Any:
    VALIDATOR.validate(value)
    return json.loads(json.dumps(value))


def test_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_document_comes_back() -> None:
    document = Document.from_sentences(reads(ODD_CONLLU))
    again = Document.from_dict(through_json(document.to_dict()))
    assert again == document
    assert dumps(again) == ODD_CONLLU
    assert again.text == "Il va au  bar.\n\nNon\n"
    for before, after in zip(document.tokens, again.tokens, strict=True):
        assert (before.text, before.start_char) == (after.text, after.start_char)
    assert [w.start_char for w in again.words] == [w.start_char for w in document.words]


def test_fields_are_those_of_the_schema() -> None:
    first = Document.from_sentences(reads(ODD_CONLLU)).to_dict()["sentences"][0]
    assert first["words"][0] == {
        "id": 1,
        "form": "Il",
        "lemma": "il",
        "upos": "PRON",
        "xpos": "PRP",
        "feats": {"Number": "Sing", "Person": "3"},
        "head": 2,
        "deprel": "nsubj",
        "deps": "2:nsubj|2.1:nsubj",
        "misc": None,
        "start_char": 0,
        "end_char": 2,
    }
    assert (first["words"][1]["feats"], first["words"][1]["misc"]) == ("odd", "Note|A=1|A=2")
    assert (first["words"][5]["head"], first["words"][5]["lemma"]) == (None, ".")
    assert first["multiword_tokens"] == [
        {
            "id": [3, 4],
            "form": "au",
            "start_char": 6,
            "end_char": 8,
            "feats": {"Typo": "Yes"},
            "misc": {"SpacesAfter": "\\s\\s"},
        }
    ]
    assert [node["id"] for node in first["empty_nodes"]] == ["2.1"]


def test_sentence_comes_back_with_its_place() -> None:
    for sentence in Document.from_sentences(reads(ODD_CONLLU)):
        data = through_json(sentence.to_dict())
        again = Sentence.from_dict(data)
        assert again == sentence
        assert (again.text, again.start_char, again.end_char) == (
            data["text"],
            data["start_char"],
            data["end_char"],
        )
        assert [word.start_char for word in again] == [word.start_char for word in sentence]
    VALIDATOR.validate([sentence.to_dict() for sentence in reads(ODD_CONLLU)])


def test_probabilities_come_back() -> None:
    for sentence in random_parser({"tags": True}).parse(generate(4, seed=2), confidence=True, retag=True):
        data = through_json(sentence.to_dict())
        again = Sentence.from_dict(data)
        assert [word.confidence for word in again] == pytest.approx(
            [w.confidence for w in sentence], abs=2e-4
        )
        assert again.confidence is not None
        assert sentence.confidence is not None
        assert again.confidence.columns.keys() == sentence.confidence.columns.keys()
        assert "upos_probability" in data["words"][0]
        assert again.confidence.log_probability == pytest.approx(
            sentence.confidence.log_probability, abs=1e-4
        )


CELL = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=6)


@examples(60)
@given(
    st.lists(
        st.tuples(CELL, CELL, CELL, CELL | st.sampled_from(["A=1|B=2", "=", "A=|B"])), min_size=1, max_size=4
    )
)
def test_any_columns_come_back(rows: list[tuple[str, str, str, str]]) -> None:
    columns = list(zip(*rows, strict=True))
    sentence = Sentence.from_words(columns[0], lemmas=columns[1], upos=columns[2], feats=columns[3])
    assert Sentence.from_dict(through_json(sentence.to_dict())) == sentence
