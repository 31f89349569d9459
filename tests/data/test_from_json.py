"""JSON that does not follow the schema is refused with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from biatt.data.conll import dumps, reads
from biatt.data.document import Document
from biatt.data.sentence import Sentence
from biatt.errors import FormatError
from builders import ODD_CONLLU


def broken(path: list[Any], value: Any) -> dict[str, Any]:
    """A document with another value at a place; ... removes it."""
    data: Any = json.loads(json.dumps(Document.from_sentences(reads(ODD_CONLLU)).to_dict()))
    place = data
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


FIRST = ["sentences", 0]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["version"], 2, "it follows version 2 of the schema; this version of biatt reads version 1"),
        (["version"], ..., "the object has no version"),
        (["text"], 3, "the document has a value of text that is not a string"),
        (["sentences"], {}, "the document has a value of sentences that is not an array"),
        (FIRST, 3, r"sentences\[0\] is not an object"),
        ([*FIRST, "words", 1], [], r"sentences\[0\]\.words\[1\] is not an object"),
        ([*FIRST, "words", 1, "form"], ..., r"sentences\[0\]\.words\[1\] has no form"),
        ([*FIRST, "words", 1, "head"], "1", r"words\[1\] has a value of head that is not a number"),
        ([*FIRST, "words", 1, "start_char"], ..., r"word 2 of sentences\[0\] has no start_char"),
        ([*FIRST, "words", 1, "feats"], {"A": 1}, r"words\[1\]\.feats is neither a column nor an object"),
        ([*FIRST, "words", 1, "misc"], 3, r"words\[1\]\.misc is neither a column nor an object"),
        ([*FIRST, "comments"], ["x"], "the comments of .* are not strings that begin with #"),
        ([*FIRST, "multiword_tokens", 0, "id"], [3], "the id of .* is not the numbers of two words"),
        (
            [*FIRST, "multiword_tokens", 0, "id"],
            [3, 9],
            "words 3 to 9, which are not between 1 and 6",
        ),
        ([*FIRST, "empty_nodes", 0, "id"], "x", r"the id of .*empty_nodes\[0\] is not like 8\.1"),
        (
            [*FIRST, "words", 0, "end_char"],
            99,
            r"the place of word 1 of sentences\[0\] is outside of the text",
        ),
        ([*FIRST, "format"], "xml", "the format of .* is neither conllu nor conllx"),
    ],
)
def test_what_does_not_follow_the_schema_is_refused(path: list[Any], value: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        Document.from_dict(broken(path, value))


@pytest.mark.parametrize("wrong", [None, "{}", [], 3])
def test_other_types_are_refused(wrong: Any) -> None:
    for read in (Document.from_dict, Sentence.from_dict):
        with pytest.raises(TypeError, match="An object of the schema is a dict, not "):
            read(wrong)


def test_values_are_checked_when_written() -> None:
    document = Document.from_dict(broken([*FIRST, "words", 0, "head"], 99))
    with pytest.raises(FormatError, match="HEAD is '99' where a number from 0 to 6 or _ was expected"):
        dumps(document)
