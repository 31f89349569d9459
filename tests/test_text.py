from __future__ import annotations

import io

import pytest

from biatt.errors import FormatError
from biatt.text import read_tokens


def test_each_line_is_a_sentence_of_the_words_between_its_spaces() -> None:
    sentences = list(read_tokens(io.BytesIO(b"Ada  slept .\n\n\tyes \r\nlast line")))
    assert [sentence.forms for sentence in sentences] == [["Ada", "slept", "."], ["yes"], ["last", "line"]]
    assert [sentence.line for sentence in sentences] == [1, 3, 4]


def test_sentences_are_conllu_without_tags_or_heads() -> None:
    (sentence,) = read_tokens(io.BytesIO(b"Ada slept\n"))
    assert sentence.format == "conllu"
    assert sentence.upos == ["_", "_"]
    assert sentence.heads == [-1, -1]


def test_bad_utf8_is_named_with_its_line() -> None:
    with pytest.raises(FormatError, match="line 2"):
        list(read_tokens(io.BytesIO(b"fine\n\xff\xfe\n")))
