"""What this machine could do at best: the network's operations at the speed of its own matrix products."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import NamedTuple

import numpy as np

from biatt.config import ParserConfig
from biatt.models.weights import parser_shapes

# What each weight multiplies: every position (ROOT included) or every word.
PER_POSITION = ("P", "memory.W", "memory.U", "F", "U", "C")
PER_WORD = ("query.W", "query.U", "D", "W")
RECURRENT = ("memory.U", "query.U", "D")  # among them those that wait for the step before

SECONDS_A_PRODUCT = 0.05  # how long one timing of a product should take


class Operations(NamedTuple):
    """Floating-point operations per word; a multiplication and its addition are two."""

    large: float  # products over a whole batch
    recurrent: float  # products of a step
    attention: float  # all pairs of a word and a position

    @property
    def total(self) -> float:
        return sum(self)


def operations(config: ParserConfig, relations: int, lengths: Iterable[int]) -> Operations:
    """The operations of inference, averaged over the words of sentences of these lengths.

    A product with an (in × out) matrix is 2 · in · out. A pair of word and position costs, in each attention,
    4h for its score Σ v / (1 + E·F) and two for each column of the values that it adds to the soft headword.
    Embedding sums, gates and softmaxes are left out: by a rough count, under 2 %.
    """
    lengths = list(lengths)
    words, positions = sum(lengths), sum(n + 1 for n in lengths)
    pairs = sum(n * (n + 1) for n in lengths)
    shapes = parser_shapes(config, rows=0, relations=relations)
    large = recurrent = 0
    for times, names in ((positions, PER_POSITION), (words, PER_WORD)):
        for name in names:
            cost = times * 2 * prod(shapes[name]) if name in shapes else 0
            if name in RECURRENT:
                recurrent += cost
            else:
                large += cost
    values = relations + (3 * config.hidden if config.feedback else 0)
    attention = pairs * shapes["v"][0] * (4 * config.hidden + 2 * values)
    return Operations(large / words, recurrent / words, attention / words)


class Product(NamedTuple):
    """A float32 matrix product to be timed, often enough to be measurable."""

    name: str
    operations: float  # of one timing
    run: Callable[[], object]


def products(
    config: ParserConfig, relations: int, *, batch_words: int, sentences: int
) -> tuple[list[Product], Product]:
    """The network's own large products, and that of a step over so many sentences."""
    h = config.hidden
    wide = 3 * h + relations
    large = [_product(batch_words, h, 3 * h), _product(batch_words, 2 * h, wide)]
    return large, _product(sentences, h, 3 * h)


def _product(rows: int, inputs: int, outputs: int) -> Product:
    generator = np.random.default_rng(1)
    a = generator.standard_normal((rows, inputs), np.float32)
    b = generator.standard_normal((inputs, outputs), np.float32)
    c = np.empty((rows, outputs), np.float32)
    one = 2 * rows * inputs * outputs
    times = max(1, round(SECONDS_A_PRODUCT * 5e10 / one))  # 5e10 a second: a guess at the rate

    def run() -> None:
        for _ in range(times):
            np.matmul(a, b, out=c)

    return Product(f"({rows}, {inputs}) @ ({inputs}, {outputs})", float(times * one), run)
