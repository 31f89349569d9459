"""How well a system's trees agree with gold trees.

Two manners of scoring: that of CoNLL-X (``conllx``: relations compared whole, words made of punctuation left
out by default, as eval.pl 1.9 does) and that of the CoNLL 2018 shared task (``ud``: relation subtypes cut,
punctuation included, tokenisation scored too). Every value is a fraction between 0 and 1; only
:meth:`Evaluation.tables` gives percentages.

Leaving punctuation out means that no arc *to* such a word is counted, in any figure about trees, nor makes
another arc a crossed one. Arcs from ROOT, at position 0, may cross. Only so does the CoNLL 2006 Danish test
set have the 1.80 % of crossed arcs of the paper's Table 3. Lengths of sentences and arcs are found with all
words in place.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from pathlib import Path
from typing import Literal, NamedTuple

from biatt.data.arcs import crossing_arcs
from biatt.data.conll import read
from biatt.data.sentence import FEATS, HEAD, LEMMA, UPOS, XPOS, Sentence
from biatt.errors import BiattError, FormatError
from biatt.evaluation.alignment import Layout, align, lay_out, line_of
from biatt.evaluation.results import (
    Attachment,
    Breakdown,
    Evaluation,
    Punctuation,
    Ratio,
    RelationScore,
    Score,
    Style,
    Table,
)

__all__ = [
    "Attachment",
    "Breakdown",
    "Evaluation",
    "Punctuation",
    "Ratio",
    "RelationScore",
    "Score",
    "Style",
    "Table",
    "evaluate",
    "is_punctuation",
]

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

# The longest of each bin; an arc from the root has no length.
SENTENCE_LENGTHS = {"1-10": 10, "11-20": 20, "21-30": 30, "31-40": 40, "41-50": 50, ">50": math.inf}
ARC_LENGTHS = {"root": 0, "1": 1, "2": 2, "3-6": 6, "7-10": 10, ">10": math.inf}


def evaluate(
    gold: str | Path | Iterable[Sentence],
    system: str | Path | Iterable[Sentence],
    *,
    style: Style | None = None,
    punctuation: Punctuation | None = None,
) -> Evaluation:
    """Score a system's trees against gold trees.

    style: "conllx" or "ud"; by default that of the gold file's format.
    punctuation: "ignore" words made only of Unicode punctuation, or "include" them; by default ignored in
    style conllx and included in style ud. Tokens, Sentences, Words, tags and lemmas always include them.
    """
    gold, system = sentences_of(gold), sentences_of(system)
    style, punctuation = manner_of(gold, style, punctuation)
    ignore = punctuation == "ignore"
    gold_trees, system_trees = trees_of(gold, style), trees_of(system, style)
    if style == "conllx":
        check_same_words(gold, system)
        breakdown = _break_down(gold_trees, system_trees, ignore=ignore)
        unlabeled, labeled = breakdown.words.unlabeled, breakdown.words.labeled
        ratios = {"UAS": unlabeled, "LAS": labeled, "LA": breakdown.label}
        scores = {name: Score(r.correct, r.total, r.total, r.total) for name, r in ratios.items()}
        return Evaluation(style, punctuation, scores, breakdown)
    gold_layout, system_layout = lay_out(gold), lay_out(system)
    pairs = align(gold_layout, system_layout)
    same_words = list(map(len, gold)) == list(map(len, system)) and len(pairs) == len(gold_layout.words)
    return Evaluation(
        style,
        punctuation,
        _shared_task_scores(
            _Words(gold_layout, gold_trees, ignore), _Words(system_layout, system_trees, ignore), pairs
        ),
        _break_down(gold_trees, system_trees, ignore=ignore) if same_words else None,
    )


@lru_cache(maxsize=1 << 16)
def is_punctuation(form: str) -> bool:
    """Is every character of Unicode category P? (Symbols such as $ and + are not.)"""
    return all(unicodedata.category(character).startswith("P") for character in form)


class Tree(NamedTuple):
    forms: list[str]
    heads: list[int]
    relations: list[str]  # as the style compares them


def sentences_of(source: str | Path | Iterable[Sentence]) -> list[Sentence]:
    return list(read(source) if isinstance(source, (str, Path)) else source)


def manner_of(
    gold: Sequence[Sentence], style: Style | None, punctuation: Punctuation | None
) -> tuple[Style, Punctuation]:
    """How to score: as chosen, else by the format of the gold sentences, of which there must be one."""
    if not gold:
        raise BiattError("The gold file holds no sentence, so there is nothing to evaluate against.")
    style = style or ("ud" if gold[0].format == "conllu" else "conllx")
    return style, punctuation or ("include" if style == "ud" else "ignore")


def trees_of(sentences: Sequence[Sentence], style: Style) -> list[Tree]:
    trees = []
    for sentence in sentences:
        heads = sentence.heads
        for word, head in enumerate(heads):
            if not 0 <= head <= len(heads):
                raise FormatError(
                    f"the head of word {word + 1} is {sentence.rows[word][HEAD]!r}; "
                    f"a number from 0 to {len(heads)} was expected.",
                    source=sentence.source,
                    line=line_of(sentence, word),
                )
        relations = sentence.deprels
        if style == "ud":
            relations = [relation.split(":", 1)[0] for relation in relations]
        trees.append(Tree(sentence.forms, heads, relations))
    return trees


def check_same_words(
    gold: Sequence[Sentence], system: Sequence[Sentence], *, name: str = "the system file"
) -> None:
    """Complain of the first word or sentence that is not in both; `name` is that of a system without any."""
    for expected, found in zip(gold, system, strict=False):
        there = f"{expected.source}, line"
        for word, (gold_form, form) in enumerate(zip(expected.forms, found.forms, strict=False)):
            if form != gold_form:
                raise FormatError(
                    f"word {word + 1} is {form!r}, but {there} {line_of(expected, word)}, has "
                    f"{gold_form!r}; the same words were expected.",
                    source=found.source,
                    line=line_of(found, word),
                )
        if len(found) != len(expected):
            raise FormatError(
                f"this sentence has {len(found)} words, but that of {there} {expected.line}, has "
                f"{len(expected)}; the same words were expected.",
                source=found.source,
                line=found.line,
            )
    if len(gold) != len(system):
        source = system[-1].source if system else name
        raise FormatError(
            f"it holds {len(system)} sentences, but {gold[0].source} holds {len(gold)}; "
            "the same sentences were expected.",
            source=source,
        )


class Arc(NamedTuple):
    """A gold arc beside the system's arc to the same word."""

    sentence: int
    sentence_length: str  # lengths are names of bins
    crossed: bool
    relation: str
    found_relation: str
    length: str
    found_length: str
    right_head: bool

    @property
    def right(self) -> bool:
        return self.right_head and self.relation == self.found_relation


def arcs_of(gold: Sequence[Tree], system: Sequence[Tree], *, ignore: bool) -> Iterator[Arc]:
    for number, (tree, found) in enumerate(zip(gold, system, strict=True)):
        sentence_length = _bin(len(tree.forms), SENTENCE_LENGTHS)
        counted = [not (ignore and is_punctuation(form)) for form in tree.forms]
        crossing = crossing_arcs(tree.heads, among=counted)
        for word in compress(range(len(counted)), counted):
            yield Arc(
                number,
                sentence_length,
                crossing[word],
                tree.relations[word],
                found.relations[word],
                _arc_bin(word, tree.heads[word]),
                _arc_bin(word, found.heads[word]),
                tree.heads[word] == found.heads[word],
            )


def _break_down(gold: Sequence[Tree], system: Sequence[Tree], *, ignore: bool) -> Breakdown:
    arcs = list(arcs_of(gold, system, ignore=ignore))
    attached = [arc for arc in arcs if arc.right_head]
    correct = [arc for arc in arcs if arc.right]

    def ratios(key: Callable[[Arc], str], names: Iterable[str]) -> dict[str, Attachment]:
        every, heads, both = (Counter(map(key, some)) for some in (arcs, attached, correct))
        return {
            name: Attachment(Ratio(heads[name], every[name]), Ratio(both[name], every[name]))
            for name in names
        }

    sentences = {arc.sentence for arc in arcs}
    wrong_head = {arc.sentence for arc in arcs if not arc.right_head}
    wrong = {arc.sentence for arc in arcs if not arc.right}
    crossing = ratios(lambda arc: "crossed" if arc.crossed else "uncrossed", ("crossed", "uncrossed"))

    relations = Counter(arc.relation for arc in arcs)
    found_relations = Counter(arc.found_relation for arc in arcs)
    attached_relations = Counter(arc.relation for arc in attached)
    correct_relations = Counter(arc.relation for arc in correct)

    lengths = Counter(arc.length for arc in arcs)
    found_lengths = Counter(arc.found_length for arc in arcs)
    attached_lengths = Counter(arc.length for arc in attached)
    return Breakdown(
        words=Attachment(Ratio(len(attached), len(arcs)), Ratio(len(correct), len(arcs))),
        label=Ratio(sum(arc.relation == arc.found_relation for arc in arcs), len(arcs)),
        sentences=Attachment(
            Ratio(len(sentences - wrong_head), len(sentences)), Ratio(len(sentences - wrong), len(sentences))
        ),
        crossed=crossing["crossed"].unlabeled,
        uncrossed=crossing["uncrossed"].unlabeled,
        relations={
            name: RelationScore(
                correct_relations[name],
                relations[name],
                found_relations[name],
                attached=attached_relations[name],
            )
            for name in sorted(relations | found_relations, key=lambda name: (-relations[name], name))
        },
        sentence_lengths=ratios(lambda arc: arc.sentence_length, SENTENCE_LENGTHS),
        arc_lengths={
            name: Score(attached_lengths[name], lengths[name], found_lengths[name]) for name in ARC_LENGTHS
        },
    )


def _bin(length: int, bins: dict[str, float]) -> str:
    return next(name for name, longest in bins.items() if length <= longest)


def _arc_bin(word: int, head: int) -> str:
    return _bin(abs(head - word - 1) if head else 0, ARC_LENGTHS)


class _Words:
    """The columns of a whole file, its words counted from 0; the head of a root is -1."""

    def __init__(self, layout: Layout, trees: Sequence[Tree], ignore: bool) -> None:
        self.layout = layout
        self.tags = [(row[UPOS], row[XPOS], _universal(row[FEATS])) for s in layout.source for row in s.rows]
        self.lemmas = [row[LEMMA] for sentence in layout.source for row in sentence.rows]
        self.relations = [relation for tree in trees for relation in tree.relations]
        self.kept = [not (ignore and is_punctuation(form)) for tree in trees for form in tree.forms]
        self.content = [
            kept and relation in CONTENT_RELATIONS
            for kept, relation in zip(self.kept, self.relations, strict=True)
        ]
        self.heads: list[int] = []
        for tree in trees:
            first = len(self.heads)
            self.heads += [first + head - 1 if head else -1 for head in tree.heads]
        self.function_words: dict[int, list[int]] = {}
        for word, (head, relation) in enumerate(zip(self.heads, self.relations, strict=True)):
            if relation in FUNCTION_RELATIONS:
                self.function_words.setdefault(head, []).append(word)

    def marking(self, word: int) -> list[tuple[int, str, str, str]]:
        """The function words that depend on a word: place, relation, UPOS and FEATS."""
        children = self.function_words.get(word, [])
        return [
            (child, self.relations[child], self.tags[child][0], self.tags[child][2]) for child in children
        ]


@lru_cache(maxsize=1 << 16)
def _universal(feats: str) -> str:
    return "|".join(sorted(item for item in feats.split("|") if item.split("=", 1)[0] in UNIVERSAL_FEATURES))


def _shared_task_scores(gold: _Words, system: _Words, pairs: list[tuple[int, int]]) -> dict[str, Score]:
    gold_of = dict.fromkeys(range(len(system.heads)), -2)  # -2: a system word that gold does not have
    gold_of |= {s: g for g, s in pairs}
    gold_of[-1] = -1  # the root is aligned with the root

    right: Counter[str] = Counter()
    for g, s in pairs:
        tags, found_tags = gold.tags[g], system.tags[s]
        lemma = gold.lemmas[g] in ("_", system.lemmas[s])  # "_" in gold: not annotated, so never wrong
        right["UPOS"] += tags[0] == found_tags[0]
        right["XPOS"] += tags[1] == found_tags[1]
        right["UFeats"] += tags[2] == found_tags[2]
        right["AllTags"] += tags == found_tags
        right["Lemmas"] += lemma
        if not gold.kept[g] or gold.heads[g] != gold_of[system.heads[s]]:
            continue
        right["UAS"] += 1
        if gold.relations[g] != system.relations[s]:
            continue
        right["LAS"] += 1
        if gold.content[g]:
            right["CLAS"] += 1
            right["BLEX"] += lemma
            right["MLAS"] += (
                tags[0] == found_tags[0]
                and tags[2] == found_tags[2]
                and gold.marking(g) == [(gold_of[word], *rest) for word, *rest in system.marking(s)]
            )

    def spans(name: Literal["tokens", "sentences"]) -> Score:
        in_gold, in_system = getattr(gold.layout, name), getattr(system.layout, name)
        return Score(len(set(in_gold) & set(in_system)), len(in_gold), len(in_system))

    def words(name: str, gold_counts: list[bool], system_counts: list[bool]) -> Score:
        aligned = sum(gold_counts[g] for g, _ in pairs)
        return Score(right[name], sum(gold_counts), sum(system_counts), aligned)

    every = [True] * len(gold.heads), [True] * len(system.heads)
    kept, content = (gold.kept, system.kept), (gold.content, system.content)
    return {
        "Tokens": spans("tokens"),
        "Sentences": spans("sentences"),
        "Words": Score(len(pairs), len(gold.heads), len(system.heads)),
        **{name: words(name, *every) for name in ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas")},
        **{name: words(name, *kept) for name in ("UAS", "LAS")},
        **{name: words(name, *content) for name in ("CLAS", "MLAS", "BLEX")},
    }
