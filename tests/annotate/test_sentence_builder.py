"""From labels to sentences: places and text are exact, whatever the network says about whatever text."""

from __future__ import annotations

import random
import sys
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from biatt.annotate.multiword import Multiword
from biatt.annotate.sentence_builder import build_sentences, cut_text
from biatt.data.conll import dumps, reads
from biatt.data.document import Document
from builders import random_tokeniser
from examples import examples

MULTIWORD = Multiword.learned([("ab", ["a", "b"]), ("can't", ["ca", "n't"]), ("du", ["de", "le"])])
COUNT = 3_000
# What texts are made of: any character, and more often those that are hard to get right.
HARD = [*" \t\n\r\u00a0\u2003\u3000\u2028\x0b\x1c\x85|\\_#=-.,'a", "\r\n", "  ", "\n\n", "can't", "du", "ab"]
HARD += ["e\u0301", " \u0301", "\u0600 ", "\u200d", "\U0001f468\u200d\U0001f469", "\U0001f1e9\U0001f1ea"]
HARD += ["\ufeff", "\u0915\u094d\u0937", "\u1100\u1161", "SpaceAfter=No", "Zoë", "日本", "مرحبا"]
TEXTS = st.lists(st.sampled_from(HARD) | st.characters(), max_size=40).map("".join)


def random_texts(count: int) -> list[str]:
    generator = random.Random(7)

    def character() -> str:
        if generator.random() < 0.7:
            return generator.choice(HARD)
        code = generator.choice([0x80, 0x250, 0x3000, 0xD800, sys.maxunicode])
        return chr(generator.randrange(code))

    return ["".join(character() for _ in range(generator.randrange(30))) for _ in range(count)]


def without_space(text: str) -> str:
    return "".join(text.removeprefix("\ufeff").split())


def split(text: str, seed: int, *, spaces: bool = False) -> Document:
    """A document with random labels."""
    size = len(without_space(text))
    if not size:
        return Document(text, [])
    drawn = np.random.default_rng(seed).random((size, 2))
    labels = ((drawn > 0.7).astype(np.int32) + (drawn > 0.95)).astype(np.int32)
    return Document(text, build_sentences(text, cut_text(text, labels, [size - 1], spaces=spaces), MULTIWORD))


def check(document: Document) -> None:
    """Places, text and clusters of all tokens and sentences, and the text that a written file gives back."""
    text = document.text
    boundaries = {0, *(cluster.end() for cluster in regex.finditer(r"\X", text))}
    for sentence in document:
        assert text[sentence.start_char : sentence.end_char] == sentence.text
        for token in sentence.tokens:
            assert text[token.start_char : token.end_char] == token.text
            assert " ".join(token.text.split()) == token.form
            assert {token.start_char, token.end_char} <= boundaries
    tokens = document.tokens
    assert "".join("".join(token.form.split()) for token in tokens) == without_space(text)
    assert all(a.end_char <= b.start_char for a, b in pairwise(tokens))
    if any("\ud800" <= character <= "\udfff" for character in text):  # no file can have it
        return
    again = reads(dumps(document), format="conllu")
    if tokens:
        whole = Document.from_sentences(again)
        assert whole == document
        assert [token.start_char for token in whole.tokens] == [token.start_char for token in tokens]


@pytest.mark.slow
def test_places_and_text_of_many_random_texts_are_exact() -> None:
    for seed, text in enumerate(random_texts(COUNT)):
        check(split(text, seed, spaces=seed % 4 == 0))


@examples(60)
@given(TEXTS, st.integers(0, 99), st.booleans())
def test_places_and_text_are_exact(text: str, seed: int, spaces: bool) -> None:
    document = split(text, seed, spaces=spaces)
    check(document)
    for word in document.words:
        assert word.token.start_char <= word.start_char < word.end_char <= word.token.end_char


@examples(60)
@given(st.lists(TEXTS, max_size=3), st.booleans())
def test_tokeniser_gives_exact_places(texts: list[str], spaces: bool) -> None:
    tokeniser = random_tokeniser(spaces=spaces)
    for text, sentences in zip(texts, tokeniser.split(texts), strict=True):
        check(Document(text, sentences))
        for sentence in sentences:
            assert [row[0] for row in sentence.rows] == [str(i) for i in range(1, len(sentence) + 1)]


def cut(text: str, *ends: int) -> list[list[str]]:
    """The tokens of each sentence of a text with these labels of its characters."""
    labels = np.stack([np.array(ends), np.zeros(len(ends), int)], 1).astype(np.int32)
    sentences = build_sentences(text, cut_text(text, labels, [len(ends) - 1], spaces=False), MULTIWORD)
    return [[token.text for token in sentence.tokens] for sentence in sentences]


def test_labels_cut_the_text() -> None:
    assert cut("ab  c", 1, 0, 2) == [["a", "b", "c"]]
    assert cut("ab. c", 0, 1, 2, 0) == [["ab", "."], ["c"]]


def test_cut_inside_of_a_cluster_is_made_after_it() -> None:
    assert cut("e\u0301a", 2, 0, 0) == [["e\u0301"], ["a"]]
    assert cut("\U0001f1e9\U0001f1ea!", 1, 0, 0) == [["\U0001f1e9\U0001f1ea", "!"]]


def test_space_with_a_mark_is_part_of_its_token() -> None:
    assert cut("a \u0301b", 0, 0, 0) == [["a", " \u0301b"]]
    assert cut("\u0600 b", 0, 0) == [["\u0600 ", "b"]]


@pytest.mark.parametrize(
    ("text", "misc"),
    [
        ("a b", ["_", "SpaceAfter=No"]),
        ("a\r\nb ", ["SpacesAfter=\\r\\n", "SpacesAfter=\\s"]),
        ("\ufeff a\u00a0b\n", ["SpacesBefore=\ufeff\\s|SpacesAfter=\u00a0", "SpacesAfter=\\n"]),
    ],
)
def test_space_is_written_by_the_convention_of_udpipe(text: str, misc: list[str]) -> None:
    assert [str(token.misc) for token in split(text, 1).tokens] == misc
