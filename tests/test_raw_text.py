"""Raw text on the command line: any input gives trees or one sentence, from wherever it comes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import biatt
from biatt.cli import app
from biatt.errors import ModelError
from biatt.parser import Parser
from builders import random_parser, random_pipeline

TEXT = "The baker saw a bird. Clara laughs."


@pytest.fixture(scope="module")
def nlp() -> Parser:
    """A pipeline; its sentences, tags and trees are random."""
    return random_pipeline()


@pytest.fixture(scope="module")
def folder(nlp: Parser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "pipeline"
    nlp.save(folder)
    return folder


def parse(folder: Path, *options: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(app, ["parse", "--model", str(folder), *options], input=stdin)


def parsed(folder: Path, *options: str, stdin: bytes = b"") -> bytes:
    result = parse(folder, *options, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def test_text_comes_from_an_option_a_file_or_standard_input(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(TEXT)
    output = parsed(folder, "--text", TEXT)
    assert output.startswith(b"# sent_id = 1\n# text = ")
    assert parsed(folder, str(tmp_path / "notes.txt")) == output
    assert parsed(folder, stdin=TEXT.encode()) == output
    assert parsed(folder, "-", "--keep-heads", stdin=output) == output  # nothing to add


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "\ufeff\r\n  The\tbaker\u00a0saw\r\na bird.\r\n\r\n\r\nCafe\u0301 \U0001f468\u200d\U0001f469!\n \n",
        "\n\n|a \\ b| c\u2028d  ",
    ],
)
def test_raw_gives_the_text_back_byte_for_byte(folder: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode())
    output = parsed(folder, "--input", "text", "--offsets", str(tmp_path / "a.txt"))
    raw = CliRunner().invoke(app, ["raw"], input=output)
    assert raw.stdout_bytes == text.encode()
    tokens = [token for sentence in biatt.read(io.BytesIO(output)) for token in sentence.tokens]
    for token in tokens:
        start, end = map(int, token.misc["TokenRange"].split(":"))
        assert text[start:end] == token.text
    assert len(tokens) > 3
    # Of a CoNLL file, places are those in the text that raw gives of it.
    without = parsed(folder, "--input", "text", str(tmp_path / "a.txt"))
    assert parsed(folder, "--offsets", "--keep-heads", stdin=without) == output


def test_tokens_are_taken_as_they_are(folder: Path) -> None:
    output = parsed(folder, "--input", "tokens", stdin=b"No tags needed don't\na.b.c\n")
    sentences = list(biatt.read(io.BytesIO(output), trees=True))
    assert [sentence.forms for sentence in sentences] == [["No", "tags", "needed", "don't"], ["a.b.c"]]
    assert all(token.upos != "_" for sentence in sentences for token in sentence)


@pytest.mark.slow
def test_output_by_format_and_by_suffix(folder: Path, tmp_path: Path) -> None:
    def output(*options: str) -> bytes:
        return parsed(folder, "--text", TEXT, *options)

    lines = output("--format", "json").splitlines()
    assert all("confidence" in json.loads(line)["words"][0] for line in lines)
    assert "─" in output("--format", "tree").decode()
    assert b"#" not in output("--format", "conllx")
    starts = {"svg": b"<svg ", "png": b"\x89PNG", "jsonl": b"{", "conllu": b"# sent"}
    for suffix, start in starts.items():
        output("--output", str(tmp_path / f"a.{suffix}"))
        assert (tmp_path / f"a.{suffix}").read_bytes().startswith(start)
    output("--output", str(tmp_path / "b.png"), "--format", "attention")
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    assert b"HeadProb=" in output("--confidence")
    assert b"# k_best = 2" in output("--k-best", "2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "", id="nothing"),
        pytest.param(b" \n\n\t\n", "", id="blank"),
        pytest.param(b"good\n\xff\xfe bad", "<stdin>, line 2: bad UTF-8", id="not UTF-8"),
        pytest.param("👍🏽 😀😀 family: 👨‍👩‍👧".encode(), "", id="emoji"),
        pytest.param("שלום עולם. مرحبا بالعالم!".encode(), "", id="right to left"),
        pytest.param(b"\x01\x02 bell\x07 esc\x1b[31m \x7f", "", id="control"),
        pytest.param(b"nul \x00\x00 bytes\x00.", "", id="NUL"),
        pytest.param(b"word " * 3000, "", id="endless"),
        pytest.param(b"a" * 5_000, "", id="one word"),
        pytest.param(b"\xef\xbb\xbfmark", "", id="BOM"),
    ],
)
def test_any_input_gives_trees_or_one_sentence(folder: Path, data: bytes, message: str) -> None:
    for format in ("conllu", "tree"):
        result = parse(folder, "--input", "text", "--format", format, stdin=data)
        assert message in result.stderr
        assert result.exit_code == (2 if message else 0), result.output
        if not message and format == "conllu":
            sentences = biatt.read(io.BytesIO(result.stdout_bytes), trees=True)
            kept = "".join(token.form for sentence in sentences for token in sentence.tokens)
            assert kept == "".join(data.decode("utf-8-sig").split())


def test_pipeline_is_saved_whole(nlp: Parser, folder: Path) -> None:
    assert biatt.load(folder)(TEXT) == nlp(TEXT)


def test_model_without_tokeniser_says_so() -> None:
    without = random_parser()
    with pytest.raises(ModelError, match="no tokeniser"):
        without(TEXT)
    assert len(without.parse_tokens([["Some", "text"]])[0]) == 2


def test_members_of_an_ensemble_must_have_the_same_vocabulary(nlp: Parser, folder: Path) -> None:
    other = biatt.load(folder)
    other.vocabulary.relations.append("new")
    with pytest.raises(ModelError, match="same vocabulary"):
        nlp.add(other)
