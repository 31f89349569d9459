"""The ways that a process can compute: by compiled kernels, and without (`machine.kernel_choice`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest

from biatt.data.sentence import Sentence
from biatt.kernels import plain
from biatt.kernels.rounding import Floats
from biatt.machine import kernel_choice
from biatt.machine.kernel_choice import Choice

Way = Literal["compiled", "plain"]
ROUNDED = 5e-3  # by how much a score of a small network differs at most, because products are rounded


@contextmanager
def on_the(way: Way) -> Iterator[None]:
    """Everything inside the block goes this way."""
    before, kernel_choice._choice = kernel_choice._choice, Choice(way)
    try:
        yield
    finally:
        kernel_choice._choice = before


@contextmanager
def without_rounding() -> Iterator[None]:
    """Everything inside the block is computed in plain numpy, by products that round nothing."""

    def as_it_is(numbers: Floats) -> Floats:
        return numbers

    with pytest.MonkeyPatch.context() as patch, on_the("plain"):
        patch.setattr(plain, "rounded_matrix", as_it_is)
        patch.setattr(plain, "rounded_rows", as_it_is)
        yield


def assert_as_good(found: Sentence, other: Sentence) -> None:
    """Both have scores, which differ by rounding at most; the first has a best tree of both."""
    assert found.scores is not None
    assert other.scores is not None
    for part in ("left", "right", "logits"):
        assert abs(getattr(found.scores, part) - getattr(other.scores, part)).max() < ROUNDED
    for scores in (found.scores, other.scores):
        one, best = (
            sum(scores.agreement[word, head] for word, head in enumerate(tree.heads))
            for tree in (found, other)
        )
        assert one >= best - 2 * len(found) * ROUNDED


both_ways = pytest.mark.parametrize("way", ["compiled", "plain"], indirect=True)
