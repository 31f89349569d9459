"""CoNLL-X scores, which agree with the official scorer, and breakdowns of both styles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.conll import read
from biatt.data.sentence import Sentence
from biatt.evaluation.metrics import evaluate
from biatt.evaluation.results import Ratio
from biatt.options import Punctuation

SHARED = Path(__file__).parents[3] / "shared"
VECTORS = SHARED / "vectors" / "conllx-eval"
TREEBANKS = SHARED / "treebanks"
CASES = sorted(path.name.removesuffix(".gold.conllx") for path in VECTORS.glob("*.gold.conllx"))

# A busy machine is no failure.


def small(forms: str, heads: list[int], relations: str, *, source: str = "small.conllx") -> Sentence:
    sentence = Sentence.from_words(forms.split(), heads=heads, deprels=relations.split(), format="conllx")
    sentence.source, sentence.line = source, 1
    return sentence


# ---- CoNLL-X


@pytest.mark.skipif(
    not CASES, reason="../shared/vectors, the counts of the official CoNLL-X scorer, is absent"
)
@pytest.mark.parametrize(("key", "punctuation"), [("ignore_punct", "ignore"), ("with_punct", "include")])
@pytest.mark.parametrize("case", CASES)
def test_counts_equal_those_of_the_official_conllx_scorer(
    case: str, key: str, punctuation: Punctuation
) -> None:
    expected = json.loads((VECTORS / "expected.json").read_text())[case][key]
    gold, system = VECTORS / f"{case}.gold.conllx", VECTORS / f"{case}.system.conllx"
    scores = evaluate(gold, system, style="conllx", punctuation=punctuation).scores
    for name, metric in {"labeled": "LAS", "unlabeled": "UAS", "label": "LA"}.items():
        assert {"correct": scores[metric].correct, "total": scores[metric].gold} == expected[name]


def test_conllx_style_ignores_punctuation_and_keeps_subtypes() -> None:
    gold = [small("cats sleep .", [2, 0, 2], "nsubj:pass root punct")]
    system = [small("cats sleep .", [2, 0, 1], "nsubj root punct")]
    evaluation = evaluate(gold, system)
    assert (evaluation.style, evaluation.punctuation) == ("conllx", "ignore")
    assert (evaluation.uas, evaluation.las) == (1, 1 / 2)
    assert evaluation.scores["LA"].correct == 1
    assert evaluate(gold, system, punctuation="include").uas == 2 / 3


# ---- Crossing arcs, exact match and breakdowns


def crosses(arc: tuple[int, int], arcs: list[tuple[int, int]]) -> bool:
    """Does another arc lead from strictly inside this one to strictly outside?"""
    low, high = sorted(arc)
    inside, outside = range(low + 1, high), {end for arc in arcs for end in arc} - set(range(low, high + 1))
    return any((a in inside and b in outside) or (b in inside and a in outside) for a, b in arcs)


def length_name(word: int, head: int) -> str:
    length = abs(head - word - 1)
    if head == 0:
        return "root"
    return str(length) if length < 3 else "3-6" if length < 7 else "7-10" if length < 11 else ">10"


@st.composite
def pairs_of_trees(draw: st.DrawFn) -> tuple[Sentence, Sentence]:
    n = draw(st.integers(1, 14))
    forms = draw(st.lists(st.sampled_from(["owl", ".", "$", "--"]), min_size=n, max_size=n))
    trees = []
    for _ in range(2):
        order = draw(st.permutations(range(1, n + 1)))
        heads = [0] * n
        for i, word in enumerate(order):
            heads[word - 1] = draw(st.sampled_from([0, *order[:i]]))
        relations = draw(st.lists(st.sampled_from(["a", "b", "b:c"]), min_size=n, max_size=n))
        trees.append(Sentence.from_words(forms, heads=heads, deprels=relations, format="conllx"))
    gold, system = trees
    # The system is right about half of the words.
    kept = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    heads = [a if keep else b for a, b, keep in zip(gold.heads, system.heads, kept, strict=True)]
    return gold, system.with_tree(heads, system.deprels)


@given(st.lists(pairs_of_trees(), min_size=1, max_size=4), st.sampled_from(["ignore", "include"]))
def test_breakdown_equals_its_slow_twin(
    pairs: list[tuple[Sentence, Sentence]], punctuation: Punctuation
) -> None:
    evaluation = evaluate([g for g, _ in pairs], [s for _, s in pairs], punctuation=punctuation)
    found = evaluation.breakdown
    assert found is not None
    arcs = [
        (number, word, g.heads[word], s.heads[word], g.deprels[word], s.deprels[word])
        for number, (g, s) in enumerate(pairs)
        for word in range(len(g))
        if punctuation == "include" or g.forms[word] in ("owl", "$")
    ]
    for crossed, ratio in ((True, found.crossed), (False, found.uncrossed)):
        of = [
            arc
            for arc in arcs
            if crosses((arc[2], arc[1] + 1), [(b[2], b[1] + 1) for b in arcs if b[0] == arc[0]]) == crossed
        ]
        assert (ratio.correct, ratio.total) == (sum(arc[2] == arc[3] for arc in of), len(of))
    assert found.crossed_share.total == len(arcs)
    for relation in ("a", "b", "b:c"):
        of = [arc for arc in arcs if arc[4] == relation]
        score = found.relations.get(relation)
        assert (score.gold if score else 0) == len(of)
        if score:
            assert score.attached == sum(arc[2] == arc[3] for arc in of)
            assert score.correct == sum(arc[2] == arc[3] and arc[5] == relation for arc in of)
            assert score.system == sum(arc[5] == relation for arc in arcs)
    for name, score in found.arc_lengths.items():
        assert score.gold == sum(length_name(arc[1], arc[2]) == name for arc in arcs)
        assert score.system == sum(length_name(arc[1], arc[3]) == name for arc in arcs)
        assert score.correct == sum(length_name(arc[1], arc[2]) == name and arc[2] == arc[3] for arc in arcs)
    numbers = {arc[0] for arc in arcs}
    whole = [all(arc[2] == arc[3] for arc in arcs if arc[0] == number) for number in numbers]
    assert (found.sentences.unlabeled.correct, found.sentences.unlabeled.total) == (sum(whole), len(whole))
    whole = [all(arc[2::2] == arc[3::2] for arc in arcs if arc[0] == number) for number in numbers]
    assert (found.sentences.labeled.correct, found.sentences.labeled.total) == (sum(whole), len(whole))
    for name, shortest, longest in (("1-10", 1, 10), ("11-20", 11, 20), (">50", 51, 1000)):
        of = [arc for arc in arcs if shortest <= len(pairs[arc[0]][0]) <= longest]
        attachment = found.sentence_lengths[name]
        assert (attachment.labeled.total, attachment.unlabeled.total) == (len(of), len(of))
        assert attachment.unlabeled.correct == sum(arc[2] == arc[3] for arc in of)
        assert attachment.labeled.correct == sum(arc[2::2] == arc[3::2] for arc in of)


@given(st.lists(pairs_of_trees(), min_size=1, max_size=4), st.sampled_from(["ignore", "include"]))
def test_the_parts_of_a_breakdown_add_up_to_the_whole(
    pairs: list[tuple[Sentence, Sentence]], punctuation: Punctuation
) -> None:
    gold, system = [g for g, _ in pairs], [s for _, s in pairs]
    for style in ("conllx", "ud"):
        evaluation = evaluate(gold, system, style=style, punctuation=punctuation, allow_cycles=True)
        found, uas, las = evaluation.breakdown, evaluation.scores["UAS"], evaluation.scores["LAS"]
        assert found is not None
        assert found.words.unlabeled == Ratio(uas.correct, uas.gold)
        assert found.words.labeled == Ratio(las.correct, las.gold)
        assert found.crossed.correct + found.uncrossed.correct == uas.correct
        assert sum(score.correct for score in found.arc_lengths.values()) == uas.correct
        assert sum(score.attached for score in found.relations.values()) == uas.correct
        assert sum(score.correct for score in found.relations.values()) == las.correct
        assert sum(part.labeled.correct for part in found.sentence_lengths.values()) == las.correct


def test_crossed_arcs_are_recalled_apart() -> None:
    # hearing → on crosses ROOT → scheduled and scheduled → today; no other arcs cross.
    gold = [small("A hearing is scheduled on it today", [2, 4, 4, 0, 2, 5, 4], "d s a r m o t")]
    system = [gold[0].with_tree([2, 4, 4, 0, 4, 5, 4], gold[0].deprels)]
    breakdown = evaluate(gold, system).breakdown
    assert breakdown is not None
    assert (breakdown.crossed, breakdown.uncrossed) == (Ratio(2, 3), Ratio(4, 4))
    assert breakdown.crossed_share == Ratio(3, 7)


def test_an_ignored_arc_makes_no_other_arc_a_crossed_one() -> None:
    gold = [
        small("owls hunt , mice", [2, 0, 1, 2], "s r p o")
    ]  # owls → , crosses ROOT → hunt and hunt → mice
    for punctuation, crossed in (("ignore", Ratio(0, 0)), ("include", Ratio(3, 3))):
        breakdown = evaluate(gold, gold, punctuation=punctuation).breakdown
        assert breakdown is not None
        assert breakdown.crossed == crossed


@pytest.mark.skipif(not TREEBANKS.is_dir(), reason="../shared/treebanks is absent")
def test_the_share_of_crossed_arcs_is_that_of_the_paper() -> None:
    gold = list(read(TREEBANKS / "danish-conllx" / "test.conllx.xz"))
    breakdown = evaluate(gold, gold, style="conllx").breakdown
    assert breakdown is not None
    assert breakdown.crossed_share.value == pytest.approx(0.0180, abs=0.00005)


def test_nothing_to_recall_has_no_value() -> None:
    breakdown = evaluate([small("a", [0], "r")], [small("a", [0], "r")]).breakdown
    assert breakdown is not None
    assert breakdown.crossed.value is None


def test_a_sentence_of_punctuation_alone_counts_in_no_figure() -> None:
    gold = [small("a", [0], "r"), small("...", [0], "r")]
    breakdown = evaluate(gold, gold).breakdown
    assert breakdown is not None
    assert breakdown.sentences.labeled == Ratio(1, 1)
    assert breakdown.words.labeled == Ratio(1, 1)
