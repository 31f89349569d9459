"""Calibration of a parser's confidence: of words with probability 0.8, 80 % should be correct."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from biatt.data.columns import FEATS, LEMMA, UPOS, XPOS
from biatt.data.files import replacing
from biatt.data.scores import Confidence, Temperature
from biatt.data.sentence import Sentence
from biatt.errors import ConfigError
from biatt.evaluation.results import Row, Table, percent
from biatt.evaluation.trees import check_same_words, gold_sentences, scored_trees, system_sentences

BINS = 10  # of equal width in a reliability diagram

# What each probability claims.
CLAIMS = {
    "head": "HeadProb: the head is correct",
    "arc": "ArcProb: the head is correct",
    "relation": "RelProb: the relation is correct, if the head is",
    "word": "WordProb: head and relation are correct",
    "upos": "UposProb: the UPOS is correct",
    "xpos": "XposProb: the XPOS is correct",
    "feats": "FeatsProb: the features are correct",
    "lemma": "LemmaProb: the lemma is correct",
}
TAGS = {"upos": UPOS, "xpos": XPOS, "feats": FEATS, "lemma": LEMMA}  # claims about columns
LARGE_BIN = 500  # words, more of which make the error of a single bin worth showing


class Bin(NamedTuple):
    """The words whose probability falls into one bin."""

    words: int
    confidence: float  # their mean probability
    accuracy: float


def reliability(probabilities: npt.ArrayLike, correct: npt.ArrayLike) -> list[Bin]:
    """The bins of a reliability diagram, without empty ones."""
    probabilities, correct = np.asarray(probabilities, float), np.asarray(correct, bool)
    numbers = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    return [
        Bin(int(inside.sum()), float(probabilities[inside].mean()), float(correct[inside].mean()))
        for number in range(BINS)
        if (inside := numbers == number).any()
    ]


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error: the mean distance of accuracy from confidence over all words."""
    words = sum(bin.words for bin in bins) or 1  # without words, the error is 0
    return sum(bin.words * abs(bin.accuracy - bin.confidence) for bin in bins) / words


def largest_error(bins: Sequence[Bin]) -> float:
    """The largest distance of accuracy from confidence in a bin of more than LARGE_BIN words."""
    return max((abs(bin.accuracy - bin.confidence) for bin in bins if bin.words > LARGE_BIN), default=0.0)


@dataclass(frozen=True)
class Calibration:
    """The reliability of each kind of probability, as fitted and, if given, without the fit."""

    words: int
    temperature: Temperature
    fitted: dict[str, list[Bin]]  # by claim
    unfitted: dict[str, list[Bin]] | None

    def as_dict(self) -> dict[str, Any]:
        """All figures, as JSON can hold them."""
        return {
            "words": self.words,
            "temperature": self.temperature._asdict(),
            "fitted": _as_dict(self.fitted),
            "unfitted": None if self.unfitted is None else _as_dict(self.unfitted),
        }

    def tables(self) -> list[Table]:
        """The calibration errors, and the bins of the probability that a word is correct.

        The largest error is that of a single bin with more than LARGE_BIN words.
        """
        errors: list[Row] = []
        for claim, bins in self.fitted.items():
            before = None if self.unfitted is None else self.unfitted.get(claim)
            unfitted = None if before is None else calibration_error(before)
            error, largest = calibration_error(bins), largest_error(bins)
            errors.append((CLAIMS[claim], percent(error), percent(largest), percent(unfitted)))
        words: list[Row] = [
            (f"{bin.confidence:.2f}", bin.words, percent(bin.confidence), percent(bin.accuracy))
            for bin in self.fitted["word"]
        ]
        arcs, relations = self.temperature
        title = f"Expected calibration error; temperature {arcs:g}, of relations {relations:g}"
        return [
            Table(title, ("probability", "error, %", "largest, %", "unfitted, %"), errors),
            Table("Head and relation", ("about", "words", "mean probability, %", "correct, %"), words),
        ]


def calibrate(
    gold: Iterable[Sentence], parsed: Iterable[Sentence], *, unfitted: Iterable[Confidence] | None = None
) -> Calibration:
    """Compare the confidence of parsed sentences with how often they are correct.

    gold: the sentences with gold trees.
    parsed: the same sentences, parsed with confidence.
    unfitted: the confidence of the same trees without temperature and curves, to be shown beside it.
    """
    gold, parsed = gold_sentences(gold), system_sentences(parsed)
    scored_trees(gold, "conllx", "include", allow_cycles=False)
    check_same_words(gold, parsed, system_name="the parsed sentences")
    fitted = [sentence.confidence for sentence in parsed if sentence.confidence is not None]
    if len(fitted) < len(parsed):
        raise ConfigError("The parsed sentences have no confidence: parse them with confidence=True.")
    return Calibration(
        sum(map(len, gold)),
        fitted[0].temperature,
        _reliabilities(gold, parsed, fitted),
        None if unfitted is None else _reliabilities(gold, parsed, list(unfitted)),
    )


def _reliabilities(
    gold: Sequence[Sentence], parsed: Sequence[Sentence], confidence: Sequence[Confidence]
) -> dict[str, list[Bin]]:
    """The bins of each claim."""
    heads = np.concatenate([np.equal(a.heads, b.heads) for a, b in zip(gold, parsed, strict=True)])
    relations = np.concatenate([np.equal(a.deprels, b.deprels) for a, b in zip(gold, parsed, strict=True)])

    def joined(name: str) -> npt.NDArray[np.float64]:
        return np.concatenate([getattr(sentence, name) for sentence in confidence])

    result = {
        "head": reliability(joined("heads"), heads),
        "arc": reliability(joined("arcs"), heads),
        "relation": reliability(joined("relations")[heads], relations[heads]),
        "word": reliability(joined("words"), heads & relations),
    }
    for kind, column in TAGS.items():
        if all(kind in sentence.tags for sentence in confidence):
            probabilities = np.concatenate([sentence.tags[kind] for sentence in confidence])
            pairs = [(a.rows, b.rows) for a, b in zip(gold, parsed, strict=True)]
            correct = [x[column] == y[column] for a, b in pairs for x, y in zip(a, b, strict=True)]
            written = ~np.isnan(probabilities)
            result[kind] = reliability(probabilities[written], np.array(correct)[written])
    return result


def _as_dict(claims: dict[str, list[Bin]]) -> dict[str, Any]:
    return {
        claim: {"error": calibration_error(bins), "bins": [bin._asdict() for bin in bins]}
        for claim, bins in claims.items()
    }


def require_matplotlib() -> None:
    """Refuse to draw before the work is done whose result would be drawn."""
    if find_spec("matplotlib") is None:
        raise ConfigError("A reliability diagram needs matplotlib: pip install 'biatt[bench]'.")


def draw(calibration: Calibration, path: str | Path) -> None:
    """Write a reliability diagram, probability against accuracy, as PNG."""
    require_matplotlib()
    import matplotlib

    matplotlib.use("Agg")  # draws to files only: no display is needed
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="tab:gray", linewidth=1)
    lines = [] if calibration.unfitted is None else [(calibration.unfitted, "--", "unfitted")]
    for claims, style, name in (*lines, (calibration.fitted, "-", "fitted")):
        for claim, colour in (("arc", "tab:blue"), ("word", "tab:orange")):
            bins = claims[claim]
            label = f"{claim}, {name}: ECE {100 * calibration_error(bins):.1f} %"
            axes.plot([b.confidence for b in bins], [b.accuracy for b in bins], style, marker="o",
                      markersize=4, color=colour, label=label)  # fmt: skip
    axes.set_xlabel("probability")
    axes.set_ylabel("share that is correct")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")
    drawn = BytesIO()
    figure.savefig(drawn, dpi=110, format="png", metadata={"Software": None})
    with replacing(Path(path)) as file:
        file.write(drawn.getvalue())
