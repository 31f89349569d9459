"""Training of networks that label words (`annotate/labeller.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from biatt.annotate.labeller import NO_LABEL, Labels, best_labels
from biatt.config import Settings
from biatt.encoding.batches import Batch, collate, in_batches, with_dropout
from biatt.encoding.vocabulary import Encoded, Indices
from biatt.network.autograd import FUSED
from biatt.network.model import Dropout, Labeller
from biatt.training.records import Record
from biatt.training.run import Job, Run

Save = Callable[[dict[str, NDArray[Any]]], None]


class LabelledSentences(NamedTuple):
    sentences: list[Encoded]
    labels: list[Indices]  # of each sentence (n, kinds)


class LabellerRun(Run):
    """Trains a labeller; `save` writes its weights as a model."""

    goal = "dev_accuracy"  # the mean over kinds
    network: Labeller

    def __init__(
        self,
        job: Job,
        config: Settings,
        labels: Labels,
        train: LabelledSentences,
        dev: LabelledSentences,
        *,
        stage: str,
        dropped_rows: Indices,  # replace the rows of E of symbols that are left out (`Vocabulary.dropped`)
        save: Save,
    ) -> None:
        self.labels, self.train, self.dev, self.save = labels, train, dev, save
        self.dropped_rows, rows = dropped_rows, len(dropped_rows)
        self.drop_rates = np.full(rows, config.training.word_dropout, np.float32)
        super().__init__(
            job,
            config.training,
            Labeller(config.model, rows=rows, labels=labels.size, operations=FUSED),
            [sentence.words for sentence in train.sentences],
            stage=stage,
        )

    def loss(
        self, indices: list[int], dropout: Dropout | None, generator: np.random.Generator
    ) -> tuple[Tensor, int]:
        batch = collate([self.train.sentences[i] for i in indices])
        if self.training.word_dropout:
            batch = with_dropout(batch, self.dropped_rows, self.drop_rates, generator)
        words = int(batch.words.sum())
        scores = self.network(batch, dropout)
        losses = self._losses(scores, self.train.labels, indices, self.training.smoothing)
        return losses.sum() / words, words

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        self.network.eval()
        losses: list[float] = []

        def score(batch: Batch, indices: list[int]) -> list[Indices]:
            scores = self.network(batch)
            losses.append(float(self._losses(scores, self.dev.labels, indices, 0.0).sum()))
            return np.split(best_labels(scores.numpy(), self.labels), np.cumsum(batch.words)[:-1])

        labels = in_batches(self.dev.sentences, score, batch_words=self.training.batch_words)
        log_likelihood = -sum(losses)
        self.check_finite("dev log-likelihood", log_likelihood)
        gold = np.concatenate(self.dev.labels)
        correct, known = (np.concatenate(labels) == gold).sum(0), (gold != NO_LABEL).sum(0)
        accuracies = correct / np.maximum(known, 1)
        by_kind = {
            f"dev_{kind}": float(accuracy)
            for kind, accuracy in zip(self.labels.kinds, accuracies, strict=True)
        }
        return {"dev_log_likelihood": log_likelihood, **by_kind, self.goal: float(accuracies.mean())}

    def save_model(self, weights: dict[str, NDArray[Any]], best: Record, *, last: bool) -> None:
        self.save(weights)

    def _losses(
        self, scores: Tensor, labels: Sequence[Indices], indices: list[int], smoothing: float
    ) -> Tensor:
        """The cross entropy of each kind, summed over the words of a batch."""
        gold = torch.from_numpy(np.concatenate([labels[i] for i in indices])).long()
        return torch.stack(
            [
                F.cross_entropy(
                    scores[:, part],
                    gold[:, kind],
                    ignore_index=NO_LABEL,
                    reduction="sum",
                    label_smoothing=smoothing,
                )
                for kind, part in enumerate(self.labels.slices)
            ]
        )
