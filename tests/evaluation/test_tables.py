"""Tables on standard output: safe to show, and silent when their reader leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from biatt.cli import app
from biatt.data.conll import write
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.evaluation.results import Table
from biatt.evaluation.tables import write_tables

MAIN = [sys.executable, "-c", "from biatt.cli import main; main()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), "COLUMNS": "200"}


def test_numbers_have_two_decimals_and_missing_values_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    write_tables([Table("Scores", ("metric", "words", "%"), [("UAS", 7, 50.0), ("LAS", 7, None)])])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["Scores"]
    assert ["UAS", "7", "50.00"] in lines
    assert ["LAS", "7", "–"] in lines


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write_tables([Table("of \x1b[2J", ("relation", "where"), [("\x1b[31mdet\x9b", "\u202egold\udce9")])])
    shown = capsys.readouterr().out
    assert r"\x1b[31mdet\x9b" in shown
    assert r"\u202egold\udce9" in shown
    assert not set(shown) & set("\x1b\x9b\u202e\udce9")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Gold sentences and wrong trees for them, under names and with relations that could steer a terminal."""
    gold = [Sentence.from_words(["\x1b[5mAda", "sings"], heads=[2, 0], deprels=["\x9bnsubj", "root"])] * 3
    system = [sentence.with_tree([0, 1], ["root", "\u202edet"]) for sentence in gold]
    paths = tmp_path / "gold\x1b[31m.conllu", tmp_path / "system\u202e.conllu"
    for path, sentences in zip(paths, (gold, system), strict=True):
        write(sentences, path)
    return paths


@pytest.mark.parametrize("options", [[], ["-f", "json"]])
@pytest.mark.parametrize("verb", ["evaluate", "compare"])
def test_no_verb_passes_control_characters_on(
    files: tuple[Path, Path], verb: str, options: list[str]
) -> None:
    gold, system = map(str, files)
    words = [gold, system] if verb == "evaluate" else [gold, system, gold, "--samples", "10"]
    done = CliRunner().invoke(app, [verb, *words, *options])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "nsubj" in done.stdout
    assert not set(done.stdout) & set("\x1b\x9b\u202e")


def test_an_error_shows_the_name_of_a_file_safely(capfd: pytest.CaptureFixture[str]) -> None:
    name = "\x1b[31m\udce9\ngone.conllu"
    with pytest.raises(SystemExit) as caught:
        app(["evaluate", name, name])
    assert caught.value.code == 2
    shown = r"\x1b[31m\udce9\ngone.conllu: cannot be read: no such file or directory."
    assert capfd.readouterr() == ("", f"biatt: {shown}\n")


@pytest.mark.slow
def test_characters_that_the_output_cannot_encode_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "gold.conllu"
    write([Sentence.from_words(["東"], heads=[0], deprels=["根"])], path)
    command = [*MAIN, "evaluate", str(path), str(path)]
    done = subprocess.run(command, capture_output=True, env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u6839" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_that_cannot_be_written_is_one_sentence(files: tuple[Path, Path]) -> None:
    with open("/dev/full", "wb") as full:
        command = [*MAIN, "evaluate", *map(str, files)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert done.returncode == 2
    assert done.stderr == b"biatt: <stdout>: cannot be written: no space left on device.\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes of a POSIX shell")
@pytest.mark.parametrize("options", [[], ["-f", "json"]])
def test_reader_that_leaves_ends_the_verb_as_it_ends_parse(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "gold.conllu"
    write(generate(3, seed=1), path)
    reader, writer = os.pipe()
    os.close(reader)  # gone before the first line
    with os.fdopen(writer, "wb") as closed:
        command = [*MAIN, "evaluate", str(path), str(path), *options]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (141, b"")
