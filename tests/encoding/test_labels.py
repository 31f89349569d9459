"""Labels of several kinds, and the combinations in which they occur."""

from __future__ import annotations

import numpy as np
from hypothesis import given as examples
from hypothesis import strategies as st

from biatt.encoding.labels import NO_LABEL, Labels

KINDS = {"upos": ["NOUN", "VERB"], "xpos": ["NN", "NNS", "VB"], "feats": ["_", "Number=Plur"], "lemma": ["a"]}
COMBINATIONS = [[0, 0, 0], [0, 1, 1], [1, 2, 0]]
LABELS = Labels(KINDS, COMBINATIONS)


def test_a_given_tag_limits_the_others() -> None:
    scores = np.zeros((2, LABELS.size))
    scores[:, 3] = 1.0  # NNS is the best, and
    scores[:, 6] = 1.0  # so is Number=Plur
    given = np.array([[1, NO_LABEL, NO_LABEL, NO_LABEL], [NO_LABEL] * 4])
    assert LABELS.best(LABELS.constrained(scores, given)).tolist() == [[0, 2, 0, 0], [0, 1, 1, 0]]


def test_scores_are_not_changed_where_nothing_is_limited() -> None:
    scores = np.zeros((2, LABELS.size))
    nothing, everything = np.full((2, 4), NO_LABEL), np.array([[1, 1, 1, NO_LABEL]] * 2)
    assert LABELS.constrained(scores, nothing) is scores
    assert LABELS.constrained(scores, everything) is scores
    assert Labels(KINDS).constrained(scores, np.array([[1, NO_LABEL, NO_LABEL, NO_LABEL]] * 2)) is scores


def allowed(given: list[int], combinations: list[list[int]]) -> list[set[int]]:
    """For each kind of tag, the labels that are allowed: the definition, word by word."""
    fitting = [
        combination
        for combination in combinations
        if all(label in (NO_LABEL, own) for label, own in zip(given, combination, strict=True))
    ]
    free = not fitting or all(label == NO_LABEL for label in given)
    sizes = [len(names) for kind, names in KINDS.items() if kind != "lemma"]
    return [
        set(range(size)) if free or label != NO_LABEL else {combination[kind] for combination in fitting}
        for kind, (size, label) in enumerate(zip(sizes, given, strict=True))
    ]


words = st.tuples(st.integers(-1, 1), st.integers(-1, 2), st.integers(-1, 1))
kept = st.lists(
    st.sampled_from([[u, x, f] for u in range(2) for x in range(3) for f in range(2)]), max_size=6
)


@examples(st.lists(words, min_size=1, max_size=5), kept)
def test_allowed_are_those_of_fitting_combinations(
    given: list[tuple[int, ...]], combinations: list[list[int]]
) -> None:
    labels = Labels(KINDS, combinations)
    scores = np.random.default_rng(0).normal(size=(len(given), labels.size))
    constrained = labels.constrained(scores, np.array([[*word, NO_LABEL] for word in given]))
    for word, before, after in zip(given, scores, constrained, strict=True):
        for part, numbers in zip(labels.slices, [*allowed(list(word), combinations), {0}], strict=True):
            for number in range(part.stop - part.start):
                expected = before[part][number] if number in numbers else -np.inf
                assert after[part][number] == expected
