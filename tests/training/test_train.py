"""Training: schedule beside a slow twin, repeatable, resumable after any death, never half a model."""

from __future__ import annotations

import errno
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from biatt.config import Config, with_settings
from biatt.data.conll import read, write
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.encoding.vocabulary import Vocabulary
from biatt.errors import BiattError, ConfigError, FormatError, ModelError, TrainingError
from biatt.evaluation.metrics import evaluate
from biatt.model_folder import CHECKPOINT, FINGERPRINT, METRICS
from biatt.network.model import DEVIATION
from biatt.parser import Parser, load
from biatt.training import train as training
from biatt.training.checkpoint import State
from biatt.training.optimiser import BETA1, EPSILON, Adam
from biatt.training.run import RATE_STEP, Silent
from biatt.training.train import ParserRun, split_treebank, train

SOURCE = Path(__file__).parents[2] / "src"
SMALL = with_settings(Config(), ["hidden=16", "rate=0.01", "epochs=4", "batch_words=100", "clip=1"])
MAIN = "from biatt.cli import main; main()"
# All that goes beyond the paper, at once.
BEYOND = with_settings(
    SMALL,
    [
        *("hidden=8", "affixes=2", "layers=2", "query_input=memory", "pair_hidden=4"),
        *("epochs=3", "schedule=linear", "dropout=0.3", "word_dropout=0.2", "tag_dropout=0.2"),
        *("smoothing=0.1", "average=2"),
    ],
)
TIMINGS = ("seconds", "words_per_second")


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "toy.conllu"
    write(generate(60, seed=5), path)
    return path


@pytest.fixture(scope="module")
def whole(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole") / "model"
    train(treebank, out=out, config=SMALL)
    return out


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def untimed(folder: Path) -> list[dict[str, Any]]:
    return [{key: value for key, value in r.items() if key not in TIMINGS} for r in records(folder)]


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]


class Batches(Silent):
    """Keeps the number of words of every batch."""

    def __init__(self) -> None:
        self.words: list[int] = []

    def batch(self, words: int, loss: float) -> None:
        self.words.append(words)


class InterruptedAt(Silent):
    """Presses Ctrl-C in the middle of the n-th pass over the data."""

    def __init__(self, number: int) -> None:
        self.number, self.passes, self.batches = number, 0, 0

    def start(self, title: str, words: int) -> None:
        self.passes, self.batches = self.passes + 1, 0

    def batch(self, words: int, loss: float) -> None:
        self.batches += 1
        if (self.passes, self.batches) == (self.number, 3):
            raise KeyboardInterrupt


class Told(Silent):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def message(self, text: str) -> None:
        self.messages.append(text)


# Learning


def test_learns_twenty_sentences_by_heart(tmp_path: Path) -> None:
    path = tmp_path / "twenty.conllu"
    write(generate(20, seed=3), path)
    config = with_settings(Config(), ["hidden=32", "rate=0.005", "batch_words=40", "clip=1", "epochs=15"])
    # The file ten times over: an epoch of twenty sentences is so short that luck decides when it drops.
    parser = train([path] * 10, dev=path, out=tmp_path / "model", config=config)
    result = evaluate(list(read(path)), list(parser.parse(read(path))))
    assert (result.uas, result.las) == (1.0, 1.0)


def test_result_is_the_model_in_the_folder_and_nothing_else_is_left(whole: Path) -> None:
    names = sorted(path.name for path in whole.iterdir())
    assert names == ["README.md", "config.json", FINGERPRINT, METRICS, "model.safetensors", "vocabulary.json"]
    assert load(whole).config == SMALL


def test_several_files_are_one_treebank(treebank: Path, whole: Path, tmp_path: Path) -> None:
    sentences = list(read(treebank))
    write(sentences[:25], tmp_path / "a.conllu.gz")
    write(sentences[25:], tmp_path / "b.conllu")
    train([tmp_path / "a.conllu.gz", tmp_path / "b.conllu"], out=tmp_path / "model", config=SMALL)
    assert weights(tmp_path / "model") == weights(whole)


def test_conllx_treebank_is_trained_on(tmp_path: Path) -> None:
    path = tmp_path / "danish.conllx"
    words = {"xpos": ["PN", "VA"], "upos": ["P", "V"], "heads": [2, 0], "deprels": ["subj", "ROOT"]}
    write([Sentence.from_words(["Hun", "sover"], format="conllx", **words)] * 8, path)  # type: ignore[arg-type]
    parser = train(path, out=tmp_path / "model", config=with_settings(SMALL, ["epochs=1"]))
    assert list(parser.vocabulary.symbols) == ["form", "upos", "xpos"]
    assert sorted(parser.vocabulary.relations) == ["ROOT", "subj"]


def test_relations_that_only_dev_has_do_no_harm(tmp_path: Path) -> None:
    known = Sentence.from_words(["Ada", "sleeps"], heads=[2, 0], deprels=["nsubj", "root"])
    strange = Sentence.from_words(["Ben", "sings"], heads=[2, 0], deprels=["vocative", "root"])
    write([known] * 6, tmp_path / "train.conllu")
    write([strange] * 2, tmp_path / "dev.conllu")
    config = with_settings(SMALL, ["epochs=2"])
    train(tmp_path / "train.conllu", dev=tmp_path / "dev.conllu", out=tmp_path / "model", config=config)
    assert all(math.isfinite(record["dev_log_likelihood"]) for record in records(tmp_path / "model"))


def test_sentences_without_words_are_left_out(treebank: Path, whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "with-comment.conllu"
    path.write_bytes(b"# first\n\n" + treebank.read_bytes() + b"# a comment and no word\n\n")
    assert sum(1 for sentence in read(path) if not len(sentence)) == 2
    train(path, out=tmp_path / "model", config=SMALL)
    assert weights(tmp_path / "model") == weights(whole)


# Held-out sentences


@given(count=st.integers(2, 130), fraction=st.floats(0.01, 0.6), seed=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_held_out_part_is_seeded_disjoint_and_of_the_right_size(
    tmp_path_factory: pytest.TempPathFactory, count: int, fraction: float, seed: int
) -> None:
    path = tmp_path_factory.mktemp("held") / "t.conllu"
    write((Sentence.from_words([f"w{i}"], heads=[0], deprels=["root"]) for i in range(count)), path)
    kept, held_out = ([s.forms[0] for s in part] for part in split_treebank([path], None, fraction, seed))
    assert len(held_out) == max(1, round(fraction * count))
    assert sorted(kept + held_out) == sorted(f"w{i}" for i in range(count))
    assert [[s.forms[0] for s in part] for part in split_treebank([path], None, fraction, seed)] == [
        kept,
        held_out,
    ]


def test_paper_holds_out_five_percent_and_another_seed_other_ones(treebank: Path, tmp_path: Path) -> None:
    first, other = (split_treebank([treebank], None, 0.05, seed) for seed in (1, 2))
    assert [len(part) for part in first] == [57, 3]
    assert [s.text for s in first[1]] != [s.text for s in other[1]]


# The schedule


def small_run(out: Path, config: Config = SMALL) -> ParserRun:
    sentences = generate(6, seed=1)
    vocabulary = Vocabulary.build(sentences, columns=config.model.columns, min_count=1)
    run = ParserRun(
        config, vocabulary, sentences, sentences[:2], seed=1, device="cpu", threads=1, listener=Silent()
    )
    run.open(out, "a run", resume=False)
    return run


def slow_schedule(values: Sequence[float], rate: float, most: int) -> list[dict[str, Any]]:
    """The rule of the paper and its authors, by looking at all the past after every epoch.

    `from_epoch` is the epoch whose weights the next one starts from.
    """
    result = []
    for epoch in range(1, most + 1):
        past = values[:epoch]
        beaten = [i for i in range(epoch) if all(past[i] > earlier for earlier in past[:i])]
        drops = epoch - len(beaten)
        first_drop = next((i + 1 for i in range(epoch) if i not in beaten), None)
        result.append(
            {
                "rate": rate / 2 ** (0 if first_drop is None else epoch - first_drop + 1),
                "best_epoch": beaten[-1] + 1,
                "from_epoch": beaten[-1] + 1 if first_drop == epoch else epoch,
                "finished": drops == 2 or epoch == most,
            }
        )
        if result[-1]["finished"]:
            break
    return result


@given(st.lists(st.integers(-6, 0), min_size=8, max_size=8), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_schedule_halves_restores_and_stops_like_its_slow_twin(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], most: int
) -> None:
    config = with_settings(SMALL, [f"epochs={most}", "hidden=2"])
    run = small_run(tmp_path_factory.mktemp("schedule"), config)
    for epoch, expected in enumerate(slow_schedule(values, 0.01, most), 1):
        for tensors in (run.network.state_dict(), run.adam.moments):
            for tensor in tensors.values():
                tensor.fill_(epoch)
        run._halve_or_stop(epoch, float(values[epoch - 1]))
        found = {
            "rate": run.state.rate,
            "best_epoch": run.state.best_epoch,
            "from_epoch": int(run.network.P[0, 0]),
            "finished": run.state.finished,
        }
        assert found == expected
        now = {f"weights.{name}": value for name, value in run.network.state_dict().items()}
        now |= {f"moments.{name}": value for name, value in run.adam.moments.items()}
        assert all((value == expected["from_epoch"]).all() for value in now.values())
        assert all((value == expected["best_epoch"]).all() for value in run.best.values())


def test_epoch_as_good_as_the_best_does_not_beat_it(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    run._halve_or_stop(1, -5.0)
    run._halve_or_stop(2, -5.0)
    assert (run.state.best_epoch, run.state.drops, run.state.rate) == (1, 1, 0.005)


def test_real_run_follows_the_schedule_and_keeps_its_best_epoch(tmp_path: Path) -> None:
    write(generate(80, seed=4), tmp_path / "train.conllu")
    write(generate(20, seed=6), tmp_path / "dev.conllu")
    config = with_settings(Config(), ["hidden=16", "rate=0.03", "epochs=40"])
    dev = tmp_path / "dev.conllu"
    parser = train(tmp_path / "train.conllu", dev=dev, out=tmp_path / "model", config=config)
    found = records(tmp_path / "model")
    expected = slow_schedule([record["dev_log_likelihood"] for record in found], 0.03, 40)
    assert [record["epoch"] for record in found] == list(range(1, len(expected) + 1))
    assert [record["rate"] for record in found] == [0.03] + [step["rate"] for step in expected[:-1]]
    assert [i for i, record in enumerate(found, 1) if record["best"]] == sorted(
        {step["best_epoch"] for step in expected}
    )
    assert not found[-1]["best"]  # it stopped by itself
    best = found[expected[-1]["best_epoch"] - 1]
    result = evaluate(list(read(dev)), list(parser.parse(read(dev))))
    assert (result.uas, result.las) == (best["dev_uas"], best["dev_las"])


def test_linear_schedule_lowers_the_rate_by_the_word_down_to_nothing(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates, step = [], Adam.step

    def remembering(self: Adam, rate: float) -> None:
        rates.append(rate)
        step(self, rate)

    monkeypatch.setattr(Adam, "step", remembering)
    config, batches = with_settings(SMALL, ["schedule=linear", "epochs=3", "hidden=4"]), Batches()
    train(treebank, out=tmp_path / "m", config=config, listener=batches)
    every = sum(batches.words)  # of three epochs
    left = [every - sum(batches.words[:i]) for i in range(len(batches.words))]
    assert rates == pytest.approx([0.01 * words / every for words in left])
    assert rates[0] == 0.01
    assert rates[-1] < 0.01 * 100 / every + 1e-12  # a batch of at most 100 words


def test_model_has_the_mean_of_the_last_epochs_weights_and_training_goes_on_without_it(
    tmp_path: Path,
) -> None:
    config = with_settings(SMALL, ["schedule=linear", "epochs=5", "average=3", "hidden=2"])
    run = small_run(tmp_path / "m", config)
    run.about = {"train": [], **dict.fromkeys(("dev", "embeddings", "seed", "threads", "licence", "command"))}
    seen = []

    def train_epoch(epoch: int, rate: float, *, title: str) -> float:
        assert epoch == 1 or int(run.network.P[0, 0]) == 2 ** (epoch - 1)  # what the epoch before left
        for tensor in run.network.state_dict().values():
            tensor.fill_(2**epoch)
        return 0.0

    def evaluate() -> dict[str, float]:
        seen.append(run.network.P[0, 0].item())
        return {"dev_log_likelihood": 0.0, "dev_uas": 1.0, "dev_las": len(seen) / 10}

    run.train_epoch, run.evaluate = train_epoch, evaluate  # type: ignore[method-assign]
    run.finish_epochs()
    assert seen == pytest.approx([2, (2 + 4) / 2, (2 + 4 + 8) / 3, (4 + 8 + 16) / 3, (8 + 16 + 32) / 3])
    assert all(np.allclose(value, (8 + 16 + 32) / 3) for value in load(run.out).weights.values())


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6))
@settings(max_examples=20, deadline=None)
def test_linear_schedule_runs_to_the_end_and_keeps_the_first_epoch_of_the_best_dev_las(
    tmp_path_factory: pytest.TempPathFactory, values: list[int]
) -> None:
    config = with_settings(SMALL, ["schedule=linear", f"epochs={len(values)}", "hidden=2"])
    run = small_run(tmp_path_factory.mktemp("linear"), config)
    run.about = {"train": [], **dict.fromkeys(("dev", "embeddings", "seed", "threads", "licence", "command"))}

    def train_epoch(epoch: int, rate: float, *, title: str) -> float:
        assert rate == 0.01  # the decay is within
        for tensors in (run.network.state_dict(), run.adam.moments):
            for tensor in tensors.values():
                tensor.fill_(epoch)
        return 0.0

    def evaluate() -> dict[str, float]:
        epoch = int(run.network.P[0, 0])  # the likelihood says the opposite of the LAS
        las = values[epoch - 1] / 4
        return {"dev_log_likelihood": -las, "dev_uas": 1.0, "dev_las": las}

    run.train_epoch, run.evaluate = train_epoch, evaluate  # type: ignore[method-assign]
    run.finish_epochs()
    best = values.index(max(values)) + 1
    assert run.state.epoch == len(values)
    assert run.state.best_epoch == best
    assert all((value == best).all() for value in load(run.out).weights.values())
    assert [record["best"] for record in records(run.out)] == [
        all(value > earlier for earlier in values[:i]) for i, value in enumerate(values)
    ]


# Beyond the paper


@pytest.fixture(scope="module")
def beyond(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("beyond") / "model"
    train(treebank, dev=treebank, out=out, config=BEYOND)
    return out


def test_larger_model_parses_as_its_best_epoch_did(treebank: Path, beyond: Path) -> None:
    parser = load(beyond)
    assert parser.config == BEYOND
    assert "affix" in parser.vocabulary.symbols
    best = max(records(beyond), key=lambda record: record["dev_las"])
    result = evaluate(list(read(treebank)), list(parser.parse(read(treebank))))
    assert (result.uas, result.las) == (best["dev_uas"], best["dev_las"])


@pytest.mark.parametrize("stops", [[1], [2, 2]])
def test_interrupted_run_with_dropout_ends_like_a_whole_one(
    treebank: Path, beyond: Path, tmp_path: Path, stops: list[int]
) -> None:
    def run(**more: Any) -> None:
        train(treebank, dev=treebank, out=tmp_path / "m", config=BEYOND, resume=True, **more)

    for number in stops:
        with pytest.raises(KeyboardInterrupt):
            run(listener=InterruptedAt(number))
    run()
    assert weights(tmp_path / "m") == weights(beyond)
    assert untimed(tmp_path / "m") == untimed(beyond)


def first_epoch(out: Path, *changes: str) -> tuple[float, dict[str, float], torch.Tensor]:
    """The loss, the dev scores before it, and the weights after it."""
    run = small_run(out, with_settings(SMALL, ["batch_words=20", *changes]))
    before = run.evaluate()
    return run.train_epoch(1, 0.01, title=""), before, run.network.P.detach().clone()


@pytest.mark.parametrize(
    "change",
    ["dropout=0.5", "word_dropout=0.5", "tag_dropout=0.5", "smoothing=0.2", "schedule=linear"],
)
def test_each_way_of_training_changes_the_weights_but_not_the_evaluation(tmp_path: Path, change: str) -> None:
    _, dev, plain = first_epoch(tmp_path / "a")
    loss, same_dev, other = first_epoch(tmp_path / "b", change)
    again, _, same = first_epoch(tmp_path / "c", change)
    assert same_dev == dev
    assert not torch.equal(other, plain)
    assert (again, torch.equal(other, same)) == (loss, True)


def test_words_and_tags_are_left_out_by_their_own_shares(tmp_path: Path) -> None:
    run = small_run(tmp_path, with_settings(SMALL, ["word_dropout=0.25", "tag_dropout=0.75"]))
    expected = {"form": 0.25, "lemma": 0.25, "upos": 0.75, "xpos": 0.75, "feats": 0.75}
    for column, symbols in run.vocabulary.symbols.items():
        rows = [run.vocabulary.row(column, symbol) for symbol in symbols]
        assert (run.shares[rows] == expected[column]).all(), column


# The search for the rate


@given(st.lists(st.integers(0, 5), min_size=12, max_size=12), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_search_climbs_to_where_no_step_is_better(
    tmp_path_factory: pytest.TempPathFactory, heights: list[int], start: int
) -> None:
    """Each candidate is tried at most once, and the choice is the best of those tried."""
    config = with_settings(SMALL, [f"rate={start * 0.0002:.4f}", "hidden=2"])
    run = small_run(tmp_path_factory.mktemp("search"), config)
    tried: list[int] = []

    def train_epoch(epoch: int, rate: float, *, title: str) -> float:
        tried.append(round(rate / 0.0002))
        assert (epoch, rate) == (1, pytest.approx(tried[-1] * 0.0002))
        return 0.0

    def height(step: int) -> float:
        return float(heights[step]) if step < len(heights) else -1.0

    run.train_epoch = train_epoch  # type: ignore[method-assign]
    run.evaluate = lambda: {"dev_log_likelihood": height(tried[-1])}  # type: ignore[method-assign]
    run.search_rate()
    chosen = round(run.state.rate / 0.0002)
    assert len(tried) == len(set(tried))
    assert sorted(tried) == list(range(min(tried), max(tried) + 1))
    assert min(tried) >= 1
    assert height(chosen) == max(map(height, tried))
    assert {step for step in (chosen - 1, chosen + 1) if step > 0} <= set(tried)


def test_search_uses_the_rate_that_was_best_after_one_epoch(treebank: Path, tmp_path: Path) -> None:
    config = with_settings(SMALL, ["rate=0.02", "epochs=2"])
    train(treebank, out=tmp_path / "model", config=config, search_rate=True)
    found = untimed(tmp_path / "model")
    trials, epochs = [r for r in found if "search" in r], [r for r in found if "epoch" in r]
    assert len(trials) >= 3
    best = max(trials, key=lambda record: record["dev_log_likelihood"])
    steps = sorted(round(record["rate"] / 0.0002, 3) for record in trials)
    assert steps == list(range(int(steps[0]), int(steps[-1]) + 1))
    assert 100 in steps
    assert epochs[0]["rate"] == best["rate"]
    assert epochs[0]["dev_log_likelihood"] == best["dev_log_likelihood"]  # the trial is not trained upon


# Word vectors


def write_vectors(path: Path, forms: Sequence[str], *, width: int) -> np.ndarray:
    values = np.round(np.random.default_rng(1).normal(size=(len(forms), width)), 3).astype(np.float32)
    lines = [f"{len(forms)} {width}"]
    lines += [f"{form} {' '.join(map(str, row))}" for form, row in zip(forms, values, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return values


def test_word_vectors_are_where_their_forms_start(treebank: Path, tmp_path: Path) -> None:
    values = write_vectors(tmp_path / "v.vec", ["the", "nowhere", "Ada"], width=10)
    still = with_settings(SMALL, ["rate=1e-30", "epochs=1"])  # steps too short to move a weight
    told = Told()
    embeddings = tmp_path / "v.vec"
    parser = train(treebank, out=tmp_path / "a", config=still, embeddings=embeddings, listener=told)
    plain = with_settings(still, ["embedding=10"])
    without = train(treebank, out=tmp_path / "b", config=plain)
    assert parser.config.model.embedding == 10
    E, other = parser.weights["E.weight"], without.weights["E.weight"]
    vocabulary = parser.vocabulary
    given = {vocabulary.row("form", form): values[i] for form, i in (("the", 0), ("The", 0), ("Ada", 2))}
    assert None not in given
    for row in range(len(E)):
        np.testing.assert_array_equal(E[row], given.get(row, other[row]))
    assert any(text.startswith("3 of ") for text in told.messages)


def test_vectors_of_another_width_than_asked_for_are_refused(treebank: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.vec", ["the"], width=10)
    with pytest.raises(ConfigError, match=r"embedding=12, but the vectors of .*v\.vec are 10 wide"):
        train(
            treebank,
            out=tmp_path / "m",
            embeddings=tmp_path / "v.vec",
            config=with_settings(SMALL, ["embedding=12"]),
        )


# Repeatable


@pytest.mark.parametrize("threads", [1, 2])
def test_same_seed_gives_the_same_bytes(treebank: Path, tmp_path: Path, threads: int) -> None:
    for name in "ab":
        train(treebank, out=tmp_path / name, config=SMALL, seed=7, threads=threads)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert untimed(tmp_path / "a") == untimed(tmp_path / "b")


def test_other_seed_gives_other_bytes(treebank: Path, whole: Path, tmp_path: Path) -> None:
    train(treebank, out=tmp_path / "other", config=SMALL, seed=2)
    assert weights(tmp_path / "other") != weights(whole)


# Resuming


@pytest.mark.parametrize("stops", [[1], [2], [4], [2, 1, 2]])
def test_interrupted_run_ends_like_a_whole_one(
    treebank: Path, whole: Path, tmp_path: Path, stops: list[int]
) -> None:
    out = tmp_path / "model"
    for number in stops:
        with pytest.raises(KeyboardInterrupt):
            train(treebank, out=out, config=SMALL, resume=True, listener=InterruptedAt(number))
    told = Told()
    train(treebank, out=out, config=SMALL, resume=True, listener=told)
    done = sum(number - 1 for number in stops)
    assert (f"Going on after epoch {done}." in told.messages) == (done > 0)
    assert weights(out) == weights(whole)
    assert untimed(out) == untimed(whole)
    assert not (out / CHECKPOINT).exists()


def test_interrupted_run_leaves_the_best_model_so_far(treebank: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=tmp_path / "cut", config=SMALL, listener=InterruptedAt(3))
    train(treebank, out=tmp_path / "two", config=with_settings(SMALL, ["epochs=2"]))
    assert weights(tmp_path / "cut") == weights(tmp_path / "two")
    assert list(load(tmp_path / "cut").parse(generate(2, seed=8)))


@pytest.mark.parametrize("stop", [2, 3])
def test_interrupted_search_ends_like_a_whole_one(treebank: Path, tmp_path: Path, stop: int) -> None:
    config = with_settings(SMALL, ["rate=0.02", "epochs=2"])

    def run(name: str, **more: Any) -> Parser:
        return train(treebank, out=tmp_path / name, config=config, search_rate=True, **more)

    run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("cut", listener=InterruptedAt(stop))
    run("cut", resume=True)
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")
    assert untimed(tmp_path / "cut") == untimed(tmp_path / "whole")


def test_run_that_died_between_its_last_checkpoint_and_its_model_is_completed(
    treebank: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, calls = ParserRun._save_best, [0]

    def dying(self: ParserRun, **options: bool) -> None:
        calls[0] += 1
        if calls[0] == 4:
            raise KeyboardInterrupt
        save(self, **options)

    monkeypatch.setattr(ParserRun, "_save_best", dying)
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=tmp_path / "m", config=SMALL)
    train(treebank, out=tmp_path / "m", config=SMALL, resume=True, listener=InterruptedAt(1))
    assert weights(tmp_path / "m") == weights(whole)
    assert not (tmp_path / "m" / CHECKPOINT).exists()


def test_run_killed_at_random_moments_ends_like_a_whole_one(tmp_path: Path) -> None:
    """Real processes, killed in and after the search for the rate, with word vectors."""
    write(generate(200, seed=9), tmp_path / "t.conllu")
    write_vectors(tmp_path / "v.vec", ["the", "a", "Ada"], width=12)
    changes = ["hidden=16", "rate=0.02", "batch_words=100", "epochs=5"]
    options: dict[str, Any] = {"embeddings": tmp_path / "v.vec", "search_rate": True}
    train(tmp_path / "t.conllu", out=tmp_path / "whole", config=with_settings(Config(), changes), **options)

    out, dice = tmp_path / "killed", random.Random(1)
    command = [sys.executable, "-c", MAIN, "train", "--train", str(tmp_path / "t.conllu")]
    command += ["--out", str(out), "--embeddings", str(tmp_path / "v.vec"), "--search-rate", "--resume"]
    command += [word for change in changes for word in ("--set", change)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    stages: set[str] = set()
    deaths = 0
    for attempt in range(20):
        before, deadly = checkpoint_number(out), attempt < 3 or "epochs" not in stages
        process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment)
        while deadly and process.poll() is None and checkpoint_number(out) == before:
            time.sleep(0.002)
        if deadly:
            time.sleep(dice.random() * 0.05 * attempt)
            process.send_signal(signal.SIGKILL)
        _, told = process.communicate(timeout=60)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, told.decode()
        deaths += 1
        stages.add("search" if saved_state(out).epoch == 0 else "epochs")
        if (out / "model.safetensors").exists():
            load(out)
    assert deaths >= 3
    assert stages == {"search", "epochs"}
    assert weights(out) == weights(tmp_path / "whole")
    assert untimed(out) == untimed(tmp_path / "whole")


def checkpoint_number(out: Path) -> int:
    """Another number for every checkpoint."""
    try:
        return (out / CHECKPOINT).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def saved_state(out: Path) -> State:
    with safe_open(out / CHECKPOINT, "pt") as file:
        return State(**json.loads(file.metadata()["state"]))


OTHER_OPTIONS = pytest.mark.parametrize(
    "other",
    [
        {"seed": 2},
        {"threads": 2},
        {"search_rate": True},
        {"config": with_settings(SMALL, ["hidden=20"])},
        {"dev_fraction": 0.5},
    ],
    ids=lambda other: next(iter(other)),
)


@OTHER_OPTIONS
def test_resuming_with_other_options_is_refused(
    treebank: Path, tmp_path: Path, other: dict[str, Any]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=tmp_path / "m", config=SMALL, listener=InterruptedAt(2))
    before = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    with pytest.raises(ConfigError, match="other data, settings, seed or threads"):
        train(treebank, **{"out": tmp_path / "m", "config": SMALL, "resume": True, **other})
    assert {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()} == before


def test_resuming_with_other_vectors_is_refused(treebank: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "a.vec", ["the", "a"], width=8)
    write_vectors(tmp_path / "b.vec", ["a", "the"], width=8)
    with pytest.raises(KeyboardInterrupt):
        train(
            treebank,
            out=tmp_path / "m",
            config=SMALL,
            embeddings=tmp_path / "a.vec",
            listener=InterruptedAt(2),
        )
    with pytest.raises(ConfigError, match="other data"):
        train(treebank, out=tmp_path / "m", config=SMALL, embeddings=tmp_path / "b.vec", resume=True)


def test_resuming_a_finished_run_just_loads_it(treebank: Path, whole: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in whole.iterdir()}
    told = Told()
    parser = train(treebank, out=whole, config=SMALL, resume=True, listener=told)
    assert parser.config == SMALL
    assert {path.name: path.stat().st_mtime_ns for path in whole.iterdir()} == before
    assert f"{whole} is already trained." in told.messages


@OTHER_OPTIONS
def test_resuming_a_finished_run_with_other_options_is_refused(
    treebank: Path, whole: Path, other: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match="other data, settings, seed or threads"):
        train(treebank, **{"out": whole, "config": SMALL, "resume": True, **other})


def test_used_folder_is_not_overwritten(treebank: Path, whole: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="already holds a model or a run"):
        train(treebank, out=whole, config=SMALL)
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=tmp_path / "cut", config=SMALL, listener=InterruptedAt(2))
    with pytest.raises(ConfigError, match="already holds a model or a run"):
        train(treebank, out=tmp_path / "cut", config=SMALL)


def test_resuming_in_an_empty_or_missing_folder_starts(treebank: Path, whole: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "not" / "yet" / "there"):
        train(treebank, out=folder, config=SMALL, resume=True)
        assert weights(folder) == weights(whole)


def test_damaged_checkpoint_is_named(treebank: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=tmp_path, config=SMALL, listener=InterruptedAt(2))
    path = tmp_path / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"checkpoint\.safetensors is damaged"):
        train(treebank, out=tmp_path, config=SMALL, resume=True)


# Whole or not at all


def full_at_fsync(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, calls = os.fsync, [0]

    def full(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr("biatt.data.files.os.fsync", full)


class Full:
    """A file on a disk that fills up in the middle of a write."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> Full:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> int:
        self.file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_at_write(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [0]

    def opened(*arguments: Any) -> Any:
        calls[0] += 1
        file = open(*arguments)  # noqa: SIM115 (replacing closes it)
        return Full(file) if calls[0] >= number else file

    monkeypatch.setattr("biatt.data.files.open", opened, raising=False)


FILES_BEFORE = 1  # the fingerprint
FILES_AN_EPOCH = 6  # checkpoint, metrics, card, configuration, vocabulary, weights


@pytest.mark.parametrize("fill", [full_at_fsync, full_at_write])
@pytest.mark.parametrize("number", range(1, FILES_BEFORE + 2 * FILES_AN_EPOCH + 1))
def test_full_disk_leaves_the_earlier_model_and_a_run_to_resume(
    treebank: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    fill: Callable[[int, pytest.MonkeyPatch], None],
) -> None:
    config = with_settings(SMALL, ["epochs=2", "hidden=4"])
    train(treebank, out=tmp_path / "one", config=with_settings(config, ["epochs=1"]))
    out = tmp_path / "m"
    with monkeypatch.context() as patch:
        fill(number + 1 if fill is full_at_write else number, patch)  # the treebank is opened first
        with pytest.raises(BiattError, match="no space left on device"):
            train(treebank, out=out, config=config)
    assert not leftovers(out)
    if number > FILES_BEFORE + FILES_AN_EPOCH:
        load(out)
        assert weights(out) == weights(tmp_path / "one")
    else:
        with pytest.raises(ModelError):
            load(out)
    train(treebank, out=out, config=config, resume=True)
    train(treebank, out=tmp_path / "whole", config=config)
    assert weights(out) == weights(tmp_path / "whole")


def test_loss_that_is_no_number_stops_training_and_spares_the_model(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(treebank, out=tmp_path / "two", config=with_settings(SMALL, ["epochs=2"]))
    monkeypatch.setattr(ParserRun, "train_epoch", poisoned_from(3, ParserRun.train_epoch))
    out = tmp_path / "m"
    with pytest.raises(TrainingError, match=r"loss became nan in epoch 3.*m keeps the model of epoch 2\.$"):
        train(treebank, out=out, config=SMALL)
    assert weights(out) == weights(tmp_path / "two")
    assert load(out).config == SMALL
    monkeypatch.undo()
    train(treebank, out=out, config=SMALL, resume=True)


def poisoned_from(number: int, train_epoch: Callable[..., float]) -> Callable[..., float]:
    def poisoned(self: ParserRun, epoch: int, rate: float, *, title: str) -> float:
        if epoch == number:
            with torch.no_grad():
                self.network.P[0, 0] = math.nan
        return train_epoch(self, epoch, rate, title=title)

    return poisoned


def test_weights_ruined_by_an_epochs_last_step_stop_training_too(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ruin(self: ParserRun, epoch: int, rate: float, *, title: str) -> float:
        with torch.no_grad():
            self.network.P.fill_(math.nan)
        return 1.0

    monkeypatch.setattr(ParserRun, "train_epoch", ruin)
    with pytest.raises(TrainingError, match=r"dev log-likelihood became nan in epoch 1.*has no model yet\.$"):
        train(treebank, out=tmp_path / "m", config=SMALL)
    assert not (tmp_path / "m" / "model.safetensors").exists()


def test_absurd_rate_ends_in_one_sentence(treebank: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="a lower rate may help"):
        train(treebank, out=tmp_path / "m", config=with_settings(SMALL, ["rate=1e38"]))


# What cannot be trained


def test_file_without_sentences_is_refused(treebank: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.conllu"
    empty.write_bytes(b"")
    with pytest.raises(TrainingError, match=r"empty\.conllu: there is no sentence to train on"):
        train(empty, out=tmp_path / "m", config=SMALL)
    with pytest.raises(TrainingError, match=r"empty\.conllu: there is no sentence to choose the model by"):
        train(treebank, dev=empty, out=tmp_path / "m", config=SMALL)
    assert not (tmp_path / "m").exists()


def test_one_sentence_cannot_be_both_trained_on_and_held_out(tmp_path: Path) -> None:
    write(generate(1), tmp_path / "one.conllu")
    with pytest.raises(TrainingError, match="no sentence to train on"):
        train(tmp_path / "one.conllu", out=tmp_path / "m", config=SMALL)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_dev_fraction_is_between_0_and_1(treebank: Path, tmp_path: Path, fraction: float) -> None:
    with pytest.raises(ConfigError, match=f"between 0 and 1, not {fraction:g}"):
        train(treebank, out=tmp_path / "m", config=SMALL, dev_fraction=fraction)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"device": "abacus"}, "device"),
    ],
)
def test_impossible_option_is_refused(
    treebank: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        train(treebank, out=tmp_path / "m", config=SMALL, **options)


@pytest.mark.parametrize(
    ("heads", "line", "message"), [(["2", "1"], 1, "cycle"), (["2", "_"], 2, "HEAD is '_'")]
)
def test_fault_in_a_tree_is_told_with_file_and_line(
    treebank: Path, tmp_path: Path, heads: list[str], line: int, message: str
) -> None:
    path = tmp_path / "bad.conllu"
    first, second = (f"{i}\t{w}\t_\tNOUN\t_\t_\t{h}\tdep\t_\t_\n" for i, w, h in zip("12", "ab", heads))  # noqa: B905
    start = treebank.read_text()
    path.write_text(start + first + second + "\n")
    for options in ({"train": path}, {"train": treebank, "dev": path}):
        with pytest.raises(FormatError, match=message) as caught:
            train(**options, out=tmp_path / "m", config=SMALL)
        assert (caught.value.source, caught.value.line) == (str(path), start.count("\n") + line)


def test_columns_that_are_all_empty_are_refused(tmp_path: Path) -> None:
    write([Sentence.from_words(["Ada", "sings"], heads=[2, 0])] * 4, tmp_path / "t.conllu")
    with pytest.raises(TrainingError, match=r"Every column to embed \(lemma\) is empty"):
        train(tmp_path / "t.conllu", out=tmp_path / "m", config=with_settings(SMALL, ["columns=lemma"]))


def test_folder_that_cannot_be_made_is_refused(treebank: Path, tmp_path: Path) -> None:
    for out in (treebank, treebank / "below"):
        with pytest.raises(ConfigError, match="cannot be a folder for the model"):
            train(treebank, out=out, config=SMALL)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_folder_that_cannot_be_written_is_refused_before_training(treebank: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot be written to"):
        train(treebank, out=tmp_path, config=SMALL)


def test_defaults_are_those_of_the_paper() -> None:
    assert (0.0002, pytest.approx(0.01), 0.9, 1e-8) == (RATE_STEP, DEVIATION**2, BETA1, EPSILON)
    assert training.train.__kwdefaults__["dev_fraction"] == 0.05
