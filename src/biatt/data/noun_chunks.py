"""Noun phrases without their clauses and prepositional phrases, by the relations of Universal Dependencies.

A chunk has a head: a NOUN, PROPN or PRON that is not itself a modifier of the kinds below. The chunk is the
head with those words next to it that belong to it by one of these relations, or are below such a word:
determiners (det), adjectives (amod), numbers (nummod), classifiers (clf), compounds and names (compound,
flat, fixed, goeswith) and possessors (nmod:poss). So "the old dog's two bowls of water" has the chunks "the
old dog's two bowls" and "water". A chunk inside another one does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from biatt.data.words import Span, children_of

if TYPE_CHECKING:
    from biatt.data.sentence import Sentence

NOMINAL = {"NOUN", "PROPN", "PRON"}
MODIFIERS = {"det", "amod", "nummod", "clf", "compound", "flat", "fixed", "goeswith"}  # with all subtypes
POSSESSOR = "nmod:poss"


def noun_chunks(sentence: Sentence) -> Iterator[Span]:
    """The noun chunks of a sentence, from left to right."""
    end = 0
    for chunk in sorted(_all(sentence), key=lambda chunk: (chunk.start, -chunk.end)):
        if chunk.end > end:
            yield chunk
            end = chunk.end


def _all(sentence: Sentence) -> Iterator[Span]:
    """The chunks of all heads: any two of them are apart, or one is inside the other."""
    deprels = sentence.deprels
    modifies = [deprel.partition(":")[0] in MODIFIERS or deprel == POSSESSOR for deprel in deprels]
    children = children_of(sentence.heads)
    for head, tag in enumerate(sentence.upos, 1):
        if tag not in NOMINAL or modifies[head - 1]:
            continue
        members, below = {head}, [child for child in children[head] if modifies[child - 1]]
        while below:
            word = below.pop()
            if word not in members:  # a file can have a cycle
                members.add(word)
                below += children[word]
        first = last = head
        while first - 1 in members:
            first -= 1
        while last + 1 in members:
            last += 1
        yield Span(sentence, first - 1, last)
