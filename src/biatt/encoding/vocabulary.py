"""From words to rows of the embedding table E.

A token embedding is a sum (section 2.1), so the symbols of all columns share one table. A token is a bag of
rows: its form, lemma and tags, each of its morphological features and, with affixes, parts of its spelling,
which are known for many forms that are not. A word with a frozen vector has a row past the last one of E.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.config import COLUMNS
from biatt.data.columns import FEATS, FORM
from biatt.data.full_width import half_width
from biatt.data.sentence import Sentence
from biatt.encoding.doubts import Doubts
from biatt.encoding.features import Features, Pieces
from biatt.models.weights import AFFIX, ROOT, VECTOR, column_rows

Indices = NDArray[np.int32]

EMPTY = "_"
TAGS = ("upos", "xpos", "feats")

SHAPE_LETTERS = 20  # first letters of a form that its shape describes
REMEMBERED_TOKENS = 100_000  # whose rows are cached, in a few tens of megabytes

ROW_BYTES = 4  # of a row number in a bag

NO_INDICES: Indices = np.empty(0, np.int32)


class Encoded(NamedTuple):
    """One sentence as numbers; position 0 of the bags is ROOT."""

    rows: Indices  # rows of E of all tokens, one after the other
    offsets: Indices  # (n + 2,): token j has rows[offsets[j]:offsets[j + 1]]
    heads: Indices  # (n,), -1 where the sentence has none
    relations: Indices  # (n,), -1 where unknown
    labels: Indices | None = None  # (n, kinds): tags that are known (`encoding/labels.py`)
    features: Features | None = None  # (n, layers, width): those of a contextual encoder
    pieces: Pieces | None = None  # its subwords, where a tuned encoder computes the features
    doubts: Doubts | None = None  # of a teacher; without them, heads, relations and labels are certain

    @property
    def words(self) -> int:
        return len(self.offsets) - 2


class Vocabulary:
    """The rows of E for the symbols of each column, and the relations."""

    def __init__(self, symbols: Mapping[str, Sequence[str]], relations: Sequence[str]) -> None:
        self.symbols = {name: list(symbols[name]) for name in (*COLUMNS, AFFIX, VECTOR) if name in symbols}
        self.relations = list(relations)
        self._relation_ids = {relation: i for i, relation in enumerate(self.relations)}
        columns, self.size = column_rows(self.symbols)
        self._unknown = {name: rows.unknown for name, rows in columns.items() if rows.unknown is not None}
        self._rows = {
            name: dict(zip(self.symbols[name], range(rows.first, self.size), strict=False))
            for name, rows in columns.items()
        }
        vectors = self.symbols.get(VECTOR, [])
        self._vectors = dict(zip(vectors, range(self.size, self.size + len(vectors)), strict=True))
        affixes = [len(item) - 1 for item in self.symbols.get(AFFIX, []) if item[0] in "<>"]
        self._longest_affix = max(affixes, default=0)
        places = {FORM, *(FORM + COLUMNS.index(name) for name in self._rows if name != AFFIX)}
        self._key = itemgetter(*sorted(places))  # the columns of a token that its rows depend on
        self._bags: dict[Any, bytes] = {}

    @classmethod
    def build(
        cls, sentences: Iterable[Sentence], *, columns: Sequence[str], min_count: int, affixes: int = 0
    ) -> Vocabulary:
        """The symbols of a treebank that are frequent enough; a column that is always `_` is left out.

        So is the relation `_`, unless there is no other.
        """
        counts: dict[str, Counter[str]] = {name: Counter() for name in COLUMNS if name in columns}
        relations, forms = Counter[str](), Counter[str]()
        for sentence in sentences:
            for name, count in counts.items():
                values = _values(sentence, name)
                count.update(
                    values if name != "feats" else (item for bag in values for item in _morphemes(bag))
                )
            relations.update(sentence.deprels)
            forms.update(sentence.forms)
        if affixes:
            counts[AFFIX] = Counter()
            for form, times in forms.items():
                counts[AFFIX].update(dict.fromkeys(spelling(form, affixes), times))
        symbols = {}
        for name, count in counts.items():
            if count.keys() - {EMPTY}:
                floor = 1 if name == "feats" else min_count
                symbols[name] = [symbol for symbol, times in _by_frequency(count) if times >= floor]
        names = [relation for relation, _ in _by_frequency(relations)]
        return cls(symbols, [name for name in names if name != EMPTY] or names)

    def extended(self, forms: Mapping[str, int], *, min_count: int, most: int) -> Vocabulary:
        """The vocabulary with forms and affixes of another text, given the number of times of each form.

        At most `most` of each are added, the most frequent.
        """
        counts = {"form": Counter(forms)}
        if AFFIX in self.symbols:
            counts[AFFIX] = Counter()
            for form, times in forms.items():
                for part in spelling(form, self._longest_affix):
                    counts[AFFIX][part] += times
        symbols = {**self.symbols}
        for name, count in counts.items():
            if name in symbols:
                known = self._rows[name]
                new = [s for s, times in _by_frequency(count) if times >= min_count and s not in known]
                symbols[name] = [*symbols[name], *new[:most]]
        return Vocabulary(symbols, self.relations)

    def row(self, column: str, symbol: str) -> int | None:
        """The row of a known symbol, else None."""
        return self._rows[column].get(symbol)

    def dropped(self) -> tuple[Indices, NDArray[np.bool_]]:
        """The row that replaces each dropped row, -1 for none (`with_dropout`); is the row that of a tag?

        Rows of word vectors are not dropped: unlike those of forms, words of other texts have them too.
        """
        size = self.size + len(self._vectors)
        replacement, is_tag = np.full(size, -1, np.int32), np.zeros(size, bool)
        replacement[self.size :] = range(self.size, size)
        replacement[ROOT] = ROOT
        for name, known in self._rows.items():
            rows = list(known.values())
            replacement[rows] = unknown = self._unknown.get(name, -1)
            is_tag[rows] = name in TAGS
            if unknown >= 0:
                replacement[unknown] = unknown
        return replacement, is_tag

    def encode(self, sentence: Sentence) -> Encoded:
        relation_ids = self._relation_ids
        relations = np.array([relation_ids.get(relation, -1) for relation in sentence.deprels], np.int32)
        heads = np.array(sentence.heads, np.int32)
        return self.encode_words(sentence)._replace(heads=heads, relations=relations)

    def encode_words(self, sentence: Sentence) -> Encoded:
        """The sentence without its tree: a parser does not look at heads and relations."""
        cached, key = self._bags.get, self._key
        bags = [ROOT_BAG, *[cached(key(row)) or self._bag(row) for row in sentence.rows]]
        # Sentences are short: this takes half the time of numpy's own sums.
        ends = np.fromiter(accumulate(map(len, bags), initial=0), np.int32, len(bags) + 1)
        ends //= ROW_BYTES
        return Encoded(np.frombuffer(b"".join(bags), np.int32), ends, NO_INDICES, NO_INDICES)

    def _bag(self, columns: list[str]) -> bytes:
        """The rows of E of a token; cached, because most tokens of a text occur often."""
        form, rows = self._readable(columns[FORM]), list[int]()
        for name, known in self._rows.items():
            if name == AFFIX:
                parts = spelling(form, self._longest_affix)
                rows.extend(known[part] for part in parts if part in known)
            elif name == "feats":
                rows.extend(known[part] for part in _morphemes(columns[FEATS]) if part in known)
            else:
                symbol = form if name == "form" else columns[FORM + COLUMNS.index(name)]
                rows.append(known.get(symbol, self._unknown[name]))
        vector = self._vectors.get(form, self._vectors.get(form.lower()))
        if vector is not None:
            rows.append(vector)
        if len(self._bags) >= REMEMBERED_TOKENS:
            self._bags.clear()
        bag = self._bags[self._key(columns)] = in_bytes(rows)
        return bag

    def _readable(self, form: str) -> str:
        """The form, or the half-width form that is looked up for one that is unknown."""
        return form if form in self._rows.get("form", ()) else half_width(form)

    def with_vectors(self, words: Sequence[str]) -> Vocabulary:
        """The vocabulary with these words as those that have a frozen vector."""
        return Vocabulary({**self.symbols, VECTOR: words}, self.relations)

    def to_json(self) -> dict[str, Any]:
        return {"symbols": self.symbols, "relations": self.relations}

    @classmethod
    def from_json(cls, data: Any) -> Vocabulary:
        return cls(data["symbols"], data["relations"])


def in_bytes(rows: Sequence[int]) -> bytes:
    """Rows of E as a bag that is joined with others quickly."""
    return array("i", rows).tobytes()


ROOT_BAG = in_bytes([ROOT])


def offsets_of(sizes: NDArray[np.integer[Any]]) -> Indices:
    """Where each bag begins, and the end of the last, given the number of rows of each."""
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def with_root(rows: Indices, offsets: Indices) -> Encoded:
    """The tokens with these bags, after ROOT, whose bag is its own row."""
    of_all = np.empty(len(rows) + 1, np.int32)
    of_all[0], of_all[1:] = ROOT, rows
    ends = np.empty(len(offsets) + 1, np.int32)
    ends[0] = 0
    np.add(offsets, 1, out=ends[1:])
    return Encoded(of_all, ends, NO_INDICES, NO_INDICES)


def _values(sentence: Sentence, column: str) -> list[str]:
    values: list[str] = getattr(sentence, column if column in ("upos", "xpos", "feats") else column + "s")
    return values


def spelling(form: str, longest: int) -> list[str]:
    """Prefixes "<un", suffixes ">ing" and the whole "=…" of the lower-cased form, and its shape "~Xx"."""
    lower = form.lower()
    sizes = range(1, min(longest, len(lower)) + 1)
    shape = "".join(
        "X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c
        for c in form[:SHAPE_LETTERS]
    )
    runs = "".join(kind for kind, _ in groupby(shape))
    return [*(f"<{lower[:k]}" for k in sizes), *(f">{lower[-k:]}" for k in sizes), f"={lower}", f"~{runs}"]


def _morphemes(feats: str) -> list[str]:
    return [] if feats == EMPTY else feats.split("|")


def _by_frequency(count: Counter[str]) -> list[tuple[str, int]]:
    return sorted(count.items(), key=lambda item: (-item[1], item[0]))
