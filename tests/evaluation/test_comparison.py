"""Comparing two systems: both tests against slow twins, and on systems whose quality is known."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt import Sentence, compare, evaluate, read, write
from biatt.data.toy_treebank import generate
from biatt.errors import ConfigError, FormatError
from biatt.evaluation.comparison import Comparison, sign_test
from biatt.options import Punctuation, Style
from examples import examples

# A busy machine is no failure.
FEWER = examples(60)

GOLD = list(generate(200, seed=1))


def noisy(sentences: list[Sentence], *, seed: int, heads: float, relations: float = 0.0) -> list[Sentence]:
    """Trees with this share of random heads and wrong relations."""
    chance = random.Random(seed)
    return [
        s.with_tree(
            [chance.randrange(len(s) + 1) if chance.random() < heads else head for head in s.heads],
            ["wrong" if chance.random() < relations else relation for relation in s.deprels],
        )
        for s in sentences
    ]


def small(forms: str, heads: list[int], relations: str) -> Sentence:
    return Sentence.from_words(forms.split(), heads=heads, deprels=relations.split(), format="conllx")


@st.composite
def three_files(draw: st.DrawFn) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    gold = []
    for _ in range(draw(st.integers(1, 5))):
        n = draw(st.integers(1, 6))
        forms = draw(st.lists(st.sampled_from(["owl", "."]), min_size=n, max_size=n))
        relations = draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n))
        gold.append(Sentence.from_words(forms, heads=[0] * n, deprels=relations, format="conllx"))
    gold.append(small("owl", [0], "a"))  # a word that counts
    a, b = (noisy(gold, seed=draw(st.integers(0, 99)), heads=0.5, relations=0.3) for _ in range(2))
    return gold, a, b


def right_words(gold: Sentence, system: Sentence, metric: str, punctuation: Punctuation) -> tuple[int, int]:
    right = total = 0
    for word, found in zip(gold, system, strict=True):
        if punctuation == "include" or word.form != ".":
            total += 1
            right += word.head == found.head and (metric == "UAS" or word.deprel == found.deprel)
    return right, total


# ---- The tests


@FEWER
@given(three_files(), st.sampled_from(["ignore", "include"]), st.integers(0, 5))
def test_bootstrap_equals_its_slow_twin(
    files: tuple[list[Sentence], list[Sentence], list[Sentence]], punctuation: Punctuation, seed: int
) -> None:
    found = compare(*files, punctuation=punctuation, samples=50, seed=seed)
    for metric, pair in found.scores.items():
        counts = []  # of each sentence: right in A, right in B, words
        for gold, a, b in zip(*files, strict=True):
            (in_a, total), (in_b, _) = (right_words(gold, s, metric, punctuation) for s in (a, b))
            if total:
                counts.append((in_a, in_b, total))
        total = sum(words for _, _, words in counts)
        difference = sum(b - a for a, b, _ in counts)
        assert (pair.a.total, pair.b.total) == (total, total)
        assert pair.difference == difference / total

        chance = np.random.default_rng(seed)
        differences, as_far = [], 1
        for _ in range(50):
            words = gained = 0
            for sentence in chance.integers(len(counts), size=len(counts)):
                a, b, n = counts[sentence]
                words += n
                gained += b - a
            differences.append(gained / words)
            as_far += abs(gained * total - difference * words) >= abs(difference * words)
        assert pair.bootstrap_p == as_far / 51
        assert (pair.low, pair.high) == pytest.approx(tuple(np.percentile(differences, (2.5, 97.5))))
        assert pair.a_better == sum(a > b for a, b, _ in counts)
        assert pair.b_better == sum(b > a for a, b, _ in counts)


def test_many_draws_at_once_are_those_of_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    files = GOLD, noisy(GOLD, seed=1, heads=0.2), noisy(GOLD, seed=2, heads=0.2)
    found = compare(*files, samples=100)
    monkeypatch.setattr("biatt.evaluation.comparison._DRAWN_AT_ONCE", 1)
    assert compare(*files, samples=100) == found


@pytest.mark.parametrize("n", range(11))
def test_sign_test_equals_counting_every_fall_of_the_coins(n: int) -> None:
    falls = [sum(coins) for coins in product((0, 1), repeat=n)]
    for one in range(n + 1):
        unequal = sum(abs(2 * heads - n) >= abs(2 * one - n) for heads in falls)
        assert sign_test(one, n - one) == unequal / len(falls)


def test_sign_test_of_very_many_sentences_is_a_number() -> None:
    assert sign_test(20_000, 20_000) == 1
    assert sign_test(19_800, 20_200) == pytest.approx(0.0461, abs=0.0001)  # the normal distribution's, 2 σ
    assert sign_test(0, 20_000) == 0  # too small for a float, but no error


def test_a_file_differs_from_itself_by_nothing() -> None:
    system = noisy(GOLD, seed=1, heads=0.2, relations=0.1)
    found = compare(GOLD, system, system)
    for pair in found.scores.values():
        assert (pair.difference, pair.low, pair.high) == (0, 0, 0)
        assert (pair.bootstrap_p, pair.sign_p) == (1, 1)
        assert (pair.a_better, pair.b_better) == (0, 0)
    assert found.sentences == []
    assert {pair.difference for pair in found.relations.values()} == {0}


def test_swapping_the_systems_negates_every_difference() -> None:
    a, b = noisy(GOLD, seed=1, heads=0.2, relations=0.1), noisy(GOLD, seed=2, heads=0.1)
    one, other = compare(GOLD, a, b), compare(GOLD, b, a)
    for pair, swapped in zip(one.scores.values(), other.scores.values(), strict=True):
        assert pair.difference is not None
        assert swapped.difference == -pair.difference != 0
        assert (swapped.low, swapped.high) == pytest.approx((-pair.high, -pair.low))
        assert (swapped.bootstrap_p, swapped.sign_p) == (pair.bootstrap_p, pair.sign_p)
        assert (swapped.a_better, swapped.b_better) == (pair.b_better, pair.a_better)
    for name, part in one.relations.items():
        assert (other.relations[name].a, other.relations[name].b) == (part.b, part.a)
    assert [(s.line, s.a, s.b) for s in other.sentences] == [(s.line, s.b, s.a) for s in one.sentences]


def test_a_clear_win_is_significant() -> None:
    a, b = noisy(GOLD, seed=1, heads=0.2), noisy(GOLD, seed=2, heads=0.1)
    pair = compare(GOLD, a, b).scores["UAS"]
    assert pair.difference is not None
    assert 0 < pair.low < pair.difference < pair.high
    assert pair.bootstrap_p < 0.001
    assert pair.sign_p < 0.001


@pytest.mark.slow
def test_noise_is_seldom_significant() -> None:
    """Two systems of the same quality: about 5 % of all p are below 0.05, of both tests."""
    bootstrap, sign = [], []
    gold = GOLD[:50]
    for seed in range(100):
        a, b = (noisy(gold, seed=2 * seed + i, heads=0.15) for i in range(2))
        pair = compare(gold, a, b, samples=500).scores["UAS"]
        bootstrap.append(pair.bootstrap_p)
        sign.append(pair.sign_p)
    for found in (bootstrap, sign):
        assert sum(p < 0.05 for p in found) <= 11  # binomial: more in less than 1 % of such experiments
        assert 0.35 < float(np.mean(found)) < 0.7


def test_same_seed_same_result() -> None:
    files = GOLD, noisy(GOLD, seed=1, heads=0.2), noisy(GOLD, seed=2, heads=0.19)
    assert compare(*files, samples=200, seed=3) == compare(*files, samples=200, seed=3)
    assert compare(*files, samples=200, seed=3).scores != compare(*files, samples=200, seed=4).scores


# ---- Scores and tables


@pytest.mark.parametrize("style", ["conllx", "ud"])
@pytest.mark.parametrize("punctuation", ["ignore", "include", None])
def test_scores_and_parts_are_those_of_evaluate(style: Style, punctuation: Punctuation | None) -> None:
    systems = [noisy(GOLD, seed=i, heads=0.2, relations=0.1) for i in range(2)]
    found = compare(GOLD, *systems, style=style, punctuation=punctuation, samples=10)
    for system, side in zip(systems, ("a", "b"), strict=True):
        expected = evaluate(GOLD, system, style=style, punctuation=punctuation, allow_cycles=True)
        assert found.punctuation == expected.punctuation
        assert expected.breakdown is not None
        assert getattr(found.scores["UAS"], side).value == expected.uas
        assert getattr(found.scores["LAS"], side).value == expected.las
        for name, pair in found.relations.items():
            assert getattr(pair, side).value == expected.breakdown.relations[name].recall
        for name, pair in found.arc_lengths.items():
            score = expected.breakdown.arc_lengths[name]
            assert (getattr(pair, side).correct, pair.a.total) == (score.correct, score.gold)


def test_style_follows_the_gold_format() -> None:
    assert compare(GOLD, GOLD, GOLD, samples=1).style == "ud"
    owl = [small("owl", [0], "a")]
    assert compare(owl, owl, owl, samples=1).style == "conllx"


def test_sentences_that_differ_most_come_first(tmp_path: Path) -> None:
    path = tmp_path / "gold.conllu"
    names = ["# sent_id = one\n# text = w1w2 w3w4", "# newdoc", "# sent_id = three"]
    row = "{0}\tw{0}\t_\t_\t_\t_\t0\troot\t_\t_\n"
    path.write_text("".join(name + "\n" + "".join(map(row.format, range(1, 5))) + "\n" for name in names))
    gold = list(read(path))
    right, wrong = [0, 0, 0, 0], [2, 1, 1, 1]
    a = [s.with_tree(wrong[:k] + right[k:], s.deprels) for s, k in zip(gold, (0, 3, 1), strict=True)]
    b = [s.with_tree(wrong[:k] + right[k:], s.deprels) for s, k in zip(gold, (1, 0, 1), strict=True)]
    found = compare(path, a, b, samples=10)
    second, first = found.sentences
    assert (second.line, second.sent_id, second.text) == (8, None, "w1 w2 w3 w4")
    assert (second.a, second.b, second.words) == (1, 4, 4)
    assert (first.source, first.line, first.sent_id) == (str(path), 1, "one")
    assert (first.text, first.a, first.b) == ("w1w2 w3w4", 4, 3)

    table = found.tables()[-1]
    assert table.rows == [
        (1, 4, 4, f"{path}, line 8", "w1 w2 w3 w4"),
        (4, 3, 4, f"{path}, line 1, one", "w1w2 w3w4"),
    ]
    assert len(found.tables(show=1)[-1].rows) == 1
    assert len(found.tables(show=0)) == 4


def test_long_text_is_shortened_in_the_table_alone() -> None:
    gold = [small("owl " * 50, [0] * 50, "a " * 50)]
    found = compare(gold, gold, noisy(gold, seed=1, heads=0.5), samples=10)
    assert len(found.sentences[0].text) == 199
    assert found.tables()[-1].rows[0][-1] == "owl " * 14 + "owl…"


def test_tables_are_as_wide_as_their_headings_and_in_percent() -> None:
    gold = [small("owl owl owl owl", [0, 1, 1, 1], "a b b b")]
    a = [gold[0].with_tree([0, 1, 1, 2], gold[0].deprels)]
    tables = compare(gold, a, gold, samples=10).tables()
    assert [len(table.rows) for table in tables] == [2, 2, 2, 6, 1]
    for table in tables:
        assert {len(row) for row in table.rows} == {len(table.columns)}
    assert tables[0].rows[0] == ("UAS", 75, 100, 25, 25, 25, "0.0909")
    assert tables[1].rows[0] == ("UAS", 0, 1, "1.0000")
    assert tables[2].rows == [
        ("b", 3, pytest.approx(200 / 3), 100, pytest.approx(100 / 3)),
        ("a", 1, 100, 100, 0),
    ]
    assert ("7-10", 0, None, None, None) in tables[3].rows


def test_everything_can_be_written_as_json() -> None:
    found = compare(GOLD, noisy(GOLD, seed=1, heads=0.2), noisy(GOLD, seed=2, heads=0.2), samples=10)
    assert isinstance(found, Comparison)
    plain = found.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["scores"]["UAS"]["difference"] == found.scores["UAS"].difference
    assert plain["sentences"][0]["a"] == found.sentences[0].a


# ---- Faults


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Gold, the same again, another word, a word too many, a sentence too few, no sentence, no trees."""
    gold = GOLD[:3]
    words = list(gold[1].forms)
    other = Sentence.from_words([*words[:-1], "owl"], heads=gold[1].heads, deprels=gold[1].deprels)
    longer = Sentence.from_words([*words, "owl"], heads=[*gold[1].heads, 0], deprels=[*gold[1].deprels, "x"])
    blank = Sentence.from_words(words)
    contents = [gold, gold, [gold[0], other, gold[2]], [gold[0], longer, gold[2]], gold[:2], []]
    contents.append([gold[0], blank, gold[2]])
    names = ["gold", "same", "other", "longer", "short", "empty", "blank"]
    paths = [tmp_path / f"{name}.conllu" for name in names]
    for path, sentences in zip(paths, contents, strict=True):
        write(sentences, path)
    return paths


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("place", "message"),
    [
        (2, r"other\.conllu, line \d+: word \d+ is 'owl', but .*gold\.conllu, line \d+, has"),
        (3, r"longer\.conllu, line \d+: this sentence has \d+ words, but that of .*gold\.conllu, line \d+"),
        (4, r"short\.conllu: it holds 2 sentences, but .*gold\.conllu holds 3"),
        (5, r"empty\.conllu: it holds 0 sentences, but .*gold\.conllu holds 3"),
        (6, r"blank\.conllu, line \d+: the head of word 1 is '_'; a number from 0 to"),
    ],
)
def test_fault_names_file_and_line(files: list[Path], place: int, message: str, swapped: bool) -> None:
    systems = [files[1], files[place]]
    with pytest.raises(FormatError, match=message):
        compare(files[0], *(systems[::-1] if swapped else systems))


def test_nothing_to_compare_is_a_fault(files: list[Path]) -> None:
    with pytest.raises(FormatError, match=r"empty\.conllu: there is no sentence with words"):
        compare(files[5], files[5], files[5])
    dots = [small(". .", [0, 1], "a b")]
    with pytest.raises(FormatError, match="no word is counted, so there is nothing to compare"):
        compare(dots, dots, dots)
    with pytest.raises(ConfigError, match="at least 1 sample, not 0"):
        compare(GOLD, GOLD, GOLD, samples=0)
