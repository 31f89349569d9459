"""Batches of sentences of similar length.

A batch has no padding: its positions are the sentences one after the other, each with ROOT before its words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from biatt.encoding.doubts import Doubts, concatenated
from biatt.encoding.features import Features, Pieces
from biatt.encoding.vocabulary import Encoded, Indices

T = TypeVar("T")
A = TypeVar("A", bound=np.generic)

POOL_BATCHES = 50  # batches that a pool of random sentences is divided into


class Batch(NamedTuple):
    """B sentences: M = Σ(n + 1) positions with the ROOTs, N = Σn words."""

    rows: Indices  # rows of E of all positions, one after the other
    offsets: Indices  # (M + 1,): position i has rows[offsets[i]:offsets[i + 1]]
    words: Indices  # (B,): the number of words n of each sentence
    heads: Indices  # (N,): gold heads, -1 where there is none
    relations: Indices  # (N,): gold relations, -1 where unknown
    labels: Indices | None = None  # (N, kinds): tags that are known
    features: Features | None = None  # (N, layers, width): those of a contextual encoder
    pieces: Sequence[Pieces] = ()  # of each sentence, where a tuned encoder computes the features
    doubts: Doubts | None = None  # of a teacher


def collate(sentences: Sequence[Encoded]) -> Batch:
    words = np.array([sentence.words for sentence in sentences], np.int32)
    starts = np.cumsum([0] + [len(sentence.rows) for sentence in sentences], dtype=np.int32)
    offsets = np.concatenate([starts[:1], *(sentence.offsets[1:] for sentence in sentences)])
    offsets[1:] += np.repeat(starts[:-1], words + 1)
    return Batch(
        rows=np.concatenate([sentence.rows for sentence in sentences]),
        offsets=offsets,
        words=words,
        heads=np.concatenate([sentence.heads for sentence in sentences]),
        relations=np.concatenate([sentence.relations for sentence in sentences]),
        labels=_joined([sentence.labels for sentence in sentences]),
        features=_joined([sentence.features for sentence in sentences]),
        pieces=[sentence.pieces for sentence in sentences if sentence.pieces is not None],
        doubts=concatenated([sentence.doubts for sentence in sentences], words),
    )


def _joined(arrays: Sequence[NDArray[A] | None]) -> NDArray[A] | None:
    """The arrays of all sentences one after the other, if they have them."""
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if present else None


def with_dropout(
    batch: Batch, replacement: Indices, drop_rates: NDArray[np.float32], generator: np.random.Generator
) -> Batch:
    """The batch with some symbols dropped at random, at the rate of their row of E.

    A dropped row is replaced by another row, or removed where its replacement is -1.
    """
    dropped = generator.random(len(batch.rows), np.float32) < drop_rates[batch.rows]
    rows = np.where(dropped, replacement[batch.rows], batch.rows)
    kept = rows >= 0
    ends = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32)
    return batch._replace(rows=rows[kept], offsets=ends[batch.offsets])


def selected(batch: Batch, sentences: Indices) -> Batch:
    """The batch of some of its sentences, which are in ascending order."""
    chosen = np.zeros(len(batch.words), bool)
    chosen[sentences] = True
    positions, words = np.repeat(chosen, batch.words + 1), np.repeat(chosen, batch.words)
    sizes = np.diff(batch.offsets)
    return Batch(
        rows=batch.rows[np.repeat(positions, sizes)],
        offsets=np.concatenate([[0], np.cumsum(sizes[positions])]).astype(np.int32),
        words=batch.words[chosen],
        heads=batch.heads[words] if len(batch.heads) else batch.heads,  # a text's characters have none
        relations=batch.relations[words] if len(batch.relations) else batch.relations,
        labels=None if batch.labels is None else batch.labels[words],
        features=None if batch.features is None else batch.features[words],
        pieces=[batch.pieces[i] for i in sentences] if batch.pieces else (),
        doubts=None if batch.doubts is None else batch.doubts.of_words(words),
    )


class VectorRows(NamedTuple):
    """The words of a batch with a frozen vector."""

    positions: NDArray[np.int64]
    rows: Indices  # of the table of vectors


def split_vectors(batch: Batch, *, rows: int) -> tuple[Batch, VectorRows]:
    """The batch with rows of E only, and the rows that follow them in the vocabulary; E has `rows`."""
    is_vector = batch.rows >= rows
    places = np.flatnonzero(is_vector)
    positions = np.searchsorted(batch.offsets, places, side="right") - 1
    ends = np.concatenate([[0], np.cumsum(~is_vector)]).astype(np.int32)
    of_table = batch._replace(rows=batch.rows[~is_vector], offsets=ends[batch.offsets])
    return of_table, VectorRows(positions, batch.rows[places] - rows)


def sentence_numbers(words: Indices) -> NDArray[np.int64]:
    """Which sentence of the batch each position belongs to."""
    return np.repeat(np.arange(len(words)), words + 1)


def word_positions(words: Indices) -> NDArray[np.int64]:
    """The positions of all words of a batch, i.e. of everything but the ROOTs."""
    is_word = np.ones(int((words + 1).sum()), bool)
    is_word[np.cumsum(words + 1) - (words + 1)] = False
    return np.flatnonzero(is_word)


def by_length(lengths: Sequence[int], *, batch_words: int) -> list[list[int]]:
    """Indices of the sentences, sorted by length and cut into batches of about `batch_words` words.

    The length of the longest sentence counts for all of its batch, so that padding counts as work.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        longest = lengths[batches[-1][0]] if batches else 0
        if batches and (len(batches[-1]) + 1) * longest <= batch_words:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def in_batches(
    sentences: Sequence[Encoded],
    score: Callable[[Batch, list[int]], Sequence[T]],
    *,
    batch_words: int,
) -> list[T]:
    """What `score` gives for each sentence, in order.

    It is called for batches of sentences of similar length, with their indices.
    """
    results: dict[int, T] = {}
    for indices in by_length([sentence.words for sentence in sentences], batch_words=batch_words):
        scores = score(collate([sentences[i] for i in indices]), indices)
        results.update(zip(indices, scores, strict=True))
    return [results[i] for i in range(len(sentences))]


def shuffled(
    lengths: Sequence[int], *, batch_words: int, generator: np.random.Generator
) -> Iterator[list[int]]:
    """Random batches of similar length: each pool of random sentences is batched by length, then mixed."""
    order = generator.permutation(len(lengths))
    words: NDArray[np.int64] = np.cumsum(np.asarray(lengths)[order])
    pools = words // (batch_words * POOL_BATCHES)
    batches = [
        [int(pool[i]) for i in batch]
        for number in np.unique(pools)
        for pool in [order[pools == number]]
        for batch in by_length([lengths[i] for i in pool], batch_words=batch_words)
    ]
    for i in generator.permutation(len(batches)):
        yield batches[i]
