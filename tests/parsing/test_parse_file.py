"""Files in, files out: every input and output, pipes as they arrive, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

import pytest

from biatt import parser as parser_module
from biatt.data.conll import read, write
from biatt.data.sentence import Sentence
from biatt.errors import BiattError, ConfigError, FormatError
from biatt.parser import Parser
from biatt.parsing import parsed_sources
from biatt.parsing.parse_file import parse_files, targets_in
from builders import TREEBANK, random_parser, random_pipeline

SOURCE = Path(parser_module.__file__).parents[1]
LONGEST_WAIT = 120  # seconds until a tree that does not come is a failure


@pytest.fixture(scope="module")
def parser() -> Parser:
    """A parser of raw text; its sentences, tags and trees are random."""
    return random_pipeline()


def conllu(sentences: list[Sentence]) -> bytes:
    target = io.BytesIO()
    write(sentences, target)
    return target.getvalue()


def parse_file(parser: Parser, source: Any, target: str | Path, **options: Any) -> None:
    """Parse one source, or a list of them, into one target."""
    parse_files(parser, [(source if isinstance(source, list) else [source], target)], **options)


def parsed(parser: Parser, data: bytes, tmp_path: Path, **options: Any) -> bytes:
    """What is written for these bytes of a file."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(data)
    parse_file(parser, source, target, **options)
    return target.read_bytes()


TREES = conllu(TREEBANK[:5])
TOKENS = b"The dog sees cats .\nyes\n\nCats sleep\n"
TEXT = b"The dog sees cats.\n\nCats\nsleep. And dogs?\n"


# Several files


def test_several_sources_are_written_one_after_the_other(parser: Parser, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.conllu", "b.txt", "c.txt")]
    for path, data in zip(files, (TREES, TEXT, TEXT), strict=True):
        path.write_bytes(data)
        parse_file(parser, path, path.with_suffix(".parsed"), format="conllu")
    parse_file(parser, [*files], tmp_path / "all.conllu")
    trees, text, again = (list(read(path.with_suffix(".parsed"))) for path in files)
    for number, sentence in enumerate(text + again, len(trees) + 1):
        sentence.verbatim[0] = (0, f"# sent_id = {number}")  # so that no two are the same
    assert (tmp_path / "all.conllu").read_bytes() == conllu(trees + text + again)
    parse_file(parser, [*files], tmp_path / "all.json")
    assert len(json.loads((tmp_path / "all.json").read_text())) == len(trees + text + again)


def test_a_missing_file_or_a_folder_is_refused_before_the_first_is_parsed(
    parser: Parser, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "a.conllu").write_bytes(TREES)
    with pytest.raises(BiattError, match=r"gone\.conllu: cannot be read: no such file"):
        parse_file(parser, [tmp_path / "a.conllu", tmp_path / "gone.conllu"], "-")
    with pytest.raises(
        ConfigError, match="is a folder: name its files, or parse all of them with biatt corpus"
    ):
        parse_file(parser, [tmp_path / "a.conllu", tmp_path], "-")
    assert capfdbinary.readouterr().out == b""


@pytest.mark.parametrize(
    ("source", "format", "name"),
    [
        ("x/a.txt", None, "a.conllu"),
        ("a.conllu.gz", None, "a.conllu"),
        ("a.conll", None, "a.conllx"),
        ("a", "json", "a.jsonl"),
        ("a.b.txt", "tree", "a.b.txt"),
        ("a.txt", "attention", "a.svg"),
        ("a.txt", "png", "a.png"),
    ],
)
def test_name_of_a_file_in_a_folder(source: str, format: Any, name: str, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert targets_in(folder, [source], format=format) == [folder / name]
    assert folder.is_dir()


def test_names_in_a_folder_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a\.txt and b/a\.conllu would both be written to .*a\.conllu"):
        targets_in(tmp_path, ["a.txt", "b/a.conllu"])
    with pytest.raises(ConfigError, match="Standard input has no name"):
        targets_in(tmp_path, ["-"])
    (tmp_path / "file").touch()
    with pytest.raises(BiattError, match="file cannot be a folder for output"):
        targets_in(tmp_path / "file", ["a.txt"])


def test_progress_counts_all_words_and_bytes(parser: Parser, tmp_path: Path) -> None:
    class Recorder:
        def __init__(self) -> None:
            self.files: list[tuple[str, int | None]] = []
            self.read: list[tuple[int, int]] = []

        def begin_all(self, files: int, size: int | None) -> None:
            self.all = files, size

        def start(self, name: str, size: int | None) -> None:
            self.files.append((name, size))

        def advance(self, words: int, bytes_read: int) -> None:
            self.read.append((words, bytes_read))

    for name, data in (("a.conllu", TREES), ("a.gz", gzip.compress(TREES)), ("a.txt", TEXT)):
        source, recorder = tmp_path / name, Recorder()
        source.write_bytes(data)
        parse_file(parser, source, tmp_path / "target", progress=recorder)
        assert recorder.files == [(str(source), len(data))]
        assert [words for words, _ in recorder.read] == [len(s) for s in read(tmp_path / "target")]
        assert recorder.read[-1][1] == len(data)
    recorder = Recorder()
    parse_file(parser, io.BytesIO(TREES), tmp_path / "target", progress=recorder, name="memory")
    assert recorder.files == [("memory", None)]
    assert recorder.all == (1, None)
    recorder = Recorder()
    parse_file(parser, [tmp_path / "a.gz", tmp_path / "a.txt"], tmp_path / "target", progress=recorder)
    assert recorder.all == (2, len(gzip.compress(TREES)) + len(TEXT))


def written(parser: Parser, files: list[Path], folder: Path, **options: Any) -> dict[str, bytes]:
    tasks = [([file], folder / file.name) for file in files]
    folder.mkdir()
    parse_files(parser, tasks, **options)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def many_files(folder: Path) -> list[Path]:
    """Files of all kinds, some empty, some small enough to share a window."""
    content = [TREES, TEXT, b"", TEXT, conllu(TREEBANK), b"\n", TEXT * 30, TREES]
    files = [folder / f"{i}.conllu" for i in range(len(content))]
    for path, data in zip(files, content, strict=True):
        path.write_bytes(data)
    return files


def test_files_that_share_a_window_are_written_as_if_alone(parser: Parser, tmp_path: Path) -> None:
    files = many_files(tmp_path)
    expected = {}
    for file in files:
        expected |= written(parser, [file], tmp_path / f"alone{file.stem}")
    assert written(parser, files, tmp_path / "together") == expected
    assert expected["2.conllu"] == b""


def test_files_before_a_bad_one_are_whole_and_those_after_it_are_not_begun(
    parser: Parser, tmp_path: Path
) -> None:
    files = many_files(tmp_path)
    cycle = PARTLY.replace(b"{}", b"1").replace(b"\t2\tmystery", b"\t3\tmystery")
    for fault, data in (("2 columns", b"1\tword\n"), ("form a cycle", cycle)):
        files[3].write_bytes(TREES + data)
        folder = tmp_path / fault
        with pytest.raises(FormatError, match=fault):
            written(parser, files, folder, keep_heads=True)
        assert sorted(path.name for path in folder.iterdir()) == ["0.conllu", "1.conllu", "2.conllu"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"confidence": True, "offsets": True}, {"k_best": 2}], ids=str)
def test_two_workers_write_the_same_bytes(
    parser: Parser, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsed_sources, "WINDOW_CHARACTERS", 500)  # so that there are many windows
    files = many_files(tmp_path)
    alone = written(parser, files, tmp_path / "alone", **options)
    assert written(parser, files, tmp_path / "shared", workers=2, **options) == alone


# Inputs


def test_what_a_file_holds_is_told_by_its_content(parser: Parser, tmp_path: Path) -> None:
    assert parsed(parser, TREES, tmp_path) == conllu(list(parser.parse(TREEBANK[:5])))
    text = parsed(parser, TEXT, tmp_path)
    assert text == parsed(parser, TEXT, tmp_path, input="text")
    expected = parser.parse(parser.sentences(["The dog sees cats.\n\n", "Cats\nsleep. And dogs?\n"]))
    assert text == conllu(list(expected))


def test_tokens_are_a_sentence_a_line(parser: Parser, tmp_path: Path) -> None:
    words = [line.split() for line in TOKENS.decode().splitlines() if line]
    expected = conllu(parser.parse_tokens(words))
    assert parsed(parser, TOKENS, tmp_path, input="tokens") == expected


@pytest.mark.parametrize("size", [70_000, 300_000])
def test_conllu_may_begin_with_many_comments(parser: Parser, tmp_path: Path, size: int) -> None:
    comments = b"# about this file\n" * (size // 18)
    result = parsed(parser, comments + TREES, tmp_path)
    assert result == comments + parsed(parser, TREES, tmp_path)


def test_text_may_begin_with_a_heading(parser: Parser, tmp_path: Path) -> None:
    result = parsed(parser, b"# A heading\n\nThe dog sleeps.\n", tmp_path)
    assert b"\t#" in result


@pytest.mark.slow
def test_endless_comments_are_refused(parser: Parser, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no other sentence begins within"):
        parsed(parser, b"# comment\n" * 450_000, tmp_path)


def test_source_can_be_a_stream_with_a_name(parser: Parser, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"^--text, line 1: the line has 2 columns"):
        parse_file(parser, io.BytesIO(b"1\tword\n"), tmp_path / "new", name="--text")
    assert not (tmp_path / "new").exists()


# Several trees


def test_k_best_trees_have_ranks_and_names_of_their_own(parser: Parser, tmp_path: Path) -> None:
    expected = [parser.k_best(sentence, 3) for sentence in TREEBANK[:5]]
    assert max(map(len, expected)) == 3
    parsed(parser, TREES, tmp_path, k_best=3)
    sentences = list(read(tmp_path / "target"))
    assert [s.heads for s in sentences] == [tree.heads for trees in expected for tree in trees]
    ranks = [rank for trees in expected for rank in range(1, len(trees) + 1)]
    assert [f"# k_best = {rank}" in s.comments for s, rank in zip(sentences, ranks, strict=True)]
    names = [s.sent_id for s in sentences]
    assert len(set(names)) == len(names)
    best = [name for name, rank in zip(names, ranks, strict=True) if rank == 1]
    assert best == [s.sent_id for s in TREEBANK[:5]]


def test_k_best_trees_can_be_tagged_anew_and_written_to_deps(parser: Parser, tmp_path: Path) -> None:
    parsed(parser, TREES, tmp_path, k_best=2, retag=True, fill_deps=True)
    sentences = list(read(tmp_path / "target"))
    assert all(token.deps == f"{token.head}:{token.deprel}" for s in sentences for token in s)
    assert [s.xpos for s in sentences[::2]] == [s.xpos for s in parser.parse(TREEBANK[:5], retag=True)]


# Heads that are kept


BLANK = b"_\t_\t_\t_"
PARTLY = b"1\tso\t%s\t2\tmystery\t_\t_\n2\twhat\t%s\t%s\n3\tnow\t%s\t{}\t_\t_\t_\n\n" % (4 * (BLANK,))


def test_heads_and_relations_of_a_file_are_kept(parser: Parser, tmp_path: Path) -> None:
    assert parsed(parser, TREES, tmp_path, keep_heads=True) == TREES
    parsed(parser, PARTLY.replace(b"{}", b"_"), tmp_path, keep_heads=True)
    (sentence,) = read(tmp_path / "target", trees=True)
    assert (sentence.heads[0], sentence.deprels[0]) == (2, "mystery")
    assert "_" not in sentence.deprels
    parsed(parser, PARTLY.replace(b"{}", b"_"), tmp_path, keep_heads=True, k_best=2)
    assert [s.heads[0] for s in read(tmp_path / "target", trees=True)] == [2, 2]


def test_heads_of_a_file_that_no_tree_has_are_one_sentence(parser: Parser, tmp_path: Path) -> None:
    cycle = PARTLY.replace(b"{}", b"1").replace(b"\t2\tmystery", b"\t3\tmystery")
    fault = r"source, line 1: the fixed heads form a cycle through words 1, 3\.$"
    with pytest.raises(FormatError, match=fault):
        parsed(parser, cycle, tmp_path, keep_heads=True)


# Probabilities


def test_probabilities_are_written_to_misc_and_the_tree_stays_the_same(
    parser: Parser, tmp_path: Path
) -> None:
    parsed(parser, TREES, tmp_path, probabilities=True)
    uncertain = list(read(tmp_path / "target"))
    assert [(s.heads, s.deprels) for s in uncertain] == [
        (s.heads, s.deprels) for s in parser.parse(TREEBANK[:5])
    ]
    assert any("HeadProbs" in token.misc for s in uncertain for token in s)
    assert any("DeprelProbs" in token.misc for s in uncertain for token in s)


# Doubtful words


def test_words_below_a_confidence_are_marked_or_left_out(parser: Parser, tmp_path: Path) -> None:
    expected = list(parser.parse(TREEBANK[:5], confidence=True))
    doubtful = [[word.confidence < 0.3 for word in sentence] for sentence in expected]
    assert {value for of_sentence in doubtful for value in of_sentence} == {False, True}
    parsed(parser, TREES, tmp_path, min_confidence=0.3)
    marked = list(read(tmp_path / "target"))
    assert [["Doubtful" in word.misc for word in s] for s in marked] == doubtful
    assert [s.heads for s in marked] == [s.heads for s in expected]
    assert not any("ArcProb" in word.misc for s in marked for word in s)
    parsed(parser, TREES, tmp_path, min_confidence=0.3, doubtful="leave-out")
    rest = list(read(tmp_path / "target"))
    assert [[word.head is None for word in s] for s in rest] == doubtful
    parsed(parser, (tmp_path / "target").read_bytes(), tmp_path, keep_heads=True)
    assert [s.heads for s in read(tmp_path / "target")] == [s.heads for s in expected]


def test_k_best_trees_of_nameless_sentences_have_different_names(parser: Parser, tmp_path: Path) -> None:
    words = b"1\tso%s\n2\twhat%s\n\n" % (2 * (8 * b"\t_",))
    parsed(parser, 2 * words, tmp_path, k_best=2)
    assert [s.sent_id for s in read(tmp_path / "target")] == ["1", "1-k2", "2", "2-k2"]


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_best": 0}, "at least 1, not 0"),
        ({"k_best": 2, "decoder": "argmax"}, "by the decoder mst only, not by argmax"),
        ({"k_best": 2, "probabilities": True}, "for the best tree, not for several"),
        ({"format": "conllx", "probabilities": True}, "MISC column of CoNLL-U"),
        ({"k_best": 2, "min_confidence": 0.5}, "for the best tree, not for several"),
        ({"min_confidence": 1.5}, "from 0 to 1, not 1.5"),
        ({"min_confidence": float("nan")}, "from 0 to 1, not nan"),
        ({"format": "conllx", "min_confidence": 0.5}, "MISC column of CoNLL-U"),
        ({"doubtful": "leave-out"}, "Without a least confidence, no word is doubtful"),
        ({"workers": -1}, "at least 1, or 0 for all cores, not -1"),
        ({"workers": 2, "format": "attention"}, "Attention is drawn by one worker"),
    ],
)
def test_options_without_sense_are_refused(
    parser: Parser, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        parsed(parser, TREES, tmp_path, **options)


def test_input_is_not_replaced_by_its_own_trees(parser: Parser, tmp_path: Path) -> None:
    path, link = tmp_path / "notes.txt", tmp_path / "link.txt"
    path.write_bytes(TEXT)
    link.symlink_to(path)
    for target in (path, str(path), link):
        with pytest.raises(ConfigError, match="is both the input and the output"):
            parse_file(parser, path, target)
    assert path.read_bytes() == TEXT


def test_size_of_the_input_can_be_limited(parser: Parser, tmp_path: Path) -> None:
    for data in (TREES, gzip.compress(TREES)):
        assert parsed(parser, data, tmp_path, max_size=len(TREES))
        with pytest.raises(FormatError, match=f"larger than the limit of {len(TREES) - 1:,} bytes"):
            parsed(parser, data, tmp_path, max_size=len(TREES) - 1)


# Pipes

posix = pytest.mark.skipif(os.name != "posix", reason="named pipes")


def received(stream: BinaryIO, size: int) -> bytes:
    """This many bytes of a pipe that its writer keeps open."""
    data = b""
    while len(data) < size:
        assert select.select([stream], [], [], LONGEST_WAIT)[0], f"only this has arrived: {data!r}"
        more = os.read(stream.fileno(), size - len(data))
        assert more, f"the pipe was closed after {data!r}"
        data += more
    return data


@contextmanager
def through_pipes(parser: Parser, tmp_path: Path, **options: Any) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """A pipe into parse_files and one out of it, which runs meanwhile."""
    named, target = tmp_path / "in", tmp_path / "out"
    os.mkfifo(named)
    os.mkfifo(target)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            parse_file(parser, named, target, **options)
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    out_of = os.open(target, os.O_RDONLY | os.O_NONBLOCK)  # does not wait for the writer
    with open(named, "wb", buffering=0) as into, open(out_of, "rb", buffering=0) as out:
        yield into, out  # type: ignore[misc]
        into.close()
        thread.join(LONGEST_WAIT)
    assert not thread.is_alive()
    assert errors == []


INPUTS: dict[str, tuple[list[bytes], dict[str, Any]]] = {
    "conllu": ([sentence.to_text().encode() for sentence in TREEBANK[:3]], {}),
    "conllx": (
        [Sentence.from_words([f"w{i}", "b"], format="conllx").to_text().encode() for i in range(3)],
        {"input": "conllx"},
    ),
    "tokens": ([b"The dog sees cats .\n", b"yes\n", b"Cats sleep\n"], {"input": "tokens"}),
    "text": ([b"dog\n\n", b"cat\n\n", b"sees\n\n"], {}),
    "text that must be text": ([b"dog\n\n", b"cat\n\n", b"sees\n\n"], {"input": "text"}),
}


@posix
@pytest.mark.parametrize("kind", INPUTS)
def test_sentence_from_a_pipe_comes_out_before_the_next_is_sent(
    parser: Parser, tmp_path: Path, kind: str
) -> None:
    sentences, options = INPUTS[kind]
    out = b""
    with through_pipes(parser, tmp_path, **options) as (into, out_of):
        for count, sentence in enumerate(sentences, 1):
            expected = parsed(parser, b"".join(sentences[:count]), tmp_path, **options)
            assert expected.startswith(out)
            into.write(sentence)
            out += received(out_of, len(expected) - len(out))
            assert out == expected


@posix
@pytest.mark.parametrize("format", ["json", "tree"])
def test_other_formats_come_out_as_the_sentences_arrive(parser: Parser, tmp_path: Path, format: Any) -> None:
    with through_pipes(parser, tmp_path, format=format) as (into, out):
        for sentence in TREEBANK[:2]:
            expected = parsed(parser, sentence.to_text().encode(), tmp_path, format=format)
            into.write(sentence.to_text().encode())
            assert received(out, len(expected)) == expected


@posix
def test_half_a_sentence_waits_for_the_rest(parser: Parser, tmp_path: Path) -> None:
    first, second = (sentence.to_text().encode() for sentence in TREEBANK[:2])
    middle = second.index(b"\n1\t") + 5
    expected = [parsed(parser, data, tmp_path) for data in (first, second)]
    with through_pipes(parser, tmp_path) as (into, out):
        into.write(first + second[:middle])
        assert received(out, len(expected[0])) == expected[0]
        into.write(second[middle:])
        assert received(out, len(expected[1])) == expected[1]


@posix
def test_many_sentences_that_wait_in_a_pipe_are_parsed_together(
    parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    window = parser._parse_window
    monkeypatch.setattr(
        parser,
        "_parse_window",
        lambda sentences, **options: sizes.append(len(sentences)) or window(sentences, **options),
    )
    data = conllu(TREEBANK[:20])
    assert len(data) < select.PIPE_BUF * 16  # they fit into the pipe
    with through_pipes(parser, tmp_path) as (into, out):
        into.write(data)
        received(out, len(parsed(random_parser(), data, tmp_path)))
    assert sum(sizes) == 20
    assert len(sizes) <= 3


@pytest.mark.slow
@posix
def test_standard_input_and_output_are_pipes_too(tmp_path: Path) -> None:
    random_parser().save(tmp_path / "model")
    program = "import sys; from biatt.cli import main; main()"
    command = [sys.executable, "-c", program, "parse", "--model", str(tmp_path / "model")]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        for sentence in TREEBANK[:2]:
            expected = conllu(list(random_parser().parse([sentence])))
            process.stdin.write(sentence.to_text().encode())
            assert received(process.stdout, len(expected)) == expected  # type: ignore[arg-type]
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(LONGEST_WAIT) == 0
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def test_closed_standard_streams_are_one_clear_error(
    parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(BiattError, match="<stdin>: cannot be read: standard input is closed"):
        parse_file(parser, "-", tmp_path / "new")
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(BiattError, match="<stdout>: cannot be written: standard output is closed"):
        parse_file(parser, io.BytesIO(TREES), "-")


@pytest.mark.parametrize("name", ["retag", "keep_heads"])
@pytest.mark.parametrize("kind", ["text", "tokens"])
def test_options_for_conll_are_refused_for_text(parser: Parser, tmp_path: Path, name: str, kind: str) -> None:
    said = rf"The input is {kind}, which has no .*: --{name.replace('_', '-')} is for CoNLL\."
    with pytest.raises(ConfigError, match=said):
        parsed(parser, TOKENS, tmp_path, input=kind, **{name: True})
