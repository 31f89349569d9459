"""The one family of exceptions that bad input, bad files and bad options raise.

The command line prints such an error as one sentence and exits with code 2; anything else is a fault
of ours and keeps its traceback.
"""

from __future__ import annotations

from functools import partial
from typing import Any


class BiattError(Exception):
    """Bad input, a bad file or a bad option; its text is one whole sentence."""


class FormatError(BiattError):
    """A CoNLL or word-vector file that is not what it should be, at a known place."""

    def __init__(self, message: str, *, source: str, line: int | None = None) -> None:
        self.source, self.line, self.message = source, line, message
        place = source if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {message}")

    def __reduce__(self) -> tuple[Any, ...]:  # it can come from another process
        return partial(FormatError, source=self.source, line=self.line), (self.message,)


class ModelError(BiattError):
    """A model folder that is missing, damaged, or written by a newer version."""


class ConfigError(BiattError):
    """An option, or a combination of options, that makes no sense."""


class PatternError(BiattError):
    """A pattern of `search` that cannot be read, with the place of the fault, from 0."""

    def __init__(self, message: str, *, pattern: str, place: int) -> None:
        self.pattern, self.place, self.message = pattern, place, message
        super().__init__(f"The pattern {pattern} is wrong at character {place + 1}: {message}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(PatternError, pattern=self.pattern, place=self.place), (self.message,)


class TrainingError(BiattError):
    """Training that cannot start or cannot go on."""
