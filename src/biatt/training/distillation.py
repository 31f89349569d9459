"""What one parser can learn from another: its probabilities, which say more than the right answer alone.

A teacher, or several that speak as one, scores the training sentences; a share of the student's targets are
the teacher's probabilities instead of the gold tree (Hinton et al. 2015). So a small network learns from a
large one, and one from an ensemble (Kuncoro et al. 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from biatt.data.scores import Floats, log_softmax
from biatt.data.sentence import Sentence
from biatt.decode.confidence import head_distribution
from biatt.encoding.vocabulary import Vocabulary
from biatt.errors import ConfigError, ModelError
from biatt.parser import WINDOW_SENTENCES, Parser, load
from biatt.threads import one_matrix_thread, windows


class Lesson(NamedTuple):
    """A teacher's probabilities for n words: of one sentence, or of a batch's, one after the other."""

    heads: Floats  # (n, n + 1), of a batch (N, T): those that both directions agree on, 0 past the sentence
    relations: Floats  # (n, R): given the gold heads


def load_teacher(folders: Sequence[str | Path]) -> Parser:
    """The model of a folder, or those of several as an ensemble."""
    first, *others = map(load, folders)
    for folder, other in zip(folders[1:], others, strict=True):
        try:
            first.add(other)
        except ModelError as error:
            raise ConfigError(f"{folder} cannot teach beside {folders[0]}: {error}") from error
    return first


def lessons(teacher: Parser, sentences: Sequence[Sentence], vocabulary: Vocabulary) -> list[Lesson]:
    """What the teacher says of each sentence, at the temperature that was fitted for it."""
    if teacher.vocabulary.relations != vocabulary.relations:
        raise ConfigError("The teacher has other relations: it must have been trained on the same sentences.")
    found = []
    with one_matrix_thread:
        for window in windows(sentences, most=WINDOW_SENTENCES):
            for sentence, scores in zip(window, teacher.scores(window), strict=True):
                gold = np.maximum(vocabulary.encode(sentence).heads, 0)
                heads = head_distribution(scores, teacher.temperature.arcs)
                relations = log_softmax(scores.relation_scores(gold) / teacher.temperature.relations)
                found.append(Lesson(np.exp(heads).astype(np.float32), np.exp(relations).astype(np.float32)))
    return found


def together(parts: Sequence[Lesson]) -> Lesson:
    """The lessons of a batch's sentences, one after the other."""
    longest = max(part.heads.shape[1] for part in parts)
    heads = [np.pad(part.heads, ((0, 0), (0, longest - part.heads.shape[1]))) for part in parts]
    return Lesson(np.concatenate(heads), np.concatenate([part.relations for part in parts]))
