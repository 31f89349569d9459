"""From words to tags: lemma, UPOS, XPOS and FEATS, read off one memory of the sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from biatt.annotate import lemmas
from biatt.annotate.labeller import FusedLabeller, Labels
from biatt.config import Config
from biatt.data.sentence import FEATS, FORM, LEMMA, UPOS, XPOS, Sentence
from biatt.encoding.vocabulary import EMPTY, Indices, Vocabulary
from biatt.errors import ModelError
from biatt.model_folder import read_model, write_model

FORMAT = "biatt-tagger"  # what its folder calls itself
KINDS = {"upos": UPOS, "xpos": XPOS, "feats": FEATS, "lemma": LEMMA}  # of label, and the column of each
BATCH_WORDS = 500
LEAST_LEMMAS = 2  # a rule that fits fewer words is not learned


class Tagger:
    """A trained tagger: its configuration, its vocabulary, its labels and its weights."""

    def __init__(
        self, config: Config, vocabulary: Vocabulary, labels: Labels, weights: Mapping[str, NDArray[Any]]
    ) -> None:
        self.config, self.vocabulary, self.labels, self.weights = config, vocabulary, labels, dict(weights)
        self.network = FusedLabeller(config, labels, weights, rows=vocabulary.size)

    @classmethod
    def load(cls, folder: str | Path) -> Tagger:
        config, _, symbols, weights = read_model(folder, FORMAT)
        try:
            labels = Labels.from_json(symbols)
            if not labels.kinds.keys() <= KINDS.keys() or not all(labels.kinds.values()):
                raise ModelError("The vocabulary has labels that are no tags.")
            if not all(map(lemmas.is_rule, labels.kinds.get("lemma", []))):
                raise ModelError("The vocabulary has lemma rules that are none.")
            return cls(config, Vocabulary.from_json(symbols), labels, weights)
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from error

    def save(self, folder: str | Path) -> None:
        symbols = {**self.vocabulary.to_json(), "labels": self.labels.kinds}
        write_model(folder, FORMAT, self.config.to_json(), symbols, self.weights)

    def tag(self, sentences: Sequence[Sentence], *, keep: bool = False) -> list[Sentence]:
        """Copies with the columns that the tagger knows set; with `keep`, only where there is nothing yet."""
        full = [sentence for sentence in sentences if len(sentence)]
        found = iter(self.network.label(list(map(self.vocabulary.encode, full)), batch_words=BATCH_WORDS))
        return [self._tagged(s, next(found), keep) if len(s) else s for s in sentences]

    def _tagged(self, sentence: Sentence, numbers: Indices, keep: bool) -> Sentence:
        rows = [row[:] for row in sentence.rows]
        for kind, column in zip(self.labels.kinds.items(), numbers.T.tolist(), strict=True):
            name, labels = kind
            place = KINDS[name]
            for row, number in zip(rows, column, strict=True):
                if not keep or row[place] == EMPTY:
                    label = labels[number]
                    row[place] = lemmas.apply(label, row[FORM]) if name == "lemma" else label
        return sentence.with_rows(rows)


def is_tagged(sentence: Sentence) -> bool:
    """Whether any word has a tag already."""
    return any(row[UPOS] != EMPTY or row[XPOS] != EMPTY for row in sentence.rows)


def gold_columns(sentence: Sentence) -> dict[str, list[str]]:
    """What each kind of label is to be for each word."""
    return {
        "upos": sentence.upos,
        "xpos": sentence.xpos,
        "feats": sentence.feats,
        "lemma": list(map(lemmas.rule, sentence.forms, sentence.lemmas)),
    }


def labels_of(sentences: Sequence[Sentence]) -> Labels:
    """The labels that a treebank teaches; a column that holds nothing but `_` is no kind."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in KINDS}
    filled = set()
    for sentence in sentences:
        for name, column in gold_columns(sentence).items():
            counts[name].update(column)
        filled |= {name for name, place in KINDS.items() if any(row[place] != EMPTY for row in sentence.rows)}
    least = {"lemma": LEAST_LEMMAS}
    return Labels({name: _kept(counts[name], least.get(name, 1)) for name in KINDS if name in filled})


def _kept(count: Counter[str], least: int) -> list[str]:
    """The labels that are frequent enough, the most frequent first; all, if none is."""
    ordered = sorted(count, key=lambda label: (-count[label], label))
    return [label for label in ordered if count[label] >= least] or ordered
