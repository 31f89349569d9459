"""Training of networks that label words (`annotate/labeller.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from biatt.config import Settings
from biatt.encoding.batches import Batch, collate, in_batches, with_dropout
from biatt.encoding.labels import NO_LABEL, Labels
from biatt.encoding.vocabulary import Encoded, Indices
from biatt.network.autograd import FUSED
from biatt.network.losses import label_losses
from biatt.network.model import Dropout, Labeller
from biatt.training.records import Record
from biatt.training.run import Job, Run

Save = Callable[[dict[str, NDArray[Any]]], None]


class LabelledSentences(NamedTuple):
    sentences: list[Encoded]
    labels: list[Indices]  # of each sentence (n, kinds)


Noisy = Callable[[np.random.Generator], LabelledSentences]


class LabellerData(NamedTuple):
    train: LabelledSentences
    dev: LabelledSentences
    noisy: Noisy | None = None  # makes other training sentences for every epoch, `train` with noise


class LabellerRun(Run):
    """Trains a labeller; `save` writes its weights as a model."""

    goal = "dev_accuracy"  # the mean over kinds
    unit = "characters"
    network: Labeller

    def __init__(
        self,
        job: Job,
        config: Settings,
        labels: Labels,
        data: LabellerData,
        *,
        stage: str,
        dropped_rows: Indices,  # replace the rows of E of symbols that are left out (`Vocabulary.dropped`)
        save: Save,
    ) -> None:
        self.labels, self.save = labels, save
        self.train, self.dev, self.noisy = data
        self.dev_words = sum(sentence.words for sentence in self.dev.sentences)
        self.dropped_rows, rows = dropped_rows, len(dropped_rows)
        self.drop_rates = np.full(rows, config.training.word_dropout, np.float32)
        super().__init__(
            job,
            config.training,
            Labeller(config.model, rows=rows, labels=labels.size, operations=FUSED),
            [sentence.words for sentence in self.train.sentences],
            stage=stage,
        )

    def epoch_lengths(self, epoch: int) -> Sequence[int]:
        if self.noisy is not None:
            self.train = self.noisy(self.noise_generator(epoch))
        return [sentence.words for sentence in self.train.sentences]

    def loss(
        self, indices: list[int], dropout: Dropout | None, generator: np.random.Generator
    ) -> tuple[Tensor, int]:
        batch = collate([self.train.sentences[i] for i in indices])
        if self.training.word_dropout:
            batch = with_dropout(batch, self.dropped_rows, self.drop_rates, generator)
        words = int(batch.words.sum())
        gold = np.concatenate([self.train.labels[i] for i in indices])
        dropout = self.processes.dropout(dropout, batch)
        batch = self.processes.part(batch._replace(labels=gold))
        assert batch.labels is not None
        scores = self.network(batch, dropout)
        losses = label_losses(scores, batch.labels, self.labels, smoothing=self.training.smoothing)
        return losses.sum() / words, words

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        self.network.eval()
        losses: list[float] = []

        def score(batch: Batch, indices: list[int]) -> list[Indices]:
            scores = self.network(batch)
            gold = np.concatenate([self.dev.labels[i] for i in indices])
            losses.append(float(label_losses(scores, gold, self.labels).sum()))
            return np.split(self.labels.best(scores.numpy()), np.cumsum(batch.words)[:-1])

        labels = in_batches(self.dev.sentences, score, batch_words=self.training.batch_words)
        log_likelihood = -sum(losses)
        self.check_finite("dev log-likelihood", log_likelihood)
        accuracies = label_accuracies(labels, self.dev.labels, self.labels)
        mean = sum(accuracies.values()) / len(accuracies)
        return {"dev_log_likelihood": log_likelihood, **accuracies, self.goal: mean}

    def save_model(self, weights: dict[str, NDArray[Any]], best: Record, *, last: bool) -> None:
        self.save(weights)


def label_accuracies(chosen: Sequence[Indices], gold: Sequence[Indices], labels: Labels) -> dict[str, float]:
    """For the records: the share of right labels of each kind, among words whose label is known."""
    right, known = np.concatenate(chosen) == np.concatenate(gold), np.concatenate(gold) != NO_LABEL
    accuracies = (right & known).sum(0) / np.maximum(known.sum(0), 1)
    return {f"dev_{kind}": float(share) for kind, share in zip(labels.kinds, accuracies, strict=True)}
