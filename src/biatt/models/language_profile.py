"""The language of a model as frequencies of character n-grams, to choose a model for a text.

A profile has the most frequent n-grams of 1 to 4 characters of the training text: of each, how often it comes
in a million n-grams of its length. A text has a score by every profile, the mean log-probability of its
n-grams (naive Bayes, all models equally probable beforehand); the model of the best score is the text's.
So a choice is among the models that are there, of whatever language, and needs no list of languages.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from biatt.errors import ModelError

LONGEST = 4  # characters of an n-gram
LARGEST = 90_000  # bytes of a profile in its file: about 7,500 n-grams of a Latin script
RARE = 0.5  # of a million: the frequency of n-grams that a profile does not have
MILLION = 1_000_000


@dataclass(frozen=True)
class LanguageProfile:
    """The frequencies of n-grams in the text of a language."""

    per_million: Mapping[str, int]  # by n-gram; of all n-grams of its length

    @classmethod
    def of_text(cls, text: str) -> LanguageProfile:
        """The profile of a text; n-grams that are equally frequent are kept in alphabetical order."""
        counts = ngrams(text)
        totals = _totals(counts)
        rates = {ngram: round(MILLION * count / totals[len(ngram)]) for ngram, count in counts.items()}
        kept: dict[str, int] = {}
        size = 0
        for ngram in sorted(rates, key=lambda ngram: (-rates[ngram], ngram)):
            size += len(f'"{ngram}":{rates[ngram]},'.encode())
            if size > LARGEST or not rates[ngram]:
                break
            kept[ngram] = rates[ngram]
        return cls(kept)

    @classmethod
    def from_json(cls, data: Any) -> LanguageProfile:
        table = data.get("ngrams_per_million") if isinstance(data, dict) else None
        if not isinstance(table, dict) or not all(map(_is_entry, table.items())):
            raise ModelError("it must have ngrams_per_million, whole numbers from 1 to a million by n-gram.")
        return cls(table)

    def to_json(self) -> dict[str, Any]:
        return {"ngrams_per_million": dict(self.per_million)}

    def score(self, counts: Mapping[str, int]) -> float:
        """The mean log-probability of the n-grams of a text, each length of n-grams by itself."""
        if not counts:
            return 0.0
        total = sum(
            count * math.log(self.per_million.get(ngram, RARE) / MILLION) for ngram, count in counts.items()
        )
        return total / sum(counts.values())


def _is_entry(item: tuple[Any, Any]) -> bool:
    ngram, rate = item
    return 1 <= len(ngram) <= LONGEST and type(rate) is int and 1 <= rate <= MILLION


def ngrams(text: str) -> Counter[str]:
    """How often each n-gram of 1 to 4 characters comes in the words of a text, in small letters.

    A word has a space before and after it, which is part of longer n-grams. Only letters and the marks on
    them count: figures, punctuation and addresses are much the same in all languages.
    """
    counts: Counter[str] = Counter()
    for word, times in Counter(_words(text)).items():
        padded = f" {word} "
        for length in range(1, LONGEST + 1):
            for start in range(len(padded) - length + 1):
                counts[padded[start : start + length]] += times
    counts.pop(" ", None)
    return counts


def _words(text: str) -> Iterator[str]:
    text = unicodedata.normalize("NFC", text.lower())
    letters = {c: c if unicodedata.category(c)[0] in "LM" else " " for c in set(text)}
    return iter("".join(map(letters.__getitem__, text)).split())


def _totals(counts: Mapping[str, int]) -> dict[int, int]:
    totals = dict.fromkeys(range(1, LONGEST + 1), 0)
    for ngram, count in counts.items():
        totals[len(ngram)] += count
    return totals
