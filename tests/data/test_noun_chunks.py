"""Noun chunks by UD relations, in English and French word order."""

from __future__ import annotations

import pytest

from biatt.data.sentence import Sentence

EXAMPLES = [
    (
        "the/DET/3/det old/ADJ/3/amod dog/NOUN/6/nmod:poss 's/PART/3/case two/NUM/6/nummod bowls/NOUN/0/root "
        "of/ADP/8/case water/NOUN/6/nmod",
        ["the old dog 's two bowls", "water"],
    ),
    (
        "Anna/PROPN/4/nsubj and/CCONJ/3/cc Tom/PROPN/1/conj met/VERB/0/root President/PROPN/4/obj "
        "Lee/PROPN/5/flat",
        ["Anna", "Tom", "President Lee"],
    ),
    (
        "une/DET/2/det voiture/NOUN/0/root rouge/ADJ/2/amod de/ADP/5/case sport/NOUN/2/nmod",
        ["une voiture rouge", "sport"],
    ),
    (
        "very/ADV/2/advmod black/ADJ/5/amod and/CCONJ/4/cc white/ADJ/2/conj cats/NOUN/7/nsubj "
        "who/PRON/7/nsubj slept/VERB/0/root",
        ["very black and white cats", "who"],
    ),
    (
        "the/DET/2/det man/NOUN/7/nmod:poss in/ADP/5/case the/DET/5/det moon/NOUN/2/nmod "
        "'s/PART/2/case face/NOUN/0/root",
        ["the man in the moon 's face"],
    ),
    ("apple/NOUN/2/compound pie/NOUN/0/root", ["apple pie"]),
    ("a/NOUN/2/amod b/NOUN/1/amod", []),
    ("a/NOUN/0/root x/PUNCT/1/punct b/ADJ/1/amod", ["a"]),
    ("run/VERB/0/root", []),
]


@pytest.mark.parametrize(("words", "chunks"), EXAMPLES)
def test_chunks_are_those_of_the_rule(words: str, chunks: list[str]) -> None:
    forms, upos, heads, deprels = zip(*(word.split("/") for word in words.split()), strict=True)
    sentence = Sentence.from_words(forms, upos=upos, heads=list(map(int, heads)), deprels=deprels)
    assert [chunk.text for chunk in sentence.noun_chunks] == chunks
