"""The two ways that a process can compute: by compiled kernels, and without (`machine.kernel_choice`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest

from biatt.machine import kernel_choice
from biatt.machine.kernel_choice import Choice

Way = Literal["compiled", "plain"]


@contextmanager
def on_the(way: Way) -> Iterator[None]:
    """Everything inside the block goes this way."""
    before, kernel_choice._choice = kernel_choice._choice, Choice(way)
    try:
        yield
    finally:
        kernel_choice._choice = before


both_ways = pytest.mark.parametrize("way", ["compiled", "plain"], indirect=True)
