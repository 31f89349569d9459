"""Sentences to annotate: the choice against its slow twin, certain and repeated sentences last or never."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import biatt
from biatt.data.conll import reads
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.errors import ConfigError
from biatt.parsing import suggest as module
from biatt.parsing.suggest import diverse, suggest, suggest_from_files
from builders import random_parser, random_tokeniser

PARSER = random_parser(seed=3)
POOL = generate(60, seed=4)
ITEMS = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 3), min_size=1), st.floats(0, 9)),
    max_size=12,
)


def slow_cosine(a: Counter[Hashable], b: Counter[Hashable], items: list[Counter[Hashable]]) -> float:
    def weight(item: Counter[Hashable], feature: Hashable) -> float:
        having = sum(feature in other for other in items)
        return item[feature] * math.log((1 + len(items)) / having)

    def product(x: Counter[Hashable], y: Counter[Hashable]) -> float:
        return sum(weight(x, feature) * weight(y, feature) for feature in x if feature in y)

    return product(a, b) / math.sqrt(product(a, a) * product(b, b))


@given(ITEMS, st.integers(1, 8))
def test_every_choice_is_the_best_of_those_that_are_left(
    items: list[tuple[dict[str, int], float]], count: int
) -> None:
    features: list[Counter[Hashable]] = [Counter(counts) for counts, _ in items]
    worth = [value for _, value in items]
    chosen = diverse(features, worth, count)
    assert len(chosen) == len(set(chosen)) == min(count, len(items))
    for step, choice in enumerate(chosen):

        def gain(i: int, before: list[int] = chosen[:step]) -> float:
            return worth[i] * (
                1 - max((slow_cosine(features[i], features[j], features) for j in before), default=0)
            )

        left = set(range(len(items))) - set(chosen[:step])
        assert gain(choice) >= max(map(gain, left)) - 1e-6


def entropies(sentences: list[Sentence]) -> list[float]:
    return [
        float(comment.partition(" = ")[2]) for s in sentences for comment in s.comments if "tree_e" in comment
    ]


def test_suggestions_are_uncertain_numbered_and_always_the_same() -> None:
    chosen = suggest(PARSER, POOL, 5)
    assert chosen == suggest(PARSER, POOL, 5)
    ranks = [c for s in chosen for c in s.comments if c.startswith("# suggestion")]
    assert ranks == [f"# suggestion = {rank}" for rank in range(1, 6)]
    parsed = list(PARSER.parse(POOL, confidence=True))
    uncertainty = {
        " ".join(s.forms): s.confidence.entropy / len(s) for s in parsed if s.confidence is not None
    }
    first = " ".join(chosen[0].forms)
    assert uncertainty[first] == max(uncertainty.values())
    assert entropies(chosen)[0] == pytest.approx(uncertainty[first] * len(chosen[0]), abs=1e-4)
    trees = {" ".join(s.forms): s.heads for s in parsed}
    assert all(trees[" ".join(s.forms)] == s.heads for s in chosen)


def test_repeated_sentences_and_comments_are_not_suggested() -> None:
    shouted = [Sentence.from_words([form.upper() for form in s.forms]) for s in POOL[:3]]
    comments = reads("# only a comment\n\n")
    pool = [*POOL[:3], *comments, *POOL[:3], *shouted]
    chosen = suggest(PARSER, pool, 50)
    assert sorted(" ".join(s.forms) for s in chosen) == sorted({" ".join(s.forms) for s in POOL[:3]})
    assert suggest(PARSER, [], 5) == []


def test_a_bounded_number_of_candidates_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = suggest(PARSER, POOL, 1)
    monkeypatch.setattr(module, "CANDIDATES", 1)
    monkeypatch.setattr(module, "LEAST_CANDIDATES", 1)
    kept = suggest(PARSER, POOL, 1)
    assert kept == everything
    assert kept[0].scores is None


def test_number_of_suggestions_is_checked() -> None:
    with pytest.raises(ConfigError, match="at least 1, not 0"):
        suggest(PARSER, POOL, 0)


def test_suggestions_are_written_in_the_format_of_the_target(tmp_path: Path) -> None:
    parser = random_parser(seed=3)
    parser.tokeniser = random_tokeniser()
    (tmp_path / "pool.txt").write_text("\n\n".join(" ".join(s.forms) for s in POOL))
    biatt.write(POOL, tmp_path / "pool.conllx")
    suggest_from_files(parser, [tmp_path / "pool.txt"], tmp_path / "a.conllu", count=4)
    written = list(biatt.read(tmp_path / "a.conllu"))
    assert len(written) == 4
    assert all(s.sent_id is not None for s in written)
    suggest_from_files(parser, [tmp_path / "pool.txt"], tmp_path / "a.jsonl", count=4)
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 4


def test_sentences_of_conllx_get_no_comments() -> None:
    pool = [sentence.as_format("conllx") for sentence in POOL[:5]]
    assert all(s.comments == [] for s in suggest(PARSER, pool, 2))
