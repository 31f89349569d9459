"""Language profiles: n-grams counted, stored and compared."""

from __future__ import annotations

import json
import math
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import biatt
from biatt.errors import ModelError
from biatt.models.language_profile import LARGEST, RARE, LanguageProfile, ngrams
from biatt.models.model_folder import PROFILE, read_profile
from builders import random_parser


def plain_ngrams(text: str) -> Counter[str]:
    """The same, letter by letter."""
    word, counts = " ", Counter[str]()
    for character in unicodedata.normalize("NFC", text.lower()) + " ":
        if unicodedata.category(character)[0] in "LM":
            word += character
            continue
        if word != " ":
            word += " "
            counts.update(word[a:b] for b in range(1, len(word) + 1) for a in range(max(0, b - 4), b))
        word = " "
    del counts[" "]
    return counts


@given(st.text(alphabet="aé\u0301Bßк日ر  .1’\n", max_size=30))
def test_ngrams_are_those_of_words_between_anything_else(text: str) -> None:
    assert ngrams(text) == plain_ngrams(text)


def test_frequencies_are_per_million_of_the_same_length() -> None:
    profile = LanguageProfile.of_text("ab, ab 7")
    assert profile.per_million["a"] == profile.per_million["b"] == 500_000
    assert profile.per_million[" ab "] == 1_000_000
    assert profile.per_million["ab"] == 333_333  # beside " a" and "b "
    assert " " not in profile.per_million


def test_score_is_the_mean_log_probability() -> None:
    profile = LanguageProfile({"a": 250_000, "b": 500_000})
    expected = (2 * math.log(0.25) + math.log(0.5) + math.log(RARE / 1e6)) / 4
    assert profile.score({"a": 2, "b": 1, "c": 1}) == pytest.approx(expected)
    assert profile.score({}) == 0


def test_profile_of_much_text_is_small_and_has_the_most_frequent_ngrams() -> None:
    words = [chr(0x4E00 + i) + chr(0x4E00 + j) for i in range(90) for j in range(90)]
    profile = LanguageProfile.of_text(" ".join([*words, *["один"] * 5000]))
    size = len(json.dumps(profile.to_json(), ensure_ascii=False, separators=(",", ":")).encode())
    assert 0.9 * LARGEST < size < 1.1 * LARGEST
    assert " оди" in profile.per_million


def test_profile_is_stored_with_its_model(tmp_path: Path) -> None:
    parser = random_parser()
    parser.save(tmp_path / "without")
    assert read_profile(tmp_path / "without") is None
    parser.profile = LanguageProfile.of_text("Ænder på åen.")
    parser.save(tmp_path / "model")
    assert read_profile(tmp_path / "model") == parser.profile
    biatt.load(tmp_path / "model").save(tmp_path / "copy")
    assert read_profile(tmp_path / "copy") == parser.profile


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"ngrams_per_million": {"abcde": 1}}', '{"ngrams_per_million": {"a": 1.5}}', "{"]
)
def test_damaged_profile_is_refused(tmp_path: Path, content: str) -> None:
    random_parser().save(tmp_path / "model")
    (tmp_path / "model" / PROFILE).write_text(content)
    with pytest.raises(ModelError, match=r"language\.json"):
        biatt.load(tmp_path / "model")
