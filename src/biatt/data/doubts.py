"""A parser's doubts, as MISC of CoNLL-U has them: the probabilities of heads, relations and tags.

    HeadProbs=3 0.93 5 0.04|DeprelProbs=nmod:poss 0.91 nmod 0.05

A choice and its probability follow each other, the most probable first. There are up to MOST_CHOICES, none
less probable than LEAST_PROBABLE, so that their sum can be below 1. A word is certain, and has none, where no
other choice than the written one is as probable as that. Relations are those given the head that is written.
In a choice, "|" is written \\p, a space \\s, and a backslash \\\\.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from biatt.data.columns import DEPREL, DEPS, HEAD, MISC, PDEPREL, PHEAD
from biatt.data.scores import Floats
from biatt.data.sentence import Sentence
from biatt.errors import ConfigError, FormatError
from biatt.options import Doubtful

MOST_CHOICES = 4
LEAST_PROBABLE = 0.01
DOUBTFUL = "Doubtful=Yes"  # in MISC of a word below a minimum of confidence

# The names in MISC of the kinds of choices.
NAMES = {
    "head": "HeadProbs",
    "deprel": "DeprelProbs",
    "upos": "UposProbs",
    "xpos": "XposProbs",
    "feats": "FeatsProbs",
}
NO_MISC = "Probabilities are written to the MISC column of CoNLL-U, which CoNLL-X does not have."
NO_MARKS = "Doubtful words are marked in the MISC column of CoNLL-U, which CoNLL-X does not have."

_KINDS = {name: kind for kind, name in NAMES.items()}
_DECIMALS = [f"{thousandths / 1000:g}" for thousandths in range(1001)]
_ESCAPED = re.compile(r"[\\| ]")
_ESCAPES = {"\\": r"\\", "|": r"\p", " ": r"\s"}
_ESCAPE = re.compile(r"\\([\\ps])")
_UNESCAPES = {"\\": "\\", "p": "|", "s": " "}


class Choices(NamedTuple):
    """The choices of one kind for n words."""

    probabilities: Floats  # (n, choices)
    written: npt.NDArray[np.integer[Any]]  # (n,): the choice that the sentence has
    names: Sequence[str]


def write_doubts(sentence: Sentence, choices: Mapping[str, Choices]) -> None:
    """Replace the doubts in the MISC column of a sentence; `choices` are by their kinds."""
    if sentence.format != "conllu":
        raise ConfigError(NO_MISC)
    items: list[list[str]] = [[] for _ in sentence.rows]
    for row, others in zip(sentence.rows, items, strict=True):
        if row[MISC] != "_":
            others += [item for item in row[MISC].split("|") if item.partition("=")[0] not in _KINDS]
    for kind, of_kind in choices.items():
        for word, text in _doubts(of_kind):
            items[word].append(f"{NAMES[kind]}={text}")
    for row, its_items in zip(sentence.rows, items, strict=True):
        row[MISC] = "|".join(its_items) or "_"


def _doubts(choices: Choices) -> Iterator[tuple[int, str]]:
    """Each word with doubts, from 0, and its choices with their probabilities."""
    probabilities, written, names = choices
    considered = probabilities >= LEAST_PROBABLE
    certain = considered[np.arange(len(written)), written]
    words = np.flatnonzero(considered.sum(-1) > certain)
    rows = probabilities[words]
    best = np.argsort(-rows, axis=-1, kind="stable")[:, :MOST_CHOICES]
    numbers = np.minimum(considered[words].sum(-1), MOST_CHOICES)
    thousandths = np.rint(1000 * np.take_along_axis(rows, best, -1)).astype(int)
    for word, number, its_best, parts in zip(
        words.tolist(), numbers.tolist(), best.tolist(), thousandths.tolist(), strict=True
    ):
        pairs = zip(its_best[:number], parts[:number], strict=True)
        yield word, " ".join([f"{escaped(names[choice])} {_DECIMALS[part]}" for choice, part in pairs])


def escaped(choice: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], choice)


def unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: _UNESCAPES[match[1]], text) if "\\" in text else text


def without_doubtful(sentence: Sentence, least: float, *, doubtful: Doubtful = "mark") -> Sentence:
    """A copy in which words of less confidence are marked in MISC, or have no head and relation.

    Confidence is the probability that head and relation are both correct.
    """
    if sentence.confidence is None:
        raise ConfigError("The sentence has no confidence: parse it with confidence.")
    if doubtful == "mark" and sentence.format != "conllu":
        raise ConfigError(NO_MARKS)
    copy = sentence.copy()
    for row, probability in zip(copy.rows, sentence.confidence.words, strict=True):
        if doubtful == "mark":
            items = [item for item in row[MISC].split("|") if item not in ("_", DOUBTFUL)]
            row[MISC] = "|".join([*items, *([DOUBTFUL] if probability < least else [])]) or "_"
        elif probability < least:
            # What `fill_deps` has written repeats the arc; other values of these columns stay.
            if sentence.format == "conllx" and row[PHEAD:] == row[HEAD:PHEAD]:
                row[PHEAD] = row[PDEPREL] = "_"
            elif row[DEPS] == f"{row[HEAD]}:{row[DEPREL]}":
                row[DEPS] = "_"
            row[HEAD] = row[DEPREL] = "_"
    return copy


def read_doubts(misc: str, sentence: Sentence) -> dict[str, tuple[list[str], list[float]]]:
    """The choices that a word's MISC names and their probabilities, by kind, as they are written.

    Errors name the place of the sentence.
    """
    doubts = {}
    for item in misc.split("|"):
        name, _, value = item.partition("=")
        if name not in _KINDS:
            continue
        parts = value.split(" ")
        try:
            probabilities = [float(part) for part in parts[1::2]]
        except ValueError:
            probabilities = []
        names = [unescaped(part) for part in parts[::2]]
        if len(names) != len(probabilities) or not all(0 < value <= 1 for value in probabilities):
            fault = f"{item[:60]!r} is not {name}= and pairs of a choice and a probability above 0."
            raise FormatError(fault, source=sentence.source, line=sentence.line)
        doubts[_KINDS[name]] = names, probabilities
    return doubts
