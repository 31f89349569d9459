"""From a treebank to a model: the paper's training (section 3), seeded, resumable, whole or not at all.

An output folder holds a loadable model (the best so far) after the first epoch, `metrics.jsonl`, and until
the end `checkpoint.safetensors`. Every random choice is drawn from (seed, epoch), so a run that goes on from
a checkpoint takes the same steps as one that was never interrupted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from biatt import metrics
from biatt.batches import by_length, collate, shuffled, with_dropout
from biatt.card import model_card
from biatt.checkpoint import State, load_checkpoint, save_checkpoint, with_prefix
from biatt.confidence import fitted
from biatt.config import Config
from biatt.conll import Sentence, read
from biatt.errors import ConfigError, TrainingError
from biatt.files import replacing
from biatt.fused import in_threads
from biatt.model import BiAtt, Noise, disagreement, log_likelihood, scores, torch_device
from biatt.optimiser import Adam
from biatt.parser import BATCH_WORDS, Parser, with_best_tree
from biatt.vocabulary import Vocabulary
from biatt.wordvectors import read_vectors

CHECKPOINT = "checkpoint.safetensors"
METRICS = "metrics.jsonl"
CARD = "README.md"


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


def train(
    train: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    dev: str | Path | None = None,
    dev_fraction: float = 0.05,
    config: Config | None = None,
    embeddings: str | Path | None = None,
    seed: int = 1,
    threads: int = 1,
    search_rate: bool = False,
    resume: bool = False,
    device: str = "cpu",
    licence: str = "not stated",
    command: str = "",
    listener: Listener | None = None,
) -> Parser:
    """Train a model on CoNLL files and leave it in the folder `out`; returns its parser.

    Without `dev`, a random `dev_fraction` of the training sentences is held out, as in the paper. With
    `resume`, an interrupted run goes on from its last epoch; a finished one is just loaded.
    """
    config, listener, out = config or Config(), listener or Silent(), Path(out)
    if threads < 1:
        raise ConfigError("threads must be at least 1.")
    if not 0 <= seed < 2**63:
        raise ConfigError(f"The seed must be from 0 to 2^63 - 1, not {seed}.")
    files = [train] if isinstance(train, (str, Path)) else list(train)
    train_sentences, dev_sentences = split_treebank(files, dev, dev_fraction, seed)
    vectors = read_vectors(embeddings) if embeddings else None
    if vectors is not None:
        width = vectors.vectors.shape[1]
        if config.model.embedding not in (0, width):
            raise ConfigError(
                f"embedding={config.model.embedding}, but the vectors of {embeddings} are {width} wide."
            )
        config = replace(config, model=replace(config.model, embedding=width))
    vocabulary = Vocabulary.build(
        train_sentences,
        columns=config.model.columns,
        min_count=config.model.min_count,
        affixes=config.model.affixes,
    )
    if not vocabulary.symbols:
        raise TrainingError(
            f"Every column to embed ({', '.join(config.model.columns)}) is empty in the training data."
        )
    run = Run(
        config,
        vocabulary,
        train_sentences,
        dev_sentences,
        seed=seed,
        device=device,
        threads=threads,
        listener=listener,
    )
    run.about = {
        "train": [str(file) for file in files],
        "dev": str(dev) if dev else f"{dev_fraction:.0%} of train, held out at random",
        "embeddings": str(embeddings) if embeddings else None,
        "seed": seed,
        "threads": threads,
        "licence": licence,
        "command": command,
    }
    if vectors is not None:
        forms = vocabulary.symbols.get("form", [])
        found = {form: vector for form in forms if (vector := vectors.get(form)) is not None}
        run.initial_forms = {vocabulary.row("form", form): vector for form, vector in found.items()}
    options = [config, seed, threads, search_rate, *run.initial_forms]
    fingerprint = _fingerprint(options, [*run.initial_forms.values()], train_sentences, dev_sentences)
    run.open(out, fingerprint, resume=resume)
    listener.message(
        f"{len(train_sentences)} sentences to train on, {len(dev_sentences)} to choose by; "
        f"{', '.join(vocabulary.symbols)}; {len(vocabulary.relations)} relations; "
        f"{sum(p.numel() for p in run.network.parameters()):,} parameters."
    )
    if vectors is not None:
        listener.message(f"{len(found)} of {len(forms)} forms have a vector in {embeddings}.")
    with in_threads(threads if device == "cpu" else 1):
        if search_rate:
            run.search_rate()
        run.finish_epochs()
    return Parser.load(out, device=device)


class Run:
    """One training run: its data in numbers, its network, its place on disk."""

    out: Path
    state: State
    best: dict[str, torch.Tensor]
    recent: list[dict[str, torch.Tensor]]  # the weights of the last epochs, where they are averaged

    def __init__(
        self,
        config: Config,
        vocabulary: Vocabulary,
        train_sentences: list[Sentence],
        dev_sentences: list[Sentence],
        *,
        seed: int,
        device: str,
        threads: int,
        listener: Listener,
    ) -> None:
        self.config, self.vocabulary, self.seed, self.listener = config, vocabulary, seed, listener
        self.threads = threads
        self.data = [vocabulary.encode(sentence) for sentence in train_sentences]
        self.lengths = [item.words for item in self.data]
        self.epochs = config.training.all_epochs(sum(self.lengths))
        self.dev_sentences = dev_sentences
        self.dev = [vocabulary.encode(sentence) for sentence in dev_sentences]
        self.network = BiAtt(
            config.model, rows=vocabulary.size, relations=len(vocabulary.relations), fused=device == "cpu"
        )
        self.network.to(torch_device(device))
        self.becomes, is_tag = vocabulary.dropped()
        shares = np.where(is_tag, config.training.tag_dropout, config.training.word_dropout)
        self.shares = shares.astype(np.float32)
        self.initial_forms: dict[int | None, NDArray[np.float32]] = {}
        self.about: dict[str, Any] = {}
        self.restart()

    def restart(self) -> None:
        """Initial weights and a fresh optimiser; the same for the same seed."""
        config = self.config.training
        generator = torch.Generator().manual_seed(self.seed)
        self.network.initialise(
            deviation=config.deviation, first_state=config.first_state, generator=generator
        )
        with torch.no_grad():
            for row, vector in self.initial_forms.items():
                self.network.E.weight[row] = torch.from_numpy(vector)
        self.adam = Adam(dict(self.network.named_parameters()), config, threads=self.threads)

    def open(self, out: Path, fingerprint: str, *, resume: bool) -> None:
        """Begin in an empty folder, or go on from its checkpoint."""
        self.out = out
        self.restart()
        self.state = State(fingerprint, self.config.training.rate)
        self.best, self.recent = self._tensors(), []
        checkpoint = out / CHECKPOINT
        if checkpoint.exists() or (out / "model.safetensors").exists():
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
            try:
                out.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ConfigError(f"{out} cannot be a folder for the model: {error.strerror}.") from error
            if not os.access(out, os.W_OK):
                raise ConfigError(f"{out} is a folder that cannot be written to.")

    def search_rate(self) -> None:
        """Climb in steps of `rate_step` to the best dev log-likelihood after one epoch (section 3)."""
        if self.state.epoch or self.state.finished:
            return
        step = self.config.training.rate_step
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

        best = self.config.training.rate
        for direction in (step, -step):
            while best + direction > step / 2 and after_one_epoch(best + direction) > after_one_epoch(best):
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
            if self.config.training.schedule == "linear":
                with self._averaged():
                    found = self.evaluate()
                    self._keep_if_best(epoch, found["dev_las"])
                state.epoch, state.finished = epoch, epoch >= self.epochs
            else:
                found = self.evaluate()
                self._schedule(epoch, found["dev_log_likelihood"])
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
            self._save_model()
            self.listener.epoch(record)
        if (self.out / CHECKPOINT).exists():  # also when killed between the last epoch and here
            self._save_model(calibrate=True)
            (self.out / CHECKPOINT).unlink()

    def train_epoch(self, epoch: int, rate: float, *, title: str) -> float:
        """One pass over the shuffled data; the mean loss per word."""
        self.listener.start(title, sum(self.lengths))
        self.network.train()
        generator = np.random.default_rng([self.seed, epoch])
        total = 0.0
        config = self.config.training
        noise = None
        if config.dropout:
            noise = Noise(config.dropout, torch.Generator().manual_seed(int(generator.integers(2**62))))
        done, everything = 0, sum(self.lengths)
        for indices in shuffled(self.lengths, batch_words=config.batch_words, generator=generator):
            batch = collate([self.data[i] for i in indices])
            if config.word_dropout or config.tag_dropout:
                batch = with_dropout(batch, self.becomes, self.shares, generator)
            words = int(batch.words.sum())
            output = self.network(batch, noise)
            loss = -log_likelihood(output, batch, smoothing=config.smoothing) / words
            if config.agreement:
                loss = loss + config.agreement * disagreement(output) / words
            value = float(loss.detach())
            self._check_finite("loss", value)
            loss.backward()
            self.adam.step(rate * self._remaining(epoch, done / everything))
            done += words
            total += value * words
            self.listener.batch(words, value)
        return total / everything

    def _check_finite(self, what: str, value: float) -> None:
        if not math.isfinite(value):
            best = self.state.best_epoch
            kept = f"keeps the model of epoch {best}" if best else "has no model yet"
            raise TrainingError(
                f"The {what} became {value} in epoch {self.state.epoch + 1}: a lower rate may help; "
                f"{self.out} {kept}."
            )

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Log-likelihood, UAS and LAS of the dev sentences with MST decoding."""
        self.network.eval()
        total, parsed = 0.0, list(self.dev_sentences)
        for indices in by_length([item.words for item in self.dev], batch_words=BATCH_WORDS):
            batch = collate([self.dev[i] for i in indices])
            output = self.network(batch)
            value = float(log_likelihood(output, batch))
            self._check_finite("dev log-likelihood", value)
            total += value
            for i, found in zip(indices, scores(output, batch), strict=True):
                parsed[i] = with_best_tree(self.dev_sentences[i], found, self.vocabulary)
        result = metrics.evaluate(self.dev_sentences, parsed)
        return {"dev_log_likelihood": total, "dev_uas": result.uas, "dev_las": result.las}

    def _schedule(self, epoch: int, dev_log_likelihood: float) -> None:
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
        linear = self.config.training.schedule == "linear"
        return 1 - (epoch - 1 + done) / self.epochs if linear else 1.0

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """With the mean of the last epochs' weights in the network; this epoch's come back after it."""
        now = {name: value.detach().cpu().clone() for name, value in self.network.state_dict().items()}
        self.recent = [*self.recent, now][-self.config.training.average :]
        self._set_weights(
            {name: torch.stack([past[name] for past in self.recent]).mean(0) for name in now}
            if len(self.recent) > 1
            else now
        )
        yield
        self._set_weights(now)

    @torch.no_grad()
    def _set_weights(self, weights: Mapping[str, torch.Tensor]) -> None:
        for name, target in self.network.state_dict().items():
            target.copy_(weights[name])

    def _keep_if_best(self, epoch: int, score: float) -> bool:
        if score <= self.state.best_score:
            return False
        self.state.best_epoch, self.state.best_score = epoch, score
        self.best = self._tensors()
        return True

    def _tensors(self) -> dict[str, torch.Tensor]:
        """A copy of the weights and the optimiser's moments."""
        weights = {f"weights.{name}": value for name, value in self.network.state_dict().items()}
        moments = {f"moments.{name}": value for name, value in self.adam.moments.items()}
        return {name: value.detach().cpu().clone() for name, value in {**weights, **moments}.items()}

    @torch.no_grad()
    def _restore(self, tensors: Mapping[str, torch.Tensor]) -> None:
        for prefix, targets in (("weights", self.network.state_dict()), ("moments", self.adam.moments)):
            for name, target in targets.items():
                target.copy_(tensors[f"{prefix}.{name}"])

    def _save_checkpoint(self) -> None:
        save_checkpoint(self.out / CHECKPOINT, self.state, [self._tensors(), self.best, *self.recent])

    def _save_model(self, *, calibrate: bool = False) -> None:
        """The best weights so far as a model folder, with its card and the run's records."""
        weights = {name: value.numpy() for name, value in with_prefix("weights.", self.best).items()}
        records = [*self.state.search, *self.state.history]
        with replacing(self.out / METRICS) as file:
            file.write("".join(json.dumps(record) + "\n" for record in records).encode())
        best = self.state.history[self.state.best_epoch - 1]
        with replacing(self.out / CARD) as file:
            file.write(model_card(self.config, self.vocabulary, self.about, best).encode())
        parser = Parser(self.config, self.vocabulary, weights)
        if calibrate:
            gold = [(item.heads, item.relations) for item in self.dev]
            parser.temperature = fitted(parser.scores(self.dev_sentences), gold)
        parser.save(self.out)


def split_treebank(
    files: Sequence[str | Path], dev: str | Path | None, dev_fraction: float, seed: int
) -> tuple[list[Sentence], list[Sentence]]:
    """Training and dev sentences; the dev part is held out of the training files if no file is given."""
    sentences = [sentence for file in files for sentence in read(file, trees=True) if len(sentence)]
    if dev is not None:
        held_out = [sentence for sentence in read(dev, trees=True) if len(sentence)]
    else:
        if not 0 < dev_fraction < 1:
            raise ConfigError(f"The dev fraction must be between 0 and 1, not {dev_fraction:g}.")
        order = np.random.default_rng([seed, 0]).permutation(len(sentences))
        size = max(1, round(dev_fraction * len(sentences)))
        chosen = set(order[:size].tolist())
        held_out = [sentence for i, sentence in enumerate(sentences) if i in chosen]
        sentences = [sentence for i, sentence in enumerate(sentences) if i not in chosen]
    names = " ".join(map(str, files))
    if not sentences:
        raise TrainingError(f"{names}: there is no sentence to train on.")
    if not held_out:
        raise TrainingError(f"{dev}: there is no sentence to choose the model by.")
    return sentences, held_out


def _fingerprint(
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
