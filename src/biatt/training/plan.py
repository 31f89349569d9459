"""The parts of a training: what will be done, about how long each part will take, and doing it in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from biatt.encoding.batches import shuffled
from biatt.models.model_folder import is_finished
from biatt.network.autograd import in_threads
from biatt.training.listener import Listener
from biatt.training.processes import ALONE, Processes
from biatt.training.run import Run

MEASURED_BATCHES = 5  # of each network, after one that is not timed, since it may have to compile
EVALUATION = 0.4  # time of a word in evaluation, as a share of that in training


class Stage(NamedTuple):
    """The training of one network."""

    title: str
    folder: Path
    open: Callable[[], Run]
    like_the_last: bool = False  # it will take as long as the stage before, and is opened when its turn comes
    search_rate: bool = False


class Part(NamedTuple):
    """What is left of a stage."""

    title: str
    epochs: int
    words: int  # of all these epochs
    unit: str  # of what are words for the network
    seconds: float  # about
    can_stop: bool  # before the last epoch

    def __str__(self) -> str:
        if not self.epochs:
            return f"{self.title}: already trained"
        most, plural = "at most " if self.can_stop else "", "s" * (self.epochs > 1)
        size = f"{most}{self.epochs} epoch{plural}, {self.words:,} {self.unit} in all"
        return f"{self.title}: {size}, {most}about {duration(self.seconds)}"


def train_in_order(stages: Sequence[Stage], listener: Listener, processes: Processes = ALONE) -> None:
    """Say what will be done and how long it will take; then train one network after the other."""
    runs = [None if stage.like_the_last else stage.open() for stage in stages]
    parts = _parts(stages, runs) if processes.first else []
    for line in described(parts) if parts else ():
        listener.message(line)
    for number, (stage, run) in enumerate(zip(stages, runs, strict=True)):
        title = stage.title if len(stages) > 1 else ""
        listener.part(title, seconds_after=sum(part.seconds for part in parts[number + 1 :]))
        (run or stage.open()).finish(search_rate=stage.search_rate)
        runs[number] = None  # its memory is free


def described(parts: Sequence[Part]) -> list[str]:
    """Lines that say what a training will do."""
    if len(parts) == 1:
        return [f"Plan: {parts[0]}."]
    lines = [f"  {number}. {part}" for number, part in enumerate(parts, 1)]
    most = "at most " if any(part.can_stop for part in parts) else ""
    return ["Plan:", *lines, f"  In all {most}about {duration(sum(part.seconds for part in parts))}."]


def duration(seconds: float) -> str:
    """A time that is not known exactly: 50 seconds, 7 minutes, 3 hours 20 minutes."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 95:
        return f"{10 * round(seconds / 10)} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    hours, minutes = divmod(10 * round(seconds / 600), 60)
    return f"{hours} hour{'s' * (hours > 1)}" + (f" {minutes} minutes" if minutes else "")


def _parts(stages: Sequence[Stage], runs: Sequence[Run | None]) -> list[Part]:
    parts: list[Part] = []
    for stage, run in zip(stages, runs, strict=True):
        if run is not None:
            last = _part(stage.title, run)
            parts.append(last)
        elif is_finished(stage.folder):
            parts.append(last._replace(title=stage.title, epochs=0, words=0, seconds=0.0))
        else:
            parts.append(last._replace(title=stage.title))
    return parts


def _part(title: str, run: Run) -> Part:
    epochs = range(0) if run.state.finished else range(run.state.epoch + 1, run.epochs + 1)
    words = sum(map(run.words_of, epochs))
    evaluated = EVALUATION * len(epochs) * run.dev_words
    seconds = (words + evaluated) * seconds_per_word(run) if epochs else 0.0
    return Part(title, len(epochs), words, run.unit, seconds, run.training.schedule == "paper")


def seconds_per_word(run: Run) -> float:
    """The time of a word in training, by a few batches; the run stays as it is."""
    epoch = run.state.epoch + 1
    lengths, generator = run.epoch_lengths(epoch), np.random.default_rng([run.seed, epoch])
    epoch_batches = shuffled(lengths, batch_words=run.training.batch_words, generator=generator)
    batches = list(islice(epoch_batches, MEASURED_BATCHES))
    run.network.train()
    dropout = run.new_dropout(generator)
    seconds, words = 0.0, 0
    with in_threads(run.threads), torch.random.fork_rng(devices=[]):
        for number, indices in enumerate([batches[0], *batches]):
            start = time.perf_counter()
            loss, batch_words = run.loss(indices, dropout, generator)
            loss.backward()
            if number:
                seconds += time.perf_counter() - start
                words += batch_words
    for parameter in run.network.parameters():
        parameter.grad = None
    return seconds / words
