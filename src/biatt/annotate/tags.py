"""Tags and lemmas as labels: which of them a sentence has, which it lacks, and writing them into it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from biatt.annotate import lemmas
from biatt.annotate.known_lemmas import KnownLemmas
from biatt.data.columns import FEATS, FORM, LEMMA, UPOS, XPOS
from biatt.data.curves import NO_CURVES, Curves
from biatt.data.doubts import LEAST_PROBABLE, Choices
from biatt.data.doubts import NAMES as DOUBTS
from biatt.data.scores import Floats, log_softmax
from biatt.data.sentence import Sentence
from biatt.encoding.labels import NO_LABEL, Labels
from biatt.encoding.vocabulary import EMPTY, Indices

KINDS = {"upos": UPOS, "xpos": XPOS, "feats": FEATS, "lemma": LEMMA}  # kinds of label, with their columns
NOTHING = [EMPTY] * (FEATS + 1 - LEMMA)  # the columns of a word without lemma and tags
LEAST_LEMMAS = 2  # words that a lemma rule must fit to become a label

Words = Sequence[Sequence[int]]  # for each kind of label, the numbers of some words


class Tags:
    """The tags and lemmas that a network chooses from.

    Known lemmas, if there are any, are preferred to the rules (`known_lemmas.py`).
    """

    def __init__(self, labels: Labels, known_lemmas: KnownLemmas | None = None) -> None:
        self.labels, self.known_lemmas = labels, known_lemmas
        self._columns = [KINDS[kind] for kind in labels.kinds]
        self._always_filled = {  # columns in which the treebank has no "_"
            KINDS[kind]
            for kind, names in labels.kinds.items()
            if (lemmas.constant(EMPTY) if kind == "lemma" else EMPTY) not in names
        }

    def all_words(self, sentence: Sentence) -> Words:
        return [range(len(sentence))] * len(self._columns)

    def missing(self, sentence: Sentence) -> Words:
        """For each kind of label, the words without a value.

        "_" can also be a value: most words have no features. It means that a value is missing where the
        column is empty in the whole sentence, where the word has no tag at all, or where the treebank has no
        "_" in the column.
        """
        if all(row[LEMMA : FEATS + 1] == NOTHING for row in sentence.rows):  # as the tokeniser makes them
            return self.all_words(sentence)
        missing: list[Sequence[int]] = []
        for column in self._columns:
            empty = [i for i, row in enumerate(sentence.rows) if row[column] == EMPTY]
            if len(empty) < len(sentence) and column not in self._always_filled:
                rows = sentence.rows
                empty = [i for i in empty if rows[i][UPOS] == EMPTY and rows[i][XPOS] == EMPTY]
            missing.append(empty)
        return missing

    def given(self, sentence: Sentence, missing: Words) -> Indices:
        """(n, kinds): the numbers of the tags that the sentence has; NO_LABEL for others and for lemmas."""
        if all(len(words) == len(sentence) for words in missing):
            return np.full((len(sentence), len(missing)), NO_LABEL, np.int32)
        columns: list[list[str | None]] = []
        for column, words in zip(self._columns, missing, strict=True):
            known = column != LEMMA and len(words) < len(sentence)
            values = [row[column] if known else None for row in sentence.rows]
            for word in words if known else ():
                values[word] = None
            columns.append(values)
        return self.labels.encode(*columns)

    def write(
        self, sentence: Sentence, numbers: Indices, words: Words, label_scores: Floats | None = None
    ) -> Sentence:
        """A copy with the labels of these words of each kind; `numbers` (n, kinds) are of all words.

        With the scores of all labels, the known lemmas are used.
        """
        if not any(words):
            return sentence
        rows = [row[:] for row in sentence.rows]
        kinds = zip(self.labels.kinds.items(), self.labels.slices, numbers.T.tolist(), words, strict=True)
        for (kind, names), part, chosen, some in kinds:  # lemmas are the last kind: the word has its UPOS
            if kind != "lemma":
                column = KINDS[kind]
                for word in some:
                    rows[word][column] = names[chosen[word]]
            elif self.known_lemmas is None or label_scores is None:
                for word in some:
                    rows[word][LEMMA] = lemmas.apply(names[chosen[word]], rows[word][FORM])
            else:
                known, choose = self.known_lemmas.only, self.known_lemmas.choose
                for word in some:
                    form, upos = rows[word][FORM], rows[word][UPOS]
                    lemma = known(form, upos)
                    rows[word][LEMMA] = lemma or choose(
                        form, upos, names, label_scores[word, part], chosen[word]
                    )
        return sentence.with_rows(rows)

    def choices(self, label_scores: Floats, words: Words) -> dict[str, Choices]:
        """The probabilities of the tags that were written for these words of each kind; 0 for other words."""
        choices = {}
        for (kind, names), part, some in zip(
            self.labels.kinds.items(), self.labels.slices, words, strict=True
        ):
            if kind in DOUBTS:
                scores = label_scores[:, part]
                probabilities = np.zeros_like(scores)
                probabilities[some] = np.exp(log_softmax(scores[some]))
                choices[kind] = Choices(probabilities, scores.argmax(-1), names)
        return choices

    def confidence(
        self, tagged: Sentence, label_scores: Floats, words: Words, curves: Curves = NO_CURVES
    ) -> dict[str, Floats]:
        """(n,) for each kind: the probability of what was written for these words; NaN for other words.

        The probability of a lemma is that of all rules that give it, LEAST_PROBABLE if no probable rule does.
        """
        confidence = {}
        for (kind, names), part, some in zip(
            self.labels.kinds.items(), self.labels.slices, words, strict=True
        ):
            values: Floats = np.full(len(tagged), np.nan)
            scores = label_scores[list(some), part]
            relative = np.exp(scores - scores.max(-1, keepdims=True))  # to the best label
            best = 1 / relative.sum(-1)
            if kind == "lemma":
                rows = [tagged.rows[word] for word in some]
                values[some] = _lemma_probabilities(rows, names, relative, best)
            else:
                values[some] = best
            curve = curves.get(kind)
            confidence[kind] = values if curve is None else curve.at(values)
        return confidence


def _lemma_probabilities(
    rows: Sequence[Sequence[str]], rules: Sequence[str], relative: Floats, best: Floats
) -> Floats:
    """The probability of the lemma of each word.

    `best` (words,) are the probabilities of the best rules, and `relative` (words, rules) those of all rules,
    relative to the best.
    """
    result = np.zeros(len(rows))
    # No other rule can have LEAST_PROBABLE, as the best has at most 1.
    words, numbers = np.nonzero(relative >= LEAST_PROBABLE)
    probabilities = relative[words, numbers] * best[words]
    for word, number, probability in zip(
        words.tolist(), numbers.tolist(), probabilities.tolist(), strict=True
    ):
        row = rows[word]
        if (
            probability >= LEAST_PROBABLE
            and lemmas.apply(rules[number], row[FORM]).lower() == row[LEMMA].lower()
        ):
            result[word] += probability
    return np.maximum(result, LEAST_PROBABLE)


def gold_columns(sentence: Sentence) -> dict[str, list[str]]:
    """The gold labels of each word, by kind."""
    return {
        "upos": sentence.upos,
        "xpos": sentence.xpos,
        "feats": sentence.feats,
        "lemma": list(map(lemmas.rule, sentence.forms, sentence.lemmas)),
    }


def gold_labels(sentence: Sentence, labels: Labels) -> Indices:
    """(n, kinds): the numbers of the gold labels; NO_LABEL for labels that are not known."""
    columns = gold_columns(sentence)
    return labels.encode(*(columns[kind] for kind in labels.kinds))


def labels_of(sentences: Sequence[Sentence]) -> Labels:
    """The labels of a treebank; a column that is always `_` has none."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in KINDS}
    filled = set()
    for sentence in sentences:
        for name, column in gold_columns(sentence).items():
            counts[name].update(column)
        filled |= {name for name, place in KINDS.items() if any(row[place] != EMPTY for row in sentence.rows)}
    least = {"lemma": LEAST_LEMMAS}
    labels = Labels({name: _kept(counts[name], least.get(name, 1)) for name in KINDS if name in filled})
    return with_combinations(labels, sentences)


def with_combinations(labels: Labels, sentences: Sequence[Sentence]) -> Labels:
    """The labels with the combinations of tags that words of a treebank have, beside those known already."""
    kinds = sum(kind != "lemma" for kind in labels.kinds)
    if not kinds:
        return labels
    words = [gold_labels(sentence, labels)[:, :kinds] for sentence in sentences]
    numbers = np.concatenate([labels.combinations.reshape(-1, kinds), *words])
    known = numbers[(numbers != NO_LABEL).all(-1)]
    return Labels(labels.kinds, np.unique(known, axis=0).tolist())


def _kept(count: Counter[str], least: int) -> list[str]:
    """The labels that are frequent enough, the most frequent first; all labels if none is."""
    ordered = sorted(count, key=lambda label: (-count[label], label))
    return [label for label in ordered if count[label] >= least] or ordered
