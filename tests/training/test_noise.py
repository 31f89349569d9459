"""Noise changes the text and nothing of the tree: each word that is left keeps its head."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.columns import DEPS, FORM, HEAD, LEMMA, MISC, UPOS
from biatt.data.conll import read, reads, write
from biatt.data.raw_text import paragraphs, raw_text
from biatt.data.sentence import Sentence
from biatt.data.spaces import NO_SPACE
from biatt.data.toy_treebank import generate
from biatt.errors import ConfigError
from biatt.training.noise import (
    KINDS,
    LONGEST_STRETCH,
    OF_SPACES,
    OF_WORDS,
    OfSpaces,
    OfWords,
    joined,
    noise_kinds,
    noisy,
    with_noise,
    wrapped,
    write_noisy,
)
from builders import random_trees
from examples import examples

CATS = (
    "# newpar\n"
    '# text = Oh, "Cats" don\'t bark!).\n'
    "1\tOh\toh\tINTJ\t_\t_\t8\tdiscourse\t8:discourse\tSpaceAfter=No\n"
    "2\t,\t,\tPUNCT\t_\t_\t1\tpunct\t1:punct\t_\n"
    '3\t"\t"\tPUNCT\t_\t_\t4\tpunct\t4:punct\tSpaceAfter=No\n'
    "4\tCats\tcat\tNOUN\t_\t_\t8\tnsubj\t8:nsubj|8.1:nsubj\tSpaceAfter=No\n"
    '5\t"\t"\tPUNCT\t_\t_\t4\tpunct\t4:punct\t_\n'
    "6-7\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "6\tdo\tdo\tAUX\t_\t_\t8\taux\t8:aux\t_\n"
    "7\tn't\tnot\tPART\t_\t_\t8\tadvmod\t8:advmod\t_\n"
    "8\tbark\tbark\tVERB\t_\t_\t0\troot\t0:root\tX=1|SpaceAfter=No\n"
    "8.1\tbite\tbite\tVERB\t_\t_\t_\t_\t8:conj\t_\n"
    "9\t!\t!\tPUNCT\t_\t_\t8\tpunct\t8:punct\tSpaceAfter=No\n"
    "10\t)\t)\tPUNCT\t_\t_\t8\tpunct\t8:punct\tSpaceAfter=No\n"
    "11\t.\t.\tPUNCT\t_\t_\t8\tpunct\t8:punct\t_\n"
    "\n"
)


def parsed(text: str) -> Sentence:
    (sentence,) = read(io.BytesIO(text.encode()), trees=True)
    return sentence


def text_of(sentence: Sentence) -> str:
    spaces = ["" if NO_SPACE in str(token.misc).split("|") else " " for token in sentence.tokens]
    return "".join(token.form + space for token, space in zip(sentence.tokens, spaces, strict=True)).rstrip()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("lower", 'oh, "cats" don\'t bark!).'),
        ("upper", 'OH, "CATS" DON\'T BARK!).'),
        ("headline", 'Oh, "Cats" Don\'t Bark'),
        ("unended", 'Oh, "Cats" don\'t bark'),
        ("bare", "oh cats don't bark"),
    ],
)
def test_each_kind_changes_the_text(kind: OfWords, text: str) -> None:
    sentence = with_noise(parsed(CATS), kind)
    assert sentence.text == text == text_of(sentence)
    assert parsed(sentence.to_text()) == sentence


def test_numbers_follow_dropped_words() -> None:
    sentence = with_noise(parsed(CATS), "bare")
    assert sentence.forms == ["oh", "cats", "do", "n't", "bark"]
    assert sentence.heads == [5, 5, 5, 5, 0]
    assert [row[DEPS] for row in sentence.rows][:2] == ["5:discourse", "5:nsubj|5.1:nsubj"]
    lines = dict(line.split("\t", 1) for _, line in sentence.verbatim if not line.startswith("#"))
    assert lines.keys() == {"3-4", "5.1"}
    assert lines["5.1"].split("\t")[DEPS - 1] == "5:conj"
    assert sentence.rows[4][MISC] == "X=1"
    assert with_noise(parsed(CATS), "lower").lemmas == parsed(CATS).lemmas


@pytest.mark.parametrize(
    "change",
    [
        ("8\tdiscourse\t8:discourse", "2\tdiscourse\t8:discourse"),  # it is a head
        ("8\tdiscourse\t8:discourse", "8\tdiscourse\t2:discourse"),  # of the enhanced graph
        ('3\t"\t', '2.1\tyes\t_\t_\t_\t_\t_\t_\t8:dep\t_\n3\t"\t'),  # an empty node follows it
        ("2\t,\t,\tPUNCT", "2\t,\t,\tCCONJ"),
        ("2\t,\t,", "2\t+\t,"),
    ],
    ids=["head", "enhanced head", "empty node", "not tagged so", "symbol"],
)
def test_punctuation_that_something_needs_stays(change: tuple[str, str]) -> None:
    comma = ("1\tpunct\t1:punct", "8\tpunct\t8:punct")
    assert len(with_noise(parsed(CATS.replace(*comma)), "bare")) == 5
    sentence = with_noise(parsed(CATS.replace(*comma).replace(*change)), "bare")
    assert sentence.lemmas == ["oh", ",", "cat", "do", "not", "bark"]
    assert parsed(sentence.to_text()).text == sentence.text == text_of(sentence)


def test_words_do_not_run_together() -> None:
    sentence = Sentence.from_words(["state", "-", "run", "."], upos=["X", "PUNCT", "X", "PUNCT"])
    for row, head, misc in zip(sentence.rows, [3, 3, 0, 3], [NO_SPACE] * 4, strict=True):
        row[HEAD], row[MISC] = str(head), misc
    bare = with_noise(sentence, "bare")
    assert bare.forms == ["state", "-", "run"]
    assert text_of(bare) == "state-run"
    assert bare.rows[-1][MISC] == "_"  # another sentence follows, no longer after a full stop


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Sentences with any tree, spaces and punctuation; the lemma of a word is its number."""
    heads = draw(random_trees(longest=8))
    forms = st.sampled_from([".", "-", "!?", "Don't", "ß", "iPhone", "3.5"])
    sentence = Sentence.from_words([draw(forms) for _ in heads], heads=heads, deprels=["x"] * len(heads))
    for number, row in enumerate(sentence.rows, 1):
        row[LEMMA], row[UPOS] = str(number), draw(st.sampled_from(["PUNCT", "X", "_"]))
        row[MISC] = draw(st.sampled_from(["_", NO_SPACE, f"A=1|{NO_SPACE}|B=2"]))
        row[DEPS] = draw(st.sampled_from(["_", f"{row[HEAD]}:x"]))
    if len(heads) > 2 and draw(st.booleans()):
        start = draw(st.integers(1, len(heads) - 1))
        line = "\t".join([f"{start}-{start + 1}", "A.", *"_______", sentence.rows[start][MISC]])
        sentence.verbatim.append((start - 1, line))
        sentence.rows[start - 1][MISC] = sentence.rows[start][MISC] = "_"
    return sentence.with_comment(f"# text = {text_of(sentence)}")


@examples(150)
@given(sentences(), st.sampled_from(OF_WORDS))
def test_words_that_are_left_keep_everything_but_form_and_spaces(sentence: Sentence, kind: OfWords) -> None:
    changed = with_noise(sentence, kind)
    assert parsed(changed.to_text()) == changed  # a valid file
    assert changed.text == text_of(changed)
    original = {row[LEMMA]: row for row in sentence.rows}
    number_of = {0: "0", **dict(enumerate(changed.lemmas, 1))}
    for row, head in zip(changed.rows, changed.heads, strict=True):
        before = original[row[LEMMA]]
        assert number_of[head] == before[HEAD]
        assert row[DEPS] == (f"{head}:x" if before[DEPS] != "_" else "_")
        assert row[FORM].lower() == before[FORM].lower() or row[FORM] == before[FORM].upper()
        fields = set(row[MISC].split("|")), set(before[MISC].split("|"))
        assert fields[0] - {NO_SPACE, "_"} == fields[1] - {NO_SPACE, "_"}
    dropped = [row for row in sentence.rows if row[LEMMA] not in number_of.values()]
    assert all(row[UPOS] != "X" and row[FORM] in (".", "-", "!?") for row in dropped)
    assert kind not in ("lower", "upper") or not dropped


@given(st.lists(sentences(), min_size=1, max_size=4), st.integers(1, 30))
def test_wrapped_lines_are_as_long_as_fits(many: list[Sentence], width: int) -> None:
    """The twin breaks the plain text, chunk by chunk."""
    (whole,), (broken,) = paragraphs(many), paragraphs(wrapped(many, width=width))
    assert (broken.chunks, broken.tokens) == (whole.chunks, whole.tokens)
    lines = [whole.chunks[0]]
    for chunk in whole.chunks[1:]:
        if len(lines[-1]) + 1 + len(chunk) > width:
            lines.append(chunk)
        else:
            lines[-1] += f" {chunk}"
    assert broken.text.split("\n") == lines


def test_joined_paragraphs_have_a_line_break_between_them() -> None:
    first, second = generate(2)
    second = second.with_comment("# newpar id = p2").with_comment("# x")
    before, after = joined(first, second)
    assert raw_text([before, after]) == f"{first.text}\n{second.text}\n"
    assert "# x" in after.comments
    document = second.with_comment("# newdoc")
    assert joined(first, document) == (first, document)
    comment = Sentence([], [(0, "# end")])
    assert joined(comment, second)[0] == comment


def treebank(count: int = 400) -> list[Sentence]:
    """Paragraphs of one sentence each."""
    return [sentence.with_comment("# newpar") for sentence in generate(count)]


def test_rate_is_the_share_of_changed_paragraphs() -> None:
    plain = treebank()
    for rate in (0.0, 0.3, 1.0):
        changed = noisy(plain, rate=rate, generator=np.random.default_rng(1), kinds=["upper"])
        share = np.mean([a.forms != b.forms for a, b in zip(plain, changed, strict=True)])
        assert share == pytest.approx(rate, abs=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_can_be_asked_for(kind: OfWords | OfSpaces) -> None:
    plain = treebank(30)
    changed = noisy(plain, rate=1.0, generator=np.random.default_rng(1), kinds=[kind])
    assert raw_text(changed) != raw_text(plain)
    if kind in OF_SPACES:
        assert [sentence.forms for sentence in changed] == [sentence.forms for sentence in plain]
    assert not noisy([], rate=1.0, generator=np.random.default_rng(1))


def test_paragraph_has_one_kind_and_a_long_one_several() -> None:
    long = generate(12 * LONGEST_STRETCH)
    changed = noisy(long, rate=1.0, generator=np.random.default_rng(1), kinds=["lower", "upper"])
    upper = [sentence.forms[0].isupper() for sentence in changed]
    parts = [upper[i : i + LONGEST_STRETCH] for i in range(0, len(upper), LONGEST_STRETCH)]
    assert all(len(set(part)) == 1 for part in parts)
    assert 0 < sum(upper) < len(upper)


def test_sentences_without_an_end_are_lines() -> None:
    many = generate(3)
    for kind in ("unended", "headline"):
        changed = noisy(many, rate=1.0, generator=np.random.default_rng(1), kinds=noise_kinds(kind))
        assert raw_text(changed) == "\n".join(str(sentence.text) for sentence in changed) + "\n"


@pytest.mark.parametrize("kind", KINDS)
def test_sentence_without_words_stays(kind: OfWords | OfSpaces) -> None:
    sentences = reads("# only a comment\n\n" + "1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n")
    first, second = noisy(sentences, rate=1, generator=np.random.default_rng(1), kinds=[kind])
    assert first.comments == ["# only a comment"]
    assert (len(first), len(second)) == (0, 1)


def test_seed_determines_the_copy(tmp_path: Path) -> None:
    write(treebank(20), tmp_path / "t.conllu")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_noisy(tmp_path / "t.conllu", tmp_path / f"{name}.conllu", seed=seed)
    a, b, c = ((tmp_path / f"{name}.conllu").read_bytes() for name in "abc")
    assert a == b != c
    assert len(list(read(tmp_path / "a.conllu", trees=True))) == 20


def test_unknown_kind_is_refused() -> None:
    assert noise_kinds("joined, lower") == ["lower", "joined"]
    with pytest.raises(ConfigError, match="no noise 'loud'; there are lower, upper"):
        noise_kinds("lower,loud")
