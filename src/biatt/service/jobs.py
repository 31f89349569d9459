"""A job: the sentences of one request on their way through the parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import NamedTuple

from biatt.data.sentence import Sentence
from biatt.decode.constraints import FREE, Constraints
from biatt.options import Decoder, Roots
from biatt.parser import Parser
from biatt.service.limits import Limits
from biatt.service.problems import Problem

Trees = list[Sentence]  # of one sentence, best first


@dataclass(frozen=True)
class Manner:
    """How the sentences of a job are parsed. Jobs of one model and one manner are parsed together."""

    decoder: Decoder = "mst"
    roots: Roots | None = None
    confidence: bool = False
    k_best: int = 1
    retag: bool = False
    keep_heads: bool = False
    score: bool = True  # False: the sentences are only split


@dataclass(eq=False)
class Job:
    """A request's sentences, what to do with them, and the bytes of the answer to wait for."""

    model: str
    parser: Parser
    manner: Manner
    text: str | None  # raw text, or
    read: Callable[[], list[Sentence]] | None  # what reads other input
    size: int  # characters of the input
    answer: Callable[[Sequence[Sentence], list[Trees]], bytes]  # of the sentences before and after
    limits: Limits
    field: str = "data"  # of the request that has the text, for errors
    fixed: Mapping[int, Constraints] = dataclass_field(default_factory=dict)  # by place, from 0
    attention: bool = False  # whether the answer needs the scores
    result: Future[bytes] = dataclass_field(default_factory=Future)
    sentences: Sequence[Sentence] = ()
    trees: list[Trees] = dataclass_field(default_factory=list)
    begun: int = 0  # sentences that a thread has taken
    parsed: int = 0  # sentences that have trees
    words: int = 0
    content: bytes = b""  # of the answer, when it is written
    error: Exception | None = None  # why there is none
    ended: bool = False  # whether it has left the queue

    def check_text(self) -> None:
        """Refuse a text that is clearly too long, before it is split: no token has a space inside."""
        words = len(self.text.split()) if self.text is not None else 0
        if words > self.limits.words:
            raise self._too_much(f"The text has {words:,} words or more; the limit is {self.limits.words:,}.")

    def begin(self, sentences: list[Sentence]) -> None:
        """Take the sentences, if they are within the limits."""
        if self.text is not None:
            for number, sentence in enumerate(sentences, 1):
                sentence.sent_id = str(number)
        self._check(sentences)
        self.sentences, self.trees = sentences, [[] for _ in sentences]

    def _check(self, sentences: list[Sentence]) -> None:
        limits, self.words = self.limits, sum(map(len, sentences))
        longest = max(map(len, sentences), default=0)
        if longest > limits.sentence_words:
            raise self._too_much(
                f"A sentence has {longest:,} words; it can have up to {limits.sentence_words:,}."
            )
        if len(sentences) * self.manner.k_best > limits.sentences:
            trees = f" with {self.manner.k_best} trees each" if self.manner.k_best > 1 else ""
            raise self._too_much(
                f"There are {len(sentences):,} sentences{trees}; the limit is {limits.sentences:,}."
            )
        if self.words * self.manner.k_best > limits.words:
            raise self._too_much(f"The text has {self.words:,} words; the limit is {limits.words:,}.")
        if self.attention and sum(map(cells_of, sentences)) > limits.attention_cells:
            raise Problem.in_field(
                "attention", "The attention of so many words is too large for one answer.", status=413
            )
        for place in self.fixed:
            if place >= len(sentences):
                raise Problem.in_field("fixed", f"There is no sentence {place + 1}.")

    def _too_much(self, detail: str) -> Problem:
        return Problem.in_field(self.field, detail, status=413)

    def take(self, most: int, *, cells: int) -> Piece:
        """The next sentences that no thread has taken: at least one, and as many as fit."""
        first = self.begun
        while self.begun < min(first + most, len(self.sentences)):
            cells -= cells_of(self.sentences[self.begun])
            if cells < 0 and self.begun > first:
                break
            self.begun += 1
        return Piece(self, first, list(self.sentences[first : self.begun]))

    def write(self) -> None:
        """Write the answer; the trees are no longer needed."""
        try:
            self.content = self.answer(self.sentences, self.trees)
        except Exception as error:
            self.error = error
        self.trees, self.sentences = [], ()

    def fail(self, error: Exception) -> None:
        self.error = error
        self.trees, self.sentences = [], ()

    def resolve(self) -> None:
        """Give the answer, or the error, to whoever waits for it."""
        with suppress(InvalidStateError):  # the client has left meanwhile
            if self.error is not None:
                self.result.set_exception(self.error)
            else:
                self.result.set_result(self.content)

    @property
    def over(self) -> bool:
        """Whether nobody waits for the rest: the client has left, or the job has failed."""
        return self.error is not None or self.result.done()


class Piece(NamedTuple):
    """Some sentences of a job in a row."""

    job: Job
    first: int
    sentences: list[Sentence]

    def constraints(self, place: int) -> Constraints:
        return self.job.fixed.get(self.first + place, FREE)


def cells_of(sentence: Sentence) -> int:
    """The number of its pairs of a word and a head."""
    return len(sentence) * (len(sentence) + 1)
