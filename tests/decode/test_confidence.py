"""How sure a parser is: probabilities against enumeration, temperatures, and what is written of them."""

from __future__ import annotations

import io
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biatt.data.arcs import is_tree
from biatt.data.conll import read
from biatt.data.scores import Confidence, Scores, Temperature
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.decode import decoders as decode
from biatt.decode.confidence import (
    confidence,
    fitted,
    head_distribution,
    hellinger,
    lowest,
)
from biatt.parser import Parser
from builders import random_parser

PARSER = random_parser(seed=3)


def random_scores(n: int, *, relations: int = 3, seed: int = 0, spread: float = 2.0) -> Scores:
    draw = np.random.default_rng(seed)
    tables = draw.normal(0, spread, (2, n, n + 1))
    left, right = tables - np.log(np.exp(tables).sum(-1, keepdims=True))
    return Scores(left, right, draw.normal(size=(n, relations)))


@settings(deadline=None)
@given(st.integers(1, 4), st.sampled_from(["single", "any"]), st.floats(0.3, 3), st.integers(0, 99))
def test_probabilities_are_those_of_all_trees_counted_one_by_one(
    n: int, roots: decode.Roots, heat: float, seed: int
) -> None:
    scores = random_scores(n, seed=seed)
    arcs = np.exp((scores.left + scores.right) / heat)
    arcs[np.arange(n), np.arange(n) + 1] = 0
    arcs /= arcs.sum(-1, keepdims=True)
    weights = {
        heads: float(np.prod([arcs[t, head] for t, head in enumerate(heads)]))
        for heads in product(range(n + 1), repeat=n)
        if is_tree(heads) and (roots == "any" or heads.count(0) == 1)
    }
    heads = max(weights, key=weights.__getitem__)
    found = confidence(scores, heads, [1] * n, roots=roots, temperature=Temperature(heat, 2.0))
    total = sum(weights.values())
    expected = [sum(w for tree, w in weights.items() if tree[t] == heads[t]) / total for t in range(n)]
    np.testing.assert_allclose(found.arcs, expected, rtol=1e-6)
    np.testing.assert_allclose(found.heads, [arcs[t, head] for t, head in enumerate(heads)], rtol=1e-6)
    assert found.log_probability == pytest.approx(np.log(weights[heads] / total), abs=1e-9)
    y = np.exp(scores.logits / 2)
    np.testing.assert_allclose(found.relations, y[:, 1] / y.sum(-1), rtol=1e-6)
    np.testing.assert_allclose(found.words, found.arcs * found.relations)


def test_directions_that_agree_have_agreement_one_and_those_that_do_not_have_zero() -> None:
    with np.errstate(divide="ignore"):
        one, other = np.log([[1.0, 0, 0]]), np.log([[0, 0, 1.0]])
    none = np.zeros((1, 1))
    assert hellinger(Scores(one, one, none)) == 0
    assert hellinger(Scores(one, other, none)) == 1
    half = np.log([[0.5, 0.25, 0.25]])
    expected = np.sqrt(0.5 * ((np.sqrt(np.exp(half)) - np.sqrt(np.exp(one))) ** 2).sum())
    assert hellinger(Scores(half, one, none)) == pytest.approx(expected)


def test_distribution_of_heads_leaves_out_the_word_itself() -> None:
    found = np.exp(head_distribution(random_scores(5)))
    np.testing.assert_allclose(found.sum(-1), 1)
    assert not found[np.arange(5), np.arange(5) + 1].any()


# Temperature


def test_lowest_point_is_found() -> None:
    assert lowest(lambda heat: (np.log(heat) - np.log(2.5)) ** 2) == pytest.approx(2.5, rel=1e-3)


@pytest.mark.parametrize(("arcs", "relations"), [(0.5, 2.0), (1.0, 1.0), (3.0, 0.7)])
def test_temperature_that_made_the_gold_trees_is_found_again(arcs: float, relations: float) -> None:
    draw = np.random.default_rng(1)
    scores = [random_scores(20, seed=seed) for seed in range(150)]
    gold = []
    for one in scores:
        p = np.exp(head_distribution(one, arcs))
        heads = [draw.choice(21, p=row) for row in p]
        y = np.exp(one.logits / relations)
        gold.append((heads, [draw.choice(3, p=row / row.sum()) for row in y]))
    found = fitted(scores, gold)
    assert found.arcs == pytest.approx(arcs, rel=0.1)
    assert found.relations == pytest.approx(relations, rel=0.15)


def test_unknown_gold_does_not_count_for_the_temperature() -> None:
    scores = random_scores(4)
    known = fitted([scores], [([0, 1, 2, 3], [0, 1, 2, 0])])
    more = Scores(*(np.vstack([part, part[:1]]) for part in scores[:3]))
    wider = Scores(
        *(np.hstack([part, np.full((5, 1), -np.inf)]) for part in (more.left, more.right)), more.logits
    )
    assert fitted([wider], [([0, 1, 2, 3, -1], [0, 1, 2, 0, -1])]) == known


# Parsing


def test_sentences_carry_their_confidence_only_where_it_is_asked_for() -> None:
    sentences = generate(4, seed=5)
    plain, sure = (list(PARSER.parse(sentences, confidence=asked)) for asked in (False, True))
    assert plain == sure
    assert all(token.confidence is None for sentence in plain for token in sentence)
    for sentence in sure:
        assert isinstance(sentence.confidence, Confidence)
        assert [token.confidence for token in sentence] == sentence.confidence.words.tolist()
        assert sentence.scores is not None


def test_k_best_trees_are_distinct_less_and_less_probable_and_begin_with_the_best() -> None:
    for sentence in generate(5, seed=6):
        (best,) = PARSER.parse([sentence])
        found = PARSER.k_best(sentence, 4)
        assert found[0] == best
        assert len({tuple(tree.heads) for tree in found}) == len(found)
        chances = [tree.confidence.log_probability for tree in found if tree.confidence]
        assert chances == sorted(chances, reverse=True)
        assert np.exp(chances).sum() < 1 + 1e-9


def test_all_trees_of_two_words_have_probabilities_that_add_up_to_one() -> None:
    found = PARSER.k_best(Sentence.from_words(["so", "what"]), 9, roots="any")
    assert len(found) == 3
    assert sum(np.exp(tree.confidence.log_probability) for tree in found if tree.confidence) == pytest.approx(
        1
    )


def test_sentence_without_words_has_one_empty_tree() -> None:
    (nothing,) = read(io.BytesIO(b"# just a comment\n\n"))
    assert PARSER.k_best(nothing, 3) == [nothing]


def test_temperature_is_saved_with_the_model(tmp_path: object) -> None:
    parser = Parser(PARSER.config, PARSER.vocabulary, PARSER.weights, temperature=Temperature(1.5, 0.75))
    parser.save(str(tmp_path))
    assert Parser.load(str(tmp_path)).temperature == Temperature(1.5, 0.75)
