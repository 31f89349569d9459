"""From raw text to trees: a whole pipeline, trained small, interrupted, and held by a user."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import biatt
from biatt.config import with_settings
from biatt.data.raw_text import raw_text
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.errors import ConfigError, ModelError, TrainingError
from biatt.evaluation.metrics import evaluate
from biatt.model_folder import FOLDS
from biatt.parser import Parser
from biatt.presets import PipelineConfig, preset
from biatt.training.run import Silent
from biatt.training.train import train

SMALL = with_settings(
    preset("fast"), ["hidden=24", "pair_hidden=8", "epochs=4", "least_batches=300", "rate=0.01", "affixes=2"]
)
TEXT = PipelineConfig().with_settings(
    [
        *(f"tokeniser.{item}" for item in ("hidden=16", "epochs=4", "least_batches=200", "rate=0.01")),
        *(f"tagger.{item}" for item in ("hidden=24", "epochs=3", "least_batches=400", "rate=0.01")),
        "folds=2",
    ]
)


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("treebank") / "t.conllu"
    biatt.write(generate(300, seed=1), path)
    return path


@pytest.fixture(scope="module")
def folder(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("models") / "whole"
    train(treebank, out=out, config=SMALL, pipeline=TEXT)
    return out


@pytest.fixture(scope="module")
def nlp(folder: Path) -> Parser:
    return biatt.load(folder)


def test_pipeline_learns_to_read_raw_text(nlp: Parser) -> None:
    gold = [s for s in generate(80, seed=2) if s.rows[-1][1] in ".?!"]
    found = evaluate(gold, [s for part in nlp.pipe([raw_text(gold)]) for s in part])
    table = {row[0]: row[3] for row in found.tables()[0].rows}
    assert table["Words"] > 97
    assert table["Sentences"] > 80
    assert table["UPOS"] > 85
    assert table["Lemmas"] > 85
    assert table["LAS"] > 50


def test_folder_holds_everything_and_no_more(folder: Path) -> None:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    own = ["config.json", "metrics.jsonl", "model.safetensors", "vocabulary.json"]
    assert names == sorted(
        [
            "README.md",
            "fingerprint.txt",
            *own,
            *(f"{part}/{name}" for part in ("tagger", "tokeniser") for name in own),
        ]
    )
    card = (folder / "README.md").read_text()
    assert "tokeniser, accuracy on dev, labels of the training data | end " in card
    assert "tagger, accuracy on dev, labels of the training data | upos " in card


def test_parser_learns_from_tags_that_were_given_by_taggers_that_had_not_seen_them(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from biatt.training import pipeline

    seen: list[tuple[set[str], set[str]]] = []
    original = pipeline.TextModels.train_tagger

    def spied(self: Any, folder: Path, sentences: Any, labels: Any) -> Any:
        tagger = original(self, folder, sentences, labels)
        tag = tagger.tag

        def spied_tag(given: Any) -> Any:
            seen.append(({s.to_text() for s in sentences}, {s.to_text() for s in given}))
            return tag(given)

        tagger.tag = spied_tag
        return tagger

    monkeypatch.setattr(pipeline.TextModels, "train_tagger", spied)
    sentences = generate(30, seed=4)
    models = pipeline.TextModels(
        sentences, sentences[:5], TEXT, out=tmp_path / "m", seed=1, threads=1, resume=False, listener=Silent()
    )
    tagged, dev = models.tagged()
    assert [s.forms for s in tagged] == [s.forms for s in sentences]
    assert [s.heads for s in tagged] == [s.heads for s in sentences]
    folds = [(taught, told) for taught, told in seen if len(told) > 5]
    assert len(folds) == 2
    assert all(not taught & told for taught, told in folds)
    assert set.union(*(told for _, told in folds)) == {s.to_text() for s in sentences}
    assert [s.heads for s in dev] == [s.heads for s in sentences[:5]]


class StopsAt(Silent):
    """Interrupts the run at its n-th epoch, whatever is being trained."""

    def __init__(self, epoch: int) -> None:
        self.left = epoch

    def epoch(self, record: dict[str, Any]) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def contents(folder: Path) -> dict[str, bytes]:
    timed = ("metrics.jsonl", "README.md")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in timed
    }


def test_interrupted_pipeline_resumes_to_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "t.conllu"
    biatt.write(generate(40, seed=6), path)
    quick = with_settings(SMALL, ["epochs=2", "least_batches=0"])
    text = TEXT.with_settings(
        ["tokeniser.epochs=2", "tokeniser.least_batches=0", "tagger.epochs=2", "tagger.least_batches=0"]
    )
    train(path, out=tmp_path / "whole", config=quick, pipeline=text)
    for stop in (1, 3, 6, 9, 10):  # in the tokeniser, the tagger, a fold, and the parser
        out = tmp_path / f"cut{stop}"
        with pytest.raises(KeyboardInterrupt):
            train(path, out=out, config=quick, pipeline=text, listener=StopsAt(stop))
        assert (out / FOLDS).exists() == (stop > 4)
        train(path, out=out, config=quick, pipeline=text, resume=True)
        assert contents(out) == contents(tmp_path / "whole")
    train(
        path, out=out, config=quick, pipeline=text, resume=True, listener=StopsAt(1)
    )  # nothing is left to do
    assert contents(out) == contents(tmp_path / "whole")
    with pytest.raises(ConfigError, match="already holds"):
        train(path, out=out, config=quick, pipeline=text)


def test_pipeline_is_not_resumed_with_other_settings(tmp_path: Path) -> None:
    path = tmp_path / "t.conllu"
    biatt.write(generate(10, seed=6), path)
    with pytest.raises(KeyboardInterrupt):
        train(path, out=tmp_path / "m", config=SMALL, pipeline=TEXT, listener=StopsAt(1))
    for setting in ("folds=3", "tagger.hidden=9", "tokeniser.hidden=9"):
        with pytest.raises(ConfigError, match="begun with other data, settings"):
            train(path, out=tmp_path / "m", config=SMALL, pipeline=TEXT.with_settings([setting]), resume=True)


def test_text_in_sentences_with_confidence_out(nlp: Parser) -> None:
    sentences = nlp("The baker saw a bird. The old sailor laughs.")
    assert all(isinstance(sentence, Sentence) for sentence in sentences)
    for sentence in sentences:
        for token in sentence:
            assert token.head is not None
            assert token.upos != "_"
            assert 0 <= token.confidence <= 1  # type: ignore[operator]
    assert nlp("") == nlp(" \n\n ") == []


def test_tokens_are_taken_as_they_are(nlp: Parser) -> None:
    words = [["No", "tags", "needed", "don't"], ["a.b.c"]]
    assert [s.forms for s in nlp.parse_tokens(words)] == words


def test_pipe_gives_the_sentences_of_each_text_in_order(nlp: Parser) -> None:
    texts = ["The baker saw a bird. Clara laughs.", "", "Clara hides a door."] * 40
    one = list(nlp.pipe(texts))
    assert len(one) == len(texts)
    assert one[1] == []
    assert list(nlp.pipe(iter(texts), threads=2)) == one
    assert [s.forms for s in one[0]] == [s.forms for s in nlp(texts[0])]


def test_tags_that_are_there_are_respected(nlp: Parser) -> None:
    tagged = Sentence.from_words(["Go", "home"], upos=["X", "X"])
    bare = Sentence.from_words(["Go", "home"])
    first, second = nlp.parse([tagged, bare])
    assert first.upos == ["X", "X"]
    assert "_" not in (*first.lemmas, *second.lemmas, *second.upos)


def test_pipeline_is_saved_whole(nlp: Parser, tmp_path: Path) -> None:
    nlp.save(tmp_path / "copy")
    text = "The baker saw a bird. Clara laughs."
    assert biatt.load(tmp_path / "copy")(text) == nlp(text)


def test_model_without_tokeniser_says_so(nlp: Parser) -> None:
    bare = Parser(nlp.config, nlp.vocabulary, nlp.weights)
    with pytest.raises(ModelError, match="no tokeniser"):
        bare("Some text.")
    assert len(bare.parse_tokens([["Some", "text"]])[0]) == 2


def test_treebank_without_tags_or_spaces(tmp_path: Path) -> None:
    bare = [Sentence.from_words(s.forms, heads=s.heads, deprels=s.deprels) for s in generate(30, seed=7)]
    biatt.write(bare, tmp_path / "t.conllu")
    told: list[str] = []

    class Listener(Silent):
        def message(self, text: str) -> None:
            told.append(text)

    quick = with_settings(SMALL, ["epochs=1", "least_batches=0"])
    nlp = train(tmp_path / "t.conllu", out=tmp_path / "m", config=quick, pipeline=TEXT, listener=Listener())
    assert nlp.tagger is None
    assert any("SpaceAfter=No" in text for text in told)
    assert any("no tagger" in text for text in told)
    assert nlp("a b")[0].forms == ["a", "b"]


def test_conllx_treebank_is_refused(tmp_path: Path) -> None:
    biatt.write([s.as_format("conllx") for s in generate(10)], tmp_path / "t.conllx")
    for sentence in (sentences := list(biatt.read(tmp_path / "t.conllx", format="conllx"))):
        sentence.rows[:] = [[*row[:3], "nn", *row[4:]] for row in sentence.rows]
    biatt.write(sentences, tmp_path / "t.conllx")
    with pytest.raises(TrainingError, match="CoNLL-U"):
        train(tmp_path / "t.conllx", out=tmp_path / "m", pipeline=TEXT)


def test_settings_of_the_parts() -> None:
    config = PipelineConfig().with_settings(["tagger.hidden=7", "tokeniser.epochs=3", "folds=5"])
    assert (config.tagger.model.hidden, config.tokeniser.training.epochs, config.folds) == (7, 3, 5)
    for wrong in ("folds=1", "folds=x", "tagger.colour=red"):
        with pytest.raises(ConfigError):
            PipelineConfig().with_settings([wrong])


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from biatt.cli import main; main()", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=120)


def test_command_line_reads_what_it_is_given(folder: Path, tmp_path: Path) -> None:
    model = str(folder)
    text = "The baker saw a bird."
    (tmp_path / "notes.txt").write_text(text + "\n")
    told = run("parse", "--text", text, "--model", model)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(b"# sent_id = 1\n# text = The baker saw a bird.\n1\tThe\tthe\t")
    assert run("parse", str(tmp_path / "notes.txt"), "--model", model).stdout == told.stdout
    assert run("parse", "--model", model, stdin=text.encode()).stdout == told.stdout
    again = run("parse", "-", "--model", model, stdin=told.stdout)  # CoNLL-U, and tagged: nothing to do
    assert again.stdout == told.stdout
    tokens = run("parse", "--model", model, "--input", "tokens", stdin=b"The baker saw a bird .\n")
    assert [line.split(b"\t")[1:8] for line in tokens.stdout.splitlines() if line[:1].isdigit()] == [
        line.split(b"\t")[1:8] for line in told.stdout.splitlines() if line[:1].isdigit()
    ]


def test_output_by_format_and_by_suffix(folder: Path, tmp_path: Path) -> None:
    def parsed(*options: str) -> bytes:
        done = run("parse", "--text", "The baker saw a bird. Clara laughs.", "--model", str(folder), *options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    lines = parsed("--format", "json").splitlines()
    assert all("confidence" in json.dumps(json.loads(line)) for line in lines)
    assert parsed("--format", "tree").decode().count("──┬─") or b"\xe2\x94\x80" in parsed("--format", "tree")
    assert b"#" not in parsed("--format", "conllx")
    for name, start in (
        ("a.svg", b"<svg "),
        ("a.png", b"\x89PNG"),
        ("a.jsonl", b"{"),
        ("a.conllu", b"# sent"),
    ):
        parsed("--output", str(tmp_path / name))
        assert (tmp_path / name).read_bytes().startswith(start)
    parsed("--output", str(tmp_path / "b.png"), "--format", "attention")
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    assert b"HeadProb=" in parsed("--confidence")
    assert b"# k_best = 2" in parsed("--k-best", "2")


def test_text_and_file_exclude_each_other() -> None:
    done = run("parse", "--text", "x", "y.txt")
    assert done.returncode == 2
    assert b"--text takes the place of a file" in done.stderr


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", b""),
        (b" \n\n\t\n", b""),
        (b"good\n\xff\xfe bad", b"<stdin>, line 2: bad UTF-8"),
        ("👍🏽 😀😀 family: 👨‍👩‍👧".encode(), b""),
        ("שלום עולם. مرحبا بالعالم!".encode(), b""),
        (b"\x01\x02 bell\x07 esc\x1b[31m \x7f", b""),
        (b"nul \x00\x00 bytes\x00.", b""),
        (b"word " * 3000, b""),
        (b"a" * 200_000, b""),
        (b"\xef\xbb\xbfmark", b""),
    ],
    ids=[
        "nothing",
        "blank",
        "not UTF-8",
        "emoji",
        "right to left",
        "control",
        "NUL",
        "endless",
        "one",
        "BOM",
    ],
)
def test_any_input_gives_trees_or_one_sentence(folder: Path, data: bytes, said: bytes) -> None:
    for format in ("conllu", "tree"):
        done = run("parse", "--model", str(folder), "--input", "text", "--format", format, stdin=data)
        assert b"Traceback" not in done.stderr
        assert said in done.stderr
        assert done.returncode == (2 if said else 0), done.stderr
        if not said and format == "conllu":
            found = list(biatt.read(__import__("io").BytesIO(done.stdout), trees=True))
            kept = "".join(token.form for s in found for token in s.tokens)
            assert kept == "".join(data.decode("utf-8-sig").split())


def test_ensemble_is_trained_resumed_saved_and_speaks_as_one(tmp_path: Path) -> None:
    path = tmp_path / "t.conllu"
    biatt.write(generate(40, seed=6), path)
    quick = with_settings(SMALL, ["epochs=2", "least_batches=0"])
    train(path, dev=path, out=tmp_path / "whole", config=quick, ensemble=3)
    with pytest.raises(KeyboardInterrupt):
        train(path, dev=path, out=tmp_path / "cut", config=quick, ensemble=3, listener=StopsAt(5))
    train(path, dev=path, out=tmp_path / "cut", config=quick, ensemble=3, resume=True)
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    assert "members of the ensemble | 3" in (tmp_path / "whole" / "README.md").read_text()

    together = biatt.load(tmp_path / "whole")
    alone = [
        train(path, dev=path, out=tmp_path / f"alone{seed}", config=quick, seed=seed) for seed in (1, 2, 3)
    ]
    sentences = list(generate(5, seed=7))
    for found, *parts in zip(together.scores(sentences), *(p.scores(sentences) for p in alone), strict=True):
        for name in ("left", "right"):
            expected = np.mean([np.exp(getattr(part, name)) for part in parts], 0)
            assert np.allclose(np.exp(getattr(found, name)), expected, atol=1e-6)
        heads = np.zeros(len(found.left), int)
        expected = np.mean([part.relation_scores(heads) for part in parts], 0)
        assert np.allclose(found.relation_scores(heads), expected, atol=1e-5)
    together.save(tmp_path / "copy")
    assert list(biatt.load(tmp_path / "copy").parse(sentences)) == list(together.parse(sentences))


def test_members_of_an_ensemble_must_know_the_same_words(nlp: Parser, folder: Path) -> None:
    other = biatt.load(folder)
    other.vocabulary.relations.append("new")
    with pytest.raises(ModelError, match="same vocabulary"):
        nlp.add(other)
