"""Decoders, confidence and k-best trees alone, by sentence length."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
from timing import interleaved
from workload import Workload

from biatt import decode
from biatt.data.scores import Scores, log_softmax
from biatt.decode.confidence import SentenceConfidence
from biatt.decode.k_best import k_best

TREES = 5  # of k-best


def decoding(work: Workload) -> dict[str, Any]:
    """Milliseconds of processor time for a sentence, with the scores of random attentions."""
    lengths = work.sizes.decoded_lengths
    milliseconds: dict[str, list[float]] = {}
    for length in lengths:
        scores = random_scores(length, seed=work.seed)
        paths = {
            "mst": lambda scores=scores: decode.mst(scores.agreement),
            "projective": lambda scores=scores: decode.projective(scores.agreement),
            "confidence": lambda scores=scores: confidence(scores),
            "k_best": lambda scores=scores: k_best(scores.agreement, TREES),
        }
        for name, rounds in interleaved(paths, repeats=work.repeats).items():
            milliseconds.setdefault(name, []).append(1000 * median(rounds.cpu_seconds))
    return {"lengths": list(lengths), "k_best_trees": TREES, "milliseconds": milliseconds}


def random_scores(length: int, *, seed: int) -> Scores:
    """Attentions about as peaked as a trained network's: argmax gives no tree, but MST changes few heads."""
    generator = np.random.default_rng([seed, length])
    tables = generator.normal(size=(2, length, length + 1))
    planted = decode.mst(generator.normal(size=(length, length + 1)))
    tables[:, np.arange(length), planted] += generator.gamma(4.0, 2.0, size=length)
    left, right = log_softmax(tables.astype(np.float32))
    return Scores(left, right, np.zeros((length, 1), np.float32))


def confidence(scores: Scores) -> object:
    heads = decode.mst(scores.agreement)
    return SentenceConfidence(scores, roots="single").of(heads, scores.logits)
