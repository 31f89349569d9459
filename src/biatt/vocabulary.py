"""From words to numbers.

A token embedding is a sum (section 2.1), so all symbols of all columns share one table **E**: a token is
the bag of its rows: its form, lemma, tags, and each of its morphemes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.config import COLUMNS
from biatt.conll import FEATS, FORM, Sentence
from biatt.errors import ModelError

Indices = NDArray[np.int32]

ROOT = 0  # the row of E that is the whole embedding of the ROOT token
EMPTY = "_"

REMEMBERED_TOKENS = 100_000  # a few tens of megabytes


class Encoded(NamedTuple):
    """One sentence as numbers; position 0 of the bags is ROOT."""

    rows: Indices  # rows of E of all tokens, one after the other
    offsets: Indices  # (n + 2,): token j owns rows[offsets[j]:offsets[j + 1]]
    heads: Indices  # (n,), -1 where the sentence has none
    relations: Indices  # (n,), -1 where unknown

    @property
    def words(self) -> int:
        return len(self.offsets) - 2


class Vocabulary:
    """The rows of **E** by column and symbol, and the relations."""

    def __init__(self, symbols: Mapping[str, Sequence[str]], relations: Sequence[str]) -> None:
        self.symbols = {name: list(symbols[name]) for name in COLUMNS if name in symbols}
        self.relations = list(relations)
        self._relation_ids = {relation: i for i, relation in enumerate(self.relations)}
        self._rows: dict[str, dict[str, int]] = {}
        self._unknown: dict[str, int] = {}
        size = 1  # row 0 is ROOT
        for name, known in self.symbols.items():
            if name != "feats":  # an unseen morpheme is left out of the bag, so it needs no row
                self._unknown[name] = size
                size += 1
            self._rows[name] = {symbol: size + i for i, symbol in enumerate(known)}
            size += len(known)
        self.size = size
        self._bags: dict[tuple[str, ...], tuple[int, ...]] = {}

    @classmethod
    def build(cls, sentences: Iterable[Sentence], *, columns: Sequence[str], min_count: int) -> Vocabulary:
        """Count the symbols of a treebank; a column that holds nothing but `_` is left out."""
        counts: dict[str, Counter[str]] = {name: Counter() for name in COLUMNS if name in columns}
        relations: Counter[str] = Counter()
        for sentence in sentences:
            for name, count in counts.items():
                values = _values(sentence, name)
                count.update(
                    values if name != "feats" else (item for bag in values for item in _morphemes(bag))
                )
            relations.update(sentence.deprels)
        symbols = {}
        for name, count in counts.items():
            if count.keys() - {EMPTY}:
                floor = 1 if name == "feats" else min_count
                symbols[name] = [symbol for symbol, times in _by_frequency(count) if times >= floor]
        return cls(symbols, [relation for relation, _ in _by_frequency(relations)])

    def row(self, column: str, symbol: str) -> int | None:
        """The row of a known symbol, else None."""
        return self._rows[column].get(symbol)

    def encode(self, sentence: Sentence) -> Encoded:
        bags = [self._bag(row) for row in sentence.rows]
        offsets = np.zeros(len(bags) + 2, np.int32)
        offsets[1] = 1
        np.cumsum([len(bag) for bag in bags], out=offsets[2:])
        offsets[2:] += 1
        rows = np.fromiter(chain([ROOT], *bags), np.int32, offsets[-1])
        relation_ids = self._relation_ids
        relations = np.array([relation_ids.get(relation, -1) for relation in sentence.deprels], np.int32)
        return Encoded(rows, offsets, np.array(sentence.heads, np.int32), relations)

    def _bag(self, columns: list[str]) -> tuple[int, ...]:
        """The rows of E of a token; remembered, since most tokens of a text have been seen before."""
        key = tuple(columns[FORM : FEATS + 1])
        bag = self._bags.get(key)
        if bag is None:
            rows: list[int] = []
            for name, known in self._rows.items():
                value = key[COLUMNS.index(name)]
                if name == "feats":
                    rows.extend(known[item] for item in _morphemes(value) if item in known)
                else:
                    rows.append(known.get(value, self._unknown[name]))
            if len(self._bags) >= REMEMBERED_TOKENS:
                self._bags.clear()
            bag = self._bags[key] = tuple(rows)
        return bag

    def to_json(self) -> dict[str, Any]:
        return {"symbols": self.symbols, "relations": self.relations}

    @classmethod
    def from_json(cls, data: Any) -> Vocabulary:
        try:
            return cls(data["symbols"], data["relations"])
        except (KeyError, TypeError) as error:
            raise ModelError("The vocabulary has no symbols or no relations.") from error


def _values(sentence: Sentence, column: str) -> list[str]:
    values: list[str] = getattr(sentence, column if column in ("upos", "xpos", "feats") else column + "s")
    return values


def _morphemes(feats: str) -> list[str]:
    return [] if feats == EMPTY else feats.split("|")


def _by_frequency(count: Counter[str]) -> list[tuple[str, int]]:
    return sorted(count.items(), key=lambda item: (-item[1], item[0]))
