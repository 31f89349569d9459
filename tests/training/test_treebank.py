"""Reading a treebank: held-out sentences, and what cannot be trained on."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.config import ParserConfig
from biatt.data.columns import HEAD
from biatt.data.conll import read, write
from biatt.data.length import LONGEST_SENTENCE
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.errors import ConfigError, FormatError, TrainingError
from biatt.training.treebank import Treebank, read_treebank, vocabulary_of
from examples import examples


def held_out(path: Path, fraction: float, seed: int) -> tuple[list[str], list[str]]:
    """The first words of the training and of the dev sentences."""
    treebank = read_treebank([path], None, dev_fraction=fraction, seed=seed)
    return [s.forms[0] for s in treebank.train], [s.forms[0] for s in treebank.dev]


@given(count=st.integers(2, 130), fraction=st.floats(0.01, 0.6), seed=st.integers(0, 9))
@examples(20)
def test_held_out_part_is_seeded_disjoint_and_of_the_right_size(
    tmp_path_factory: pytest.TempPathFactory, count: int, fraction: float, seed: int
) -> None:
    path = tmp_path_factory.mktemp("held") / "t.conllu"
    write((Sentence.from_words([f"w{i}"], heads=[0], deprels=["root"]) for i in range(count)), path)
    train, dev = held_out(path, fraction, seed)
    assert len(dev) == max(1, round(fraction * count))
    assert sorted(train + dev) == sorted(f"w{i}" for i in range(count))
    assert held_out(path, fraction, seed) == (train, dev)


def test_another_seed_holds_out_other_sentences(tmp_path: Path) -> None:
    write(generate(60, seed=5), tmp_path / "t.conllu")
    treebanks = [
        read_treebank([tmp_path / "t.conllu"], None, dev_fraction=0.05, seed=seed) for seed in (1, 2)
    ]
    assert [(len(treebank.train), len(treebank.dev)) for treebank in treebanks] == [(57, 3)] * 2
    assert treebanks[0].dev != treebanks[1].dev
    assert treebanks[0].dev_file == "5% of train, held out at random"


def test_several_files_are_one_treebank(tmp_path: Path) -> None:
    sentences = generate(9, seed=5)
    files = [tmp_path / "a.conllu.gz", tmp_path / "b.conllu"]
    write(sentences[:4], files[0])
    write(sentences[4:], files[1])
    treebank = read_treebank(files, files[1], seed=1)
    assert (treebank.train, treebank.dev) == (sentences, sentences[4:])
    assert (treebank.train_files, treebank.dev_file) == (f"{files[0]}, {files[1]}", str(files[1]))


def test_sentences_without_words_are_left_out(tmp_path: Path) -> None:
    sentences = generate(3)
    write(sentences, tmp_path / "plain.conllu")
    path = tmp_path / "with-comments.conllu"
    path.write_bytes(b"# first\n\n" + (tmp_path / "plain.conllu").read_bytes() + b"# no word\n\n")
    assert sum(not len(sentence) for sentence in read(path)) == 2
    treebank = read_treebank([path], path, seed=1)
    assert [s.forms for s in treebank.train] == [s.forms for s in treebank.dev]
    assert [s.forms for s in treebank.train] == [s.forms for s in sentences]


def test_file_without_sentences_is_named(tmp_path: Path) -> None:
    write(generate(3), tmp_path / "t.conllu")
    empty = tmp_path / "empty.conllu"
    empty.write_bytes(b"")
    with pytest.raises(TrainingError, match=r"empty\.conllu: there is no sentence to train on"):
        read_treebank([empty], None, dev_fraction=0.05, seed=1)
    with pytest.raises(
        TrainingError, match=r"empty\.conllu: there is no sentence with a whole tree to choose"
    ):
        read_treebank([tmp_path / "t.conllu"], empty, seed=1)


def test_one_sentence_cannot_be_both_trained_on_and_held_out(tmp_path: Path) -> None:
    write(generate(1), tmp_path / "one.conllu")
    with pytest.raises(TrainingError, match=r"one\.conllu: there is no sentence to train on"):
        read_treebank([tmp_path / "one.conllu"], None, dev_fraction=0.05, seed=1)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_dev_fraction_is_between_0_and_1(tmp_path: Path, fraction: float) -> None:
    write(generate(3), tmp_path / "t.conllu")
    with pytest.raises(ConfigError, match=f"between 0 and 1, not {fraction:g}"):
        read_treebank([tmp_path / "t.conllu"], None, dev_fraction=fraction, seed=1)


def test_training_sentences_may_lack_heads_and_dev_sentences_have_whole_trees(tmp_path: Path) -> None:
    path, dev = tmp_path / "partial.conllu", tmp_path / "dev.conllu"
    whole = generate(6)
    partial = [
        s.with_tree([-1, *s.heads[1:]], ["_", *s.deprels[1:]]) for s in generate(6, seed=2) if len(s) > 1
    ]
    for sentence in partial:
        sentence.rows[0][HEAD] = "_"
    write([*partial, *whole], path)
    write(whole, dev)
    assert read_treebank([path], dev, seed=1).train == [*partial, *whole]
    for seed in range(4):
        treebank = read_treebank([path], None, dev_fraction=0.4, seed=seed)
        assert all(-1 not in sentence.heads for sentence in treebank.dev)
        assert len(treebank.train) + len(treebank.dev) == len(partial) + len(whole)
        assert "_" not in vocabulary_of(treebank, ParserConfig()).relations
    write(partial, path)
    with pytest.raises(TrainingError, match="no sentence with a whole tree to choose the model by"):
        read_treebank([path], None, dev_fraction=0.4, seed=1)
    write([Sentence.from_words(["so", "what", "now"], heads=[-1, 3, 2])], path)
    with pytest.raises(
        FormatError, match=r"partial\.conllu, line 2: the heads form a cycle through words 2, 3"
    ):
        read_treebank([path], dev, seed=1)
    write([Sentence.from_words(["so", "what"])], path)
    with pytest.raises(TrainingError, match=r"partial\.conllu: no word to train on has a head"):
        read_treebank([path], dev, seed=1)


def test_missing_head_in_a_dev_file_is_told_with_file_and_line(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.conllu", tmp_path / "bad.conllu"
    write(generate(2), good)
    bad.write_text("1\tw\t_\tNOUN\t_\t_\t0\troot\t_\t_\n2\tw\t_\tNOUN\t_\t_\t_\tdep\t_\t_\n\n")
    with pytest.raises(FormatError, match="HEAD is '_' where a number from 0 to 2 was expected") as caught:
        read_treebank([good], bad, seed=1)
    assert (caught.value.source, caught.value.line) == (str(bad), 2)


@pytest.mark.parametrize(
    ("heads", "line", "message"), [(["2", "1"], 1, "cycle"), (["2", "7"], 2, "HEAD is '7'")]
)
def test_fault_in_a_tree_is_told_with_file_and_line(
    tmp_path: Path, heads: list[str], line: int, message: str
) -> None:
    good, bad = tmp_path / "good.conllu", tmp_path / "bad.conllu"
    write(generate(2), good)
    rows = [f"{i}\tw\t_\tNOUN\t_\t_\t{head}\tdep\t_\t_\n" for i, head in enumerate(heads, 1)]
    bad.write_text(good.read_text() + "".join(rows) + "\n")
    for files, dev in (([good, bad], None), ([good], bad)):
        with pytest.raises(FormatError, match=message) as caught:
            read_treebank(files, dev, seed=1)
        assert (caught.value.source, caught.value.line) == (str(bad), good.read_text().count("\n") + line)


def test_sentence_that_the_parser_refuses_is_refused_in_training_too(tmp_path: Path) -> None:
    def chain(words: int) -> Sentence:
        return Sentence.from_words(["w"] * words, heads=range(words), deprels=["dep"] * words)

    path = tmp_path / "long.conllu"
    write([chain(2), chain(LONGEST_SENTENCE)], path)
    assert len(read_treebank([path], path, seed=1).train) == 2
    write([chain(2), chain(LONGEST_SENTENCE + 1)], path)
    with pytest.raises(FormatError, match=r"the sentence has 5,001 words; .* up to 5,000") as caught:
        read_treebank([path], path, seed=1)
    assert (caught.value.source, caught.value.line) == (str(path), 4)


def test_columns_that_are_all_empty_are_refused_with_the_file() -> None:
    sentences = [Sentence.from_words(["Ada", "sings"], heads=[2, 0])] * 4
    treebank = Treebank(sentences, sentences, "t.conllu", "dev.conllu")
    with pytest.raises(TrainingError, match=r"t\.conllu: every column to embed \(lemma\) is empty"):
        vocabulary_of(treebank, ParserConfig(columns=("lemma",)))
    assert list(vocabulary_of(treebank, ParserConfig(columns=("form", "lemma"))).symbols) == ["form"]


@given(st.integers(0, 500), st.integers(0, 3))
@examples(30)
def test_sample_is_random_in_order_and_has_the_words_that_are_asked_for(words: int, seed: int) -> None:
    train = generate(30, seed=1)
    whole = Treebank(train, train[:9], "t", "d")
    sample = whole.sampled(words, seed=seed)
    for part, of, most in ((sample.train, whole.train, words), (sample.dev, whole.dev, words // 8)):
        numbers = [next(i for i, sentence in enumerate(of) if sentence is chosen) for chosen in part]
        assert numbers == sorted(set(numbers))
        size = sum(map(len, part))
        assert len(part) == 1 or size <= most
        assert len(part) == len(of) or size > most - max(map(len, of))
    chosen = f", {len(sample.train)} sentences chosen at random" if len(sample.train) < 30 else ""
    assert sample.train_files == f"t{chosen}"


def test_another_seed_is_another_sample() -> None:
    train = generate(60, seed=1)
    whole = Treebank(train, train[:9], "t", "d")
    assert whole.sampled(200, seed=1) == whole.sampled(200, seed=1) != whole.sampled(200, seed=2)


def test_as_much_is_held_out_as_in_the_paper_and_nothing_beside_a_dev_file(tmp_path: Path) -> None:
    path = tmp_path / "t.conllu"
    write(generate(60, seed=1), path)
    assert len(read_treebank([path], None, seed=1).dev) == 3
    assert len(read_treebank([path], path, seed=1).train) == 60
    with pytest.raises(ConfigError, match="only where there is no dev file"):
        read_treebank([path], path, dev_fraction=0.05, seed=1)
