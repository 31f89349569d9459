"""Training of word vectors on raw text or CoNLL files, by gensim."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from biatt.data.conll import read
from biatt.data.files import check_not_input, name_of, reading, writing
from biatt.data.text import is_conll, read_lines
from biatt.errors import BiattError, ConfigError
from biatt.options import InputFormat
from biatt.training.listener import Listener, Silent

LONGEST_SENTENCE = 10_000  # words: gensim ignores the words after these, so longer sentences are cut
REPORTED_WORDS = 10_000  # at a time: a report takes longer than a short sentence


class TrainedOn(NamedTuple):
    """The size of the training data."""

    sentences: int
    words: int
    vocabulary: int  # different words that are frequent enough for a vector


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

    files: CoNLL files, or text with one sentence on each line; "-" is standard input.
    window: the number of words on either side that count as neighbours.
    min_count: a word with fewer occurrences gets no vector. negative: random words for each neighbour.
    seed: with one thread, the same seed gives the same file.
    input: in "text", punctuation is split from words; in "tokens", spaces separate all words. By default, the
    first bytes of each file tell whether it is CoNLL or text.
    """
    try:
        from gensim.models.word2vec import Word2Vec
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("gensim"):
            raise
        raise ConfigError("training word vectors needs gensim: pip install 'biatt[vectors]'.") from None

    check_not_input(output, files)
    corpus = _Corpus(chain.from_iterable(_sentences(file, input) for file in files))
    if not corpus.words:
        raise BiattError(f"{', '.join(map(name_of, files))}: there are no words to train vectors on.")
    if np.bincount(corpus.words).max() < min_count:
        raise ConfigError(f"No word occurs {min_count} times: take a lower --min-count, or more text.")
    with writing(output) as file:  # opened first, so that a path that cannot be written fails at once
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
        model.train(
            _ReportedCorpus(corpus, epochs, listener or Silent()),
            total_words=len(corpus.words),
            epochs=epochs,
        )
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
    """Sentences, stored as numbers of four bytes a word; they are read once, so a pipe will do."""

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


class _ReportedCorpus:
    """The corpus as gensim reads it, once for each epoch; a listener hears how much of it has been read."""

    def __init__(self, corpus: _Corpus, epochs: int, listener: Listener) -> None:
        self._corpus, self._epochs, self._listener = corpus, epochs, listener
        self._epoch = 0

    def __iter__(self) -> Iterator[list[str]]:
        self._epoch += 1
        words, start, unreported = len(self._corpus.words), time.perf_counter(), 0
        words_after = (self._epochs - self._epoch) * words
        self._listener.start(f"epoch {self._epoch}/{self._epochs}", words, words_after=words_after)
        for sentence in self._corpus:
            yield sentence
            unreported += len(sentence)
            if unreported >= REPORTED_WORDS:
                self._listener.batch(unreported)
                unreported = 0
        seconds = time.perf_counter() - start
        self._listener.message(f"epoch {self._epoch:2}  {words / seconds:,.0f} words/s  {seconds:.0f} s")
