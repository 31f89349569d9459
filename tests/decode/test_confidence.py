"""Confidence against probabilities counted over all trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.curves import Curve
from biatt.data.scores import Confidence, Scores, Temperature, log_softmax
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.decode import distribution
from biatt.decode.arc_scores import head_distribution
from biatt.decode.confidence import SentenceConfidence, hellinger, unfitted_confidence
from biatt.errors import ConfigError
from biatt.options import Roots
from builders import random_parser
from examples import examples
from tree_enumeration import all_trees

PARSER = random_parser(seed=3)


def random_scores(n: int, *, relations: int = 3, seed: int = 0) -> Scores:
    draw = np.random.default_rng(seed)
    left, right = log_softmax(draw.normal(0, 2, (2, n, n + 1)))
    return Scores(left, right, draw.normal(size=(n, relations)))


@examples(50)
@given(st.integers(1, 4), st.sampled_from(["single", "any"]), st.floats(0.3, 3), st.integers(0, 99))
def test_probabilities_are_those_of_all_trees_counted(
    n: int, roots: Roots, temperature: float, seed: int
) -> None:
    scores = random_scores(n, seed=seed)
    words = np.arange(n)
    heads = np.exp((scores.left + scores.right) / temperature)
    heads[words, words + 1] = 0
    heads /= heads.sum(-1, keepdims=True)
    trees = all_trees(n, roots)
    probabilities = heads[words, trees].prod(-1)
    probabilities /= probabilities.sum()
    confidence = SentenceConfidence(scores, roots=roots, temperature=Temperature(temperature, 2.0))
    for tree, probability in zip(trees[:20], probabilities, strict=False):
        result = confidence.of(tree, scores.logits)
        assert result.entropy == pytest.approx(-(probabilities * np.log(probabilities)).sum(), abs=1e-9)
        arcs = [probabilities[trees[:, t] == tree[t]].sum() for t in range(n)]
        np.testing.assert_allclose(result.arcs, arcs, rtol=1e-6)
        np.testing.assert_allclose(result.heads, heads[words, tree], rtol=1e-6)
        assert result.log_probability == pytest.approx(np.log(probability), abs=1e-9)
        y = np.exp(scores.logits / 2)
        np.testing.assert_allclose(result.relations, y.max(-1) / y.sum(-1), rtol=1e-6)
        np.testing.assert_allclose(result.words, result.arcs * result.relations)
        assert result.temperature == Temperature(temperature, 2.0)


def test_distributions_are_computed_once_for_all_trees_of_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    for name in ("_eliminate", "_gradients"):
        function = getattr(distribution, name)
        monkeypatch.setattr(
            distribution, name, lambda *args, f=function, name=name: (calls.append(name), f(*args))[1]
        )
    assert len(PARSER.k_best(generate(1, seed=6)[0], 4)) == 4
    assert calls == ["_eliminate", "_gradients"]


def test_hellinger_distance_of_equal_attentions_is_zero_and_of_disjoint_ones_is_one() -> None:
    with np.errstate(divide="ignore"):
        first, last = np.log([[1.0, 0, 0]]), np.log([[0, 0, 1.0]])
    no_relations = np.zeros((1, 1))
    assert hellinger(Scores(first, first.copy(), no_relations)) == 0
    assert hellinger(Scores(first, last, no_relations)) == 1
    half = np.log([[0.5, 0.25, 0.25]])
    expected = np.sqrt(0.5 * ((np.sqrt(np.exp(half)) - np.sqrt(np.exp(first))) ** 2).sum())
    assert hellinger(Scores(half, first, no_relations)) == pytest.approx(expected)


def test_one_direction_always_agrees_with_itself() -> None:
    left = log_softmax(np.random.default_rng(1).normal(size=(40, 41)).astype(np.float32))
    assert hellinger(Scores(left, left, np.zeros((40, 1)))).tolist() == [0.0] * 40


def test_head_distribution_leaves_out_the_word_itself() -> None:
    heads = np.exp(head_distribution(random_scores(5)))
    np.testing.assert_allclose(heads.sum(-1), 1)
    assert not heads[np.arange(5), np.arange(5) + 1].any()


def test_sentences_carry_their_confidence_only_if_asked_for() -> None:
    sentences = generate(4, seed=5)
    plain = list(PARSER.parse(sentences))
    with_confidence = list(PARSER.parse(sentences, confidence=True))
    assert plain == with_confidence
    assert all(token.confidence is None for sentence in plain for token in sentence)
    for sentence in with_confidence:
        assert isinstance(sentence.confidence, Confidence)
        assert [token.confidence for token in sentence] == sentence.confidence.words.tolist()
        assert sentence.scores is not None


def test_confidence_unfitted_confidence_is_that_of_a_parser_without_it() -> None:
    fitted = random_parser(seed=3, temperature=Temperature(2.0, 0.5))
    for sentence, hot in zip(
        PARSER.parse(generate(3), confidence=True), fitted.parse(generate(3), confidence=True), strict=True
    ):
        recomputed = unfitted_confidence(hot, roots="single")
        assert sentence.confidence is not None
        assert hot.confidence is not None
        np.testing.assert_allclose(recomputed.words, sentence.confidence.words)
        assert recomputed.words.tolist() != hot.confidence.words.tolist()
        assert recomputed.temperature == Temperature()


CURVES = {
    "head": Curve((0.3, 0.9), (0.4, 0.8)),
    "arc": Curve((0.5,), (0.2,)),
    "relation": Curve((0.6,), (0.9,)),
}


@examples(30)
@given(st.integers(1, 4), st.sampled_from(["single", "any"]), st.integers(0, 99))
def test_curves_change_what_is_said_of_words_and_nothing_else(n: int, roots: Roots, seed: int) -> None:
    scores = random_scores(n, seed=seed)
    plain = SentenceConfidence(scores, roots=roots)
    curved = SentenceConfidence(scores, roots=roots, curves=CURVES)
    arcs = CURVES["arc"].on_rows(plain.trees.marginals)
    heads = CURVES["head"].on_rows(np.exp(plain.heads))
    words = np.arange(n)
    for tree in all_trees(n, roots)[:20]:
        before, after = plain.of(tree, scores.logits), curved.of(tree, scores.logits)
        assert (before.log_probability, before.entropy) == (after.log_probability, after.entropy)
        np.testing.assert_allclose(after.arcs, arcs[words, tree])
        np.testing.assert_allclose(after.heads, heads[words, tree])
        best = np.exp(log_softmax(scores.logits))
        np.testing.assert_allclose(after.relations, CURVES["relation"].on_rows(best).max(-1))
        np.testing.assert_allclose(after.words, after.arcs * after.relations)
        with_words = plain.on({**CURVES, "word": Curve((0.1,), (0.5,))}).of(tree, scores.logits)
        together = Curve((0.1,), (0.5,)).at(after.arcs * after.relations)
        np.testing.assert_allclose(with_words.words, np.minimum(together, after.arcs))
        again = plain.on(CURVES).of(tree, scores.logits)
        assert again.words.tolist() == after.words.tolist()


def test_trees_and_their_order_do_not_depend_on_curves() -> None:
    curved = random_parser(seed=3, curves=CURVES)
    for sentence in generate(4, seed=6):
        plain, other = PARSER.k_best(sentence, 4), curved.k_best(sentence, 4)
        assert [tree.heads for tree in plain] == [tree.heads for tree in other]
        assert plain[0].confidence is not None
        assert other[0].confidence is not None
        assert plain[0].confidence.words.tolist() != other[0].confidence.words.tolist()
        assert PARSER.parse(sentence) == curved.parse(sentence)


def test_fixed_heads_and_relations_are_certain_on_any_curve() -> None:
    sentence = random_parser(seed=3, curves=CURVES).parse(
        Sentence.from_words(["a", "b", "c"]), fixed={2: (3, "nsubj")}, confidence=True
    )
    assert sentence.confidence is not None
    assert sentence.confidence.words[1] == 1.0
    assert sentence.confidence.words[0] < 1.0


def test_a_sentence_without_scores_has_no_confidence() -> None:
    with pytest.raises(ConfigError, match="carries no scores"):
        unfitted_confidence(Sentence.from_words(["so"], heads=[0], deprels=["root"]), roots="single")
