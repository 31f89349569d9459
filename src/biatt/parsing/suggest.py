"""Suggest the sentences of a pool whose annotation would teach a model most: what `biatt suggest` does.

A sentence is uncertain if the distribution over its trees has a high entropy. It is taken per word, because
the work of an annotator grows with the words. Taken by uncertainty alone, the sentences would be much alike:
templates, lists, signatures. So each sentence counts by its uncertainty times its distance from the nearest
sentence that is already chosen, 1 − the cosine of their words and of their arcs between tags, and the
sentences are chosen one by one. The same pool, model and count give the same sentences.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from biatt.data.sentence import Sentence
from biatt.display.output import format_for, write_parsed
from biatt.errors import ConfigError
from biatt.options import InputFormat, OutputFormat
from biatt.parser import Parser
from biatt.parsing.parsed_sources import Progress, SourceReader, check_paths, parsed_targets

CANDIDATES = 20  # for each sentence to choose: the most uncertain ones, which are kept in memory
LEAST_CANDIDATES = 1000
COMMENTS = "# suggestion = ", "# tree_entropy = "  # the rank, and the entropy in nats

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


class _Candidate(NamedTuple):
    """A sentence of the pool. Of equally uncertain ones, the later in the pool is the lesser."""

    uncertainty: float  # nats for each word
    place: int  # negative number in the pool
    sentence: Sentence


def suggest(
    parser: Parser, pool: Iterable[Sentence], count: int, *, retag: bool = False, workers: int = 1
) -> list[Sentence]:
    """The sentences of a pool to annotate next, the most useful first, with trees as a first proposal.

    There are fewer if the pool has fewer different sentences. Comments give the rank of each and the entropy
    of its trees; the sentences carry their confidence.
    """
    return _suggested(parser.parse(pool, confidence=True, retag=retag, workers=workers), count)


def _suggested(parsed: Iterable[Sentence], count: int) -> list[Sentence]:
    if count < 1:
        raise ConfigError(f"The number of sentences must be at least 1, not {count}.")
    candidates = _most_uncertain(parsed, max(CANDIDATES * count, LEAST_CANDIDATES))
    features = [Counter(_features(candidate.sentence)) for candidate in candidates]
    chosen = diverse(features, [candidate.uncertainty for candidate in candidates], count)
    return [_with_comments(candidates[i].sentence, rank) for rank, i in enumerate(chosen, 1)]


def suggest_from_files(
    parser: Parser,
    sources: Sequence[str] | Sequence[Path],
    target: str | Path = "-",
    *,
    count: int,
    input: InputFormat | None = None,
    format: OutputFormat | None = None,
    retag: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> None:
    """Choose from text or CoNLL files, and write the sentences as `parse_files` does."""
    check_paths(sources, str(target))
    terminal = sys.stdout is not None and sys.stdout.isatty()
    format = format or format_for(str(target), terminal=terminal)
    manner: dict[str, Any] = {"workers": workers, "progress": progress, "confidence": True, "retag": retag}
    with closing(parsed_targets(parser, [sources], SourceReader(input), **manner)) as parsed:
        write_parsed(_suggested((best for best, *_ in next(parsed)), count), str(target), format)


def _most_uncertain(parsed: Iterable[Sentence], most: int) -> list[_Candidate]:
    """The most uncertain sentences, most uncertain first; of sentences with the same words, the first."""
    kept: list[_Candidate] = []
    seen = set()
    for number, sentence in enumerate(parsed):
        words = " ".join(sentence.forms).lower()
        if sentence.confidence is None or words in seen:  # a block of comments has no words and no confidence
            continue
        seen.add(words)
        # Candidates are many, and scores grow with the square of the sentence's length.
        sentence.scores = None
        sentence.confidence = replace(sentence.confidence, tags=dict(sentence.confidence.tags))
        candidate = _Candidate(sentence.confidence.entropy / len(sentence), -number, sentence)
        if len(kept) < most:
            heapq.heappush(kept, candidate)
        else:
            heapq.heappushpop(kept, candidate)
    return sorted(kept, reverse=True)


def _features(sentence: Sentence) -> Iterator[Hashable]:
    """The words, and the arcs as relations between tags."""
    tags = ["ROOT", *sentence.upos]
    for form, head, tag, relation in zip(
        sentence.forms, sentence.heads, tags[1:], sentence.deprels, strict=True
    ):
        yield form.lower()
        yield tag, relation, tags[head]


def diverse(features: Sequence[Counter[Hashable]], worth: Sequence[float], count: int) -> list[int]:
    """The numbers of `count` items, chosen one by one by worth × distance from the nearest chosen one.

    The distance is 1 − the cosine of the features' counts, each weighted by how rare the feature is. Of equal
    items the first is chosen.
    """
    index = _index(features)
    nearest: Numbers = np.zeros(len(features))  # the cosine to the nearest chosen item
    worths: Numbers = np.array(worth, np.float64)
    chosen: list[int] = []
    while len(chosen) < min(count, len(features)):
        gains = worths * (1 - nearest)
        gains[chosen] = -1.0
        best = int(np.argmax(gains))
        chosen.append(best)
        cosines = np.zeros(len(features))
        for feature in features[best]:
            items, weights = index[feature]
            cosines[items] += weights * weights[np.searchsorted(items, best)]
        nearest = np.maximum(nearest, np.minimum(cosines, 1.0))
    return chosen


def _index(features: Sequence[Counter[Hashable]]) -> dict[Hashable, tuple[Places, Numbers]]:
    """For each feature, the items that have it, and its weights in them; an item's weights have length 1."""
    frequency = Counter(feature for counts in features for feature in counts)
    holders: dict[Hashable, list[tuple[int, float]]] = {feature: [] for feature in frequency}
    for i, counts in enumerate(features):
        weights = {
            feature: number * math.log((1 + len(features)) / frequency[feature])
            for feature, number in counts.items()
        }
        length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
        for feature, weight in weights.items():
            holders[feature].append((i, weight / length))
    return {
        feature: (np.array([i for i, _ in items]), np.array([weight for _, weight in items]))
        for feature, items in holders.items()
    }


def _with_comments(sentence: Sentence, rank: int) -> Sentence:
    if sentence.format != "conllu" or sentence.confidence is None:  # CoNLL-X has no comments
        return sentence
    entropy = sentence.confidence.entropy
    for mark, value in zip(COMMENTS, (str(rank), f"{entropy:.4f}"), strict=True):
        sentence = sentence.with_comment(f"{mark}{value}")
    return sentence
