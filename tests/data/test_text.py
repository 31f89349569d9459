from __future__ import annotations

import io
from typing import Any

import pytest

from biatt.data import text as text_module
from biatt.data.conll import read
from biatt.data.files import reading
from biatt.data.text import is_conll, read_lines, read_text, read_tokens
from biatt.errors import FormatError
from biatt.machine.threads import with_pauses


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


def test_blank_lines_separate_paragraphs() -> None:
    data = b"\n one\n two\n \t\n\n\nthree"
    assert list(read_text(io.BytesIO(data))) == ["\n one\n two\n \t\n\n\n", "three"]


@pytest.mark.parametrize("text", ["\ufeff\r\n\na\n\n\n", "a", "", "\n \n", "\ufeffa\n\n\nb\n \nc\n\n"])
def test_paragraphs_are_the_whole_text(text: str) -> None:
    parts = list(read_text(io.BytesIO(text.encode())))
    assert "".join(parts) == text
    assert all(part.strip("\ufeff\n\r ") for part in parts) or not text.strip()


def test_very_long_paragraphs_and_lines_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "LONGEST_PARAGRAPH", 100)
    monkeypatch.setattr(text_module, "LONGEST_LINE", 100)
    lines = "".join(f"word{i} " + ("\n" if i % 5 == 0 else "") for i in range(100))
    parts = list(read_text(io.BytesIO(lines.encode())))
    assert len(parts) > 5
    assert "".join(parts) == lines
    assert all(part[-1] in " \n" for part in parts)
    one_line = "e\u0301" * 300_000
    parts = list(read_text(io.BytesIO(one_line.encode())))
    assert "".join(parts) == one_line
    assert len(parts) > 5
    assert all(part[-1] == "\u0301" for part in parts)


@pytest.mark.parametrize(
    ("line", "end"),
    [("One ends. Two goes\non, and (ends.) \n", "(ends.) \n"), ("no end\n at all", "\n"), ("a b", " ")],
)
def test_long_paragraphs_are_cut_at_the_best_place(
    line: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_module, "LONGEST_PARAGRAPH", 100)
    parts = list(read_text(io.BytesIO((20 * line).encode())))
    assert "".join(parts) == 20 * line
    assert all(50 < len(part) <= 100 and part.endswith(end) for part in parts[:-1])


@pytest.mark.parametrize("step", [1, 2, 5, 100])
def test_pieces_of_a_stream_give_the_same_lines(step: int) -> None:
    data = "\ufeffÉine Zeile\r\n\nzwei  Zeilen\nende".encode()

    class Drip(io.RawIOBase):
        rest = data

        def read(self, size: int = -1) -> bytes:
            part, self.rest = self.rest[:step], self.rest[step:]
            return part

    stream: Any = Drip()
    assert list(read_lines(stream, name="drip")) == [
        (1, ["Éine", "Zeile"]),
        (3, ["zwei", "Zeilen"]),
        (4, ["ende"]),
    ]


class Conversation(io.RawIOBase):
    """A pipe that is sent one piece after another."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = iter(pieces)

    def read(self, size: int = -1) -> bytes:
        return next(self.pieces, b"")


def test_lines_and_paragraphs_are_given_before_more_is_waited_for() -> None:
    stream: Any = Conversation(b"Ada slept\nBen", b" too\n")
    parts = [item and item.forms for item in with_pauses(read_tokens(stream))]
    assert parts == [["Ada", "slept"], None, ["Ben", "too"], None]
    stream = Conversation(b"Ada slept.\nBen", b" too.\n\nClara", b"\n")
    parts = list(with_pauses(read_text(stream)))
    assert parts == [None, "Ada slept.\nBen too.\n\n", None, None, "Clara\n"]


# CoNLL or text

WORD = b"1\tw\t_\t_\t_\t_\t0\troot\t_\t_\n\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (WORD, True),
        (b"\n \n# comment\n" + WORD, True),
        (b"\xef\xbb\xbf# comment\n" + WORD, True),
        (b"# comment\n" * 20_000 + WORD, True),
        (b"1-2\tab", True),
        (b"0.1\tx\n", True),
        (b"", False),
        (b"# A heading\n", False),
        (b"# A heading\n\n1 apple\n", False),
        (b" 1\tapple\n", False),
        (b"1", False),
        (b"a" * 5_000_000, False),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else None,
)
def test_conll_is_told_by_its_first_word(data: bytes, expected: bool) -> None:
    with reading(io.BytesIO(data)) as stream:
        conll, whole = is_conll(stream, name="data")
        assert conll == expected
        assert whole.read() == data


def test_first_word_is_enough_to_tell_conll() -> None:
    stream: Any = Conversation(b"# comment", b"\n1\tw", WORD[3:])
    with reading(stream) as opened:
        conll, whole = is_conll(opened, name="pipe")
        assert conll
        assert [s.to_text().encode() for s in read(whole)] == [b"# comment\n" + WORD]
