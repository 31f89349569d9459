"""Where training reports its progress."""

from __future__ import annotations

from typing import Any, Protocol


class Listener(Protocol):
    def message(self, text: str) -> None: ...

    def part(self, title: str, *, seconds_after: float) -> None:
        """A part of the training begins; those after it will take about `seconds_after`."""

    def start(self, title: str, words: int, *, words_after: int | None = None) -> None:
        """An epoch of `words` words begins; the epochs after it have `words_after`, None if not known."""

    def batch(self, words: int, loss: float | None = None) -> None:
        """This number of words of the epoch is done, with this mean loss."""

    def epoch(self, record: dict[str, Any]) -> None:
        """An epoch is over; the record is a line of metrics.jsonl."""


class Silent:
    """A listener that does nothing."""

    def message(self, text: str) -> None:
        pass

    def part(self, title: str, *, seconds_after: float) -> None:
        pass

    def start(self, title: str, words: int, *, words_after: int | None = None) -> None:
        pass

    def batch(self, words: int, loss: float | None = None) -> None:
        pass

    def epoch(self, record: dict[str, Any]) -> None:
        pass
