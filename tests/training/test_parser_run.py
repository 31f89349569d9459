"""Runs of parsers: their losses, their dev scores, and word vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from biatt.config import Config, with_settings
from biatt.data.arcs import is_tree
from biatt.data.columns import DEPREL, HEAD
from biatt.data.conll import read, write
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.encoding.vocabulary import Vocabulary
from biatt.errors import ConfigError
from biatt.evaluation.metrics import evaluate
from biatt.models.model_folder import CHECKPOINT
from biatt.options import ConllFormat
from biatt.parser import Parser, load
from biatt.presets import preset
from biatt.training.listener import Silent
from biatt.training.parser_run import DevTrees, ParserInputs, ParserRun
from biatt.training.records import best_record, read_records
from biatt.training.run import Job
from biatt.training.silver import SilverFiles
from biatt.training.train import train
from biatt.training.treebank import Treebank
from builders import random_parser
from trainings import LARGER, ORIGIN, SMALL, InterruptedAt, Messages, small_run, untimed, weights
from ways import ROUNDED


@pytest.mark.slow
def test_parser_memorises_twenty_sentences(tmp_path: Path) -> None:
    path = tmp_path / "twenty.conllu"
    write(generate(20, seed=3), path)
    config = with_settings(Config(), ["hidden=32", "rate=0.01", "batch_words=40", "clip=1", "epochs=12"])
    # Five copies, because the paper's schedule stops by chance where an epoch is short.
    parser = train([path] * 5, dev=path, out=tmp_path / "model", config=config)
    records = read_records(tmp_path / "model")
    assert records[-1]["train_loss"] < 0.5 * records[0]["train_loss"]
    assert evaluate(read(path), parser.parse(read(path))).las > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("config", [SMALL, LARGER], ids=["paper", "larger"])
def test_parser_is_trained_on_sentences_that_lack_heads(tmp_path: Path, config: Config) -> None:
    sentences = generate(8, seed=3)
    for sentence in sentences[:6]:
        for row in sentence.rows[::2]:
            row[HEAD] = row[DEPREL] = "_"
    write(sentences, tmp_path / "partial.conllu")
    parser = train([tmp_path / "partial.conllu"], out=tmp_path / "model", config=config)
    assert all(math.isfinite(record["train_loss"]) for record in read_records(tmp_path / "model"))
    assert "_" not in parser.vocabulary.relations
    assert all(is_tree(sentence.heads) for sentence in parser.parse(sentences))


# Dev scores


@st.composite
def trees_and_guesses(draw: st.DrawFn, format: ConllFormat) -> tuple[list[Sentence], list[Sentence]]:
    """Gold sentences, and the same words with other heads and relations."""
    names = ["nsubj", "nsubj:pass", "obj", "punct", "root"]
    gold, guesses = [], []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(1, 5))
        forms = draw(st.lists(st.sampled_from(["a", "b", ".", "…", "$"]), min_size=n, max_size=n))
        relations = st.lists(st.sampled_from(names), min_size=n, max_size=n)
        sentences = []
        for _ in range(2):
            heads = [draw(st.integers(0, i)) for i in range(n)]
            sentences.append(Sentence.from_words(forms, heads=heads, deprels=draw(relations), format=format))
        gold.append(sentences[0])
        guesses.append(sentences[1])
    return gold, guesses


@given(st.one_of(trees_and_guesses("conllu"), trees_and_guesses("conllx")))
def test_dev_scores_are_those_of_evaluate(sentences: tuple[list[Sentence], list[Sentence]]) -> None:
    gold, guesses = sentences
    vocabulary = Vocabulary({"form": ["a"]}, ["punct", "obj", "nsubj:pass", "nsubj", "root"])
    encoded = [vocabulary.encode(sentence) for sentence in guesses]
    trees = [(sentence.heads, sentence.relations) for sentence in encoded]
    expected = evaluate(gold, guesses)
    assert DevTrees(gold, vocabulary).attachment_scores(trees) == (expected.uas, expected.las)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["conllu", "conllx"])
def test_record_has_the_scores_of_the_parser_that_is_kept(tmp_path: Path, format: ConllFormat) -> None:
    path = tmp_path / "t.conll"
    write([sentence.as_format(format) for sentence in generate(20, seed=5)], path)
    parser = train(path, dev=path, out=tmp_path / "m", config=SMALL)
    best = best_record(tmp_path / "m")
    result = evaluate(read(path), parser.parse(read(path)))
    assert (result.uas, result.las) == (best["dev_uas"], best["dev_las"])


@pytest.mark.slow
def test_relations_that_only_dev_has_do_no_harm(tmp_path: Path) -> None:
    known = Sentence.from_words(["Ada", "sleeps"], heads=[2, 0], deprels=["nsubj", "root"])
    strange = Sentence.from_words(["Ben", "sings"], heads=[2, 0], deprels=["vocative", "root"])
    write([known] * 6, tmp_path / "train.conllu")
    write([strange] * 2, tmp_path / "dev.conllu")
    train(tmp_path / "train.conllu", dev=tmp_path / "dev.conllu", out=tmp_path / "model", config=SMALL)
    for record in read_records(tmp_path / "model"):
        assert math.isfinite(record["dev_log_likelihood"])
        assert record["dev_las"] <= 0.5


@pytest.mark.slow
def test_conllx_treebank_is_trained_on(tmp_path: Path) -> None:
    path = tmp_path / "danish.conllx"
    sentence = Sentence.from_words(
        ["Hun", "sover"],
        xpos=["PN", "VA"],
        upos=["P", "V"],
        heads=[2, 0],
        deprels=["subj", "ROOT"],
        format="conllx",
    )
    write([sentence] * 8, path)
    parser = train(path, out=tmp_path / "model", config=with_settings(SMALL, ["epochs=1"]))
    assert list(parser.vocabulary.symbols) == ["form", "upos", "xpos"]
    assert sorted(parser.vocabulary.relations) == ["ROOT", "subj"]


# Beyond the paper


@pytest.mark.slow
def test_larger_model_parses_as_its_best_epoch_did(treebank: Path, larger: Path) -> None:
    parser = load(larger)
    assert parser.config == LARGER
    assert "affix" in parser.vocabulary.symbols
    best = max(read_records(larger), key=lambda record: record["dev_las"])
    result = evaluate(read(treebank), parser.parse(read(treebank)))
    assert (result.uas, result.las) == (best["dev_uas"], best["dev_las"])


@pytest.mark.slow
@pytest.mark.parametrize("stops", [[1], [2, 2]])
def test_interrupted_run_with_dropout_ends_like_a_whole_one(
    treebank: Path, larger: Path, tmp_path: Path, stops: list[int]
) -> None:
    for number in stops:
        listener = InterruptedAt(number)
        with pytest.raises(KeyboardInterrupt):
            train(treebank, dev=treebank, out=tmp_path / "m", config=LARGER, resume=True, listener=listener)
    train(treebank, dev=treebank, out=tmp_path / "m", config=LARGER, resume=True)
    assert weights(tmp_path / "m") == weights(larger)
    assert untimed(tmp_path / "m") == untimed(larger)


def first_epoch(out: Path, *changes: str) -> tuple[float, dict[str, float], torch.Tensor]:
    """The loss, the dev scores before it, and the weights after it."""
    run = small_run(out, with_settings(SMALL, ["batch_words=20", *changes]))
    before = run.evaluate()
    return run.train_epoch(1, 0.01, title=""), before, run.network.P.detach().clone()


@pytest.mark.parametrize(
    "change", ["dropout=0.5", "word_dropout=0.5", "tag_dropout=0.5", "smoothing=0.2", "schedule=linear"]
)
def test_each_way_of_training_changes_the_weights_but_not_the_evaluation(tmp_path: Path, change: str) -> None:
    _, dev, plain = first_epoch(tmp_path / "a")
    loss, same_dev, other = first_epoch(tmp_path / "b", change)
    again, _, same = first_epoch(tmp_path / "c", change)
    assert same_dev == dev
    assert not torch.equal(other, plain)
    assert (again, torch.equal(other, same)) == (loss, True)


def test_words_and_tags_are_dropped_at_rates_of_their_own(tmp_path: Path) -> None:
    run = small_run(tmp_path, with_settings(SMALL, ["word_dropout=0.25", "tag_dropout=0.75"]))
    expected = {"form": 0.25, "lemma": 0.25, "upos": 0.75, "xpos": 0.75, "feats": 0.75}
    for column, symbols in run.vocabulary.symbols.items():
        rows = [run.vocabulary.row(column, symbol) for symbol in symbols]
        assert (run.drop_rates[rows] == expected[column]).all(), column


# Word vectors


def write_vectors(path: Path, forms: Sequence[str], *, width: int) -> np.ndarray:
    values = np.round(np.random.default_rng(1).normal(size=(len(forms), width)), 3).astype(np.float32)
    lines = [f"{form} {' '.join(map(str, row))}" for form, row in zip(forms, values, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return values


@pytest.mark.slow
def test_word_vectors_are_the_initial_embeddings_of_their_forms(treebank: Path, tmp_path: Path) -> None:
    values = write_vectors(tmp_path / "v.vec", ["the", "nowhere", "Ada"], width=10)
    still = with_settings(SMALL, ["rate=1e-30", "epochs=1"])  # steps too short to move a weight
    messages = Messages()

    def trained(name: str, config: Config, **options: Path | Messages) -> Parser:
        return train(treebank, out=tmp_path / name, config=config, **options)  # type: ignore[arg-type]

    parser = trained("a", still, embeddings=tmp_path / "v.vec", listener=messages)
    without = trained("b", with_settings(still, ["embedding=10"]))
    assert parser.config.model.embedding == 10
    E, other = parser.weights["E.weight"], without.weights["E.weight"]
    forms = {"the": 0, "The": 0, "Ada": 2}
    rows = {parser.vocabulary.row("form", form): values[i] for form, i in forms.items()}
    assert None not in rows
    for row in range(len(E)):
        np.testing.assert_array_equal(E[row], rows.get(row, other[row]))
    assert any(text.startswith("3 of ") and "v.vec" in text for text in messages.texts)


def test_vectors_of_another_width_than_asked_for_are_refused(treebank: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.vec", ["the"], width=10)
    config = with_settings(SMALL, ["embedding=12"])
    with pytest.raises(ConfigError, match=r"embedding=12, but the vectors of .*v\.vec are 10 wide"):
        train(treebank, out=tmp_path / "m", embeddings=tmp_path / "v.vec", config=config)


@pytest.mark.slow
def test_resuming_with_other_vectors_is_refused(treebank: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "a.vec", ["the", "a"], width=8)
    write_vectors(tmp_path / "b.vec", ["a", "the"], width=8)
    stop, out = InterruptedAt(2), tmp_path / "m"
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=out, config=SMALL, embeddings=tmp_path / "a.vec", listener=stop)
    with pytest.raises(ConfigError, match="other data"):
        train(treebank, out=out, config=SMALL, embeddings=tmp_path / "b.vec", resume=True)


@pytest.mark.slow
def test_frozen_vectors_stay_as_they_are_and_are_in_no_checkpoint(treebank: Path, tmp_path: Path) -> None:
    values = write_vectors(tmp_path / "v.vec", ["the", "nowhere", "Ada", "never"], width=10)
    config = with_settings(SMALL, ["vector_rows=3", "schedule=linear", "average=2"])
    options: dict[str, Any] = {"dev": treebank, "config": config, "embeddings": tmp_path / "v.vec"}
    messages = Messages()
    parser = train(treebank, out=tmp_path / "a", **options, listener=messages)
    assert "3 words have a vector of" in " ".join(messages.texts)
    assert parser.config.model.vector_width == 10
    assert parser.config.model.width == config.model.width
    assert parser.vocabulary.symbols["vector"] == ["the", "nowhere", "Ada"]
    vectors = parser.weights["vectors.weight"] * parser.weights["vectors.scale"][:, None]
    np.testing.assert_allclose(vectors, values[:3], atol=0.05)
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=tmp_path / "b", **options, listener=InterruptedAt(2))
    with safe_open(tmp_path / "b" / CHECKPOINT, "np") as file:
        names = set(file.keys())
    assert any(name.endswith("vectors.P") for name in names)
    assert not any(name.endswith(("vectors.weight", "vectors.scale")) for name in names)
    train(treebank, out=tmp_path / "b", **options, resume=True)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")


@pytest.mark.slow
def test_words_that_the_treebank_does_not_have_differ_by_their_vectors(
    treebank: Path, tmp_path: Path
) -> None:
    write_vectors(tmp_path / "v.vec", ["the", "quux", "zork"], width=10)
    config = with_settings(SMALL, ["vector_rows=9"])
    parser = train(treebank, out=tmp_path / "m", config=config, embeddings=tmp_path / "v.vec")
    assert parser.config.model.vector_rows == 3
    texts = [["the", form] for form in ("quux", "Zork", "plugh", "xyzzy")]
    quux, zork, *unknown = parser.scores([Sentence.from_words(words) for words in texts])
    assert (quux.left != zork.left).any()
    assert (unknown[0].left == unknown[1].left).all()
    again = load(tmp_path / "m")
    assert (again.scores([Sentence.from_words(texts[0])])[0].left == quux.left).all()
    by_torch = load(tmp_path / "m", fused=False).scores([Sentence.from_words(texts[0])])[0]
    np.testing.assert_allclose(by_torch.left, quux.left, rtol=ROUNDED, atol=ROUNDED)


# Noise


def test_every_epoch_changes_other_sentences(tmp_path: Path) -> None:
    run = small_run(tmp_path, with_settings(SMALL, ["noise=0.5"]), sentences=60)
    epochs = []
    for epoch in (1, 2, 1):
        lengths = run.epoch_lengths(epoch)
        assert list(lengths) == [sentence.words for sentence in run.train]
        epochs.append([a is not b for a, b in zip(run.train, run.without_noise, strict=True)])
    assert epochs[0] == epochs[2] != epochs[1]
    assert all(10 < sum(changed) < 50 for changed in epochs)
    plain = small_run(tmp_path / "b", SMALL, sentences=60)
    assert list(plain.epoch_lengths(1)) == list(plain.lengths)


def test_noise_changes_words_and_nothing_of_the_tree(tmp_path: Path) -> None:
    run = small_run(tmp_path, with_settings(SMALL, ["noise=1"]), sentences=60)
    run.epoch_lengths(1)
    pairs = [(a, b) for a, b in zip(run.train, run.without_noise, strict=True) if a.words == b.words]
    assert any(list(a.rows) != list(b.rows) for a, b in pairs)
    for a, b in pairs:
        assert list(a.heads) == list(b.heads)
        assert list(a.relations) == list(b.relations)
    assert len(pairs) < 60  # in the others, punctuation is dropped


# Silver text

WITH_SILVER = with_settings(
    SMALL, ["schedule=linear", "epochs=5", "gold_epochs=2", "silver_ratio=1.5", "silver_min_count=1"]
)


class Starts(Silent):
    """Keeps the numbers of words that epochs are said to have, and those that follow."""

    def __init__(self) -> None:
        self.epochs: list[tuple[int, int | None]] = []
        self.done: list[int] = []

    def start(self, title: str, words: int, *, words_after: int | None = None) -> None:
        self.epochs.append((words, words_after))
        self.done.append(0)

    def batch(self, words: int, loss: float | None = None) -> None:
        self.done[-1] += words


def run_with_silver(folder: Path, *, seed: int = 1) -> ParserRun:
    gold, silver = generate(12, seed=1), folder.with_suffix(".silver")
    write(random_parser().parse(generate(40, seed=2), probabilities=True), silver)
    vocabulary = Vocabulary.build(gold, columns=("form",), min_count=1)
    text = SilverFiles([silver], []).read([], relations=vocabulary.relations, labels=None)
    job = Job(folder, "a fingerprint", seed=seed, threads=1, listener=Silent())
    treebank = Treebank(gold, gold[:2], "train", "dev")
    inputs = ParserInputs(vocabulary, silver=text)
    return ParserRun(job, WITH_SILVER, treebank, inputs, origin=ORIGIN)


def test_epochs_are_all_of_gold_and_the_next_part_of_silver_and_the_last_are_gold_alone(
    tmp_path: Path,
) -> None:
    run = run_with_silver(tmp_path / "model")
    assert run.silver is not None
    following = 0
    for epoch in range(1, 6):
        lengths = run.epoch_lengths(epoch)
        assert sum(lengths) == run.words_of(epoch)
        gold, silver = lengths[: len(run.train)], lengths[len(run.train) :]
        assert gold == [sentence.words for sentence in run.train]
        assert [run._sentence(i).words for i in range(len(lengths))] == lengths
        if epoch > 3:
            assert not silver
            continue
        assert run.silver_epoch.part.start == following
        following = run.silver_epoch.part.stop
        assert abs(sum(silver) - 1.5 * run.words) <= max(run.silver.lengths)
    assert following > len(run.silver)  # all of the silver text, and the first sentences again


def test_silver_text_is_in_another_order_for_another_seed(tmp_path: Path) -> None:
    runs = [run_with_silver(tmp_path / str(i), seed=seed) for i, seed in enumerate((1, 1, 2))]
    orders = [run.silver.order.tolist() for run in runs if run.silver]
    assert orders[0] == orders[1] != orders[2]


def test_words_of_silver_text_count_in_the_progress(tmp_path: Path) -> None:
    run = run_with_silver(tmp_path / "model")
    run.listener = listener = Starts()
    run.finish()
    assert listener.done == [words for words, _ in listener.epochs]
    for (_, after), (words, following) in pairwise(listener.epochs):
        assert following is not None
        assert after == words + following
    assert listener.epochs[-1][1] == 0
    assert read_records(tmp_path / "model")[0]["silver"]["sentences"] == 40


@pytest.mark.slow
def test_parser_learns_from_silver_text_what_gold_does_not_show(tmp_path: Path) -> None:
    for name, sentences in (
        ("gold", generate(4)),
        ("silver", generate(150, seed=2)),
        ("dev", generate(40, seed=3)),
    ):
        write(sentences, tmp_path / name)
    config = with_settings(
        preset("fast"),
        [
            *("hidden=24", "pair_hidden=4", "epochs=8", "least_batches=0", "affixes=1", "columns=form"),
            *("rate=0.01", "batch_words=50", "clip=1", "dropout=0", "word_dropout=0", "smoothing=0"),
            "average=1",
        ],
    )
    of_silver = with_settings(config, ["silver_ratio=40", "silver_min_count=1", "gold_epochs=2"])
    gold, silver, dev = (tmp_path / name for name in ("gold", "silver", "dev"))
    train(gold, dev=dev, out=tmp_path / "without", config=config)
    train(gold, dev=dev, out=tmp_path / "with", config=of_silver, silver=[silver])
    assert best_record(tmp_path / "without")["dev_las"] < 0.2
    assert best_record(tmp_path / "with")["dev_las"] > 0.35
