"""Runs of labellers: the loss falls, and accuracy is counted by kind, without unknown labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from biatt.annotate.tags import gold_columns, labels_of
from biatt.config import TokeniserSettings, with_settings
from biatt.data.toy_treebank import generate
from biatt.encoding.labels import NO_LABEL
from biatt.encoding.vocabulary import Vocabulary
from biatt.training.labeller_run import LabelledSentences, LabellerData, LabellerRun, Noisy
from biatt.training.listener import Silent
from biatt.training.run import Job

SETTINGS = ["hidden=8", "rate=0.05", "clip=1", "schedule=linear", "epochs=10", "batch_words=20"]


def labeller_run(folder: Path, *changes: str, noisy: Noisy | None = None) -> LabellerRun:
    """A labeller of the words of twelve sentences, which are dev sentences as well."""
    sentences = generate(12, seed=1)
    vocabulary = Vocabulary.build(sentences, columns=("form",), min_count=1)
    labels = labels_of(sentences)
    columns = map(gold_columns, sentences)
    labelled = LabelledSentences(
        [vocabulary.encode(sentence) for sentence in sentences],
        [labels.encode(*(column[kind] for kind in labels.kinds)) for column in columns],
    )
    return LabellerRun(
        Job(folder, "a fingerprint", seed=1, threads=1, listener=Silent()),
        with_settings(TokeniserSettings(), [*SETTINGS, *changes]),
        labels,
        LabellerData(labelled, labelled, noisy),
        stage="labeller",
        dropped_rows=vocabulary.dropped()[0],
        save=lambda weights: None,
    )


@pytest.mark.slow
def test_labeller_learns(tmp_path: Path) -> None:
    run = labeller_run(tmp_path)
    untrained = run.evaluate()
    run.finish()
    losses = [record["train_loss"] for record in run.state.history]
    assert losses[-1] < 0.5 * losses[0]
    best = run.state.history[run.state.best_epoch - 1]
    assert best["dev_upos"] > untrained["dev_upos"] + 0.3
    assert best["dev_log_likelihood"] > untrained["dev_log_likelihood"]


def test_accuracy_is_counted_by_kind_without_unknown_labels(tmp_path: Path) -> None:
    run = labeller_run(tmp_path)
    upos = list(run.labels.kinds).index("upos")
    figures = run.evaluate()
    kinds = [f"dev_{kind}" for kind in run.labels.kinds]
    assert figures.keys() == {"dev_log_likelihood", "dev_accuracy", *kinds}
    assert figures["dev_accuracy"] == pytest.approx(np.mean([figures[kind] for kind in kinds]))
    right = figures["dev_upos"]
    for labels in run.dev.labels[1:]:
        labels[:, upos] = NO_LABEL
    first = LabelledSentences(run.dev.sentences[:1], run.dev.labels[:1])
    only_first = run.evaluate()["dev_upos"]
    run.dev = first
    assert run.evaluate()["dev_upos"] == only_first
    for labels in run.dev.labels:
        labels[:, upos] = NO_LABEL
    assert run.evaluate()["dev_upos"] == 0.0
    assert 0 <= right <= 1


@pytest.mark.parametrize("change", ["dropout=0.5", "word_dropout=0.5", "smoothing=0.2"])
def test_each_way_of_training_changes_the_weights_but_not_the_evaluation(tmp_path: Path, change: str) -> None:
    plain = labeller_run(tmp_path / "a")
    other, same = labeller_run(tmp_path / "b", change), labeller_run(tmp_path / "c", change)
    assert other.evaluate() == plain.evaluate()
    for run in (plain, other, same):
        run.train_epoch(1, 0.01, title="")
    assert (other.network.P != plain.network.P).any()
    assert (other.network.P == same.network.P).all()


def test_loss_of_equal_scores_is_the_logarithm_of_the_number_of_labels(tmp_path: Path) -> None:
    run = labeller_run(tmp_path)
    for parameter in run.network.parameters():
        parameter.data.zero_()
    loss, words = run.loss([0, 1], None, np.random.default_rng(0))
    assert words == sum(sentence.words for sentence in run.train.sentences[:2])
    known = (np.concatenate(run.train.labels[:2]) != NO_LABEL).sum(0)
    costs = [np.log(len(labels)) for labels in run.labels.kinds.values()]
    assert loss.item() == pytest.approx(known @ costs / words, rel=1e-5)


def test_every_epoch_has_noise_of_its_own(tmp_path: Path) -> None:
    """The same for the same seed and epoch, whatever came before, and no other choice depends on it."""
    drawn: list[float] = []
    run = labeller_run(tmp_path / "a")
    every, some = run.train, LabelledSentences(run.train.sentences[:5], run.train.labels[:5])

    def noisy(generator: np.random.Generator) -> LabelledSentences:
        drawn.append(generator.random())
        return some if len(drawn) == 1 else every

    other = labeller_run(tmp_path / "b", noisy=noisy)
    assert list(other.epoch_lengths(1)) == [sentence.words for sentence in some.sentences]
    assert list(other.epoch_lengths(2)) == [sentence.words for sentence in every.sentences]
    for each in (run, other):
        each.train_epoch(2, 0.01, title="")
    assert drawn[0] != drawn[1] == drawn[2]
    assert (run.network.P == other.network.P).all()  # without any change, as without noise
