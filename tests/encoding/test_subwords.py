"""Words become subwords, and long sentences overlapping windows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.encoding.subwords import Subwords, windows
from biatt.errors import ModelError
from encoders import REASON, byte_level_tokenizer, wordpiece_tokenizer

pytest.importorskip("tokenizers", reason=REASON)


def names(subwords: Subwords, tokenizer: Any, forms: list[str]) -> list[list[str]]:
    """The subwords of each word."""
    (pieces,) = subwords.pieces([forms])
    return [
        [tokenizer.id_to_token(int(number)) for number in pieces.ids[pieces.words == word]]
        for word in range(len(forms))
    ]


def test_wordpiece_splits_each_word_alone() -> None:
    tokenizer = wordpiece_tokenizer()
    subwords = Subwords(tokenizer.to_str())
    assert names(subwords, tokenizer, ["The", "dogdog", "ab"]) == [["the"], ["dog", "##dog"], ["a", "##b"]]
    assert (subwords.before, subwords.after) == ([2], [3])


def test_a_word_that_has_no_subword_is_unknown() -> None:
    tokenizer = wordpiece_tokenizer()
    subwords = Subwords(tokenizer.to_str())
    forms = ["\u200b", "dog", "\x00\x01", "Ω", "the", "\ufeff"]
    assert names(subwords, tokenizer, forms) == [["[UNK]"], ["dog"], ["[UNK]"], ["[UNK]"], ["the"], ["[UNK]"]]
    byte_level = byte_level_tokenizer()
    assert names(Subwords(byte_level.to_str()), byte_level, ["", "dog"]) == [["Ġ"], ["Ġdog"]]


@pytest.mark.parametrize("add_prefix_space", [False, True])
def test_every_byte_level_word_begins_with_a_space(add_prefix_space: bool) -> None:
    from tokenizers import pre_tokenizers

    tokenizer = byte_level_tokenizer()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    subwords = Subwords(tokenizer.to_str())
    assert names(subwords, tokenizer, ["dog", "dog", "do"]) == [["Ġdog"], ["Ġdog"], ["Ġdo"]]


def test_a_byte_level_word_has_one_space_if_a_pattern_splits_it() -> None:
    from tokenizers import Regex, pre_tokenizers

    tokenizer = byte_level_tokenizer()
    split = pre_tokenizers.Split(Regex(r" ?\p{L}+|'s"), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    assert names(Subwords(tokenizer.to_str()), tokenizer, ["a", "dog's"]) == [["Ġ", "a"], ["Ġdog", "'", "s"]]


def test_the_fixed_length_of_a_file_is_ignored() -> None:
    subwords = Subwords(wordpiece_tokenizer().to_str())
    lengths = [len(pieces.ids) for pieces in subwords.pieces([["dog"] * 9, ["dog"], []])]
    assert lengths == [9, 1, 0]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"model": {"type": "abacus"}}'])
def test_a_damaged_tokeniser_is_one_sentence(text: str) -> None:
    with pytest.raises(ModelError, match=r"^it is damaged or of an unknown kind \(.*\)\.$"):
        Subwords(text)


def test_a_tokeniser_needs_an_unknown_token() -> None:
    data = json.loads(byte_level_tokenizer().to_str())
    del data["model"]["vocab"]["<unk>"]
    with pytest.raises(ModelError, match="no token for unknown words"):
        Subwords(json.dumps(data))


@given(st.integers(1, 200), st.integers(1, 40))
def test_each_subword_is_taken_from_the_window_in_which_it_is_furthest_from_an_edge(
    length: int, size: int
) -> None:
    def distance(place: int, start: int, end: int) -> int:
        """To the nearest edge, where the ends of the sentence are none."""
        left = length if start == 0 else place - start
        right = length if end == length else end - 1 - place
        return min(left, right) if start <= place < end else -1

    parts = list(windows(length, size))
    assert all(0 <= part.start <= part.first < part.last <= part.end <= length for part in parts)
    assert all(part.end - part.start == min(size, length) for part in parts)
    taken = np.concatenate([np.arange(part.first, part.last) for part in parts])
    assert taken.tolist() == list(range(length))
    for part in parts:
        for place in range(part.first, part.last):
            best = max(distance(place, other.start, other.end) for other in parts)
            assert distance(place, part.start, part.end) == best


def test_a_short_sentence_is_one_window() -> None:
    assert list(windows(5, 5)) == [(0, 5, 0, 5)]
    assert list(windows(0, 5)) == [(0, 0, 0, 0)]
