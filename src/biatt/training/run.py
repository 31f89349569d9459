"""The way to a network's weights: the paper's training (section 3), seeded, resumable, whole or not at all.

What is trained, how it is scored and what a model folder holds is the affair of `Run`'s subclasses. A folder
holds a loadable model (the best so far) after the first epoch, `metrics.jsonl`, and until the end
`checkpoint.safetensors`. Every random choice is drawn from (seed, epoch), so a run that goes on from a
checkpoint takes the same steps as one that was never interrupted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from biatt.config import TrainingConfig
from biatt.data.files import replacing
from biatt.data.sentence import Sentence
from biatt.encoding.batches import shuffled
from biatt.errors import ConfigError, TrainingError
from biatt.model_folder import CHECKPOINT, METRICS, WEIGHTS
from biatt.network.model import Encoder, Noise
from biatt.training.checkpoint import State, load_checkpoint, save_checkpoint, with_prefix
from biatt.training.optimiser import Adam

RATE_STEP = 0.0002  # of the search for the initial rate (the paper's)


class Listener(Protocol):
    """What training tells of itself while it runs."""

    def message(self, text: str) -> None: ...
    def start(self, title: str, words: int) -> None: ...
    def batch(self, words: int, loss: float) -> None: ...
    def epoch(self, record: dict[str, Any]) -> None: ...


class Silent:
    def message(self, text: str) -> None:
        pass

    def start(self, title: str, words: int) -> None:
        pass

    def batch(self, words: int, loss: float) -> None:
        pass

    def epoch(self, record: dict[str, Any]) -> None:
        pass


class Run(ABC):
    """One training run: its network, its data's lengths, its place on disk."""

    goal: str  # the dev figure that the linear schedule keeps the best epoch by
    out: Path
    state: State
    best: dict[str, Tensor]
    recent: list[dict[str, Tensor]]  # the weights of the last epochs, where they are averaged

    def __init__(
        self,
        config: TrainingConfig,
        network: Encoder,
        lengths: Sequence[int],
        *,
        seed: int,
        threads: int,
        listener: Listener,
    ) -> None:
        self.schedule, self.network, self.lengths = config, network, lengths
        self.seed, self.threads, self.listener = seed, threads, listener
        self.epochs = config.all_epochs(sum(lengths))
        self.restart()

    @abstractmethod
    def loss(
        self, indices: list[int], noise: Noise | None, generator: np.random.Generator
    ) -> tuple[Tensor, int]:
        """The loss per word of a batch, and the batch's words."""

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """What the dev sentences say of the network: its `goal` and dev_log_likelihood among it."""

    @abstractmethod
    def save_model(self, weights: dict[str, NDArray[Any]], best: dict[str, Any], *, last: bool) -> None:
        """Write these weights, of an epoch with this record, as a model folder."""

    def restart(self) -> None:
        """Initial weights and a fresh optimiser; the same for the same seed."""
        generator = torch.Generator().manual_seed(self.seed)
        self.network.initialise(generator)
        self.adam = Adam(dict(self.network.named_parameters()), self.schedule, threads=self.threads)

    def open(self, out: Path, fingerprint: str, *, resume: bool) -> None:
        """Begin in an empty folder, or go on from its checkpoint."""
        self.out = out
        self.restart()
        self.state = State(fingerprint, self.schedule.rate)
        self.best, self.recent = self._tensors(), []
        checkpoint = out / CHECKPOINT
        if checkpoint.exists() or (out / WEIGHTS).exists():
            if not resume:
                raise ConfigError(f"{out} already holds a model or a run: resume it, or name another folder.")
            if checkpoint.exists():
                self.state, now, self.best, *self.recent = load_checkpoint(checkpoint, fingerprint)
                self._restore(now)
                self.listener.message(f"Going on after epoch {self.state.epoch}.")
            else:
                self.listener.message(f"{out} is already trained.")
                self.state.finished = True
        else:
            make_folder(out)

    def search_rate(self) -> None:
        """Climb in steps of `RATE_STEP` to the best dev log-likelihood after one epoch (section 3)."""
        if self.state.epoch or self.state.finished:
            return
        tried = {round(trial["rate"], 10): trial["dev_log_likelihood"] for trial in self.state.search}

        def after_one_epoch(rate: float) -> float:
            rate = round(rate, 10)
            if rate not in tried:
                self.restart()
                self.train_epoch(1, rate, title=f"rate {rate:.4f}")
                found = self.evaluate()
                tried[rate] = found["dev_log_likelihood"]
                self.state.search.append({"search": True, "rate": rate, **found})
                self._save_checkpoint()
                self.listener.epoch(self.state.search[-1])
            return float(tried[rate])

        best = self.schedule.rate
        for direction in (RATE_STEP, -RATE_STEP):
            while best + direction > RATE_STEP / 2 and after_one_epoch(best + direction) > after_one_epoch(
                best
            ):
                best += direction
        self.state.rate = round(best, 10)
        self.listener.message(f"The initial rate is {self.state.rate:.4f}.")
        self.restart()

    def finish_epochs(self) -> None:
        """Train until the schedule says stop; after every epoch, everything is on disk."""
        state = self.state
        while not state.finished:
            started = time.perf_counter()
            rate, epoch = state.rate, state.epoch + 1
            loss = self.train_epoch(epoch, rate, title=f"epoch {epoch}")
            trained = time.perf_counter()
            if self.schedule.schedule == "linear":
                with self._averaged():
                    found = self.evaluate()
                    self._keep_if_best(epoch, found[self.goal])
                state.epoch, state.finished = epoch, epoch >= self.epochs
            else:
                found = self.evaluate()
                self._halve_or_stop(epoch, found["dev_log_likelihood"])
            record = {
                "epoch": epoch,
                "rate": rate * self._remaining(epoch, 0.0),
                "train_loss": loss,
                **found,
                "best": state.best_epoch == epoch,
                "words_per_second": sum(self.lengths) / (trained - started),
                "seconds": time.perf_counter() - started,
            }
            state.history.append(record)
            self._save_checkpoint()
            self._save_best()
            self.listener.epoch(record)
        if (self.out / CHECKPOINT).exists():  # also when killed between the last epoch and here
            self._save_best(last=True)
            (self.out / CHECKPOINT).unlink()

    def train_epoch(self, epoch: int, rate: float, *, title: str) -> float:
        """One pass over the shuffled data; the mean loss per word."""
        self.listener.start(title, sum(self.lengths))
        self.network.train()
        generator = np.random.default_rng([self.seed, epoch])
        total = 0.0
        config = self.schedule
        noise = None
        if config.dropout:
            noise = Noise(config.dropout, torch.Generator().manual_seed(int(generator.integers(2**62))))
        done, everything = 0, sum(self.lengths)
        for indices in shuffled(self.lengths, batch_words=config.batch_words, generator=generator):
            loss, words = self.loss(indices, noise, generator)
            value = float(loss.detach())
            self.check_finite("loss", value)
            loss.backward()
            self.adam.step(rate * self._remaining(epoch, done / everything))
            done += words
            total += value * words
            self.listener.batch(words, value)
        return total / everything

    def check_finite(self, what: str, value: float) -> None:
        if not math.isfinite(value):
            best = self.state.best_epoch
            kept = f"keeps the model of epoch {best}" if best else "has no model yet"
            raise TrainingError(
                f"The {what} became {value} in epoch {self.state.epoch + 1}: a lower rate may help; "
                f"{self.out} {kept}."
            )

    def _halve_or_stop(self, epoch: int, dev_log_likelihood: float) -> None:
        """Halve the rate from the first epoch on that does not beat the best; stop at the second."""
        state = self.state
        state.epoch = epoch
        if not self._keep_if_best(epoch, dev_log_likelihood):
            state.drops += 1
            if state.drops == 1:
                self._restore(self.best)
        if state.drops:
            state.rate /= 2
        state.finished = state.drops == 2 or epoch >= self.epochs

    def _remaining(self, epoch: int, done: float) -> float:
        """What the linear schedule leaves of the rate when this share of an epoch is done."""
        linear = self.schedule.schedule == "linear"
        return 1 - (epoch - 1 + done) / self.epochs if linear else 1.0

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """With the mean of the last epochs' weights in the network; this epoch's come back after it."""
        now = {name: value.detach().cpu().clone() for name, value in self.network.state_dict().items()}
        self.recent = [*self.recent, now][-self.schedule.average :]
        self._set_weights(
            {name: torch.stack([past[name] for past in self.recent]).mean(0) for name in now}
            if len(self.recent) > 1
            else now
        )
        yield
        self._set_weights(now)

    @torch.no_grad()
    def _set_weights(self, weights: Mapping[str, Tensor]) -> None:
        for name, target in self.network.state_dict().items():
            target.copy_(weights[name])

    def _keep_if_best(self, epoch: int, score: float) -> bool:
        if score <= self.state.best_score:
            return False
        self.state.best_epoch, self.state.best_score = epoch, score
        self.best = self._tensors()
        return True

    def _tensors(self) -> dict[str, Tensor]:
        """A copy of the weights and the optimiser's moments."""
        weights = {f"weights.{name}": value for name, value in self.network.state_dict().items()}
        moments = {f"moments.{name}": value for name, value in self.adam.moments.items()}
        return {name: value.detach().cpu().clone() for name, value in {**weights, **moments}.items()}

    @torch.no_grad()
    def _restore(self, tensors: Mapping[str, Tensor]) -> None:
        for prefix, targets in (("weights", self.network.state_dict()), ("moments", self.adam.moments)):
            for name, target in targets.items():
                target.copy_(tensors[f"{prefix}.{name}"])

    def _save_checkpoint(self) -> None:
        save_checkpoint(self.out / CHECKPOINT, self.state, [self._tensors(), self.best, *self.recent])

    def _save_best(self, *, last: bool = False) -> None:
        """The best weights so far as a model folder, with the run's records."""
        weights = {name: value.numpy() for name, value in with_prefix("weights.", self.best).items()}
        records = [*self.state.search, *self.state.history]
        with replacing(self.out / METRICS) as file:
            file.write("".join(json.dumps(record) + "\n" for record in records).encode())
        self.save_model(weights, self.state.history[self.state.best_epoch - 1], last=last)


def make_folder(out: Path) -> None:
    """Make a folder for a model, or say in one sentence why there cannot be one."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{out} cannot be a folder for the model: {error.strerror}.") from error
    if not os.access(out, os.W_OK):
        raise ConfigError(f"{out} is a folder that cannot be written to.")


def fingerprint_of(
    options: Sequence[object], vectors: Sequence[NDArray[np.float32]], *treebanks: Sequence[Sentence]
) -> str:
    """A digest of everything that determines the weights."""
    digest = hashlib.sha256(repr(options).encode())
    for vector in vectors:
        digest.update(vector.tobytes())
    for treebank in treebanks:
        digest.update(b"\0")
        for sentence in treebank:
            digest.update(sentence.to_text().encode())
    return digest.hexdigest()
