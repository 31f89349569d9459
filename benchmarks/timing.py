"""Timing that survives a busy machine: paths take turns, and medians are compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, NamedTuple


class Rounds(NamedTuple):
    """What one path took in each round."""

    seconds: list[float]
    cpu_seconds: list[float]  # of this process and its threads: what a busy neighbour does not change


def interleaved(paths: Mapping[str, Callable[[], object]], *, repeats: int) -> dict[str, Rounds]:
    """Run every path once to warm up, then all of them in turn, `repeats` times."""
    rounds = {name: Rounds([], []) for name in paths}
    for run in paths.values():
        run()
    for _ in range(repeats):
        for name, run in paths.items():
            cpu, wall = time.process_time(), time.perf_counter()
            run()
            rounds[name].seconds.append(time.perf_counter() - wall)
            rounds[name].cpu_seconds.append(time.process_time() - cpu)
    return rounds


def ratio(over: Rounds, under: Rounds) -> float:
    """The median over rounds of the quotient within a round, where both met the same neighbours."""
    return median(a / b for a, b in zip(over.seconds, under.seconds, strict=True))


def throughput(rounds: Rounds, words: int) -> dict[str, float]:
    return {
        "words_per_second": words / median(rounds.seconds),
        "words_per_cpu_second": words / median(rounds.cpu_seconds),
    }


def rounded(value: Any) -> Any:
    """The same results with four significant digits: more would be noise."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
