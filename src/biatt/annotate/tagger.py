"""Tags and lemmas: one network chooses UPOS, XPOS, FEATS and a lemma rule for every word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from biatt.annotate import lemmas
from biatt.annotate.labeller import FusedLabeller, Labels
from biatt.config import TaggerSettings
from biatt.data.sentence import FEATS, FORM, LEMMA, UPOS, XPOS, Sentence
from biatt.encoding.vocabulary import EMPTY, Indices, Vocabulary
from biatt.model_check import Kind
from biatt.model_folder import Model, read_model, write_model

KINDS = {"upos": UPOS, "xpos": XPOS, "feats": FEATS, "lemma": LEMMA}  # kinds of label, with their columns
BATCH_WORDS = 500
LEAST_LEMMAS = 2  # words that a lemma rule must fit to become a label


class Tagger:
    """A trained tagger: its configuration, its vocabulary, its labels and its weights."""

    def __init__(
        self,
        config: TaggerSettings,
        vocabulary: Vocabulary,
        labels: Labels,
        weights: Mapping[str, NDArray[Any]],
        *,
        scale: NDArray[Any] | None = None,  # of packed embeddings: the model is stored packed
    ) -> None:
        self.scale = scale
        self.config, self.vocabulary, self.labels, self.weights = config, vocabulary, labels, dict(weights)
        self.network = FusedLabeller(config, labels, weights, rows=vocabulary.size)
        self._columns = [KINDS[kind] for kind in labels.kinds]
        self._always_filled = {  # columns in which the treebank has no "_"
            KINDS[kind]
            for kind, names in labels.kinds.items()
            if (lemmas.constant(EMPTY) if kind == "lemma" else EMPTY) not in names
        }

    @classmethod
    def load(cls, folder: str | Path) -> Tagger:
        return cls.from_stored(read_model(folder, Kind.TAGGER))

    @classmethod
    def from_stored(cls, model: Model) -> Tagger:
        labels = Labels(model.symbols["labels"])
        return cls(
            model.config, Vocabulary.from_json(model.symbols), labels, model.weights, scale=model.scale
        )

    def save(self, folder: str | Path) -> None:
        """Write the tagger into a folder that belongs to it, for example that of its training."""
        write_model(folder, self.stored())

    def stored(self) -> Model:
        symbols = {**self.vocabulary.to_json(), "labels": self.labels.kinds}
        return Model(Kind.TAGGER, self.config, symbols, self.weights, self.scale)

    def tag(self, sentences: Sequence[Sentence], *, keep: bool = False) -> list[Sentence]:
        """Copies with tags and lemmas; with `keep`, values that are there stay and only missing ones are set.

        A sentence without missing values is returned as it is.
        """
        todo = [
            self._missing(sentence) if keep else [range(len(sentence))] * len(self._columns)
            for sentence in sentences
        ]
        chosen = [i for i, words in enumerate(todo) if any(words)]
        encoded = [self.vocabulary.encode(sentences[i]) for i in chosen]
        tagged = list(sentences)
        for i, labels in zip(chosen, self.network.label(encoded, batch_words=BATCH_WORDS), strict=True):
            tagged[i] = self._tagged(sentences[i], labels, todo[i])
        return tagged

    def _missing(self, sentence: Sentence) -> list[Sequence[int]]:
        """For each kind of label, the words without a value.

        "_" can also be a value: most words have no features. It means that a value is missing where the
        column is empty in the whole sentence, where the word has no tag at all, or where the tagger's
        treebank has no "_" in the column.
        """
        missing: list[Sequence[int]] = []
        for column in self._columns:
            empty = [i for i, row in enumerate(sentence.rows) if row[column] == EMPTY]
            if len(empty) < len(sentence) and column not in self._always_filled:
                rows = sentence.rows
                empty = [i for i in empty if rows[i][UPOS] == EMPTY and rows[i][XPOS] == EMPTY]
            missing.append(empty)
        return missing

    def _tagged(self, sentence: Sentence, labels: Indices, words: Sequence[Sequence[int]]) -> Sentence:
        """A copy with the labels (n, kinds) of these words of each kind."""
        rows = [row[:] for row in sentence.rows]
        kinds = zip(self._columns, self.labels.kinds.values(), labels.T.tolist(), words, strict=True)
        for column, names, numbers, chosen in kinds:
            for word in chosen:
                row, name = rows[word], names[numbers[word]]
                row[column] = lemmas.apply(name, row[FORM]) if column == LEMMA else name
        return sentence.with_rows(rows)


def gold_columns(sentence: Sentence) -> dict[str, list[str]]:
    """The gold labels of each word, by kind."""
    return {
        "upos": sentence.upos,
        "xpos": sentence.xpos,
        "feats": sentence.feats,
        "lemma": list(map(lemmas.rule, sentence.forms, sentence.lemmas)),
    }


def labels_of(sentences: Sequence[Sentence]) -> Labels:
    """The labels of a treebank; a column that is always `_` has none."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in KINDS}
    filled = set()
    for sentence in sentences:
        for name, column in gold_columns(sentence).items():
            counts[name].update(column)
        filled |= {name for name, place in KINDS.items() if any(row[place] != EMPTY for row in sentence.rows)}
    least = {"lemma": LEAST_LEMMAS}
    return Labels({name: _kept(counts[name], least.get(name, 1)) for name in KINDS if name in filled})


def _kept(count: Counter[str], least: int) -> list[str]:
    """The labels that are frequent enough, the most frequent first; all labels if none is."""
    ordered = sorted(count, key=lambda label: (-count[label], label))
    return [label for label in ordered if count[label] >= least] or ordered
