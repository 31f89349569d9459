"""scripts/annotate, which parses much text into many files."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
from itertools import accumulate
from pathlib import Path

import pytest

import biatt
from biatt.data.conll import read
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from builders import random_parser, random_tokeniser
from ways import on_the

SCRIPT = Path(__file__).parents[1] / "scripts" / "annotate"
# Without compiled kernels, which take longer to load than these few sentences to parse.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(biatt.__file__).parents[1]), "BIATT_KERNELS": "plain"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SCRIPT.is_file(), reason="the scripts are not part of the package"),
    pytest.mark.skipif(os.name != "posix", reason="its processes are forked"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and a text of twelve sentences, one a line."""
    folder = tmp_path_factory.mktemp("annotate")
    parser = random_parser()
    parser.tokeniser = random_tokeniser()
    parser.save(folder / "model")
    lines = [" ".join(sentence.forms) for sentence in generate(12)]
    (folder / "text.xz").write_bytes(lzma.compress("\n".join(lines).encode()))
    return folder


def annotate(data: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    arguments = [data / "text.xz", out, "--model", data / "model", "--words", "40", *options]
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)


def test_files_have_all_sentences_in_order_with_probabilities(data: Path, tmp_path: Path) -> None:
    done = annotate(data, tmp_path / "out", "--input", "tokens", "--processes", "2")
    assert (done.returncode, done.stderr) == (0, "")
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == [f"{i:05}.conllu.gz" for i in range(1, len(files) + 1)]
    assert len(files) > 2
    assert len(done.stdout.splitlines()) == len(files)
    found = [sentence for file in files for sentence in read(file)]
    bare = [Sentence.from_words(sentence.forms) for sentence in generate(12)]
    with on_the("plain"):
        assert found == list(random_parser().parse(bare, probabilities=True))
    sizes = [sum(map(len, read(file))) for file in files]
    assert all(size >= 40 for size in sizes[:-1])


def test_files_that_exist_are_left_as_they_are(data: Path, tmp_path: Path) -> None:
    annotate(data, tmp_path, "--input", "tokens")
    first, second, *rest = sorted(tmp_path.iterdir())
    content = second.read_bytes()
    first.write_bytes(b"kept")
    second.unlink()
    done = annotate(data, tmp_path, "--input", "tokens")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [str(second)]
    assert first.read_bytes() == b"kept"
    assert second.read_bytes() == content
    assert sorted(tmp_path.iterdir()) == [first, second, *rest]


def ends(texts: list[str]) -> set[int]:
    """Where the texts end, in characters without spaces."""
    return set(accumulate(len("".join(text.split())) for text in texts))


def test_lines_of_raw_text_are_paragraphs(data: Path, tmp_path: Path) -> None:
    done = annotate(data, tmp_path, "--input", "text")
    assert (done.returncode, done.stderr) == (0, "")
    found = [sentence for file in sorted(tmp_path.iterdir()) for sentence in read(file)]
    lines = ["".join(sentence.forms) for sentence in generate(12)]
    assert ends(lines) <= ends(["".join(token.form for token in sentence.tokens) for sentence in found])


def test_some_of_the_files(data: Path, tmp_path: Path) -> None:
    done = annotate(data, tmp_path, "--input", "tokens", "--first", "2", "--last", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert [file.name for file in tmp_path.iterdir()] == ["00002.conllu.gz"]


def test_what_is_wrong_is_one_sentence(data: Path, tmp_path: Path) -> None:
    done = annotate(data, tmp_path / "out", "--input", "tokens", "--model", str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "There is no model folder" in done.stderr
