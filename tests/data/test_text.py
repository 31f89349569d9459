from __future__ import annotations

import io

import pytest

from biatt.data.text import read_lines, read_tokens
from biatt.errors import FormatError


def test_each_line_is_a_sentence_of_the_words_between_its_spaces() -> None:
    sentences = list(read_tokens(io.BytesIO(b"Ada  slept .\n\n\tyes \r\nlast line")))
    assert [sentence.forms for sentence in sentences] == [["Ada", "slept", "."], ["yes"], ["last", "line"]]
    assert [sentence.line for sentence in sentences] == [1, 3, 4]


def test_raw_text_has_its_punctuation_split_from_its_words() -> None:
    text = "«Ada’s e-mail», (she said...) -- 50% of $5!?\n\nहिन्दी। \u6771\u4eac\u3002\n".encode()
    first, second = read_lines(io.BytesIO(text), name="text", raw=True)
    assert first[0] == 1
    assert " ".join(first[1]) == "« Ada’s e-mail » , ( she said ... ) -- 50 % of $5 ! ?"
    assert second == (3, ["हिन्दी", "।", "東京", "。"])


def test_byte_order_mark_is_no_word() -> None:
    assert list(read_lines(io.BytesIO("\ufeffowls\n".encode()), name="text")) == [(1, ["owls"])]


def test_sentences_are_conllu_without_tags_or_heads() -> None:
    (sentence,) = read_tokens(io.BytesIO(b"Ada slept\n"))
    assert sentence.format == "conllu"
    assert sentence.upos == ["_", "_"]
    assert sentence.heads == [-1, -1]


def test_bad_utf8_is_named_with_its_line() -> None:
    with pytest.raises(FormatError, match="line 2"):
        list(read_tokens(io.BytesIO(b"fine\n\xff\xfe\n")))
