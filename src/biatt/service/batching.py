"""Threads that parse the sentences of several requests together.

A lone request is parsed at once. While threads are busy, requests gather and become the next batch; if the
last batch had several requests, the next one waits a moment for more. A long request shares each batch with
the others, so that short ones do not wait until it is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from threading import Condition, Thread

from biatt.data.sentence import Sentence
from biatt.decode.constraints import Constraints
from biatt.errors import BiattError
from biatt.machine.threads import fewer_collections, one_matrix_thread, short_switch_interval
from biatt.parser import Parser
from biatt.service.jobs import Job, Manner, Piece, Trees, cells_of
from biatt.service.limits import Limits
from biatt.service.metrics import Metrics
from biatt.service.problems import Problem, overloaded

CHARACTERS_PER_WORD = 4  # about; of texts whose words are not counted yet
BATCH_SENTENCES = 256
BATCH_CELLS = 1 << 20  # pairs of a word and a head; bounds the memory of the scores
SHARE = 32  # sentences of one request that are taken in turn with those of others


class Batcher:
    """A bounded queue of jobs, and the threads that do them."""

    def __init__(self, limits: Limits, *, threads: int = 1) -> None:
        self.limits = limits
        self.metrics = Metrics(lambda: self.jobs)
        self.jobs = 0  # that wait or are being parsed
        self._changed = Condition()
        self._new: deque[Job] = deque()  # not yet split into sentences
        self._begun: deque[Job] = deque()  # with sentences that no thread has taken
        self._words = 0  # of jobs that have been split: bounds their memory
        self._several = False  # whether the last batch had several jobs
        self._closed = False
        self._count, self._threads = threads, list[Thread]()

    def start(self) -> None:
        self._closed = False
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(self._count)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Do what is in the queue, then end the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def submit(self, job: Job) -> None:
        with self._changed:
            if self._closed:
                raise overloaded("The service is about to stop.")
            if self.jobs >= self.limits.queue:
                raise overloaded(f"{self.limits.queue:,} requests are waiting already.")
            self.jobs += 1
            self._new.append(job)
            self._changed.notify()

    def _work(self) -> None:
        with one_matrix_thread, fewer_collections, short_switch_interval:
            while (jobs := self._next_jobs()) is not None:
                self._begin(jobs)
                self._parse(self._next_batch())

    def _next_jobs(self) -> list[Job] | None:
        """New jobs to split into sentences, perhaps none if others are begun; None when all is done."""
        with self._changed:
            while not self._begun and not self._can_begin():
                if self._closed and not self._new:
                    return None
                self._changed.wait()
            if self._several and not self._begun and not self._closed:
                self._changed.wait_for(lambda: len(self._new) >= BATCH_SENTENCES, self.limits.delay)
            jobs: list[Job] = []
            while self._can_begin() and len(jobs) < BATCH_SENTENCES:
                job = self._new.popleft()
                job.words = min(job.size // CHARACTERS_PER_WORD, self.limits.words)  # until they are counted
                self._words += job.words
                jobs.append(job)
            return jobs

    def _can_begin(self) -> bool:
        return bool(self._new) and self._words < self.limits.words

    def _begin(self, jobs: Sequence[Job]) -> None:
        """Split the texts of jobs into sentences, all texts of a model together."""
        estimated = sum(job.words for job in jobs)
        by_parser: dict[int, list[Job]] = {}
        for job in jobs:
            try:
                job.check_text()
            except Problem as problem:
                job.fail(problem)
            if not job.over:
                by_parser.setdefault(id(job.parser), []).append(job)
        for together in by_parser.values():
            for job, sentences in zip(together, _read(together), strict=True):
                try:
                    if isinstance(sentences, Exception):
                        raise sentences
                    job.begin(sentences)
                except Exception as error:
                    job.fail(error)
        with self._changed:
            self._words += sum(job.words for job in jobs) - estimated
            self._begun.extend(jobs)

    def _next_batch(self) -> list[Piece]:
        """Sentences of all jobs that have some left, in turn."""
        over: list[Job] = []
        pieces: list[Piece] = []
        with self._changed:
            sentences = cells = 0
            while self._begun and sentences < BATCH_SENTENCES and cells < BATCH_CELLS:
                job = self._begun.popleft()
                if job.over or not job.sentences:
                    over.append(job)
                    continue
                piece = job.take(min(SHARE, BATCH_SENTENCES - sentences), cells=BATCH_CELLS - cells)
                sentences += len(piece.sentences)
                cells += sum(map(cells_of, piece.sentences))
                pieces.append(piece)
                if job.begun < len(job.sentences):
                    self._begun.append(job)
            self._several = len({id(piece.job) for piece in pieces}) > 1
            if self._begun:
                self._changed.notify()
        for job in over:
            self._end(job)
        return pieces

    def _parse(self, pieces: Sequence[Piece]) -> None:
        groups: dict[tuple[int, Manner], list[Piece]] = {}
        for piece in pieces:
            groups.setdefault((id(piece.job.parser), piece.job.manner), []).append(piece)
        for group in groups.values():
            self.metrics.add_batch(len({id(piece.job) for piece in group}))
            for piece, trees in zip(group, _parsed(group), strict=True):
                self._store(piece, trees)

    def _store(self, piece: Piece, trees: list[Trees] | Exception) -> None:
        job = piece.job
        if isinstance(trees, Exception):
            job.fail(trees)
        else:
            words = sum(map(len, piece.sentences))
            self.metrics.add_parsed(job.model, sentences=len(trees), words=words)
        with self._changed:
            if not isinstance(trees, Exception) and not job.over:
                job.trees[piece.first : piece.first + len(trees)] = trees
            job.parsed += len(piece.sentences)
            last = job.over or job.parsed == len(job.sentences)
        if last:
            self._end(job)

    def _end(self, job: Job) -> None:
        """Make room for others, then answer: who has an answer has left the queue.

        A job that is over may come here twice.
        """
        if not job.over:
            job.write()
        with self._changed:
            if job.ended:
                return
            job.ended = True
            self.jobs -= 1
            self._words -= job.words
            self._changed.notify_all()
        job.resolve()


def _read(jobs: Sequence[Job]) -> list[list[Sentence] | Exception]:
    """The sentences of each job of one parser, not yet parsed."""
    texts = [job.text for job in jobs if job.text is not None]
    try:
        split = iter(jobs[0].parser.split(texts) if texts else [])
    except Exception as error:
        return [error for _ in jobs]
    result: list[list[Sentence] | Exception] = []
    for job in jobs:
        try:
            result.append(job.read() if job.read is not None else next(split))
        except Exception as error:
            result.append(error)
    return result


def _parsed(group: Sequence[Piece]) -> list[list[Trees] | Exception]:
    """The trees of each piece, all of one parser and one manner, or why it cannot be parsed."""
    try:
        return list(_parsed_together(group))
    except Exception as error:
        if len(group) == 1:
            return [error]
        return [result for piece in group for result in _parsed([piece])]  # the others are not at fault


def _parsed_together(group: Sequence[Piece]) -> Iterator[list[Trees]]:
    job = group[0].job
    free = [
        sentence
        for piece in group
        for place, sentence in enumerate(piece.sentences)
        if not piece.constraints(place)
    ]
    trees = iter(_trees(job.parser, free, job.manner))
    for piece in group:
        result: list[Trees] = []
        for place, sentence in enumerate(piece.sentences):
            constraints = piece.constraints(place)
            ranked = (
                _constrained(job.parser, sentence, job.manner, constraints) if constraints else next(trees)
            )
            for tree in ranked:
                if not piece.job.attention:
                    tree.scores = None  # as large as the square of the words
            result.append(ranked)
        yield result


def _trees(parser: Parser, sentences: list[Sentence], manner: Manner) -> list[Trees]:
    if not manner.score:
        return [[sentence] for sentence in sentences]
    if manner.k_best > 1:
        ranked = parser.parse_k_best(
            sentences, manner.k_best, roots=manner.roots, retag=manner.retag, keep_heads=manner.keep_heads
        )
        return list(ranked)
    parsed = parser.parse(
        sentences,
        decoder=manner.decoder,
        roots=manner.roots,
        confidence=manner.confidence,
        retag=manner.retag,
        keep_heads=manner.keep_heads,
    )
    return [[tree] for tree in parsed]


def _constrained(parser: Parser, sentence: Sentence, manner: Manner, constraints: Constraints) -> Trees:
    try:
        if manner.k_best > 1:
            ranked = parser.parse_k_best(
                [sentence], manner.k_best, roots=manner.roots, retag=manner.retag, constraints=constraints
            )
            return next(ranked)
        tree = parser.parse(
            sentence,
            fixed={
                word: (constraints.heads.get(word), constraints.relations.get(word))
                for word in constraints.heads.keys() | constraints.relations.keys()
            },
            decoder=manner.decoder,
            roots=manner.roots,
            confidence=manner.confidence,
            retag=manner.retag,
        )
        return [tree]
    except BiattError as error:
        raise Problem.in_field("fixed", str(error)) from error
