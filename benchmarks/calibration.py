"""Compare ways to calibrate a model's confidence, by cross-validation on dev data: writes calibration.json.

python benchmarks/calibration.py --dev FILE [--test FILE] [--model en] [--out FOLDER]

With --test, the confidence that the model has is measured on that file as well; nothing is fitted to it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import biatt
from biatt.data.files import replacing
from biatt.data.scores import Scores, Temperature, log_softmax
from biatt.data.sentence import Sentence
from biatt.decode.arc_scores import without_self_arcs
from biatt.decode.confidence import SentenceConfidence
from biatt.decode.distribution import TreeDistribution
from biatt.decode.temperature import lowest_point
from biatt.errors import BiattError
from biatt.evaluation.calibration import Calibration, calibration_error, largest_error
from biatt.parser import Parser
from biatt.parsing.fit_confidence import FOLDS, ConfidenceFit

HERE = Path(__file__).parent
LENGTHS = 10, 20, 40  # words up to which sentences share a temperature
LEAST_WORDS = 200  # with a temperature of their own; fewer take that of all words

Numbers = NDArray[np.float64]


class Words(NamedTuple):
    """The words of all sentences one after the other."""

    sentences: list[Sentence]  # gold
    parsed: list[Sentence]  # with scores
    fold: NDArray[np.int64]
    heads: Numbers  # scores of heads, −inf beyond the end of the sentence
    gold_heads: NDArray[np.int64]
    relations: Numbers  # scores of relations given the gold head
    gold_relations: NDArray[np.int64]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--dev", required=True, help="gold trees to fit to")
    options.add_argument("--test", help="gold trees to measure the model's own confidence on")
    options.add_argument("--model", default="en", help="a model folder, or the name of a bundled model")
    options.add_argument("--out", type=Path, default=HERE, help="folder of calibration.json")
    given = options.parse_args()
    try:
        parser = biatt.load(given.model)
        results: dict[str, Any] = {"model": given.model, "dev": compared(parser, read(given.dev))}
        if given.test:
            gold = read(given.test)
            parsed = parser.parse(gold, confidence=True, retag=parser.chooses_tags)
            results["test"] = {"the model": figures(biatt.calibrate(gold, parsed), with_bins=True)}
    except BiattError as error:
        print(error, file=sys.stderr)
        return 2
    for split in ("dev", "test"):
        print_table(split, results.get(split, {}))
    with replacing(given.out / "calibration.json") as file:
        file.write(json.dumps(results, indent=1).encode() + b"\n")
    return 0


def read(path: str) -> list[Sentence]:
    return [sentence for sentence in biatt.read(path, trees=True) if len(sentence)]


def compared(parser: Parser, gold: list[Sentence]) -> dict[str, Any]:
    """The figures of each way to calibrate, of sentences that it was not fitted to."""
    fit = ConfidenceFit(parser, gold)
    isotonic = fit.cross_validated()
    words = collected(parser, gold, isotonic)
    one = with_temperatures(words, lambda sentence: [0] * len(sentence))
    by_length = with_temperatures(words, lambda s: [int(np.searchsorted(LENGTHS, len(s)))] * len(s))
    ways = {
        "no fit": with_temperatures(words, None),
        "one temperature": one,
        "a temperature by length": by_length,
        "a temperature by relation": with_temperatures(words, lambda sentence: sentence.deprels),
        "one temperature, beta map": with_beta_maps(words, one),
        "one temperature, isotonic curves of heads and relations": [*map(without_joint, isotonic)],
        "one temperature, isotonic curves, also of both together": isotonic,
    }
    return {name: figures(biatt.calibrate(gold, parsed)) for name, parsed in ways.items()}


def without_joint(sentence: Sentence) -> Sentence:
    """A copy whose probability of head and relation together is the product of both."""
    copy = sentence.copy()
    assert copy.confidence is not None
    copy.confidence = replace(copy.confidence, joint=None)
    return copy


def figures(calibration: Calibration, *, with_bins: bool = False) -> dict[str, Any]:
    return {
        claim: {
            "error": calibration_error(bins),
            "largest": largest_error(bins),
            **({"bins": [bin._asdict() for bin in bins]} if with_bins else {}),
        }
        for claim, bins in calibration.fitted.items()
    }


def print_table(split: str, ways: dict[str, Any]) -> None:
    """Errors in percent: expected calibration error, and the largest of a large bin."""
    claims = ("head", "arc", "relation", "word")
    if ways:
        print(f"\n| {split} | {' | '.join(claims)} |\n|---|{'---|' * len(claims)}")
    for name, of_claim in ways.items():
        cells = [f"{100 * of_claim[c]['error']:.2f} / {100 * of_claim[c]['largest']:.1f}" for c in claims]
        print(f"| {name} | {' | '.join(cells)} |")


def collected(parser: Parser, gold: list[Sentence], parsed: list[Sentence]) -> Words:
    width = max(map(len, gold)) + 1
    heads, relations = [], []
    for sentence, scores in zip(gold, map(scores_of, parsed), strict=True):
        rows = np.full((len(sentence), width), -np.inf)
        rows[:, : len(sentence) + 1] = without_self_arcs(scores.agreement)
        heads.append(rows)
        relations.append(scores.relation_scores(sentence.heads).astype(np.float64))
    encoded = [parser.vocabulary.encode(sentence) for sentence in gold]
    return Words(
        gold,
        parsed,
        np.concatenate([np.full(len(sentence), i % FOLDS) for i, sentence in enumerate(gold)]),
        np.concatenate(heads),
        np.concatenate([sentence.heads for sentence in encoded]).astype(np.int64),
        np.concatenate(relations),
        np.concatenate([sentence.relations for sentence in encoded]).astype(np.int64),
    )


def scores_of(sentence: Sentence) -> Scores:
    assert sentence.scores is not None
    return sentence.scores


# Temperatures


def with_temperatures(words: Words, group: Callable[[Sentence], Sequence[Hashable]] | None) -> list[Sentence]:
    """The sentences with confidence at a temperature for each group of words, fitted to the other folds."""
    size = len(words.fold)
    arcs, relations = np.ones(size), np.ones(size)
    if group is not None:
        names = np.array([str(name) for sentence in words.parsed for name in group(sentence)])
        for fold in range(FOLDS):
            inside = words.fold == fold
            arcs[inside], relations[inside] = fold_temperatures(words, names, ~inside, names[inside])
    ends = np.cumsum([len(sentence) for sentence in words.parsed])[:-1]
    parts = zip(words.parsed, np.split(arcs, ends), np.split(relations, ends), strict=True)
    return [at_temperatures(*part) for part in parts]


def fold_temperatures(
    words: Words, names: NDArray[Any], train: NDArray[np.bool_], wanted: NDArray[Any]
) -> tuple[Numbers, Numbers]:
    """The temperatures of heads and of relations for words of the wanted groups."""

    def of(some: NDArray[np.bool_]) -> tuple[float, float]:
        known = some & (words.gold_relations >= 0)
        return (
            lowest_point(loss(words.heads[some], words.gold_heads[some])),
            lowest_point(loss(words.relations[known], words.gold_relations[known])),
        )

    common = of(train)
    table = {}
    for name in np.unique(wanted):
        some = train & (names == name)
        whole = not (names[train] != name).any()
        table[name] = of(some) if not whole and some.sum() >= LEAST_WORDS else common
    chosen = np.array([table[name] for name in wanted])
    return chosen[:, 0], chosen[:, 1]


def loss(scores: Numbers, gold: NDArray[np.int64]) -> Callable[[float], float]:
    at = np.arange(len(gold)), gold
    return lambda temperature: -float(log_softmax(scores / temperature)[at].sum())


def at_temperatures(sentence: Sentence, arcs: Numbers, relations: Numbers) -> Sentence:
    """A copy with confidence at a temperature for each word."""
    scores, at = scores_of(sentence), (np.arange(len(sentence)), np.array(sentence.heads))
    heads = log_softmax(without_self_arcs(scores.agreement) / arcs[:, None])
    given_heads = log_softmax(scores.relation_scores(sentence.heads) / relations[:, None])
    plain = SentenceConfidence(scores, roots="single").of(sentence.heads, scores.logits)
    copy = sentence.copy()
    copy.confidence = replace(
        plain,
        heads=np.exp(heads)[at],
        arcs=TreeDistribution(heads).marginals[at],
        relations=np.exp(given_heads.max(-1)),
        temperature=Temperature(float(arcs.mean()), float(relations.mean())),
    )
    return copy


# A parametric map: p becomes σ(a · log p − b · log (1 − p) + c), with few parameters (Kull et al. 2017)


def with_beta_maps(words: Words, parsed: list[Sentence]) -> list[Sentence]:
    heads = np.concatenate([s.heads for s in parsed]) == words.gold_heads
    same = zip(words.sentences, parsed, strict=True)
    relations = np.concatenate([np.equal(a.deprels, b.deprels) for a, b in same])
    everywhere = np.full(len(heads), True)
    mapped = {
        "heads": cross_fitted(words, joined(parsed, "heads"), heads, everywhere),
        "arcs": cross_fitted(words, joined(parsed, "arcs"), heads, everywhere),
        "relations": cross_fitted(words, joined(parsed, "relations"), relations, heads),
    }
    ends = np.cumsum([len(sentence) for sentence in parsed])[:-1]
    parts = {name: np.split(values, ends) for name, values in mapped.items()}
    copies = [sentence.copy() for sentence in parsed]
    for i, copy in enumerate(copies):
        assert copy.confidence is not None
        copy.confidence = replace(copy.confidence, **{name: values[i] for name, values in parts.items()})
    return copies


def joined(parsed: list[Sentence], name: str) -> Numbers:
    return np.concatenate([getattr(sentence.confidence, name) for sentence in parsed])


def cross_fitted(
    words: Words, probabilities: Numbers, correct: NDArray[np.bool_], some: NDArray[np.bool_]
) -> Numbers:
    """Beta maps of the probabilities, each fitted to `some` words of the other folds."""
    p = np.clip(probabilities, 1e-9, 1 - 1e-9)
    features = np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)], -1)
    result = np.empty_like(p)
    for fold in range(FOLDS):
        train = some & (words.fold != fold)
        weights = logistic_regression(features[train], correct[train])
        inside = words.fold == fold
        result[inside] = 1 / (1 + np.exp(-features[inside] @ weights))
    return result


def logistic_regression(features: Numbers, correct: NDArray[np.bool_]) -> Numbers:
    """The weights of the highest likelihood, by Newton's method."""
    weights = np.array([1.0, 1.0, 0.0])
    for _ in range(25):
        shares = 1 / (1 + np.exp(-features @ weights))
        curvature = features.T @ (features * (shares * (1 - shares))[:, None]) + 1e-6 * np.eye(3)
        weights = weights + np.linalg.solve(curvature, features.T @ (correct - shares))
    return weights


if __name__ == "__main__":
    sys.exit(main())
