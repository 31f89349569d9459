"""Batches: nothing lost, nothing twice, no more work than asked for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from biatt.encoding.batches import (
    Batch,
    by_length,
    collate,
    in_batches,
    selected,
    sentence_numbers,
    shuffled,
    split_vectors,
    with_dropout,
    word_positions,
)
from biatt.encoding.doubts import Doubts
from biatt.encoding.features import Pieces
from biatt.encoding.vocabulary import Encoded

lengths_lists = st.lists(st.integers(1, 60), max_size=80)
budgets = st.integers(1, 120)


@st.composite
def encoded_sentences(draw: st.DrawFn) -> Encoded:
    n = draw(st.integers(1, 6))
    bags = [[0], *draw(st.lists(st.lists(st.integers(1, 50), max_size=4), min_size=n, max_size=n))]
    labels = st.lists(st.integers(-1, n), min_size=n, max_size=n)
    return Encoded(
        rows=np.array([row for bag in bags for row in bag], np.int32),
        offsets=np.cumsum([0] + [len(bag) for bag in bags]).astype(np.int32),
        heads=np.array(draw(labels), np.int32),
        relations=np.array(draw(labels), np.int32),
    )


def slow_collate(sentences: list[Encoded]) -> Batch:
    rows: list[int] = []
    offsets, words, heads, relations = [0], [], [], []
    for sentence in sentences:
        for position in range(sentence.words + 1):
            rows += sentence.rows[sentence.offsets[position] : sentence.offsets[position + 1]].tolist()
            offsets.append(len(rows))
        words.append(sentence.words)
        for t in range(sentence.words):
            heads.append(sentence.heads[t])
            relations.append(sentence.relations[t])
    return Batch(*(np.array(part, np.int32) for part in (rows, offsets, words, heads, relations)))


@given(st.lists(st.tuples(encoded_sentences(), st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_selected_sentences_are_a_batch_of_their_own(choices: list[tuple[Encoded, bool, bool]]) -> None:
    sentences = [
        sentence._replace(
            labels=np.stack([sentence.heads, sentence.relations], -1),
            pieces=Pieces(sentence.heads, sentence.relations),
            doubts=doubts_about(sentence) if doubtful else None,
        )
        for sentence, _, doubtful in choices
    ]
    chosen = [i for i, (_, is_chosen, _) in enumerate(choices) if is_chosen] or [0]
    batch = selected(collate(sentences), np.array(chosen, np.int32))
    expected = collate([sentences[i] for i in chosen])
    for name in ("rows", "offsets", "words", "heads", "relations", "labels"):
        found, wanted = getattr(batch, name), getattr(expected, name)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    assert [id(pieces) for pieces in batch.pieces] == [id(pieces) for pieces in expected.pieces]
    if expected.doubts is not None:
        assert batch.doubts is not None
        for one, other in zip(batch.doubts, expected.doubts, strict=True):
            np.testing.assert_array_equal(one, other)


def doubts_about(sentence: Encoded) -> Doubts:
    """A choice of each word."""
    n = sentence.words
    words, ones = np.arange(n, dtype=np.int32), np.ones(n)
    return Doubts(
        words, ones.astype(np.uint8), words.astype(np.int16), (ones / (words + 1)).astype(np.float16)
    )


def check_batches(batches: list[list[int]], lengths: list[int], batch_words: int) -> None:
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = len(batch) * max(lengths[i] for i in batch)
        assert padded <= batch_words or len(batch) == 1


@given(st.lists(encoded_sentences(), min_size=1, max_size=6))
def test_collated_layout_equals_the_slow_twin(sentences: list[Encoded]) -> None:
    for found, expected in zip(collate(sentences)[:5], slow_collate(sentences)[:5], strict=True):
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, expected)


@given(st.lists(encoded_sentences(), min_size=1, max_size=6))
def test_labels_and_features_of_words_are_one_after_the_other(sentences: list[Encoded]) -> None:
    plain = collate(sentences)
    assert (plain.labels, plain.features, list(plain.pieces)) == (None, None, [])
    words = [sentence.words for sentence in sentences]
    labels = [np.full((n, 2), i, np.int32) for i, n in enumerate(words)]
    features = [np.full((n, 3, 4), i, np.float16) for i, n in enumerate(words)]
    pieces = [Pieces(np.full(n, i, np.int32), np.arange(n, dtype=np.int32)) for i, n in enumerate(words)]
    batch = collate(
        [
            sentence._replace(labels=labels[i], features=features[i], pieces=pieces[i])
            for i, sentence in enumerate(sentences)
        ]
    )
    assert batch.labels is not None
    assert batch.features is not None
    assert (batch.labels.dtype, batch.features.dtype) == (np.int32, np.float16)
    expected = [i for i, n in enumerate(words) for _ in range(n)]
    assert batch.labels.tolist() == [[i] * 2 for i in expected]
    assert batch.features.tolist() == [[[i] * 4] * 3 for i in expected]
    assert all(found is own for found, own in zip(batch.pieces, pieces, strict=True))


def test_collated_layout_by_hand() -> None:
    one = Encoded(*(np.array(part, np.int32) for part in ([0, 5, 6], [0, 1, 3], [0], [2])))
    two = Encoded(*(np.array(part, np.int32) for part in ([0, 7], [0, 1, 1, 2], [2, 0], [-1, 1])))
    batch = collate([one, two])
    assert batch.rows.tolist() == [0, 5, 6, 0, 7]
    assert batch.offsets.tolist() == [0, 1, 3, 4, 4, 5]  # the first word of the second sentence is empty
    assert batch.words.tolist() == [1, 2]
    assert batch.heads.tolist() == [0, 2, 0]
    assert batch.relations.tolist() == [2, -1, 1]


@given(lengths_lists, budgets)
def test_every_sentence_is_in_one_batch_within_the_budget(lengths: list[int], batch_words: int) -> None:
    batches = by_length(lengths, batch_words=batch_words)
    check_batches(batches, lengths, batch_words)
    order = [lengths[i] for batch in batches for i in batch]
    assert order == sorted(lengths, reverse=True)


@given(lengths_lists, budgets)
def test_batches_by_length_are_full(lengths: list[int], batch_words: int) -> None:
    batches = by_length(lengths, batch_words=batch_words)
    for batch in batches[:-1]:
        assert (len(batch) + 1) * lengths[batch[0]] > batch_words


@given(st.lists(encoded_sentences(), max_size=8), st.integers(1, 20))
def test_results_of_batches_are_in_the_order_of_the_sentences(
    sentences: list[Encoded], batch_words: int
) -> None:
    batches: list[list[int]] = []

    def score(batch: Batch, indices: list[int]) -> list[tuple[int, list[int]]]:
        batches.append(indices)
        heads = np.split(batch.heads, np.cumsum(batch.words)[:-1])
        return [(i, part.tolist()) for i, part in zip(indices, heads, strict=True)]

    expected = [(i, sentence.heads.tolist()) for i, sentence in enumerate(sentences)]
    assert in_batches(sentences, score, batch_words=batch_words) == expected
    check_batches(batches, [sentence.words for sentence in sentences], batch_words)


@given(lengths_lists, budgets, st.integers(0, 9))
def test_shuffled_batches_hold_every_sentence_once_within_the_budget(
    lengths: list[int], batch_words: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    batches = list(shuffled(lengths, batch_words=batch_words, generator=generator))
    check_batches(batches, lengths, batch_words)


@given(lengths_lists, budgets, st.integers(0, 9))
def test_shuffling_is_repeatable_for_a_seed(lengths: list[int], batch_words: int, seed: int) -> None:
    one, other = (
        list(shuffled(lengths, batch_words=batch_words, generator=np.random.default_rng(seed)))
        for _ in range(2)
    )
    assert one == other


def test_epochs_differ() -> None:
    lengths = list(np.random.default_rng(0).integers(1, 40, 500))
    generator = np.random.default_rng(1)
    first, second = (list(shuffled(lengths, batch_words=100, generator=generator)) for _ in range(2))
    assert first != second
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in second}


def test_shuffled_batches_waste_little_and_are_not_in_order_of_length() -> None:
    lengths = list(np.random.default_rng(0).integers(1, 60, 3000))
    batches = list(shuffled(lengths, batch_words=400, generator=np.random.default_rng(2)))
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    assert padded < 1.15 * sum(lengths)
    means = [np.mean([lengths[i] for i in batch]) for batch in batches]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.2


@given(st.lists(st.integers(1, 7), min_size=1, max_size=6))
def test_word_positions_are_all_but_the_roots(lengths: list[int]) -> None:
    expected, position = [], 0
    for n in lengths:
        expected += range(position + 1, position + 1 + n)
        position += n + 1
    assert word_positions(np.array(lengths, np.int32)).tolist() == expected


@given(st.lists(st.integers(1, 7), min_size=1, max_size=6))
def test_sentence_numbers_count_a_sentence_for_each_root_and_word(lengths: list[int]) -> None:
    expected = [i for i, n in enumerate(lengths) for _ in range(n + 1)]
    assert sentence_numbers(np.array(lengths, np.int32)).tolist() == expected


# Symbols left out


def slow_dropout(
    batch: Batch, becomes: list[int], shares: list[float], draws: list[float]
) -> list[list[int]]:
    """The rows of every position that are left, one draw for each row."""
    left, bags = iter(draws), []
    for position in range(len(batch.offsets) - 1):
        bag = []
        for row in batch.rows[batch.offsets[position] : batch.offsets[position + 1]].tolist():
            if next(left) >= shares[row]:
                bag.append(row)
            elif becomes[row] >= 0:
                bag.append(becomes[row])
        bags.append(bag)
    return bags


@given(
    st.lists(encoded_sentences(), min_size=1, max_size=4),
    st.lists(st.integers(-1, 50), min_size=51, max_size=51),
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.875]), min_size=51, max_size=51),
    st.integers(0, 99),
)
def test_dropout_of_symbols_equals_the_slow_twin(
    treebank: list[Encoded], becomes: list[int], shares: list[float], seed: int
) -> None:
    batch = collate(treebank)
    before = [part.copy() for part in batch[:5]]
    generator, same = (np.random.default_rng(seed) for _ in range(2))
    found = with_dropout(batch, np.array(becomes, np.int32), np.array(shares, np.float32), generator)
    expected = slow_dropout(batch, becomes, shares, same.random(len(batch.rows), np.float32).tolist())
    assert (found.rows.dtype, found.offsets.dtype) == (np.int32, np.int32)
    assert found.rows.tolist() == [row for bag in expected for row in bag]
    assert found.offsets.tolist() == np.cumsum([0] + [len(bag) for bag in expected]).tolist()
    assert all(one is other for one, other in zip(found[2:], batch[2:], strict=True))
    assert all(np.array_equal(part, old) for part, old in zip(batch[:5], before, strict=True))


def test_dropout_of_symbols_leaves_out_their_share() -> None:
    rows = np.repeat(np.arange(3, dtype=np.int32), 10_000)
    offsets = np.array([0, len(rows)], np.int32)
    batch = Batch(rows, offsets, *(np.zeros(0, np.int32) for _ in range(3)))
    becomes, shares = np.array([0, -1, 0], np.int32), np.array([0.9, 0.2, 0.0], np.float32)
    found = np.bincount(with_dropout(batch, becomes, shares, np.random.default_rng(1)).rows)
    assert (found[0], found[2]) == (10_000, 10_000)
    assert abs(found[1] - 8_000) < 200  # five standard deviations


@given(st.lists(encoded_sentences(), min_size=1, max_size=4), st.integers(0, 12))
def test_rows_of_vectors_are_split_off(sentences: list[Encoded], rows: int) -> None:
    batch = collate(sentences)
    of_table, vectors = split_vectors(batch, rows=rows)
    found = []
    for i, (start, end) in enumerate(pairwise(batch.offsets)):
        bag = batch.rows[start:end].tolist()
        ours = of_table.rows[of_table.offsets[i] : of_table.offsets[i + 1]].tolist()
        assert ours == [row for row in bag if row < rows]
        found += [(i, row - rows) for row in bag if row >= rows]
    assert list(zip(vectors.positions.tolist(), vectors.rows.tolist(), strict=True)) == found
