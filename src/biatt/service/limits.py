"""What one request, and all of them together, may cost."""

from __future__ import annotations

from dataclasses import dataclass, fields

from biatt.errors import ConfigError


@dataclass(frozen=True)
class Limits:
    """Each bound is an option of `biatt serve`."""

    body_bytes: int = 1 << 20
    words: int = 50_000  # of a request
    sentence_words: int = 500  # memory grows with their square, time with their cube
    sentences: int = 1000  # of a request; trees, if several of each are asked for
    seconds: float = 30  # to send a request, and to answer it
    queue: int = 256  # requests that wait or are being parsed
    delay: float = 0.002  # seconds that a batch waits for more requests

    def __post_init__(self) -> None:
        for item in fields(self):
            value, least = getattr(self, item.name), 0 if item.name == "delay" else 1
            if not value >= least:
                raise ConfigError(f"The limit {item.name} must be at least {least}, not {value}.")

    @property
    def attention_cells(self) -> int:
        """Pairs of a word and a head whose attention one answer may hold: those of the longest sentence."""
        return self.sentence_words * (self.sentence_words + 1)
