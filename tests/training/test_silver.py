"""Silver text against the sentences that it is read from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from biatt.annotate.tags import gold_labels, labels_of
from biatt.data.columns import MISC
from biatt.data.conll import read, write
from biatt.data.doubts import read_doubts
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.encoding.doubts import FIRST_LABEL, HEAD, RELATION, Doubts
from biatt.encoding.vocabulary import Vocabulary
from biatt.errors import FormatError, TrainingError
from biatt.training.noise import OF_WORDS, OfWords, with_noise
from biatt.training.silver import SilverEpoch, SilverSentences, SilverText, read_silver, texts
from builders import random_parser

GOLD = generate(30)
LABELS = labels_of(GOLD)
VOCABULARY = Vocabulary.build(GOLD, columns=("form", "upos"), min_count=1, affixes=2)
KINDS = {"head": HEAD, "deprel": RELATION, **{kind: i for i, kind in enumerate(LABELS.kinds, FIRST_LABEL)}}


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    """Sentences with doubts about heads, relations and tags."""
    parsed = list(random_parser().parse(generate(40, seed=2), probabilities=True))
    for sentence in parsed[::2]:
        sentence.rows[0][MISC] = "UposProbs=NOUN 0.6 VERB 0.3|XposProbs=unknown 0.5 NN 0.25"
    return parsed


@pytest.fixture
def files(sentences: list[Sentence], tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a.conllu", tmp_path / "b.conllu.xz"]
    write(sentences[:15], paths[0])
    write(sentences[15:], paths[1])
    return paths


def text_of(files: list[Path], excluded: frozenset[str] = frozenset()) -> SilverText:
    return read_silver(files, relations=VOCABULARY.relations, labels=LABELS, excluded=excluded)


def silver_of(text: SilverText, seed: int = 1, least_confidence: float = 0.0) -> SilverSentences:
    generator = np.random.default_rng(seed)
    return SilverSentences(text, VOCABULARY, LABELS, least_confidence=least_confidence, generator=generator)


def test_words_have_labels_only_if_there_are_any(files: list[Path]) -> None:
    generator = np.random.default_rng(1)
    silver = SilverSentences(text_of(files), VOCABULARY, None, generator=generator)
    assert silver.encoded(0).labels is None


def doubts_of(silver: SilverSentences, index: int) -> Doubts:
    doubts = silver.encoded(index).doubts
    assert doubts is not None
    return doubts


def test_sentences_are_those_of_the_files_in_random_order(
    sentences: list[Sentence], files: list[Path]
) -> None:
    silver = silver_of(text_of(files))
    assert len(silver) == len(sentences)
    assert sorted(silver.order.tolist()) == list(range(len(sentences)))
    assert silver.words == sum(map(len, sentences))
    for index, number in enumerate(silver.order.tolist()):
        sentence = sentences[number]
        expected = VOCABULARY.encode(sentence)._replace(labels=gold_labels(sentence, LABELS))
        for array, expected_array in zip(silver.encoded(index)[:5], expected, strict=False):
            assert array is not None
            assert expected_array is not None
            assert array.dtype == expected_array.dtype
            np.testing.assert_array_equal(array, expected_array)
        assert silver.lengths[index] == len(sentence)


def test_doubts_are_those_of_the_files_as_probabilities(sentences: list[Sentence], files: list[Path]) -> None:
    silver = silver_of(text_of(files))
    for index, number in enumerate(silver.order.tolist()):
        expected: dict[tuple[int, int, int], float] = {}
        for word, row in enumerate(sentences[number].rows):
            for name, (choices, probabilities) in read_doubts(row[MISC], sentences[number]).items():
                numbers = {
                    "head": {str(head): head for head in range(100)},
                    "deprel": {relation: i for i, relation in enumerate(VOCABULARY.relations)},
                    **{kind: {label: i for i, label in enumerate(of)} for kind, of in LABELS.kinds.items()},
                }[name]
                pairs = dict(zip(choices, probabilities, strict=True))
                known = {numbers[choice]: p for choice, p in pairs.items() if choice in numbers}
                for choice, p in known.items():
                    expected[word, KINDS[name], choice] = p / sum(known.values())
        words, kinds, choices_, probabilities_ = (array.tolist() for array in doubts_of(silver, index))
        keys = list(zip(words, kinds, choices_, strict=True))
        assert words == sorted(words)
        assert dict(zip(keys, probabilities_, strict=True)) == pytest.approx(expected, abs=1e-3)
        assert len(keys) == len(expected) > 0


def test_the_text_is_packed(files: list[Path]) -> None:
    text = text_of(files * 20)
    arrays = (text.tokens, text.heads, text.relations, text.starts, *text.doubts)
    words = len(text.tokens)
    assert sum(array.nbytes for array in arrays) < 150 * words
    assert len(text.token_columns) == len(set(text.token_columns)) < words / 40


def test_the_order_depends_on_the_seed_alone(files: list[Path]) -> None:
    text = text_of(files)
    assert silver_of(text).order.tolist() == silver_of(text).order.tolist()
    assert silver_of(text).order.tolist() != silver_of(text, seed=2).order.tolist()


def test_parts_follow_each_other_and_begin_again_after_the_last_sentence(files: list[Path]) -> None:
    silver = silver_of(text_of(files))
    longest = int(silver.lengths.max())
    for words in (1, 70, silver.words, 3 * silver.words + 5):
        parts = [silver.part(k * words, words) for k in range(9)]
        indices = [index for part in parts for index in part]
        assert indices == list(range(parts[-1].stop))
        for part in parts:
            size = sum(int(silver.lengths[index % len(silver)]) for index in part)
            assert abs(size - words) < longest
    again = len(silver) + 3
    np.testing.assert_array_equal(silver.encoded(again).rows, silver.encoded(3).rows)
    np.testing.assert_array_equal(doubts_of(silver, again).choices, doubts_of(silver, 3).choices)


# What is left out


def test_sentences_with_an_excluded_text_are_left_out_and_counted(
    sentences: list[Sentence], files: list[Path]
) -> None:
    unwanted = sentences[3]
    spaced = Sentence.from_words([letter.upper() for form in unwanted.forms for letter in form] + ["!"])
    text = text_of(files, frozenset(texts(spaced)))
    same = [s for s in sentences if s.forms == unwanted.forms]
    assert text.excluded == len(same) >= 1
    assert len(text.lengths) == len(sentences) - len(same)
    assert len(text.tokens) == text.starts[-1] == sum(map(len, sentences)) - sum(map(len, same))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("We can not .", "WE cannot", True),
        ("a - b", "ab", True),
        ("a b", "a c", False),
        ("...", ". . .", True),
        ("...", "!!!", False),
        ("...", "", False),
        ("Straße 4", "STRASSE4.", True),
    ],
)
def test_texts_are_compared_by_letters_and_digits(one: str, other: str, same: bool) -> None:
    first, second = (texts(Sentence.from_words(text.split())) for text in (one, other))
    assert bool(first & second) == same


def test_multiword_tokens_are_compared_as_text_and_as_words(tmp_path: Path) -> None:
    lines = ["# text = du vin", "1-2\tdu" + "\t_" * 8, "1\tde{0}", "2\tle{0}", "3\tvin{0}"]
    (tmp_path / "a").write_text("\n".join(lines).format("\t_" * 8) + "\n\n")
    (sentence,) = read(tmp_path / "a")
    assert texts(sentence) == {"duvin", "delevin"}


def test_sentences_that_the_teacher_is_not_sure_of_are_left_out(tmp_path: Path) -> None:
    sure, unsure, astray = (
        Sentence.from_words(["so", "what"], heads=[2, 0], deprels=["det", "root"]) for _ in "abc"
    )
    unsure.rows[0][MISC] = "HeadProbs=2 0.6 0 0.4|DeprelProbs=det 0.5 root 0.5"
    astray.rows[1][MISC] = "HeadProbs=1 1"
    write([sure, unsure, astray], tmp_path / "a")
    text = read_silver([tmp_path / "a"], relations=["det", "root"], labels=None)
    expected = [0, np.log(0.6 * 0.5) / 2, np.log(0.01) / 2]
    np.testing.assert_allclose(text.mean_log_probabilities(), expected, atol=1e-3)
    assert sorted(silver_of(text, least_confidence=0.5).order.tolist()) == [0, 1]
    assert silver_of(text, least_confidence=0.9).order.tolist() == [0]
    assert len(silver_of(text)) == 3


def test_confidence_that_no_sentence_has(tmp_path: Path) -> None:
    sentence = Sentence.from_words(["so"], heads=[0], deprels=["root"])
    sentence.rows[0][MISC] = "DeprelProbs=root 0.5 det 0.5"
    write([sentence], tmp_path / "a")
    text = read_silver([tmp_path / "a"], relations=["det", "root"], labels=None)
    with pytest.raises(TrainingError, match=r"No silver sentence has a confidence of 0\.9\."):
        silver_of(text, least_confidence=0.9)


# What is refused


@pytest.mark.parametrize("head", ["3", "1", "-1", "x", "²"])
def test_doubts_about_impossible_heads_are_refused(head: str, tmp_path: Path) -> None:
    sentence = Sentence.from_words(["so", "what"], heads=[2, 0], deprels=["det", "root"])
    sentence.rows[0][MISC] = f"HeadProbs=2 0.5 {head} 0.5"
    write([sentence], tmp_path / "a")
    message = f"line 1: HeadProbs of word 1 has the head {re.escape(repr(head))}, which it cannot have"
    with pytest.raises(FormatError, match=message):
        text_of([tmp_path / "a"])


def test_silver_text_without_sentences_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("# nothing\n\n")
    with pytest.raises(TrainingError, match="no sentence in the silver text"):
        text_of([tmp_path / "a"])


def test_forms_are_counted_whatever_their_tags_are(tmp_path: Path) -> None:
    tagged = [Sentence.from_words(["so", "so"], upos=["ADV", tag], heads=[2, 0]) for tag in ("ADV", "X")]
    write(tagged, tmp_path / "a")
    assert text_of([tmp_path / "a"]).form_counts() == {"so": 4}


# Noise


@pytest.mark.parametrize("kind", OF_WORDS)
def test_noise_of_silver_sentences_is_that_of_gold_ones(
    sentences: list[Sentence], files: list[Path], kind: OfWords
) -> None:
    silver = silver_of(text_of(files))
    for index in range(5):
        sentence = with_noise(sentences[silver.order[index]], kind)
        noisy = silver.noisy(index, kind)
        expected = VOCABULARY.encode(sentence)._replace(labels=gold_labels(sentence, LABELS))
        for array, expected_array in zip(noisy[:5], expected[:5], strict=True):
            np.testing.assert_array_equal(array, expected_array)
        assert noisy.doubts is not None
        assert max(noisy.doubts.words) < noisy.words
        if noisy.words == len(sentences[silver.order[index]]):
            np.testing.assert_array_equal(noisy.doubts.choices, doubts_of(silver, index).choices)


def test_an_epoch_has_noise_in_a_share_of_its_sentences(files: list[Path]) -> None:
    silver = silver_of(text_of(files))
    part = silver.part(100, 300)
    size = len(part)  # noise cannot change every sentence: a final full stop can be a head
    for noise, least, most in ((0.0, 0, 0), (0.5, size // 8, size - size // 8), (1.0, size // 2, size)):
        epoch = SilverEpoch(silver, part, noise=noise, generator=np.random.default_rng(1))
        encoded = [epoch.encoded(i) for i in range(len(part))]
        assert epoch.lengths == [sentence.words for sentence in encoded]
        clean = [silver.encoded(index) for index in part]
        same = [np.array_equal(one.rows, other.rows) for one, other in zip(encoded, clean, strict=True)]
        assert least <= same.count(False) <= most
