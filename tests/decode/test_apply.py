"""Sentences with their trees: relations given heads, roots by format, k best trees."""

from __future__ import annotations

import io

import numpy as np
import pytest

from biatt.data.columns import MISC
from biatt.data.conll import read
from biatt.data.doubts import read_doubts
from biatt.data.scores import RelationLayer, Scores, Temperature, log_softmax
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.decode.apply import DIFFERS, default_roots, with_best_tree, with_k_best_trees
from biatt.options import ConllFormat
from builders import random_parser

PARSER = random_parser(seed=3)
RELATIONS = ["det", "nsubj", "root"]


def random_scores(n: int, seed: int = 0) -> Scores:
    draw = np.random.default_rng(seed)
    left, right = log_softmax(draw.normal(0, 2, (2, n, n + 1)))
    layer = RelationLayer(draw.normal(size=(n, 4)), draw.normal(size=(n + 1, 4)), draw.normal(size=(4, 3)))
    return Scores(left, right, draw.normal(size=(n, 3)), layer)


@pytest.mark.parametrize("seed", range(5))
def test_relations_are_the_best_given_the_decoded_heads(seed: int) -> None:
    scores = random_scores(6, seed)
    parsed = with_best_tree(Sentence.from_words(["w"] * 6), scores, RELATIONS)
    expected = [RELATIONS[i] for i in np.argmax(scores.relations(parsed.heads), -1)]
    assert parsed.deprels == expected
    assert parsed.scores is None


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_are_those_of_the_heads_and_of_the_relations_given_the_heads(seed: int) -> None:
    scores, temperature = random_scores(6, seed), Temperature(2.0, 0.5)
    plain = with_best_tree(Sentence.from_words(["w"] * 6), scores, RELATIONS)
    parsed = with_best_tree(
        Sentence.from_words(["w"] * 6), scores, RELATIONS, probabilities=True, temperature=temperature
    )
    assert (parsed.heads, parsed.deprels) == (plain.heads, plain.deprels)
    arcs = np.exp(scores.agreement / 2)
    arcs[np.arange(6), np.arange(6) + 1] = 0
    tables = {
        "head": arcs / arcs.sum(-1, keepdims=True),
        "deprel": np.exp(log_softmax(scores.relation_scores(parsed.heads) / 0.5)),
    }
    names = {"head": [str(head) for head in range(7)], "deprel": RELATIONS}
    written = {"head": [str(head) for head in parsed.heads], "deprel": parsed.deprels}
    for kind, table in tables.items():
        for word, row in enumerate(table):
            choice = names[kind].index(written[kind][word])
            doubts = read_doubts(parsed.rows[word][MISC], parsed)
            assert (kind in doubts) == (np.delete(row, choice).max() >= 0.01)
            for name, probability in zip(*doubts.get(kind, ([], [])), strict=True):
                assert probability == pytest.approx(row[names[kind].index(name)], abs=0.00051)


@pytest.mark.parametrize(("format", "roots"), [("conllu", [0]), ("conllx", [0, 0, 0])])
def test_only_conllx_sentences_have_several_roots(format: ConllFormat, roots: list[int]) -> None:
    sentence = Sentence.from_words(["w"] * 3, format=format)
    table = np.where(np.arange(4) == 0, 0.0, -5.0) + np.zeros((3, 4))
    parsed = with_best_tree(sentence, Scores(table, table, np.zeros((3, 3))), RELATIONS)
    assert [head for head in parsed.heads if head == 0] == roots
    assert default_roots(sentence) == ("single" if format == "conllu" else "any")


def test_k_best_trees_are_distinct_in_order_of_probability_and_begin_with_the_best() -> None:
    for sentence in generate(5, seed=6):
        (best,) = PARSER.parse([sentence])
        trees = PARSER.k_best(sentence, 4)
        assert trees[0] == best
        assert len({tuple(tree.heads) for tree in trees}) == len(trees) == 4
        log_probabilities = [tree.confidence.log_probability for tree in trees if tree.confidence]
        assert log_probabilities == sorted(log_probabilities, reverse=True)
        assert np.exp(log_probabilities).sum() < 1 + 1e-9


def test_probabilities_of_all_trees_of_two_words_add_up_to_one() -> None:
    trees = PARSER.k_best(Sentence.from_words(["so", "what"]), 9, roots="any")
    assert len(trees) == 3
    total = sum(np.exp(tree.confidence.log_probability) for tree in trees if tree.confidence)
    assert total == pytest.approx(1)


TEXT = "# newpar\r\n# sent_id = a-1\r\n# text = so what\r\n1\tso{0}\r\n2\twhat{0}\r\n\r\n".format("\t_" * 8)


def test_every_k_best_tree_has_its_own_sent_id_and_all_else_stays() -> None:
    (sentence,) = read(io.BytesIO(TEXT.encode()))
    trees = with_k_best_trees(sentence, random_scores(2), RELATIONS, 9, temperature=Temperature())
    assert [tree.sent_id for tree in trees] == ["a-1", "a-1-k2"]
    assert [tree.text for tree in trees] == ["so what"] * 2
    for tree in trees:
        lines = tree.to_text().split("\r\n")
        assert lines[0] == "# newpar"
        lines = [line for line in lines if not line.startswith(DIFFERS)]
        assert len(lines) == len(TEXT.split("\r\n"))
    assert sentence.sent_id == "a-1"


def test_k_best_trees_of_a_sentence_without_sent_id_have_different_ones() -> None:
    trees = PARSER.k_best(Sentence.from_words(["so", "what"]), 2)
    assert [tree.sent_id for tree in trees] == [None, "k2"]


def test_k_best_trees_say_what_differs_from_the_best() -> None:
    best, second, *_ = PARSER.k_best(Sentence.from_words(["so", "what", "now"]), 4)
    assert not any(comment.startswith(DIFFERS) for comment in best.comments)
    (comment,) = (comment for comment in second.comments if comment.startswith(DIFFERS))
    changed = [
        f"{i} {form} {head}:{relation} not {best.heads[i - 1]}:{best.deprels[i - 1]}"
        for i, (form, head, relation) in enumerate(
            zip(second.forms, second.heads, second.deprels, strict=True), 1
        )
        if (head, relation) != (best.heads[i - 1], best.deprels[i - 1])
    ]
    assert changed
    assert comment == DIFFERS + "; ".join(changed)


def test_k_best_trees_of_conllx_have_no_comments() -> None:
    trees = PARSER.k_best(Sentence.from_words(["so", "what"], format="conllx"), 3)
    assert len(trees) == 3
    assert not any(tree.verbatim for tree in trees)


def test_sentence_without_words_has_one_empty_tree() -> None:
    (comment,) = read(io.BytesIO(b"# just a comment\n\n"))
    assert PARSER.k_best(comment, 3) == [comment]
