"""Word vectors: read from files (word2vec text and binary, GloVe, fastText `.vec`), or trained on text."""

from __future__ import annotations

import codecs
import io
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from biatt.data.conll import read
from biatt.data.files import name_of, reading, with_head, writing
from biatt.data.text import HEAD_BYTES, is_conll, read_lines
from biatt.errors import BiattError, ConfigError, FormatError
from biatt.options import InputFormat

_BLOCK_BYTES = 1 << 20  # far more than a word and its vector
_LONGEST_SENTENCE = 10_000  # words: gensim leaves out what comes after them
_CONTROLS = bytes(range(32)).translate(None, b"\t\n\r")  # bytes that no text holds and most floats do


class WordVectors:
    """Words and their vectors; a form that is missing is looked up in lower case."""

    def __init__(self, words: list[str], vectors: NDArray[np.float32]) -> None:
        self.vectors = vectors
        self._index: dict[str, int] = {}
        for i, word in enumerate(words):
            self._index.setdefault(word, i)  # files in the wild repeat words; the first one counts

    @property
    def words(self) -> list[str]:
        return list(self._index)

    def get(self, form: str) -> NDArray[np.float32] | None:
        i = self._index.get(form, self._index.get(form.lower()))
        return None if i is None else self.vectors[i]


def read_vectors(path: str | Path) -> WordVectors:
    with reading(path) as file:
        first = file.readline()
        size = _header(first)
        if size is None:
            return _read_text(first, file, str(path), first_line=1, count=0, width=None)
        count, width = size
        # Not peek: it shows what happens to be buffered, which can be a single byte.
        start = file.read(HEAD_BYTES)
        if _is_text(start, width=width):
            return _read_text(start, file, str(path), first_line=2, count=count, width=width)
        return _read_binary(start, file, str(path), count, width)


def _header(line: bytes) -> tuple[int, int] | None:
    """`count width`, which word2vec and fastText write and GloVe does not."""
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        return int(parts[0]), int(parts[1])
    return None


def _is_text(start: bytes, *, width: int) -> bool:
    """Does a word with `width` numbers follow the header, or at least something a person could read?"""
    line, newline, _ = start.partition(b"\n")
    whole = newline or len(start) < HEAD_BYTES
    try:
        for number in line.rstrip().split(b" ")[-width:] if whole else line.split(b" ")[1:-1]:
            float(number)
    except ValueError:  # a faulty text, whose error must name the line, or binary vectors
        return len(start.translate(None, _CONTROLS)) == len(start) and _is_utf8(start)
    return True


def _is_utf8(start: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


def _read_text(
    start: bytes, file: io.BufferedReader, name: str, *, first_line: int, count: int, width: int | None
) -> WordVectors:
    """At least `count` lines, of which `start` has been read already."""
    words: list[str] = []
    rows: list[NDArray[Any]] = []
    number = first_line - 1
    if not start.endswith(b"\n"):
        start += file.readline()
    for number, line in enumerate(chain(io.BytesIO(start), file), first_line):
        # Some files hold words with spaces, so the numbers are taken from the right.
        parts = line.rstrip().split(b" ")
        if width is None:
            width = max(len(parts) - 1, 1)
        if width < 1 or len(parts) <= width:
            raise FormatError(
                f"expected a word and {width} numbers, found {len(parts)} fields.", source=name, line=number
            )
        try:
            with np.errstate(over="ignore"):  # a number too large is one of those that are not finite
                rows.append(np.array(parts[-width:], np.float32))
            words.append(b" ".join(parts[:-width]).decode())
        except ValueError:
            raise FormatError(
                f"expected a word in UTF-8 and {width} numbers.", source=name, line=number
            ) from None
        if not np.isfinite(rows[-1]).all():
            raise FormatError(f"a number of '{words[-1]}' is not finite.", source=name, line=number)
    if len(words) < count:
        raise FormatError(
            f"the file ends after {len(words)} of {count} words.", source=name, line=max(number, 1)
        )
    if not words:
        raise FormatError("the file holds no vectors.", source=name)
    return WordVectors(words, np.stack(rows))


def _read_binary(start: bytes, file: io.BufferedReader, name: str, count: int, width: int) -> WordVectors:
    """`count` times a word, a space and `width` floats, of which `start` has been read already."""
    words: list[str] = []
    try:
        vectors = np.empty((count, width), np.float32)
    except (MemoryError, ValueError):
        raise FormatError(
            f"{count} vectors of {width} numbers do not fit into memory.", source=name, line=1
        ) from None
    block, at = start, 0
    for i in range(count):
        space = block.find(b" ", at)
        if space < 0 or len(block) <= space + 4 * width:
            block, at = block[at:] + file.read(_BLOCK_BYTES + 4 * width), 0
            space = block.find(b" ")
            if space < 0 or len(block) <= space + 4 * width:
                raise FormatError(f"the binary vectors end after {i} of {count} words.", source=name)
        words.append(block[at:space].lstrip(b"\n").decode(errors="replace"))
        vectors[i] = np.frombuffer(block, "<f4", width, space + 1)
        at = space + 1 + 4 * width
    if not np.isfinite(vectors).all():
        word = words[int(np.argmin(np.isfinite(vectors).all(1)))]
        raise FormatError(f"a number of '{word}' is not finite.", source=name)
    return WordVectors(words, vectors)


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
    with reading(source) as file:
        head = file.read(HEAD_BYTES)
        rest = with_head(head, file, name=name)
        if input == "conllu" or input == "conllx" or (input is None and is_conll(head)):
            for sentence in read(rest, format=input, name=name):
                yield sentence.forms
        else:
            for _, words in read_lines(rest, name=name, raw=input != "tokens"):
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
            for start in range(0, len(sentence), _LONGEST_SENTENCE):
                part = sentence[start : start + _LONGEST_SENTENCE]
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
            if untold >= _LONGEST_SENTENCE:  # telling takes longer than a short sentence
                self._listener.advance(untold)
                untold = 0
        seconds = time.perf_counter() - began
        self._listener.message(f"epoch {self._epoch:2}  {words / seconds:,.0f} words/s  {seconds:.0f} s")
