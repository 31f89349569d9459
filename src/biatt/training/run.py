"""One training run: the paper's training (section 3), seeded and resumable.

Subclasses define the loss, the evaluation and the files of the model. A run's folder contains a loadable
model (the best so far) and `metrics.jsonl` after the first epoch, and a checkpoint until the end. Every
random choice is drawn from (seed, epoch), so a run that is resumed from a checkpoint takes the same steps as
one that was never interrupted.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from biatt.config import TrainingConfig
from biatt.data.folders import make_folder
from biatt.encoding.batches import shuffled
from biatt.errors import TrainingError
from biatt.machine.kernel_choice import require_compiled
from biatt.models.model_folder import CHECKPOINT, is_finished
from biatt.network.autograd import in_threads
from biatt.network.model import Dropout, Encoder
from biatt.training.checkpoint import State, load_checkpoint, save_checkpoint, with_prefix
from biatt.training.listener import Listener
from biatt.training.optimiser import Adam, CompiledAdam
from biatt.training.processes import ALONE, Processes
from biatt.training.records import Record, write_records

NOISE_STREAM = 1  # makes the random numbers of noise independent of the others
RATE_STEP = 0.0002  # of the search for the initial rate (the paper's)

NO_FACTS: Mapping[str, Any] = MappingProxyType({})
NO_ROWS: Mapping[int, NDArray[np.float32]] = MappingProxyType({})


@dataclass(frozen=True)
class Job:
    """One call of `train`: what all of its runs share."""

    out: Path
    fingerprint: str
    seed: int
    threads: int
    listener: Listener
    device: str = "cpu"
    processes: Processes = ALONE


class Run(ABC):
    """The training of one network, from its initial weights or from its checkpoint to its last epoch."""

    goal: str  # the dev figure that the linear schedule chooses the best epoch by
    unit = "words"  # what the network reads one after the other
    dev_words: int  # of the dev sentences
    facts: Mapping[str, Any] = NO_FACTS  # that the record of every epoch repeats

    def __init__(
        self,
        job: Job,
        config: TrainingConfig,
        network: Encoder,
        lengths: Sequence[int],
        *,
        stage: str = "",
        initial_rows: Mapping[int, NDArray[np.float32]] = NO_ROWS,
    ) -> None:
        """`lengths` are those of the training sentences, `stage` the path of the run's folder in `job.out`.

        `initial_rows` replace rows of the embeddings, **E**, before training.
        """
        require_compiled()
        self.folder, self.listener = job.out / stage, job.listener
        self.seed, self.threads, self.processes = job.seed, job.threads, job.processes
        self.device = job.device
        self.training, self.network, self.lengths = config, network, lengths
        self.words = sum(lengths)
        self.epochs = config.all_epochs(self.words)
        self.initial_rows = initial_rows
        self.adam = self._initialise()
        self.state = State(f"{job.fingerprint} {stage}", config.rate)
        self.best = self._tensors()
        self.recent: list[dict[str, Tensor]] = []  # weights of the last epochs, to be averaged
        if self.processes.first:
            self._open()
        self._follow_the_first()

    def _open(self) -> None:
        """Take up the state of the folder."""
        if (self.folder / CHECKPOINT).exists():
            self.state, tensors, self.best, *self.recent = load_checkpoint(
                self.folder / CHECKPOINT, self.state.fingerprint
            )
            self._restore(tensors)
            self.listener.message(f"Resuming after epoch {self.state.epoch}.")
        elif is_finished(self.folder):
            self.state.finished = True
            self.listener.message(f"{self.folder} is already trained.")
        else:
            make_folder(self.folder, "the model")

    @abstractmethod
    def loss(
        self, indices: list[int], dropout: Dropout | None, generator: np.random.Generator
    ) -> tuple[Tensor, int]:
        """The mean loss of the words of a batch, and their number."""

    def epoch_lengths(self, epoch: int) -> Sequence[int]:
        """The lengths of the training sentences of an epoch; a subclass can change the sentences before."""
        return self.lengths

    def words_of(self, epoch: int) -> int:
        """The number of words of the training sentences of an epoch, before noise."""
        return self.words

    def noise_generator(self, epoch: int) -> np.random.Generator:
        """The random numbers that an epoch's noise draws; those of order and dropout stay the same."""
        return np.random.default_rng([self.seed, epoch, NOISE_STREAM])

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Figures of the network on the dev sentences: its `goal`, dev_log_likelihood and others."""

    @abstractmethod
    def save_model(self, weights: dict[str, NDArray[Any]], best: Record, *, last: bool) -> None:
        """Write these weights as a model; `best` is the record of their epoch."""

    def finish(self, *, search_rate: bool = False) -> None:
        """Train until the schedule ends; after every epoch, everything is on disk."""
        with in_threads(self.threads):
            if search_rate:
                self.search_rate()
            while not self.state.finished:
                self._run_epoch()
            # Also if the run was killed after its last epoch.
            if self.processes.first and (self.folder / CHECKPOINT).exists():
                self._save_best(last=True)
                (self.folder / CHECKPOINT).unlink()

    def search_rate(self) -> None:
        """Climb in steps of RATE_STEP to the best dev log-likelihood after one epoch (section 3)."""
        if self.state.epoch or self.state.finished:
            return
        tried = {round(trial["rate"], 10): trial["dev_log_likelihood"] for trial in self.state.search}

        def after_one_epoch(rate: float) -> float:
            rate = round(rate, 10)
            if rate not in tried:
                self.adam = self._initialise()
                self.train_epoch(1, rate, title=f"rate {rate:.4f}")
                figures = self.processes.from_first(self.evaluate)
                tried[rate] = figures["dev_log_likelihood"]
                self.state.search.append({"search": True, "rate": rate, **figures})
                if self.processes.first:
                    self._save_checkpoint()
                self.listener.epoch(self.state.search[-1])
            return float(tried[rate])

        best = self.training.rate
        for step in (RATE_STEP, -RATE_STEP):
            while best + step > RATE_STEP / 2 and after_one_epoch(best + step) > after_one_epoch(best):
                best += step
        self.state.rate = round(best, 10)
        self.listener.message(f"The initial rate is {self.state.rate:.4f}.")
        self.adam = self._initialise()

    def train_epoch(self, epoch: int, rate: float, *, title: str, words_after: int | None = None) -> float:
        """Train on the sentences of an epoch, in random order; returns the mean loss of a word."""
        lengths = self.epoch_lengths(epoch)
        all_words = sum(lengths)
        self.listener.start(title, all_words, words_after=words_after)
        self.network.train()
        generator = np.random.default_rng([self.seed, epoch])
        dropout = self.new_dropout(generator)
        done, total = 0, 0.0
        batches = shuffled(lengths, batch_words=self.training.batch_words, generator=generator)
        for indices in batches:
            loss, words = self.loss(indices, dropout, generator)
            loss.backward()
            value = float(self.processes.add_up(self.adam.parameters, loss))
            self.check_finite("loss", value)
            current = rate * self._rate_left(epoch, done / all_words)
            self.adam.step(current, self.encoder_rate(current, epoch, done / all_words))
            done += words
            total += value * words
            self.listener.batch(words, value)
        return total / all_words

    def new_dropout(self, generator: np.random.Generator) -> Dropout | None:
        """The dropout of an epoch, whose masks depend on the next number of the generator."""
        if not self.training.dropout:
            return None
        masks = torch.Generator().manual_seed(int(generator.integers(2**62)))
        return Dropout(self.training.dropout, masks)

    def encoder_rate(self, rate: float, epoch: int, done: float) -> float:
        """The rate of a tuned encoder where that of the other weights is `rate`."""
        return 0.0

    def check_finite(self, name: str, value: float) -> None:
        if not math.isfinite(value):
            best = self.state.best_epoch
            kept = f"keeps the model of epoch {best}" if best else "has no model yet"
            raise TrainingError(
                f"The {name} became {value} in epoch {self.state.epoch + 1}: a lower rate may help; "
                f"{self.folder} {kept}."
            )

    def _run_epoch(self) -> None:
        """Train an epoch, evaluate, and save."""
        state, started = self.state, time.perf_counter()
        rate, epoch = state.rate, state.epoch + 1
        title, words_after = f"epoch {epoch}", None
        if self.training.schedule == "linear":  # the paper's schedule stops when it has seen enough
            title = f"{title}/{self.epochs}"
            words_after = sum(map(self.words_of, range(epoch + 1, self.epochs + 1)))
        loss = self.train_epoch(epoch, rate, title=title, words_after=words_after)
        if self.processes.first:
            self._end_epoch(epoch, rate, loss, started)
        self._follow_the_first()

    def _end_epoch(self, epoch: int, rate: float, loss: float, started: float) -> None:
        """Evaluate and save."""
        state, trained = self.state, time.perf_counter()
        if self.training.schedule == "linear":
            with self._averaged():
                figures = self.evaluate()
                self._keep_if_best(epoch, figures[self.goal])
            state.epoch, state.finished = epoch, epoch >= self.epochs
        else:
            figures = self.evaluate()
            self._halve_or_stop(epoch, figures["dev_log_likelihood"])
        record = {
            "epoch": epoch,
            "rate": rate * self._rate_left(epoch, 0.0),
            "train_loss": loss,
            **figures,
            "best": state.best_epoch == epoch,
            "words_per_second": self.words_of(epoch) / (trained - started),
            "seconds": time.perf_counter() - started,
            **self.facts,
        }
        state.history.append(record)
        self._save_checkpoint()
        self._save_best()
        self.listener.epoch(record)

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

    def _rate_left(self, epoch: int, done: float) -> float:
        """The factor of the rate after this share of an epoch; falls to 0 with the linear schedule."""
        linear = self.training.schedule == "linear"
        return 1 - (epoch - 1 + done) / self.epochs if linear else 1.0

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """The network with the mean weights of the last epochs; its own weights come back at the end."""
        weights = {name: value.detach().cpu().clone() for name, value in self.network.state_dict().items()}
        self.recent = [*self.recent, weights][-self.training.average :]
        if len(self.recent) > 1:
            means = {name: torch.stack([past[name] for past in self.recent]).mean(0) for name in weights}
            self._set_weights(means)
        yield
        self._set_weights(weights)

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

    @torch.no_grad()
    def _initialise(self) -> Adam:
        """Set the initial weights, the same for the same seed, and return a new optimiser."""
        self.network.initialise(torch.Generator().manual_seed(self.seed))
        for row, vector in self.initial_rows.items():
            self.network.E.weight[row] = torch.from_numpy(vector)
        optimiser = CompiledAdam if self.device == "cpu" else Adam
        return optimiser(dict(self.network.named_parameters()), self.training, threads=self.threads)

    def _tensors(self) -> dict[str, Tensor]:
        """A copy of the weights and of the optimiser's moments."""
        weights = {f"weights.{name}": value for name, value in self.network.state_dict().items()}
        moments = {f"moments.{name}": value for name, value in self.adam.moments.items()}
        return {name: value.detach().cpu().clone() for name, value in {**weights, **moments}.items()}

    @torch.no_grad()
    def _restore(self, tensors: Mapping[str, Tensor]) -> None:
        for prefix, targets in (("weights", self.network.state_dict()), ("moments", self.adam.moments)):
            for name, target in targets.items():
                target.copy_(tensors[f"{prefix}.{name}"])

    def _follow_the_first(self) -> None:
        """Take over the state and the tensors of the first process."""
        self.state = self.processes.from_first(lambda: self.state)
        self.processes.share({**self.network.state_dict(), **self.adam.moments})

    def _save_checkpoint(self) -> None:
        save_checkpoint(self.folder / CHECKPOINT, self.state, [self._tensors(), self.best, *self.recent])

    def _save_best(self, *, last: bool = False) -> None:
        """Write the best weights so far as a model, and the records of all epochs."""
        weights = {name: value.numpy() for name, value in with_prefix("weights.", self.best).items()}
        write_records(self.folder, [*self.state.search, *self.state.history])
        self.save_model(weights, self.state.history[self.state.best_epoch - 1], last=last)
