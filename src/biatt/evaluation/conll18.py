"""The scores of the CoNLL 2018 shared task, which compares words of two tokenisations of one text.

https://universaldependencies.org/conll18/evaluation.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from biatt.data.columns import FEATS, LEMMA, UPOS, XPOS
from biatt.evaluation.alignment import Layout
from biatt.evaluation.results import Score
from biatt.evaluation.trees import Tree

# The shared task's lists; a word with another relation (punct above all) is neither.
# fmt: off
CONTENT_RELATIONS = frozenset({
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl",
    "advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound",
    "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep",
})
FUNCTION_RELATIONS = frozenset({"aux", "cop", "mark", "det", "clf", "case", "cc"})
UNIVERSAL_FEATURES = frozenset({
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case",
    "Definite", "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person",
    "Polite",
})
# fmt: on

ROOT = -1  # the head of a root
NOT_IN_GOLD = -2  # stands for a system word that is aligned with no gold word


class Tags(NamedTuple):
    upos: str
    xpos: str
    feats: str  # the universal features only, sorted


class Words:
    """The columns of a whole file; words are counted from 0."""

    def __init__(self, layout: Layout, trees: Sequence[Tree]) -> None:
        self.layout = layout
        rows = [row for sentence in layout.source for row in sentence.rows]
        self.tags = [Tags(row[UPOS], row[XPOS], _universal(row[FEATS])) for row in rows]
        self.lemmas = [row[LEMMA] for row in rows]
        self.relations = [relation for tree in trees for relation in tree.relations]
        self.counted = [counted for tree in trees for counted in tree.counted]
        self.content = [
            counted and relation in CONTENT_RELATIONS
            for counted, relation in zip(self.counted, self.relations, strict=True)
        ]
        self.heads: list[int] = []
        for tree in trees:
            first = len(self.heads)
            self.heads += [first + head - 1 if head else ROOT for head in tree.heads]
        self.function_words: dict[int, list[int]] = {}  # by head
        for word, (head, relation) in enumerate(zip(self.heads, self.relations, strict=True)):
            if relation in FUNCTION_RELATIONS:
                self.function_words.setdefault(head, []).append(word)

    def __len__(self) -> int:
        return len(self.heads)

    def function_words_of(self, head: int) -> list[tuple[int, str, str, str]]:
        """The function words that depend on a word: position, relation, UPOS and universal features."""
        words = self.function_words.get(head, [])
        return [(word, self.relations[word], self.tags[word].upos, self.tags[word].feats) for word in words]


def shared_task_scores(gold: Words, system: Words, aligned: list[tuple[int, int]]) -> dict[str, Score]:
    """All scores, in the official order; `aligned` holds pairs of a gold word and a system word."""
    correct = _correct_words(gold, system, aligned)

    def spans(name: Literal["tokens", "sentences"]) -> Score:
        in_gold, in_system = getattr(gold.layout, name), getattr(system.layout, name)
        return Score(len(set(in_gold) & set(in_system)), len(in_gold), len(in_system))

    def words(name: str, in_gold: list[bool], in_system: list[bool]) -> Score:
        return Score(correct[name], sum(in_gold), sum(in_system), sum(in_gold[g] for g, _ in aligned))

    every = [True] * len(gold), [True] * len(system)
    counted, content = (gold.counted, system.counted), (gold.content, system.content)
    return {
        "Tokens": spans("tokens"),
        "Sentences": spans("sentences"),
        "Words": Score(len(aligned), len(gold), len(system)),
        **{name: words(name, *every) for name in ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas")},
        **{name: words(name, *counted) for name in ("UAS", "LAS")},
        **{name: words(name, *content) for name in ("CLAS", "MLAS", "BLEX")},
    }


def _correct_words(gold: Words, system: Words, aligned: list[tuple[int, int]]) -> Counter[str]:
    """The number of correct words by metric."""
    gold_of = dict.fromkeys(range(len(system)), NOT_IN_GOLD) | {s: g for g, s in aligned}
    gold_of[ROOT] = ROOT
    correct: Counter[str] = Counter()
    for g, s in aligned:
        gold_tags, tags = gold.tags[g], system.tags[s]
        lemma = gold.lemmas[g] in ("_", system.lemmas[s])  # "_" in gold: not annotated, so never wrong
        correct["UPOS"] += gold_tags.upos == tags.upos
        correct["XPOS"] += gold_tags.xpos == tags.xpos
        correct["UFeats"] += gold_tags.feats == tags.feats
        correct["AllTags"] += gold_tags == tags
        correct["Lemmas"] += lemma
        if not gold.counted[g] or gold.heads[g] != gold_of[system.heads[s]]:
            continue
        correct["UAS"] += 1
        if gold.relations[g] != system.relations[s]:
            continue
        correct["LAS"] += 1
        if gold.content[g]:
            correct["CLAS"] += 1
            correct["BLEX"] += lemma
            function_words = [(gold_of[word], *rest) for word, *rest in system.function_words_of(s)]
            correct["MLAS"] += (
                gold_tags.upos == tags.upos
                and gold_tags.feats == tags.feats
                and gold.function_words_of(g) == function_words
            )
    return correct


@lru_cache(maxsize=1 << 16)
def _universal(feats: str) -> str:
    return "|".join(sorted(item for item in feats.split("|") if item.split("=", 1)[0] in UNIVERSAL_FEATURES))
