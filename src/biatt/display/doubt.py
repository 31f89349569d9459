"""Which arcs of a tree the parser doubts."""

from __future__ import annotations

from biatt.data.columns import MISC
from biatt.data.sentence import Sentence

WORD_PROBABILITY = "WordProb"  # in MISC
DOUBT = 0.8  # arcs less probable than this are doubtful


def arc_probabilities(sentence: Sentence) -> list[float | None]:
    """The probability that each word's head and relation are right: from the parser, or as MISC gives it."""
    if sentence.confidence is not None:
        return [float(value) for value in sentence.confidence.words]
    result: list[float | None] = []
    for row in sentence.rows:
        items = dict(item.partition("=")[::2] for item in row[MISC].split("|"))
        try:
            result.append(float(items[WORD_PROBABILITY]))
        except (KeyError, ValueError):
            result.append(None)
    return result


def percentages(sentence: Sentence) -> list[str]:
    """The probability of each doubtful arc as text, such as 56 %, and an empty string for every other arc."""
    return [
        f"{100 * probability:.0f} %" if probability is not None and probability < DOUBT else ""
        for probability in arc_probabilities(sentence)
    ]
