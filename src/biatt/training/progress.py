"""What a person sees while something trains: a bar on a terminal, a line an epoch in a log."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from biatt.data.visible import visible

D = TypeVar("D", bound="Display")

UNSHOWN = (
    "dev_log_likelihood",
    "dev_accuracy",
)  # the one has its own place, the other is a mean of others


class Display:
    """Draws how many of an epoch's words are done, on standard error."""

    more = ""  # what else the bar says

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TextColumn("{task.fields[speed]} words/s{task.fields[more]}  left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
        )
        self.task: TaskID | None = None

    def __enter__(self: D) -> D:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def message(self, text: str) -> None:
        self.console.print(visible(text), soft_wrap=True)

    def start(self, title: str, words: int) -> None:
        if self.task is not None:
            self.bar.remove_task(self.task)
        self.task = self.bar.add_task(title, total=words, speed="–", more=self.more)
        self.began, self.words = time.perf_counter(), 0

    def advance(self, words: int) -> None:
        if self.task is None:
            return
        self.words += words
        speed = self.words / (time.perf_counter() - self.began)
        self.bar.update(self.task, advance=words, speed=f"{speed:,.0f}", more=self.more)


class TrainingDisplay(Display):
    """Listens to the training of a parser."""

    dev = ""  # the scores after the epoch before

    def start(self, title: str, words: int) -> None:
        self.loss, self.more = 0.0, f"  loss –{self.dev}"
        super().start(title, words)

    def batch(self, words: int, loss: float) -> None:
        if self.task is None:
            return
        # the mean of about the last 20 batches
        self.loss += (loss - self.loss) * words / min(self.words + words, 20 * words)
        self.more = f"  loss {self.loss:.3f}{self.dev}"
        self.advance(words)

    def epoch(self, record: dict[str, Any]) -> None:
        name = f"rate {record['rate']:.4f}" if "search" in record else f"epoch {record['epoch']:2}"
        line = f"{name}  "
        if "train_loss" in record:
            line += f"loss {record['train_loss']:.4f}  "
        names = [name for name in record if name.startswith("dev_") and name not in UNSHOWN]
        scores = "  ".join(f"{_shown(name)} {100 * record[name]:.2f}" for name in names)
        self.dev = f"  dev {scores}"
        line += f"dev log-likelihood {record['dev_log_likelihood']:.1f}  {scores}"
        if "seconds" in record:
            line += f"  {record['words_per_second']:,.0f} words/s  {record['seconds']:.0f} s"
        self.message(line + ("  best so far" if record.get("best") else ""))


def _shown(name: str) -> str:
    """dev_las is LAS, dev_lemma lemma."""
    kind = name.removeprefix("dev_")
    return kind.upper() if kind in ("uas", "las", "upos", "xpos", "feats") else kind
