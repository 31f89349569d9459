"""Does a parser's confidence mean what it says? Of words with probability 0.8, 80 % should be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from biatt.data.files import replacing
from biatt.data.scores import Confidence, Temperature
from biatt.data.sentence import Sentence
from biatt.errors import BiattError, ConfigError
from biatt.evaluation.results import Row, Table, percent, plain
from biatt.parser import Parser

BINS = 10  # of a reliability diagram

# What each probability is a probability of.
CLAIMS = {
    "head": "HeadProb: the head is right",
    "arc": "ArcProb: the head is right",
    "relation": "RelProb: the relation is right, where the head is",
    "word": "ArcProb × RelProb: head and relation are right",
}


class Bin(NamedTuple):
    """Words whose probability is in one bin."""

    words: int
    confidence: float  # their mean probability
    accuracy: float


def reliability(probabilities: npt.ArrayLike, right: npt.ArrayLike, *, bins: int = BINS) -> list[Bin]:
    """A reliability diagram in numbers: the probabilities in bins of equal width, empty ones left out."""
    probabilities, right = np.asarray(probabilities, float), np.asarray(right, bool)
    place = np.minimum((probabilities * bins).astype(int), bins - 1)
    return [
        Bin(int(chosen.sum()), float(probabilities[chosen].mean()), float(right[chosen].mean()))
        for k in range(bins)
        if (chosen := place == k).any()
    ]


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error: how far accuracy is from confidence, over all words."""
    words = sum(one.words for one in bins) or 1  # of no words, none is wrong
    return sum(one.words * abs(one.accuracy - one.confidence) for one in bins) / words


@dataclass(frozen=True)
class Calibration:
    """The reliability of every kind of probability, as the model gives it and without its temperature."""

    words: int
    temperature: Temperature
    fitted: dict[str, list[Bin]]
    unfitted: dict[str, list[Bin]]

    def as_dict(self) -> dict[str, Any]:
        return cast("dict[str, Any]", plain(self)) | {
            "temperature": self.temperature._asdict(),
            **{
                name: {
                    claim: {"error": calibration_error(bins), "bins": [one._asdict() for one in bins]}
                    for claim, bins in getattr(self, name).items()
                }
                for name in ("fitted", "unfitted")
            },
        }

    def tables(self) -> list[Table]:
        errors: list[Row] = [
            (
                text,
                percent(calibration_error(self.fitted[name])),
                percent(calibration_error(self.unfitted[name])),
            )
            for name, text in CLAIMS.items()
        ]
        bins: list[Row] = [
            (f"{one.confidence:.2f}", one.words, percent(one.confidence), percent(one.accuracy))
            for one in self.fitted["word"]
        ]
        heat = self.temperature
        title = f"Expected calibration error; temperature {heat.arcs:g}, of relations {heat.relations:g}"
        return [
            Table(title, ("probability", "%", "unfitted, %"), errors),
            Table("Head and relation", ("about", "words", "mean probability, %", "right, %"), bins),
        ]


def calibrate(parser: Parser, gold: Iterable[Sentence], *, threads: int = 1) -> Calibration:
    """Parse sentences that have gold trees, and see how often the parser is right when it is so sure.

    A model with a tagger was made for its own tags, so it does not see those of the sentences.
    """
    gold = [sentence for sentence in gold if len(sentence)]
    if not gold:
        raise BiattError("There is no sentence to look at.")
    found: dict[str, dict[str, list[Bin]]] = {}
    own = parser.temperature
    for name, temperature in (("fitted", own), ("unfitted", Temperature())):
        parser.temperature = temperature
        try:
            parsed = list(
                parser.parse(gold, confidence=True, threads=threads, retag=parser.tagger is not None)
            )
        finally:
            parser.temperature = own
        found[name] = _reliabilities(gold, parsed)
    return Calibration(sum(map(len, gold)), own, found["fitted"], found["unfitted"])


def _reliabilities(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> dict[str, list[Bin]]:
    sure = [cast("Confidence", sentence.confidence) for sentence in parsed]
    heads = np.concatenate([np.equal(a.heads, b.heads) for a, b in zip(gold, parsed, strict=True)])
    relations = np.concatenate([np.equal(a.deprels, b.deprels) for a, b in zip(gold, parsed, strict=True)])

    def joined(name: str) -> npt.NDArray[np.float64]:
        return np.concatenate([getattr(one, name) for one in sure])

    return {
        "head": reliability(joined("heads"), heads),
        "arc": reliability(joined("arcs"), heads),
        "relation": reliability(joined("relations")[heads], relations[heads]),
        "word": reliability(joined("words"), heads & relations),
    }


def draw(found: Calibration, path: str | Path) -> None:
    """A reliability diagram: the probability that the parser gives against how often it is right."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise ConfigError("A reliability diagram needs matplotlib: pip install 'biatt[bench]'.") from None
    matplotlib.use("Agg")  # draws to files only: no display is needed
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="tab:gray", linewidth=1)
    for name, style in (("unfitted", "--"), ("fitted", "-")):
        for claim, colour in (("arc", "tab:blue"), ("word", "tab:orange")):
            bins = getattr(found, name)[claim]
            error = 100 * calibration_error(bins)
            label = f"{claim}, {'' if name == 'fitted' else 'no '}temperature: ECE {error:.1f} %"
            axes.plot([b.confidence for b in bins], [b.accuracy for b in bins], style, marker="o",
                      markersize=4, color=colour, label=label)  # fmt: skip
    axes.set_xlabel("probability")
    axes.set_ylabel("share that is right")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")
    drawn = BytesIO()
    figure.savefig(drawn, dpi=110, format="png", metadata={"Software": None})
    with replacing(Path(path)) as file:
        file.write(drawn.getvalue())
