"""Constraints against all trees of short sentences, one by one; and what is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.arcs import is_projective
from biatt.data.scores import Floats, Scores, Temperature, log_softmax
from biatt.data.sentence import Sentence
from biatt.decode.apply import with_best_tree, with_k_best_trees
from biatt.decode.constraints import FREE, Constraints
from biatt.errors import ConfigError, FormatError
from biatt.options import Decoder, Roots
from examples import examples
from tree_enumeration import Trees, all_trees

RELATIONS = ["det", "nsubj", "root"]
ROOTS: tuple[Roots, ...] = ("single", "any")

both_roots = pytest.mark.parametrize("roots", ROOTS)
both_decoders = pytest.mark.parametrize("decoder", ["mst", "projective"])


@cache
def trees_of(n: int, decoder: Decoder, roots: Roots) -> Trees:
    trees = all_trees(n, roots)
    return trees if decoder == "mst" else trees[[is_projective(heads) for heads in trees]]


def meets(heads: list[int], constraints: Constraints) -> bool:
    arcs = set(enumerate(heads, 1))
    return (
        arcs >= set(constraints.heads.items())
        and not arcs & constraints.forbidden
        and all(
            len([t for t in range(i, j + 1) if heads[t - 1] not in range(i, j + 1)]) == 1
            for i, j in constraints.brackets
        )
    )


def trees_under(constraints: Constraints, n: int, decoder: Decoder, roots: Roots) -> Trees:
    """Every tree over n words that the decoder may return and that meets the constraints: (trees, n)."""
    trees = trees_of(n, decoder, roots)
    return trees[np.array([meets(heads, constraints) for heads in trees.tolist()], dtype=bool)]


def total_scores(arc_scores: Floats, trees: Any) -> Floats:
    result: Floats = arc_scores[np.arange(len(arc_scores)), trees].sum(-1)
    return result


@st.composite
def constrained_scores(draw: st.DrawFn) -> tuple[Scores, Constraints]:
    """Scores of up to five words, and constraints that some tree of mst or none meets."""
    n = draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    left, right = log_softmax(draw(st.sampled_from([1.0, 5.0, 60.0])) * random.normal(size=(2, n, n + 1)))
    words, heads = st.integers(1, n), st.integers(0, n)
    fixed = draw(st.dictionaries(words, heads, max_size=2))
    forbidden = draw(st.sets(st.tuples(words, heads), max_size=2 * n))
    brackets = draw(st.lists(st.tuples(words, words).map(sorted).map(tuple), max_size=3))
    relations = random.normal(size=(n, len(RELATIONS)))
    return Scores(left, right, relations), Constraints.given(fixed, forbidden, brackets)


def sentence_of(scores: Scores) -> Sentence:
    return Sentence.from_words(["w"] * len(scores.left))


@both_roots
@both_decoders
@examples(200)
@given(case=constrained_scores())
def test_no_tree_that_meets_the_constraints_scores_higher(
    case: tuple[Scores, Constraints], decoder: Decoder, roots: Roots
) -> None:
    scores, constraints = case
    trees = trees_under(constraints, len(scores.left), decoder, roots)
    options: dict[str, Any] = {"decoder": decoder, "roots": roots, "constraints": constraints}
    if not len(trees):
        with pytest.raises(FormatError):
            with_best_tree(sentence_of(scores), scores, RELATIONS, **options)
        return
    heads = with_best_tree(sentence_of(scores), scores, RELATIONS, **options).heads
    assert heads in trees.tolist()
    best = total_scores(scores.agreement, trees).max()
    assert total_scores(scores.agreement, heads) == pytest.approx(best, abs=1e-6)


@both_roots
@given(case=constrained_scores(), temperature=st.sampled_from([0.5, 1.0, 3.0]))
def test_confidence_and_k_best_trees_are_given_the_constraints(
    case: tuple[Scores, Constraints], temperature: float, roots: Roots
) -> None:
    scores, constraints = case
    trees = trees_under(constraints, len(scores.left), "mst", roots)
    if not len(trees):
        with pytest.raises(FormatError):
            with_k_best_trees(
                *(sentence_of(scores), scores, RELATIONS, 3),
                roots=roots,
                temperature=Temperature(temperature),
                constraints=constraints,
            )
        return
    log_probabilities = log_softmax(total_scores(scores.agreement / temperature, trees))
    order = np.argsort(-log_probabilities)
    ranked = with_k_best_trees(
        *(sentence_of(scores), scores, RELATIONS, 5),
        roots=roots,
        temperature=Temperature(temperature),
        constraints=constraints,
    )
    assert len(ranked) == min(5, len(trees))
    assert len({tuple(tree.heads) for tree in ranked}) == len(ranked)
    for tree, best in zip(ranked, log_probabilities[order], strict=False):
        assert tree.heads in trees.tolist()
        assert tree.confidence is not None
        assert tree.confidence.log_probability == pytest.approx(best, abs=1e-6)
        having = trees == np.array(tree.heads)
        arcs = (np.exp(log_probabilities)[:, None] * having).sum(0)
        assert tree.confidence.arcs == pytest.approx(arcs, abs=1e-6)
    parsed = with_best_tree(
        sentence_of(scores),
        scores,
        RELATIONS,
        roots=roots,
        confidence=True,
        temperature=Temperature(temperature),
        constraints=constraints,
    )
    assert parsed.confidence is not None
    assert parsed.confidence.log_probability == pytest.approx(log_probabilities.max(), abs=1e-6)
    for word in constraints.heads:
        assert parsed.confidence.heads[word - 1] == pytest.approx(1)
    assert not np.isnan(parsed.confidence.heads).any()


def random_scores(n: int, seed: int = 0) -> Scores:
    draw = np.random.default_rng(seed)
    left, right = log_softmax(draw.normal(0, 2, (2, n, n + 1)))
    return Scores(left, right, draw.normal(size=(n, len(RELATIONS))))


@both_roots
@both_decoders
def test_a_long_sentence_meets_many_constraints(decoder: Decoder, roots: Roots) -> None:
    """A planted tree is the only one left if every head is fixed; with half of them, it is still met."""
    scores = random_scores(60)
    free = with_best_tree(
        Sentence.from_words(["w"] * 60), random_scores(60, 1), RELATIONS, decoder="projective"
    )
    half = Constraints.given(
        {word: head for word, head in enumerate(free.heads, 1) if word % 2}, brackets=[(1, 60)]
    )
    parsed = with_best_tree(
        Sentence.from_words(["w"] * 60), scores, RELATIONS, decoder=decoder, roots=roots, constraints=half
    )
    assert parsed.heads[::2] == free.heads[::2]
    assert parsed.heads.count(0) == 1


def test_a_fixed_relation_is_taken_as_given_and_certain() -> None:
    scores = random_scores(4)
    for relation in (*RELATIONS, "orphan"):
        parsed = with_best_tree(
            *(Sentence.from_words(["w"] * 4), scores, RELATIONS),
            confidence=True,
            probabilities=True,
            constraints=Constraints.given({3: (None, relation)}),
        )
        free = with_best_tree(Sentence.from_words(["w"] * 4), scores, RELATIONS, confidence=True)
        assert parsed.deprels == [*free.deprels[:2], relation, free.deprels[3]]
        assert parsed.heads == free.heads
        assert parsed.confidence is not None
        assert free.confidence is not None
        assert parsed.confidence.relations[2] == 1
        assert parsed.confidence.relations[0] == pytest.approx(free.confidence.relations[0])
        assert "DeprelProbs" not in parsed.rows[2][9]
        assert "DeprelProbs" in parsed.rows[0][9]


def test_other_choices_of_a_constrained_head_are_not_written() -> None:
    parsed = with_best_tree(
        *(Sentence.from_words(["w"] * 4), random_scores(4), RELATIONS),
        probabilities=True,
        constraints=Constraints.given({2: 4}, forbidden=[(3, 0), (3, 1)]),
    )
    assert "HeadProbs" not in parsed.rows[1][9]
    (choices,) = (item for item in parsed.rows[2][9].split("|") if item.startswith("HeadProbs="))
    assert set(choices.removeprefix("HeadProbs=").split(" ")[::2]) == {"2", "4"}


def test_heads_and_relations_of_a_sentence_become_constraints() -> None:
    sentence = Sentence.from_words(["w"] * 3, heads=[2, -1, -1], deprels=["det", "_", "obl"])
    assert Constraints.of_tree(sentence) == Constraints({1: 2}, {1: "det", 3: "obl"})
    assert Constraints.of_tree(Sentence.from_words(["w"])) == FREE
    assert not FREE


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"fixed": {5: 1}}, "the fixed word is 5 where a number from 1 to 4 was expected."),
    ({"fixed": {1: 5}}, "the head of word 1 is 5 where a number from 0 to 4 was expected."),
    ({"fixed": {1: -1}}, "the head of word 1 is -1 where a number from 0 to 4 was expected."),
    ({"fixed": {0: (None, "det")}}, "the fixed word is 0 where a number from 1 to 4 was expected."),
    ({"forbidden": [(0, 1)]}, "the forbidden arc is to word 0 where a number from 1 to 4 was expected."),
    ({"forbidden": [(1, 9)]}, "the head of word 1 is 9 where a number from 0 to 4 was expected."),
    ({"brackets": [(0, 2)]}, "the bracket is 0 to 2 where words from 1 to 4 in order were expected."),
    ({"brackets": [(3, 2)]}, "the bracket is 3 to 2 where words from 1 to 4 in order were expected."),
    ({"fixed": {2: 2}}, "word 2 is its own fixed head."),
    ({"fixed": {1: 3, 3: 4, 4: 1}}, "the fixed heads form a cycle through words 1, 3, 4."),
    ({"fixed": {1: 0, 3: 0}}, "words 1, 3 have the fixed head 0, but a tree has a single root."),
    ({"fixed": {1: 2}, "forbidden": [(1, 2)]}, "head 2 of word 1 is both fixed and forbidden."),
    ({"forbidden": [(1, head) for head in (0, 2, 3, 4)]}, "every head of word 1 is forbidden."),
    (
        {"forbidden": [(word, 0) for word in range(1, 5)]},
        "no tree with a single root has all fixed heads and no forbidden arc.",
    ),
    (
        {"fixed": {2: 4, 3: 1}, "brackets": [(2, 3)]},
        "words 2, 3 have fixed heads outside the bracket 2 to 3, where one is allowed.",
    ),
    (
        {"fixed": {2: 4}, "forbidden": [(3, 2)], "brackets": [(2, 3)]},
        "no tree with a single root that meets the other constraints has words 2 to 3 as a bracket.",
    ),
]


@pytest.mark.parametrize(("constraints", "fault"), CONTRADICTIONS, ids=[fault for _, fault in CONTRADICTIONS])
def test_a_contradiction_is_one_clear_sentence(constraints: dict[str, Any], fault: str) -> None:
    sentence, scores = Sentence.from_words(["w"] * 4), random_scores(4)
    given = Constraints.given(**constraints)
    with pytest.raises(FormatError) as error:
        with_best_tree(sentence, scores, RELATIONS, constraints=given)
    assert str(error.value) == f"<words>, line 1: {fault}"
    with pytest.raises(FormatError) as error:
        with_k_best_trees(sentence, scores, RELATIONS, 2, temperature=Temperature(), constraints=given)
    assert str(error.value) == f"<words>, line 1: {fault}"


@pytest.mark.parametrize(
    ("constraints", "decoder", "fault"),
    [
        ({"fixed": {1: 3, 2: 4}}, "projective", "the arcs from words 1, 2 to their fixed heads cross"),
        (
            {"fixed": {1: 3}, "forbidden": [(2, 1), (2, 3)]},
            "projective",
            "no projective tree with a single root",
        ),
        ({"brackets": [(1, 2)]}, "argmax", "the decoder argmax finds no trees, which brackets need"),
    ],
)
def test_what_a_decoder_cannot_do_is_one_clear_sentence(
    constraints: dict[str, Any], decoder: Decoder, fault: str
) -> None:
    sentence, scores = Sentence.from_words(["w"] * 4), random_scores(4)
    with pytest.raises(FormatError, match=fault):
        with_best_tree(
            sentence, scores, RELATIONS, decoder=decoder, constraints=Constraints.given(**constraints)
        )


@pytest.mark.parametrize(
    ("constraints", "fault"),
    [
        ({"fixed": [(1, 2)]}, "fixed must be a dictionary from words to heads, not list"),
        ({"fixed": {"one": 2}}, "'one' where the number of a word was expected"),
        ({"fixed": {1: "2"}}, "'2' where the number of a word was expected"),
        ({"fixed": {1: (2, 3)}}, "A fixed relation must be a string with its name, not 3"),
        ({"fixed": {1: (2, "")}}, "A fixed relation must be a string with its name, not ''"),
        ({"fixed": {1: (2, "obj", 3)}}, "where a pair was expected: a head and a relation"),
        ({"forbidden": {1: 2}}, "forbidden must be a list of pairs, not dict"),
        ({"forbidden": [3]}, "A constraint is 3 where a pair was expected: a word and a head"),
        ({"brackets": 4}, "brackets must be a list of pairs, not int"),
        ({"brackets": ["12"]}, "A constraint is '12' where a pair was expected: a first and a last word"),
        ({"brackets": [(1.0, 2)]}, r"1\.0 where the number of a word was expected"),
    ],
)
def test_constraints_of_another_form_are_refused(constraints: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Constraints.given(**constraints)
