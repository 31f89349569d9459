"""Training of networks that label words (`labeller.py`)."""

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
from biatt.network.model import Labeller, Noise
from biatt.training.run import Listener, Run

Save = Callable[[dict[str, NDArray[Any]]], None]


class Data(NamedTuple):
    """Sentences in numbers, and their labels: (n, kinds) each."""

    sentences: list[Encoded]
    labels: list[Indices]


class LabellerRun(Run):
    """Trains a labeller; `save` makes a model folder of its weights."""

    goal = "dev_accuracy"  # the mean over kinds
    network: Labeller

    def __init__(
        self,
        config: Settings,
        labels: Labels,
        train: Data,
        dev: Data,
        *,
        dropped: Indices,  # what each row of E becomes when it is left out (`Vocabulary.dropped`)
        save: Save,
        seed: int,
        threads: int,
        listener: Listener,
    ) -> None:
        self.config, self.labels, self.train, self.dev, self.save = config, labels, train, dev, save
        self.dropped, rows = dropped, len(dropped)
        self.shares = np.full(rows, config.training.word_dropout, np.float32)
        super().__init__(
            config.training,
            Labeller(config.model, rows=rows, labels=labels.size, fused=True),
            [sentence.words for sentence in train.sentences],
            seed=seed,
            threads=threads,
            listener=listener,
        )

    def loss(
        self, indices: list[int], noise: Noise | None, generator: np.random.Generator
    ) -> tuple[Tensor, int]:
        config, batch = self.config.training, collate([self.train.sentences[i] for i in indices])
        if config.word_dropout:
            batch = with_dropout(batch, self.dropped, self.shares, generator)
        words = int(batch.words.sum())
        scores = self.network(batch, noise)
        return self._losses(scores, self.train.labels, indices, config.smoothing).sum() / words, words

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        self.network.eval()
        losses: list[float] = []

        def score(batch: Batch, indices: list[int]) -> list[Indices]:
            scores = self.network(batch)
            losses.append(float(self._losses(scores, self.dev.labels, indices, 0.0).sum()))
            return np.split(best_labels(scores.numpy(), self.labels), np.cumsum(batch.words)[:-1])

        labels = in_batches(self.dev.sentences, score, batch_words=self.config.training.batch_words)
        total = -sum(losses)
        self.check_finite("dev log-likelihood", total)
        gold = np.concatenate(self.dev.labels)
        right, known = (np.concatenate(labels) == gold).sum(0), (gold != NO_LABEL).sum(0)
        shares = right / np.maximum(known, 1)
        each = {f"dev_{kind}": float(share) for kind, share in zip(self.labels.kinds, shares, strict=True)}
        return {"dev_log_likelihood": total, **each, self.goal: float(shares.mean())}

    def save_model(self, weights: dict[str, NDArray[Any]], best: dict[str, Any], *, last: bool) -> None:
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
