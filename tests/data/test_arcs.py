"""Trees and crossing arcs against their definitions, written out."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.arcs import crossing_arcs, cycle, is_projective, is_tree
from biatt.data.conll import read
from biatt.decode import decoders

heads_of_up_to_nine_words = st.integers(0, 9).flatmap(
    lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)
)


def reaches_root(heads: list[int], word: int) -> bool:
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


def arcs_cross(arc: tuple[int, int], other: tuple[int, int]) -> bool:
    (a, b), (c, d) = sorted(arc), sorted(other)
    return a < c < b < d or c < a < d < b


def test_every_word_of_a_tree_reaches_root() -> None:
    for heads in ([], [0], [0, 0, 1], [2, 3, 0]):
        assert is_tree(heads)
    for heads in ([1], [2, 1], [0, 2], [0, 3], [0, -1]):
        assert not is_tree(heads)


@given(heads_of_up_to_nine_words)
def test_is_tree_and_cycle_agree_with_following_the_heads_of_every_word(heads: list[int]) -> None:
    expected = all(reaches_root(heads, word) for word in range(1, len(heads) + 1))
    assert is_tree(heads) is is_tree(np.array(heads)) is expected
    words = cycle(heads)
    assert (words == []) is expected
    assert [heads[word - 1] for word in words] == words[1:] + words[:1]
    assert len(set(words)) == len(words)


@given(heads_of_up_to_nine_words, st.data())
def test_crossing_arcs_agree_with_the_definition(heads: list[int], data: st.DataObject) -> None:
    arcs = list(zip(heads, range(1, len(heads) + 1), strict=True))
    expected = [any(arcs_cross(arc, other) for other in arcs) for arc in arcs]
    assert crossing_arcs(heads) == crossing_arcs(np.array(heads)) == expected
    assert is_projective(heads) is not any(expected)
    among = data.draw(st.lists(st.booleans(), min_size=len(heads), max_size=len(heads)))
    existing = [arc for arc, exists in zip(arcs, among, strict=True) if exists]
    expected = [
        exists and any(arcs_cross(arc, other) for other in existing)
        for arc, exists in zip(arcs, among, strict=True)
    ]
    assert crossing_arcs(heads, among=among) == crossing_arcs(heads, among=np.array(among)) == expected
    without = [head if exists else -1 for head, exists in zip(heads, among, strict=True)]
    assert crossing_arcs(without) == expected


def test_arcs_from_root_cross_unless_left_out() -> None:
    heads = [2, 0, 1]  # the arc 1 → 3 passes over 2, the child of ROOT
    assert crossing_arcs(heads) == [False, True, True]
    assert crossing_arcs(heads, among=[True, False, True]) == [False, False, False]
    assert crossing_arcs([0, 4, 1, 1]) == [False, True, True, False]
    assert crossing_arcs([]) == []


def test_every_subtree_of_a_projective_tree_is_a_span_without_gaps() -> None:
    for heads in filter(is_tree, product(range(6), repeat=5)):
        below = {t: {t} for t in range(1, 6)}
        for t in range(1, 6):
            ancestor = heads[t - 1]
            while ancestor:
                below[ancestor].add(t)
                ancestor = heads[ancestor - 1]
        assert is_projective(heads) == all(max(w) - min(w) + 1 == len(w) for w in below.values())


@given(heads_of_up_to_nine_words)
def test_compiled_checks_of_the_decoders_agree(heads: list[int]) -> None:
    compiled_heads = np.array(heads, np.int32)
    assert decoders.spans(compiled_heads, False) == is_tree(heads)
    one_root = not heads or heads.count(0) == 1
    assert decoders.spans(compiled_heads, True) == (is_tree(heads) and one_root)
    if is_tree(heads):
        assert decoders._is_projective(compiled_heads) == is_projective(heads)


@pytest.mark.parametrize("heads", [[1], [0, 3], [0, -1], [-5], [7, 0]])
def test_compiled_check_refuses_what_is_no_tree(heads: list[int]) -> None:
    assert not decoders.spans(np.array(heads, np.int32), False)
    assert not is_tree(heads)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("treebank", "percent"), [("danish-conllx", 2.30), ("english-ewt", 0.39), ("dutch-lassysmall", 12.29)]
)
def test_share_of_crossing_arcs_in_real_treebanks(treebank: str, percent: float) -> None:
    folder = Path(__file__).parents[3] / "shared" / "treebanks" / treebank
    if not folder.is_dir():
        pytest.skip(f"no treebank {treebank} in the folder shared beside the clone")
    (train,) = folder.glob("*train*.xz")
    words = crossed = 0
    for sentence in read(train):
        words += len(sentence)
        # The treebanks' description leaves arcs from ROOT out.
        crossed += sum(crossing_arcs(sentence.heads, among=[head > 0 for head in sentence.heads]))
    assert round(100 * crossed / words, 2) == percent
