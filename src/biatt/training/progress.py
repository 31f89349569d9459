"""What a person sees during training: a bar on a terminal, and a line for each epoch."""

from __future__ import annotations

import time
from typing import Any

from biatt.data.visible import visible
from biatt.machine.progress_bar import ProgressBar

AVERAGED_BATCHES = 20  # about as many of the last batches make the loss that is shown
CAPITALS = ("uas", "las", "upos", "xpos", "feats")
# The one has a place of its own; the other is the mean of figures that are shown.
NOT_AMONG_SCORES = ("dev_log_likelihood", "dev_accuracy")


class Display(ProgressBar):
    """A listener that draws on standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.pace = Pace()

    def message(self, text: str) -> None:
        self.console.print(visible(text), soft_wrap=True)

    def part(self, title: str, *, seconds_after: float) -> None:
        if title:
            self.message(f"== {title}")
        self.pace.seconds_after = seconds_after

    def start(self, title: str, words: int, *, words_after: int | None = None) -> None:
        self.begin(title, words)
        self.pace.start(words, words_after)
        self.loss = 0.0

    def batch(self, words: int, loss: float | None = None) -> None:
        if self.task is None:
            return
        self.pace.advance(words)
        figures = [f"{self.pace.words_per_second:,.0f} words/s"]
        if loss is not None:
            weight = words / min(self.pace.done, AVERAGED_BATCHES * words)
            self.loss += (loss - self.loss) * weight
            figures.append(f"loss {self.loss:.3f}")
        figures.append(self.pace.left)
        self.bar.update(self.task, advance=words, figures="  ".join(figures))

    def epoch(self, record: dict[str, Any]) -> None:
        line = f"rate {record['rate']:.4f}" if "search" in record else f"epoch {record['epoch']:2}"
        if "train_loss" in record:
            line += f"  loss {record['train_loss']:.4f}"
        line += f"  dev log-likelihood {record['dev_log_likelihood']:.1f}"
        for name, value in record.items():
            if name.startswith("dev_") and name not in NOT_AMONG_SCORES:
                kind = name.removeprefix("dev_")
                line += f"  {kind.upper() if kind in CAPITALS else kind} {100 * value:.2f}"
        if "seconds" in record:
            line += f"  {record['words_per_second']:,.0f} words/s  {record['seconds']:.0f} s"
        self.message(line + ("  best so far" if record.get("best") else ""))


class Pace:
    """The speed of an epoch, and the time left of the whole, or of the epoch if the end is not known."""

    def __init__(self) -> None:
        self.seconds_after = 0.0  # of the parts after the one that is trained, about
        self._after: int | None = None  # words of the epochs after this one
        self._run_start, self._run_words = 0.0, 0

    def start(self, words: int, words_after: int | None) -> None:
        self._epoch_start = time.perf_counter()
        self.words, self.done = words, 0
        same_run = words_after is not None and self._after is not None and words_after < self._after
        self._after = words_after
        if not same_run:
            self._run_start, self._run_words = self._epoch_start, 0

    def advance(self, words: int) -> None:
        self.done += words
        self._run_words += words

    @property
    def words_per_second(self) -> float:
        return self.done / (time.perf_counter() - self._epoch_start)

    @property
    def left(self) -> str:
        # Over the whole run, as the time between epochs, for evaluation, counts too.
        seconds_per_word = (time.perf_counter() - self._run_start) / self._run_words
        seconds = round((self.words - self.done + (self._after or 0)) * seconds_per_word)
        if self._after is not None:
            seconds += round(self.seconds_after)
        hours, minutes = seconds // 3600, seconds // 60 % 60
        clock = f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"
        return f"{clock} left" if self._after is not None else f"{clock} left in epoch"
