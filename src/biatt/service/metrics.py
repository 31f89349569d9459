"""Counters of the service in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from threading import Lock

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Requests, words, batches and latency. Threads may count at the same time."""

    def __init__(self, queue: Callable[[], int]) -> None:
        self._queue = queue  # the number of requests that wait or are being parsed
        self._lock = Lock()
        self._requests: Counter[Labels] = Counter()
        self._words: Counter[Labels] = Counter()
        self._sentences: Counter[Labels] = Counter()
        self._batches = self._batched_requests = 0
        self._by_bucket = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def add_request(self, path: str, method: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[("path", path), ("method", method), ("status", str(status))] += 1
            self._by_bucket[bisect_left(BUCKETS, seconds)] += 1
            self._seconds += seconds

    def add_parsed(self, model: str, *, sentences: int, words: int) -> None:
        with self._lock:
            self._sentences[(("model", model),)] += sentences
            self._words[(("model", model),)] += words

    def add_batch(self, requests: int) -> None:
        with self._lock:
            self._batches += 1
            self._batched_requests += requests

    def text(self) -> str:
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _counter("biatt_requests_total", "Requests that were answered.", self._requests)
        yield from _counter("biatt_sentences_total", "Sentences that were parsed.", self._sentences)
        yield from _counter("biatt_words_total", "Words that were parsed.", self._words)
        yield from _counter("biatt_batches_total", "Batches that were parsed.", {(): self._batches})
        help = "Requests in these batches; one in several batches counts in each."
        yield from _counter("biatt_batch_requests_total", help, {(): self._batched_requests})
        yield "# HELP biatt_queue_requests Requests that wait or are being parsed."
        yield "# TYPE biatt_queue_requests gauge"
        yield f"biatt_queue_requests {self._queue()}"
        yield from self._histogram()

    def _histogram(self) -> Iterator[str]:
        name = "biatt_request_seconds"
        yield f"# HELP {name} Time from the first byte of a request to the last byte of its answer."
        yield f"# TYPE {name} histogram"
        total = 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), self._by_bucket, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {total}"


def _counter(name: str, help: str, values: Mapping[Labels, int]) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} counter"
    for labels, value in values.items():
        inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        yield f"{name}{{{inner}}} {value}" if inner else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
