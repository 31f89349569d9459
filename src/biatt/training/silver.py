"""Silver text: sentences that another model has annotated, far more of them than gold ones.

Millions of words are packed into a few arrays, of about 40 bytes a word. A token, i.e. a form with its
lemma and tags, is stored once; a word is the number of its token, its head, its relation, and the teacher's
doubts (`data.doubts`).
"""

from __future__ import annotations

import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.annotate.tags import gold_labels
from biatt.data.columns import DEPREL, FEATS, FORM, MISC, WIDTH
from biatt.data.conll import read
from biatt.data.doubts import LEAST_PROBABLE, read_doubts
from biatt.data.length import check_length
from biatt.data.sentence import Sentence
from biatt.encoding.doubts import FIRST_LABEL, HEAD, RELATION, Doubts
from biatt.encoding.labels import Labels
from biatt.encoding.vocabulary import Encoded, Indices, Vocabulary
from biatt.errors import FormatError, TrainingError
from biatt.models.weights import ROOT
from biatt.training.noise import OF_WORDS, OfWords, with_noise

WORD = "Word="  # in MISC of a sentence that gets noise: the number of a word, from 0
ENCODED_AT_ONCE = 10_000  # tokens; bounds the memory of their columns

_NO_LETTER_OR_DIGIT = re.compile(r"[\W_]+")


class SilverFiles(NamedTuple):
    """Where silver text is, and the files with sentences that must not be among it."""

    files: Sequence[str | Path]
    exclude: Sequence[str | Path]

    def read(self, dev: Iterable[Sentence], *, relations: Sequence[str], labels: Labels | None) -> SilverText:
        """The silver text without the sentences of dev and of the files to exclude (`read_silver`)."""
        held_out = chain(dev, *map(read, self.exclude))
        excluded = frozenset(text for sentence in held_out if len(sentence) for text in texts(sentence))
        return read_silver(self.files, relations=relations, labels=labels, excluded=excluded)


class SilverText(NamedTuple):
    """All sentences; sentence i has the words starts[i] to starts[i + 1]."""

    token_columns: list[tuple[str, ...]]  # FORM to FEATS of each token
    tokens: Indices  # (words,)
    heads: NDArray[np.int16]  # (words,)
    relations: NDArray[np.int16]  # (words,), -1 where unknown
    starts: NDArray[np.int64]  # (sentences + 1,)
    doubts: Doubts
    excluded: int  # sentences that were left out because of their text

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def form_counts(self) -> Counter[str]:
        counts = Counter[str]()
        times = np.bincount(self.tokens, minlength=len(self.token_columns))
        for columns, count in zip(self.token_columns, times.tolist(), strict=True):
            counts[columns[0]] += count
        return counts

    def mean_log_probabilities(self) -> NDArray[np.float64]:
        """For each sentence, the mean over its words of the log-probability of head and relation."""
        words, kinds, choices, probabilities = self.doubts
        of_words, least = np.zeros(len(self.tokens)), np.log(LEAST_PROBABLE)
        for kind, annotated in ((HEAD, self.heads), (RELATION, self.relations)):
            of_words[np.unique(words[kinds == kind])] += least
            agrees = (kinds == kind) & (choices == annotated[words])
            of_words[words[agrees]] += np.log(probabilities[agrees].astype(np.float64)) - least
        means: NDArray[np.float64] = np.add.reduceat(of_words, self.starts[:-1]) / self.lengths
        return means


def read_silver(
    files: Iterable[str | Path],
    *,
    relations: Sequence[str],
    labels: Labels | None,
    excluded: frozenset[str] = frozenset(),
) -> SilverText:
    """The sentences of CoNLL-U files, but for those with a text that is excluded (`texts`).

    `relations` and `labels` are those of the gold treebank; others are unknown, and doubts about them are
    left out.
    """
    packing = _Packing(relations, labels)
    removed = 0
    for file in files:
        for sentence in read(file, trees=True):
            if not len(sentence):
                continue
            check_length(sentence)
            if excluded.isdisjoint(texts(sentence)):
                packing.add(sentence)
            else:
                removed += 1
    return packing.packed(removed)


def texts(sentence: Sentence) -> set[str]:
    """What a sentence with the same text has in common with it: its letters and digits in one case.

    Spacing and punctuation can differ between corpora. There are two texts where multiword tokens are written
    otherwise than their words.
    """
    surfaces = {"".join(sentence.forms)}
    if any("-" in line.partition("\t")[0] for _, line in sentence.verbatim if not line.startswith("#")):
        surfaces.add("".join(token.form for token in sentence.tokens))
    return {_NO_LETTER_OR_DIGIT.sub("", text.casefold()) or "".join(text.split()) for text in surfaces}


class _Packing:
    """Arrays that grow by a sentence at a time."""

    def __init__(self, relations: Sequence[str], labels: Labels | None) -> None:
        self.relation_numbers = {relation: i for i, relation in enumerate(relations)}
        # The kinds of choices that have names: a number for each kind, and for each of its names.
        self.named = {"deprel": (RELATION, self.relation_numbers)}
        for kind, (name, of_kind) in enumerate(labels.kinds.items() if labels else (), FIRST_LABEL):
            self.named[name] = kind, {label: i for i, label in enumerate(of_kind)}
        self.token_numbers: dict[tuple[str, ...], int] = {}
        self.tokens, self.heads, self.relations = array("i"), array("h"), array("h")
        self.lengths = array("i")
        self.words, self.kinds, self.choices = array("i"), array("B"), array("h")
        self.probabilities = array("f")

    def add(self, sentence: Sentence) -> None:
        first = len(self.tokens)
        self.lengths.append(len(sentence))
        self.heads.extend(sentence.heads)
        for word, row in enumerate(sentence.rows, first):
            columns = tuple(row[FORM : FEATS + 1])
            number = self.token_numbers.get(columns)
            if number is None:
                number = len(self.token_numbers)
                self.token_numbers[tuple(map(sys.intern, columns))] = number
            self.tokens.append(number)
            self.relations.append(self.relation_numbers.get(row[DEPREL], -1))
            if "Probs=" in row[MISC]:
                self._add_doubts(sentence, row[MISC], word, word - first)

    def _add_doubts(self, sentence: Sentence, misc: str, word: int, position: int) -> None:
        """`position` is that of the word in its sentence, from 0."""
        for name, (choices, probabilities) in read_doubts(misc, sentence).items():
            if name == "head":
                kind, numbers = HEAD, [self._head(sentence, text, position) for text in choices]
            elif name in self.named:
                kind, number_of = self.named[name]
                numbers = [number_of.get(choice, -1) for choice in choices]
            else:
                continue
            known = [(number, p) for number, p in zip(numbers, probabilities, strict=True) if number >= 0]
            total = sum(p for _, p in known)
            for number, probability in known:
                self.words.append(word)
                self.kinds.append(kind)
                self.choices.append(number)
                self.probabilities.append(probability / total)

    def _head(self, sentence: Sentence, text: str, position: int) -> int:
        head = int(text) if text.isascii() and text.isdigit() else -1
        if not 0 <= head <= len(sentence) or head == position + 1:
            fault = f"HeadProbs of word {position + 1} has the head {text[:20]!r}, which it cannot have."
            raise FormatError(fault, source=sentence.source, line=sentence.line)
        return head

    def packed(self, excluded: int) -> SilverText:
        if not self.lengths:
            raise TrainingError("There is no sentence in the silver text.")
        return SilverText(
            list(self.token_numbers),
            np.array(self.tokens, np.int32),
            np.array(self.heads, np.int16),
            np.array(self.relations, np.int16),
            np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)]),
            Doubts(
                np.array(self.words, np.int32),
                np.array(self.kinds, np.uint8),
                np.array(self.choices, np.int16),
                np.array(self.probabilities, np.float16),
            ),
            excluded,
        )


class SilverSentences:
    """Sentences of a silver text as rows of E, made when they are asked for.

    They are in random order, and go through the text in turn: sentence i + len(self) is sentence i again.
    """

    def __init__(
        self,
        text: SilverText,
        vocabulary: Vocabulary,
        labels: Labels | None,
        *,
        least_confidence: float = 0.0,
        generator: np.random.Generator,
    ) -> None:
        """Sentences whose words have a lower geometric mean of probabilities are left out."""
        kept = np.arange(len(text.lengths))
        if least_confidence:
            kept = np.flatnonzero(text.mean_log_probabilities() >= np.log(least_confidence))
        if not len(kept):
            raise TrainingError(f"No silver sentence has a confidence of {least_confidence:g}.")
        self.vocabulary, self._labels = vocabulary, labels
        self.text, self.order = text, generator.permutation(kept)
        self.lengths = text.lengths[self.order]
        self._ends = np.cumsum(self.lengths)
        self._bag_rows, self._bag_offsets, self._token_labels = _encoded_tokens(
            text.token_columns, vocabulary, labels
        )
        self._first_doubts = np.searchsorted(text.doubts.words, text.starts.astype(np.int32))

    def __len__(self) -> int:
        return len(self.order)

    def facts(self) -> dict[str, int]:
        """How many sentences and words there are, and how many sentences were left out."""
        return {
            "sentences": len(self),
            "words": self.words,
            "excluded": self.text.excluded,
            "unsure": len(self.text.lengths) - len(self),
        }

    @property
    def words(self) -> int:
        return int(self._ends[-1])

    def lengths_in(self, part: range) -> list[int]:
        """The lengths of the sentences of a part."""
        lengths: list[int] = self.lengths[np.array(part, np.int64) % len(self)].tolist()
        return lengths

    def words_in(self, part: range) -> int:
        """The number of words of the sentences of a part."""
        return self._words_before(part.stop) - self._words_before(part.start)

    def _words_before(self, index: int) -> int:
        rounds, rest = divmod(index, len(self))
        return rounds * self.words + (int(self._ends[rest - 1]) if rest else 0)

    def part(self, start: int, words: int) -> range:
        """The sentences after the first `start` words of the text, about `words` of them."""
        return range(self._sentences_before(start), self._sentences_before(start + words))

    def _sentences_before(self, words: int) -> int:
        """How many sentences end within the first `words` words of the text, read again and again."""
        rounds, rest = divmod(words, self.words)
        return rounds * len(self) + int(np.searchsorted(self._ends, rest, side="right"))

    def encoded(self, index: int) -> Encoded:
        number = self.order[index % len(self)]
        start, end = self.text.starts[number : number + 2].tolist()
        words = slice(start, end)
        tokens = self.text.tokens[words]
        starts, ends = self._bag_offsets[tokens], self._bag_offsets[tokens + 1]
        sizes = ends - starts
        offsets = np.zeros(len(tokens) + 2, np.int32)
        offsets[1] = 1
        np.cumsum(sizes, out=offsets[2:])
        offsets[2:] += 1
        rows = np.full(offsets[-1], ROOT, np.int32)
        rows[1:] = self._bag_rows[np.arange(1, len(rows)) + np.repeat(starts - offsets[1:-1], sizes)]
        first_doubt, last_doubt = self._first_doubts[number : number + 2].tolist()
        return Encoded(
            rows,
            offsets,
            self.text.heads[words].astype(np.int32),
            self.text.relations[words].astype(np.int32),
            labels=None if self._token_labels is None else self._token_labels[tokens],
            doubts=self.text.doubts.part(first_doubt, last_doubt, first_word=start),
        )

    def noisy(self, index: int, kind: OfWords) -> Encoded:
        """The sentence with noise (`with_noise`), which can drop words."""
        clean = self.encoded(index)
        start = int(self.text.starts[self.order[index % len(self)]])
        tokens = self.text.tokens[start : start + clean.words].tolist()
        names = [*self.vocabulary.relations, "_"]  # the last for unknown ones, -1
        rows = [
            [str(i), *self.text.token_columns[token], str(head), names[relation], "_", f"{WORD}{i - 1}"]
            for i, (token, head, relation) in enumerate(
                zip(tokens, clean.heads.tolist(), clean.relations.tolist(), strict=True), 1
            )
        ]
        sentence = with_noise(Sentence(rows, []), kind)
        dropped = np.ones(clean.words, bool)
        dropped[[int(row[MISC].removeprefix(WORD)) for row in sentence.rows]] = False
        return self.vocabulary.encode(sentence)._replace(
            labels=gold_labels(sentence, self._labels) if self._labels else None,
            doubts=clean.doubts.without(dropped) if clean.doubts else None,
        )


class SilverEpoch:
    """The sentences of a part of the silver text, this share of them with noise."""

    def __init__(
        self, silver: SilverSentences, part: range, *, noise: float, generator: np.random.Generator
    ) -> None:
        self.silver, self.part = silver, part
        self.lengths = silver.lengths_in(part)
        self._noisy: dict[int, Encoded] = {}
        for i in np.flatnonzero(generator.random(len(part)) < noise).tolist():
            kind = OF_WORDS[generator.integers(len(OF_WORDS))]
            self._noisy[i] = silver.noisy(part[i], kind)
            self.lengths[i] = self._noisy[i].words

    def encoded(self, index: int) -> Encoded:
        return self._noisy[index] if index in self._noisy else self.silver.encoded(self.part[index])


def _encoded_tokens(
    token_columns: Sequence[tuple[str, ...]], vocabulary: Vocabulary, labels: Labels | None
) -> tuple[Indices, NDArray[np.int64], Indices | None]:
    """The rows of E of all tokens, where those of each begin and those of the last end, and their labels."""
    rows, sizes, numbers = [], [], []
    for start in range(0, len(token_columns), ENCODED_AT_ONCE):
        part = token_columns[start : start + ENCODED_AT_ONCE]
        empty = ["_"] * (WIDTH - 1 - FEATS)
        sentence = Sentence([["_", *columns, *empty] for columns in part], [])
        encoded = vocabulary.encode(sentence)
        rows.append(encoded.rows[1:])
        sizes.append(np.diff(encoded.offsets[1:]))
        if labels:
            numbers.append(gold_labels(sentence, labels))
    offsets: NDArray[Any] = np.concatenate([[0], np.cumsum(np.concatenate(sizes), dtype=np.int64)])
    return np.concatenate(rows), offsets, np.concatenate(numbers) if labels else None
