"""CoNLL files: nothing lost, nothing wrong accepted, the right line blamed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from biatt.data import conll
from biatt.data.columns import DEPS, HEAD, MISC
from biatt.data.conll import format_of, read, write
from biatt.data.files import BUFFER_BYTES
from biatt.data.sentence import Sentence
from biatt.errors import ConfigError, FormatError
from examples import examples

ROOT = Path(__file__).parents[2]
SHARED = Path(__file__).parents[3] / "shared"
PART_BYTES = 200_000  # of a treebank of which a part is enough
TREEBANKS = sorted(SHARED.glob("treebanks/*/*.xz")) + sorted(SHARED.glob("vectors/conllx-eval/*.conllx"))

CATS = (
    "# sent_id = 1\n"
    "# text = Cats don't bark.\n"
    "1\tCats\tcat\tNOUN\tNNS\tNumber=Plur\t4\tnsubj\t_\t_\n"
    "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_\n"
    "3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_\n"
    "3.1\tever\tever\tADV\tRB\t_\t_\t_\t4:advmod\t_\n"
    "4\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No\n"
    "5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_\n"
    "\n"
)
MANY = CATS * (BUFFER_BYTES // len(CATS) + 100)  # more than is read at once
SHORT = "1\tHush\t_\tINTJ\t_\t_\t0\troot\t_\t_\n2\t!\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"
OLD = "1\tHej\t_\tI\tI\t_\t0\tROOT\t0\tROOT\n2\t!\t_\tX\tXP\t_\t1\tpnct\t_\t_\n\n"


def parse(text: str | bytes, **options: Any) -> list[Sentence]:
    return list(read(io.BytesIO(text.encode() if isinstance(text, str) else text), **options))


def written(sentences: list[Sentence]) -> bytes:
    target = io.BytesIO()
    assert write(sentences, target) == len(sentences)
    return target.getvalue()


def row(id: object, head: object = "_", form: str = "w") -> str:
    return f"{id}\t{form}\t_\t_\t_\t_\t{head}\t_\t_\t_\n"


# Reading


def test_columns_are_given_by_name() -> None:
    (sentence,) = parse(CATS)
    assert len(sentence) == 5
    assert sentence.forms == ["Cats", "do", "n't", "bark", "."]
    assert sentence.lemmas == ["cat", "do", "not", "bark", "."]
    assert sentence.upos == ["NOUN", "AUX", "PART", "VERB", "PUNCT"]
    assert sentence.xpos == ["NNS", "VBP", "RB", "VB", "."]
    assert sentence.feats == ["Number=Plur", "_", "_", "_", "_"]
    assert sentence.heads == [4, 4, 4, 0, 4]
    assert sentence.deprels == ["nsubj", "aux", "advmod", "root", "punct"]
    assert sentence.comments == ["# sent_id = 1", "# text = Cats don't bark."]
    assert sentence.text == "Cats don't bark."
    assert sentence.sent_id == "1"
    assert [k for k, _ in sentence.verbatim] == [0, 0, 1, 3]
    assert (sentence.format, sentence.source, sentence.line) == ("conllu", "<stream>", 1)


def test_sentence_is_a_sequence_of_words() -> None:
    (sentence,) = parse("1\ta\tb\tX\tc\td\t_\te\tf\tg\n" + row(2, 1))
    assert [
        (w.id, w.form, w.lemma, w.upos, w.xpos, str(w.feats), w.head, w.deprel, w.deps, str(w.misc))
        for w in sentence
    ] == [
        (1, "a", "b", "X", "c", "d", None, "e", "f", "g"),
        (2, "w", "_", "_", "_", "_", 1, "_", "_", "_"),
    ]
    assert sentence.heads == [-1, 1]
    assert sentence.text == "a w"
    assert sentence.sent_id is None


def test_sentences_know_their_line() -> None:
    assert [s.line for s in parse("\n\n" + CATS + "\n" + SHORT + SHORT)] == [3, 14, 17]


def test_equality_is_of_content_not_of_place() -> None:
    first, second = parse(SHORT + "\n\n" + SHORT)
    assert first == second
    assert first != second.with_tree([2, 0], ["x", "root"])
    assert first != SHORT
    assert parse(OLD, format="conllu") != parse(OLD, format="conllx")
    with pytest.raises(TypeError):
        hash(first)


def test_repr_says_which_sentence() -> None:
    assert repr(parse(CATS, name="cats.conllu")[0]) == (
        "<Sentence of 5 words, cats.conllu, line 1: Cats do n't bark .>"
    )


def test_sentences_can_be_pickled() -> None:
    sentences = parse(CATS.replace("\n", "\r\n"))
    assert written(pickle.loads(pickle.dumps(sentences))) == written(sentences)


# Format


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CATS, "conllu"),
        (SHORT, "conllu"),
        (OLD, "conllx"),
        (OLD.replace("\n", "\r\n"), "conllx"),
        ("# a comment\n" + OLD, "conllu"),
        ("\ufeff# a comment\n" + OLD, "conllu"),
        (row("1-2") + OLD, "conllu"),
        (OLD.replace("\n2", "\n1.1\t_\t_\t_\t_\t_\t_\t_\t_\t_\n2"), "conllu"),
        (row(1, 0) + row(2, 1), "conllu"),
        (SHORT * 5 + OLD, "conllu"),
        (OLD * 5 + SHORT, "conllx"),
        ("", "conllu"),
    ],
)
def test_format_is_told_by_content(text: str, expected: str) -> None:
    assert format_of(text.encode()) == expected
    assert {s.format for s in parse(text)} <= {expected}


def test_format_can_be_given() -> None:
    assert parse(SHORT, format="conllx")[0].format == "conllx"
    with pytest.raises(ConfigError, match="conllu or conllx, not 'conll09'"):
        parse(SHORT, format="conll09")


# Losslessness


@pytest.mark.slow
@pytest.mark.skipif(not TREEBANKS, reason="no folder ../shared/treebanks beside the clone")
@pytest.mark.parametrize("path", TREEBANKS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_treebank_comes_back_byte_for_byte(path: Path, tmp_path: Path) -> None:
    """One treebank as a whole, and the first sentences of the others; with --random, all of them."""
    whole = "english-ewt" in path.parent.name or settings.get_current_profile_name() == "random"
    gold, danish_conllx = path.suffix == ".xz", "danish-conllx" in str(path)
    with lzma.open(path) if gold else path.open("rb") as file:
        data = file.read(-1 if whole else PART_BYTES)
    if len(data) == PART_BYTES:
        data = data[: data.rindex(b"\n\n") + 2]
        path = tmp_path / path.name.removesuffix(".xz")
        path.write_bytes(data)
    target = io.BytesIO()
    formats = set()

    def seen() -> Iterator[Sentence]:
        for sentence in read(path, trees=gold):
            formats.add(sentence.format)
            yield sentence

    assert write(seen(), target) > 0
    assert target.getvalue() == data
    assert formats == {"conllx" if danish_conllx else "conllu"}


@pytest.mark.parametrize(
    "text",
    [
        CATS,
        CATS + SHORT,
        CATS.rstrip("\n"),  # no final line end
        CATS[:-1],  # no final blank line
        CATS + "   ",
        CATS + SHORT + "\n\n \n",
        "\ufeff" + CATS,
        "\ufeff\n\n" + CATS,
        "\n \r\n\n" + CATS,
        CATS + "\n \n\r\n" + SHORT,
        CATS.replace("\n", "\r\n"),
        CATS.replace("\n", "\r\n")[:-2],
        CATS.replace("\n", "\r\n")[:-3],  # a final "\r" alone
        CATS.replace("\n", "\r\n") + SHORT,
        CATS.replace("bark\t", "bark\r\t"),
        CATS.replace("SpaceAfter=No\n", "SpaceAfter=No\r\n"),
        CATS.replace("cat\t", "c\u2028\x85\xa0 \x0b\x0c\x1c\x1d\x00a\u3000t\t"),
        CATS.replace("\t.\t.\t", "\t#\t#\t"),
        CATS.replace("# text", "#\t\ttext"),
        CATS.replace("5\t.", "# a comment inside\n5\t."),
        CATS + "# the end\n",
        CATS + "# the end\n\n",
        CATS + "# the end",
        "# only a comment\n\n" + SHORT,
        row("0.1") + row("0.2") + row(1) + row("1.1"),
        row("1-1") + row("1") + row("2-3") + row(2) + row(3),
        "",
    ],
)
def test_oddity_comes_back_byte_for_byte(text: str) -> None:
    sentences = parse(text)
    assert written(sentences) == text.encode()
    assert "".join(s.to_text() for s in sentences) == text


def test_last_sentence_needs_no_blank_line() -> None:
    for end in ("", "\n", "\n\n", "\r\n", "\n  "):
        assert [len(s) for s in parse(SHORT + SHORT.rstrip("\n") + end)] == [2, 2]


def test_comments_without_words_are_a_sentence_of_length_0() -> None:
    last = parse(SHORT + "# the end\n", trees=True)[-1]
    assert (len(last), last.heads, last.comments, list(last)) == (0, [], ["# the end"], [])


def test_nothing_but_blank_lines_holds_no_sentence() -> None:
    for text in ("", "\n", "\n\n \r\n", "\ufeff", "\ufeff\n", "  "):
        assert parse(text) == []


def test_sentences_in_another_order_stay_apart() -> None:
    for end in ("", "\n", "\n\n", "\n\n  ", "\n  "):
        sentences = parse("\ufeff" + CATS + SHORT.rstrip("\n") + end)
        again = parse(written(sentences[::-1]))
        assert again == sentences[::-1]


CELL = st.text(
    st.characters(exclude_characters="\t\n", exclude_categories=["Cs"])
    | st.sampled_from("\r\u2028\u2029\x85\xa0\x0b\x0c\x1c\x1e\x00\ufeff #-_|=é語🙂"),
    min_size=1,
    max_size=6,
)
LAST_CELL = CELL.filter(lambda cell: cell != "\r")  # which would be a line end after an empty column
BLANK = st.sampled_from(["", " ", "\r", "  \r"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """A valid file with everything that may be in one."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    parts = [draw(st.sampled_from(["", "\ufeff"])), *(b + "\n" for b in draw(st.lists(BLANK, max_size=2)))]
    for _ in range(draw(st.integers(0, 4))):
        n = draw(st.integers(1, 6))
        lines = ["#" + c for c in draw(st.lists(CELL, max_size=2))]
        covered = 0
        for i in range(n + 1):
            if i:
                head = draw(st.integers(0, n).filter(lambda h, i=i: h != i) | st.just("_"))
                lines.append(
                    "\t".join([str(i), *(draw(CELL) for _ in range(5)), str(head), *"de", draw(LAST_CELL)])
                )
            nodes = draw(st.integers(0, 3)) if draw(st.integers(0, 4)) == 0 else 0
            lines += [
                "\t".join([f"{i}.{j}", *(draw(LAST_CELL) for _ in range(9))]) for j in range(1, nodes + 1)
            ]
            if covered <= i < n and draw(st.integers(0, 3)) == 0:
                covered = draw(st.integers(i + 1, n))
                lines.append(f"{i + 1}-{covered}" + "\t_" * 9)
        parts += [line + end for line in lines]
        parts += [b + "\n" for b in draw(st.lists(BLANK, min_size=1, max_size=3))]
    text = "".join(parts)
    return text[: len(text) - draw(st.integers(0, min(2, len(text) - len(text.rstrip("\n")))))]


def obvious(text: str) -> list[list[list[str]]]:
    """The word rows of each sentence, by the shortest road: no checks, nothing kept."""
    sentences: list[list[list[str]]] = [[]]
    for line in text.removeprefix("\ufeff").split("\n"):
        if not line.strip(" \r"):
            sentences.append([])
        elif line[0] != "#":
            cells = line.removesuffix("\r").split("\t")
            if cells[0].isdigit():
                sentences[-1].append(cells)
    return [rows for rows in sentences if rows]


@examples(150)
@given(files())
def test_generated_file_comes_back_and_agrees_with_a_plain_reader(text: str) -> None:
    sentences = parse(text)
    assert [s.rows for s in sentences] == obvious(text)
    if sentences:
        assert written(sentences) == text.encode()
    lines = text.split("\n")
    for sentence in sentences:
        first = sentence.to_text().removeprefix(sentence._lead).split("\n")[0]
        assert lines[sentence.line - 1].removeprefix("\ufeff") == first


class Pieces(io.BytesIO):
    """A file that is read a few bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        super().__init__(data)
        self.step = step

    def read1(self, size: int | None = -1) -> bytes:
        return self.read(self.step)


class Drip(io.RawIOBase):
    """A pipe whose sender pauses after every few bytes."""

    def __init__(self, data: bytes, step: int) -> None:
        self.data, self.step = data, step

    def read(self, size: int = -1) -> bytes:
        part, self.data = self.data[: self.step], self.data[self.step :]
        return part


@given(text=files(), step=st.integers(1, 50))
@example(text=CATS + "\n\n" + SHORT + "\n\n  ", step=1)
@example(text="\ufeff\n\n" + CATS.replace("\n", "\r\n"), step=1)
def test_block_borders_do_not_matter(text: str, step: int) -> None:
    stream = Pieces(text.encode(), step)
    assert [s.to_text() for s in read(stream, format="conllu")] == [s.to_text() for s in parse(text)]


@given(text=files(), step=st.integers(1, 50))
@example(text=CATS + "\n\n" + SHORT + "\n\n  ", step=1)
@example(text="\ufeff\n\n" + CATS.replace("\n", "\r\n"), step=1)
def test_pauses_of_the_sender_change_no_sentence(text: str, step: int) -> None:
    stream: Any = Drip(text.encode(), step)
    sentences, expected = list(read(stream, format="conllu")), parse(text, format="conllu")
    assert sentences == expected
    assert [s.line for s in sentences] == [s.line for s in expected]
    joined = "".join(s.to_text() for s in sentences)
    assert text.startswith(joined)
    assert not text[len(joined) :].strip(
        "\ufeff \r\n"
    )  # only blank lines after the last sentence can be lost


class Conversation(io.RawIOBase):
    """A pipe that is sent one piece after another, each when everything before it has been read."""

    def __init__(self, pieces: list[bytes], heard: list[Any], expected: list[int]) -> None:
        self.pieces, self.heard, self.expected = iter(pieces), heard, iter(expected)

    def read(self, size: int = -1) -> bytes:
        assert len(self.heard) == next(self.expected)
        return next(self.pieces, b"")


@pytest.mark.parametrize(
    ("pieces", "counts"),
    [
        ([CATS, SHORT, SHORT], [0, 1, 2, 3]),
        ([CATS[:50], CATS[50:], SHORT + CATS[:9], CATS[9:]], [0, 0, 1, 2, 3]),
        ([CATS[:-1], "\n", "\n", "  \n" + SHORT], [0, 0, 1, 1, 2]),  # more blank lines belong to the next
        ([OLD, OLD], [0, 1, 2]),
        (["# comment\n\n", SHORT], [0, 0, 2]),  # a comment alone does not tell that a sentence is whole
    ],
)
def test_sentence_is_given_when_its_blank_line_has_arrived(pieces: list[str], counts: list[int]) -> None:
    heard: list[Sentence] = []
    stream: Any = Conversation([piece.encode() for piece in pieces], heard, counts)
    for sentence in read(stream):
        heard.append(sentence)
    assert "".join(s.to_text() for s in heard) == "".join(pieces)


# Files


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2"])
def test_compressed_files_are_read_and_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cats.conllu{suffix}"
    assert write(parse(CATS + SHORT), path) == 2
    unpack: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".gz": gzip.decompress,
        ".xz": lzma.decompress,
        ".bz2": bz2.decompress,
    }
    assert unpack[suffix](path.read_bytes()) == (CATS + SHORT).encode()
    assert [s.source for s in read(str(path))] == [str(path)] * 2
    assert written(list(read(path))) == (CATS + SHORT).encode()


@pytest.mark.slow
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_and_output(pack: Callable[[bytes], bytes]) -> None:
    program = "from biatt.data.conll import read, write; write(read('-'), '-')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pack((CATS + SHORT).encode()),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=True,
    )
    assert done.stdout == (CATS + SHORT).encode()


def test_standard_input_has_a_name_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"no columns\n")))
    with pytest.raises(FormatError, match=r"^<stdin>, line 1: the line has no tab"):
        list(read("-"))


def test_file_may_be_rewritten_from_itself(tmp_path: Path) -> None:
    path = tmp_path / "cats.conllu"
    path.write_text(CATS * 500)
    assert write((s.with_tree([0] * 5, ["x"] * 5) for s in read(path)), path) == 500
    assert all(s.heads == [0] * 5 for s in read(path))


def test_failure_midway_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "old.conllu"
    path.write_text("old")
    with pytest.raises(FormatError):
        write(read(io.BytesIO((CATS * 2000 + "bad\n").encode())), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["old.conllu"]


# Faults


FAULTS = [
    ("nine columns", "1" + "\t_" * 8 + "\n", 1, "has 9 columns separated by tabs, not 10"),
    ("eleven columns", row(1) + "2" + "\t_" * 10 + "\n", 2, "has 11 columns"),
    ("spaces for tabs", row(1) + "2 w _ _ _ _ 0 root _ _\n", 2, "has no tab; 10 columns separated"),
    ("tab alone", row(1) + "\t\n" + row(2), 2, "has 2 columns"),
    ("empty form", row(1) + row(2, form=""), 2, "column 2 is empty"),
    ("empty last column", row(1) + row(2)[:-2] + "\n", 2, "column 10 is empty"),
    ("empty last column, CRLF", (row(1) + row(2)[:-2] + "\n").replace("\n", "\r\n"), 2, "column 10 is empty"),
    ("empty last column, no line end", row(1) + row(2)[:-2], 2, "column 10 is empty"),
    ("empty id", row(1) + row(""), 2, "column 1 is empty"),
    ("empty column of a multiword token", row("1-2", form="") + row(1) + row(2), 1, "column 2 is empty"),
    ("word for a head", row(1, "x"), 1, "HEAD is 'x' where a number from 0 to 1 or _ was expected"),
    ("negative head", row(1, "-1"), 1, "HEAD is '-1'"),
    ("head with a space", row(1, 0) + row(2, " 1"), 2, "HEAD is ' 1'"),
    ("head with a sign", row(1, "+0"), 1, "HEAD is '+0'"),
    ("head with a zero before it", row(1, 0) + row(2, "01"), 2, "HEAD is '01'"),
    ("head in other digits", row(1, 0) + row(2, "١"), 2, "HEAD is "),
    ("head outside", row(1, 0) + row(2, 3), 2, "HEAD is '3' where a number from 0 to 2"),
    ("head far outside", row(1, 0) + row(2, "9" * 5000), 2, "HEAD is '9999"),
    ("own head", row(1, 0) + row(2, 2), 2, "word 2 is its own head"),
    ("id with a space", row(1) + row("2 "), 2, "ID is '2 ' where 2 was expected"),
    ("double id", row(1) + row(2) + row(2), 3, "ID is '2' where 3 was expected"),
    ("missing id", row(1) + row(3), 2, "ID is '3' where 2 was expected"),
    ("first id not 1", "# c\n" + row(0), 2, "ID is '0' where 1 was expected"),
    ("id no number", row("x"), 1, "ID is 'x' where 1 was expected"),
    ("id underscore", row("_"), 1, "ID is '_' where 1 was expected"),
    ("half a range", row("1-"), 1, "ID is '1-' where 1 was expected"),
    ("missing blank line", row(1) + row(2) + row(1), 3, "ID is '1' after word 2: a blank line seems"),
    ("missing blank line, comment", row(1) + "# c\n" + row(1), 3, "a blank line seems to be missing"),
    ("missing blank line, range", row(1) + row("1-2") + row(1), 2, "a blank line seems to be missing"),
    ("range beyond the end", row(1) + row("2-4") + row(2) + row(3), 2, "the multiword token is '2-4'"),
    ("range too late", row(1) + row(2) + row("2-3") + row(3), 3, "the multiword token is '2-3'"),
    ("range backwards", row("2-1") + row(1) + row(2), 1, "the multiword token is '2-1'"),
    ("range twice", row("1-2") + row(1) + row("2-3") + row(2) + row(3), 3, "a range from 2 to at most 3"),
    ("range after the end", row(1) + row("2-3"), 2, "the multiword token is '2-3'"),
    ("empty node of another word", row(1) + row("2.1") + row(2), 2, "the empty node is '2.1' where 1.1 was"),
    ("empty nodes out of order", row(1) + row("1.2") + row("1.1"), 2, "the empty node is '1.2' where 1.1"),
    ("byte order mark inside", SHORT + "\ufeff" + SHORT, 4, r"ID is '\ufeff1' where 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
@pytest.mark.parametrize("before", ["", CATS, "\n\n" + MANY, CATS.replace("\n", "\r\n")], ids=len)
def test_fault_is_blamed_on_its_line(text: str, line: int, message: str, before: str) -> None:
    sentences = read(io.BytesIO((before + text).encode()), name="bad.conllu")
    good = []
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        good.extend(sentences)
    line += before.count("\n")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"bad.conllu, line {line}: ")
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 250
    # What stands before the fault is not lost with it.
    assert "".join(s.to_text() for s in good).count("\n") <= line
    assert len(good) >= before.count("# sent_id")


@pytest.mark.parametrize("before", ["", CATS, MANY])
def test_bad_encoding_is_blamed_on_its_line(before: str) -> None:
    good = []
    data = (before + SHORT).encode() + row(1, form="caf?").encode().replace(b"?", b"\xe9") + SHORT.encode()
    with pytest.raises(FormatError, match="byte 0xe9 is not UTF-8") as caught:
        good.extend(read(io.BytesIO(data)))
    assert caught.value.line == before.count("\n") + 4
    with pytest.raises(FormatError, match="byte 0xff is not UTF-8") as caught:
        parse(SHORT.encode("utf-16"))
    assert caught.value.line == 1
    with pytest.raises(FormatError, match="byte 0xe8 is not UTF-8") as caught:
        parse((before + "# 語").encode()[:-1])
    assert caught.value.line == before.count("\n") + 1


def test_trees_must_be_trees() -> None:
    assert len(parse(CATS + SHORT + row(1, 0) + row(2, 0), trees=True)) == 3
    for text, line, message in [
        (row(1, 0) + row(2), 2, r"HEAD is '_' where a number from 0 to 2 was expected\."),
        (row(1, 2) + row(2, 1) + row(3, 0), 1, "the heads form a cycle through words 1, 2"),
        ("# c\n" + row(1, 0) + row("2-3") + row(2, 3) + row(3, 4) + row(4, 2), 4, "through words 2, 3, 4"),
        (row(1, 2) + row(2, 3) + row(3, 2), 2, "cycle through words 2, 3"),
        ("".join(row(i, i % 50 + 1) for i in range(1, 51)), 1, r"words 1, 2, 3, 4, .* 10, \.\.\.\.$"),
    ]:  # fmt: skip
        assert len(parse(SHORT + text)) == 2
        with pytest.raises(FormatError, match=message) as caught:
            parse(SHORT + text, trees=True)
        assert caught.value.line == line + 3


def test_parts_of_trees_may_lack_heads_but_have_no_cycle() -> None:
    partial = row(1, 2) + row(2) + row(3, 1) + "\n"
    for text in (partial, SHORT, row(1) + row(2)):
        assert [s.heads for s in parse(text, trees="partial")] == [s.heads for s in parse(text)]
    for text, line, message in [
        (row(1, 0) + row(2, 5), 2, r"HEAD is '5' where a number from 0 to 2 or _ was expected\."),
        (row(1) + row(2, 3) + row(3, 2), 2, "cycle through words 2, 3"),
    ]:
        with pytest.raises(FormatError, match=message) as caught:
            parse(text, trees="partial")
        assert caught.value.line == line


def acceptable(text: str) -> bool:
    """Whether these lines are one good sentence, rule by rule and with no speed in mind."""
    lines = [line.split("\t") for line in text.split("\n")[:-1] if not line.startswith("#")]
    if any(len(line) != 10 or "" in line for line in lines):
        return False
    ids = [line[0] for line in lines]
    n = len([i for i in ids if re.fullmatch(r"[^-.]*", i)])
    expected_words = [str(i) for i in range(1, n + 1)]
    if [i for i in ids if re.fullmatch(r"[^-.]*", i)] != expected_words:
        return False
    taken: set[int] = set()
    for place, i in enumerate(ids):
        before = [j for j in ids[:place] if j in expected_words]
        if "-" in i or "." in i:
            if match := re.fullmatch(r"(\d+)-(\d+)", i, re.ASCII):
                span = set(range(int(match[1]), int(match[2]) + 1))
                if not span or span & taken or max(span) > n or min(span) != len(before) + 1:
                    return False
                taken |= span
            elif match := re.fullmatch(r"(\d+)\.(\d+)", i, re.ASCII):
                same = [j for j in ids[:place] if j.startswith(f"{len(before)}.")]
                if i != f"{len(before)}.{len(same) + 1}":
                    return False
            else:
                return False
    for line in lines:
        allowed = {"_", "0", *expected_words} - {line[0]}
        if line[0] in expected_words and line[HEAD] not in allowed:
            return False
    return True


LINES = st.one_of(
    st.builds(row, st.integers(0, 4), st.sampled_from(["_", 0, 1, 2, 3, "x"])),
    st.builds(row, st.sampled_from(["1-2", "2-3", "1-1", "0.1", "1.1", "1.2", "2.1", "3-2", "-", "."])),
    st.sampled_from(["# c\n", "#\t\t\n", "1\tx\n", row(1)[:-2] + "\n", row(1, form="")]),
)


@examples(600)
@given(st.lists(LINES, min_size=1, max_size=3) | st.permutations([row("1-2"), row(1), row(2), row("2.1")]))
def test_the_fast_check_accepts_what_the_slow_one_accepts(lines: list[str]) -> None:
    text = "".join(lines)
    try:
        parse(text)
        accepted = True
    except FormatError:
        accepted = False
    assert accepted == acceptable(text)


# Size


class Endless(io.RawIOBase):
    """A stream made as it is read, larger than what the reader may hold."""

    def __init__(self, piece: bytes, times: int) -> None:
        self.piece, self.times, self.rest = piece, times, b""

    def read(self, size: int = -1) -> bytes:
        if not self.rest and self.times:
            self.times -= 1
            self.rest = self.piece
        part, self.rest = self.rest[:size], self.rest[size:]
        return part


def peak_bytes(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file() -> None:
    def peak(pieces: int) -> int:
        stream: Any = Endless((CATS * 50).encode(), pieces)  # 14 KB each
        return peak_bytes(lambda: counts.append(sum(1 for _ in read(stream))))

    counts: list[int] = []
    assert peak(120) < 1.1 * peak(30) < 3_000_000
    assert counts == [6000, 1500]


def test_endless_line_and_endless_sentence_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conll, "_LONGEST_SENTENCE", 1 << 20)
    for piece, message in [
        (b"x" * 50_000, "line 1: the line is longer than 1,048,576 bytes"),
        (b"# a comment\n" * 5000, "line 1: no other sentence begins within 1,048,576 characters"),
        (row(1).encode() * 5000, "line 2: ID is '1' after word 1: a blank line seems to be missing"),
        (b"\n" * 50_000, "line 1: "),
        (b" \r\n" * 20_000, "line 1: "),
    ]:
        stream: Any = Endless(piece, 1000)
        with pytest.raises(FormatError, match=message):
            list(read(stream))
        assert stream.times > 900


def test_long_sentence_is_no_problem() -> None:
    n = 5000
    text = "".join(row(i, i - 1) for i in range(1, n + 1))
    (sentence,) = parse(text, trees=True)
    assert sentence.heads == list(range(n))


# Making and changing


def test_tree_is_set_on_a_copy() -> None:
    (sentence,) = parse(CATS)
    changed = sentence.with_tree([0, 1, 1, 1, 1], list("abcde"))
    assert (changed.heads, changed.deprels) == ([0, 1, 1, 1, 1], list("abcde"))
    assert sentence.to_text() == CATS
    assert changed.with_tree(sentence.heads, sentence.deprels).to_text() == CATS
    with pytest.raises(ValueError, match="zip"):
        sentence.with_tree([0], ["root"])


def test_tree_can_be_set_in_the_other_columns_also() -> None:
    (new,), (old,) = parse(SHORT), parse(OLD)
    assert [r[DEPS] for r in new.with_tree([2, 0], ["x", "root"], fill_deps=True).rows] == ["2:x", "0:root"]
    assert [r[MISC] for r in new.with_tree([2, 0], ["x", "root"], fill_deps=True).rows] == ["_", "_"]
    assert [r[DEPS:] for r in old.with_tree([2, 0], ["x", "ROOT"], fill_deps=True).rows] == [
        ["2", "x"],
        ["0", "ROOT"],
    ]
    assert [r[DEPS:] for r in old.with_tree([2, 0], ["x", "ROOT"]).rows] == [["0", "ROOT"], ["_", "_"]]


def test_sentence_is_made_from_words() -> None:
    sentence = Sentence.from_words(
        ["Hush", "!"], upos=["INTJ", "PUNCT"], heads=[0, 1], deprels=["root", "punct"]
    )
    assert sentence.to_text() == SHORT
    assert parse(written([sentence, sentence])) == [sentence, sentence]
    assert Sentence.from_words(["a", "b"], heads=[-1, 1]).heads == [-1, 1]
    full = Sentence.from_words(["a"], lemmas=["b"], xpos=["c"], feats=["d"], format="conllx")
    assert (full.lemmas, full.xpos, full.feats, full.format) == (["b"], ["c"], ["d"], "conllx")
    assert len(Sentence.from_words([])) == 0


@pytest.mark.parametrize("form", ["", "a\tb", "a\nb"])
def test_words_that_no_file_can_hold_are_refused(form: str) -> None:
    with pytest.raises(FormatError, match="word 2 has a column that is empty or holds a tab or a line end"):
        Sentence.from_words(["a", form])


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^A column has 1 values for 2 words\.$"):
        Sentence.from_words(["a", "b"], upos=["X"])


def test_half_characters_cannot_be_written() -> None:
    with pytest.raises(FormatError, match="is half a character"):
        written([Sentence.from_words(["\ud800"])])


def test_what_is_no_file_is_not_read() -> None:
    with pytest.raises(TypeError, match=r'^A file is a path, "-" or a binary stream, not int\.$'):
        list(read(5))  # type: ignore[arg-type]
