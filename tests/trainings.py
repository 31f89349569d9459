"""Small trainings: configurations, listeners that interrupt, and what is compared of their folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from biatt.config import Config, with_settings
from biatt.data.toy_treebank import generate
from biatt.encoding.vocabulary import Vocabulary
from biatt.models.model_folder import WEIGHTS
from biatt.presets import PipelineConfig, preset
from biatt.training.card import Origin
from biatt.training.listener import Silent
from biatt.training.parser_run import ParserInputs, ParserRun
from biatt.training.records import read_records
from biatt.training.run import Job
from biatt.training.treebank import Treebank

SMALL = with_settings(Config(), ["hidden=4", "rate=0.01", "epochs=3", "batch_words=100", "clip=1"])
# Everything beyond the paper.
LARGER = with_settings(
    SMALL,
    [
        *("affixes=2", "layers=2", "query_input=memory", "pair_hidden=4", "schedule=linear", "average=2"),
        *("dropout=0.3", "word_dropout=0.2", "tag_dropout=0.2", "smoothing=0.1", "noise=0.3"),
    ],
)
SMALL_PIPELINE = PipelineConfig().with_settings(
    [f"tokeniser.{item}" for item in ("hidden=4", "epochs=2", "least_batches=0", "noise=0.5")]
)
SMALL_BEST = with_settings(
    preset("fast"), ["hidden=4", "pair_hidden=2", "epochs=2", "least_batches=0", "affixes=1"]
)
ORIGIN = Origin("train.conllu", "dev.conllu", None, seed=1, threads=1, licence="none", command="")


def small_run(folder: Path, config: Config = SMALL, *, sentences: int = 6) -> ParserRun:
    """A run that has not begun."""
    train = generate(sentences, seed=1)
    vocabulary = Vocabulary.build(train, columns=config.model.columns, min_count=1)
    job = Job(folder, "a fingerprint", seed=1, threads=1, listener=Silent())
    treebank = Treebank(train, train[:2], "train", "dev")
    return ParserRun(job, config, treebank, ParserInputs(vocabulary), origin=ORIGIN)


def weights(folder: Path) -> bytes:
    return (folder / WEIGHTS).read_bytes()


def untimed(folder: Path) -> list[dict[str, Any]]:
    """The records of a run, without its speed."""
    timings = ("seconds", "words_per_second")
    return [
        {key: value for key, value in record.items() if key not in timings} for record in read_records(folder)
    ]


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder but those with times and versions."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("metrics.jsonl", "README.md")
    }


class InterruptedAt(Silent):
    """Presses Ctrl-C in the middle of the n-th pass over the data."""

    def __init__(self, number: int) -> None:
        self.number, self.passes, self.batches = number, 0, 0

    def start(self, title: str, words: int, *, words_after: int | None = None) -> None:
        self.passes, self.batches = self.passes + 1, 0

    def batch(self, words: int, loss: float | None = None) -> None:
        self.batches += 1
        if (self.passes, self.batches) == (self.number, 2):
            raise KeyboardInterrupt


class InterruptedAfter(Silent):
    """Presses Ctrl-C after the n-th epoch, whatever is being trained."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def epoch(self, record: dict[str, Any]) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


class Messages(Silent):
    """Keeps all messages."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def message(self, text: str) -> None:
        self.texts.append(text)
