"""Training of word vectors on raw text or CoNLL files, by gensim."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from biatt.data.conll import read
from biatt.data.files import name_of, reading, writing
from biatt.data.text import is_conll, read_lines
from biatt.errors import BiattError, ConfigError
from biatt.options import InputFormat

LONGEST_SENTENCE = 10_000  # words: gensim ignores the words after these, so longer sentences are cut


class Listener(Protocol):
    """What the training of vectors tells of itself while it runs."""

    def message(self, text: str) -> None: ...
    def start(self, title: str, words: int) -> None: ...
    def advance(self, words: int) -> None: ...


class TrainedOn(NamedTuple):
    sentences: int
    words: int
    vocabulary: int  # words that were frequent enough to have a vector


def train_vectors(
    files: Sequence[str | Path],
    output: str | Path,
    *,
    size: int = 100,
    window: int = 5,
    min_count: int = 2,
    epochs: int = 5,
    negative: int = 5,
    seed: int = 1,
    threads: int = 1,
    input: InputFormat | None = None,
    listener: Listener | None = None,
) -> TrainedOn:
    """Train skip-gram vectors with negative sampling (Mikolov et al. 2013) and write them as word2vec text.

    files: CoNLL files, whose forms are the words, or text, one sentence a line; "-" is standard input.
    window: how many words on either side count as neighbours.
    min_count: a rarer word gets no vector. negative: words drawn to contrast each neighbour with.
    seed: with one thread, the same seed gives the same file.
    input: "text" has its punctuation split from its words, "tokens" are taken as they stand between spaces;
    by default CoNLL or text, told by the first word of each file.
    """
    try:
        from gensim.models.word2vec import Word2Vec
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("gensim"):
            raise
        raise ConfigError("training word vectors needs gensim: pip install 'biatt[vectors]'.") from None

    corpus = _Corpus(chain.from_iterable(_sentences(file, input) for file in files))
    if not corpus.words:
        raise BiattError(f"{', '.join(map(name_of, files))}: there are no words to train vectors on.")
    if np.bincount(corpus.words).max() < min_count:
        raise ConfigError(f"No word occurs {min_count} times: take a lower --min-count, or more text.")
    with writing(output) as file:  # a place that cannot be written to is found before the work, not after it
        model = Word2Vec(
            sg=1,
            vector_size=size,
            window=window,
            min_count=min_count,
            negative=negative,
            seed=seed,
            workers=threads,
        )
        model.build_vocab(corpus)
        model.train(_Told(corpus, epochs, listener), total_words=len(corpus.words), epochs=epochs)
        file.write(f"{len(model.wv)} {size}\n".encode())
        for word, vector in zip(model.wv.index_to_key, model.wv.vectors, strict=True):
            file.write(f"{word} {' '.join(map(str, vector))}\n".encode())  # as many digits as float32 needs
    return TrainedOn(corpus.sentences, len(corpus.words), len(model.wv))


def _sentences(source: str | Path, input: InputFormat | None) -> Iterator[list[str]]:
    name = name_of(source)
    with reading(source) as stream:
        format = input if input == "conllu" or input == "conllx" else None
        conll = format is not None
        if input is None:
            conll, stream = is_conll(stream, name=name)
        if conll:
            for sentence in read(stream, format=format, name=name):
                yield sentence.forms
        else:
            for _, words in read_lines(stream, name=name, raw=input != "tokens"):
                yield words


class _Corpus:
    """Sentences, read once, so that they may come from a pipe, and kept as numbers of four bytes a word."""

    def __init__(self, sentences: Iterable[list[str]]) -> None:
        self.sentences = 0
        self.words = array("i")
        self._ends = array("q", [0])
        numbers: dict[str, int] = {}
        for sentence in sentences:
            self.sentences += bool(sentence)
            for start in range(0, len(sentence), LONGEST_SENTENCE):
                part = sentence[start : start + LONGEST_SENTENCE]
                self.words.extend([numbers.setdefault(word, len(numbers)) for word in part])
                self._ends.append(len(self.words))
        self._forms = list(numbers)

    def __iter__(self) -> Iterator[list[str]]:
        forms = self._forms
        for start, end in pairwise(self._ends):
            yield [forms[word] for word in self.words[start:end]]


class _Told:
    """The corpus as gensim goes through it, once an epoch; the listener hears how far it has come."""

    def __init__(self, corpus: _Corpus, epochs: int, listener: Listener | None) -> None:
        self._corpus, self._epochs, self._listener = corpus, epochs, listener
        self._epoch = 0

    def __iter__(self) -> Iterator[list[str]]:
        if self._listener is None:
            yield from self._corpus
            return
        self._epoch += 1
        words, began, untold = len(self._corpus.words), time.perf_counter(), 0
        self._listener.start(f"epoch {self._epoch} of {self._epochs}", words)
        for sentence in self._corpus:
            yield sentence
            untold += len(sentence)
            if untold >= LONGEST_SENTENCE:  # telling takes longer than a short sentence
                self._listener.advance(untold)
                untold = 0
        seconds = time.perf_counter() - began
        self._listener.message(f"epoch {self._epoch:2}  {words / seconds:,.0f} words/s  {seconds:.0f} s")
