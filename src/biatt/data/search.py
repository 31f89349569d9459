"""Finding dependency patterns (`patterns`) in sentences.

A pattern is compiled into closures once. Each is a generator of the ways to match its part: tuples that have,
for each slot of the pattern, the number of a word, or 0 where the slot is in no part that matched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

from biatt.data.columns import DEPREL, FORM, HEAD
from biatt.data.patterns import (
    ANYWHERE,
    All,
    Condition,
    Either,
    Expression,
    Node,
    Not,
    Relation,
    Value,
    read_pattern,
)
from biatt.data.sentence import Sentence
from biatt.data.words import Word

Row = list[str]
RowTest = Callable[[Row], bool]
Words = tuple[int, ...]  # the word of each slot
_CACHED_VALUES = 1 << 16  # of a column, whose test is remembered


class Match:
    """One way in which a pattern matches a sentence; words have their numbers, from 1."""

    __slots__ = ("names", "number", "numbers", "sentence")

    def __init__(self, sentence: Sentence, words: Words, names: dict[str, int]) -> None:
        self.sentence = sentence
        self.number = words[0]  # the word of the pattern's first node
        self.numbers = sorted(set(filter(None, words)))  # all words that the pattern describes, each once
        self.names = names  # the number of each named word

    @property
    def word(self) -> Word:
        """The word of the pattern's first node."""
        return self.sentence[self.number - 1]

    def __getitem__(self, name: str) -> Word:
        return self.sentence[self.names[name] - 1]

    def __repr__(self) -> str:
        forms = self.sentence.forms
        named = "".join(f", {name} = {forms[number - 1]}" for name, number in self.names.items())
        return f"<Match of {forms[self.number - 1]} ({self.number}){named}>"


class Search:
    """A pattern, ready to be found in any number of sentences."""

    def __init__(self, pattern: str) -> None:
        self.pattern = read_pattern(pattern)
        self._first = _row_test(self.pattern.first)
        self._needed = [test for test in map(_relation_row_test, _needed(self.pattern.first)) if test]
        self._solve = _node(self.pattern.first, self.pattern.names)

    def find(self, sentence: Sentence) -> Iterator[Match]:
        """All matches, by the word of the first node from left to right, each once."""
        rows = sentence.rows
        first = self._first
        starts = [i for i, row in enumerate(rows, 1) if first(row)] if first else range(1, len(rows) + 1)
        if not starts or not all(any(map(test, rows)) for test in self._needed):
            return
        tree, nothing = _Tree(sentence), (0,) * self.pattern.slots
        for start in starts:
            for words in dict.fromkeys(self._solve(tree, start, nothing)):
                yield Match(sentence, words, self._names(words))

    def _names(self, words: Words) -> dict[str, int]:
        named = ((name, max(words[slot] for slot in slots)) for name, slots in self.pattern.names.items())
        return {name: number for name, number in named if number}


@lru_cache(128)
def search(pattern: str) -> Search:
    """The search for this pattern, compiled once."""
    return Search(pattern)


class _Tree:
    """The arcs of a sentence; they may be incomplete, or have cycles, which chains do not go round twice."""

    def __init__(self, sentence: Sentence) -> None:
        self.rows = sentence.rows
        self.heads = [0, *sentence.heads]  # entry 0 is ROOT's

    @cached_property
    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.heads]
        for word, head in enumerate(self.heads):
            if head > 0:
                children[head].append(word)
        return children


# Where the second word of a relation can be, given the first

Candidates = Callable[[_Tree, int, Relation], Iterable[int]]


def _head(tree: _Tree, word: int, _: Relation) -> Iterable[int]:
    return (tree.heads[word],) if tree.heads[word] > 0 else ()


def _children(tree: _Tree, word: int, _: Relation) -> Iterable[int]:
    return tree.children[word]


def _ancestors(tree: _Tree, word: int, relation: Relation) -> Iterator[int]:
    seen, distance = {word}, 0
    while (head := tree.heads[word]) > 0 and head not in seen and distance != relation.longest:
        distance += 1
        if distance >= relation.shortest:
            yield head
        seen.add(head)
        word = head


def _descendants(tree: _Tree, word: int, relation: Relation) -> Iterator[int]:
    start, level, distance = word, tree.children[word], 0
    while level and distance != relation.longest:
        distance += 1
        if distance >= relation.shortest:
            yield from level
        level = [child for head in level for child in tree.children[head] if child != start]


def _within(candidates: Candidates, place: Callable[[int, int], bool]) -> Candidates:
    """Only the candidates for which `place` holds of the two words' numbers."""
    return lambda tree, word, relation: [c for c in candidates(tree, word, relation) if place(word, c)]


def _everywhere(tree: _Tree, _: int, __: Relation) -> Iterable[int]:
    return range(1, len(tree.heads))


def _siblings(tree: _Tree, word: int, _: Relation) -> Iterable[int]:
    head = tree.heads[word]
    return [child for child in tree.children[head] if child != word] if head > 0 else ()


_CANDIDATES: dict[str, Candidates] = {
    "<": _head,
    ">": _children,
    "<<": _ancestors,
    ">>": _descendants,
    "<++": _within(_head, lambda a, b: a < b),
    "<--": _within(_head, lambda a, b: a > b),
    ">++": _within(_children, lambda a, b: a < b),
    ">--": _within(_children, lambda a, b: a > b),
    "==": lambda _, word, __: (word,),
    ".": lambda tree, word, _: (word + 1,) if word + 1 < len(tree.heads) else (),
    "-": lambda _, word, __: (word - 1,) if word > 1 else (),
    "..": lambda tree, word, _: range(word + 1, len(tree.heads)),
    "--": lambda _, word, __: range(1, word),
    "$+": _within(_siblings, lambda a, b: a + 1 == b),
    "$-": _within(_siblings, lambda a, b: a - 1 == b),
    "$++": _within(_siblings, lambda a, b: a < b),
    "$--": _within(_siblings, lambda a, b: a > b),
    ANYWHERE: _everywhere,
}


# Tests of one word


def _value_test(value: Value) -> Callable[[str], bool]:
    if value.regex:
        expression = re.compile(value.text)
        return lambda text: expression.fullmatch(text) is not None
    return lambda text: text == value.text


def _column_test(test: Condition) -> RowTest:
    """Missing values, written _, are equal to _ and match no regular expression; a form is never missing."""
    column, key, value, negated = test
    if key is None and not value.regex and not negated:
        return lambda row: row[column] == value.text  # the most frequent kind: without a call
    holds = _value_test(value)

    @lru_cache(_CACHED_VALUES)
    def decide(text: str) -> bool:
        if key is not None:
            items = (item.partition("=") for item in text.split("|"))
            holds_here = any(name == key and holds(content) for name, _, content in items)
        else:
            holds_here = (text != "_" or column == FORM or not value.regex) and holds(text)
        return holds_here is not negated

    return lambda row: decide(row[column])


def _conjunction(tests: list[RowTest]) -> RowTest | None:
    if len(tests) > 1:
        return lambda row: all(test(row) for test in tests)
    return tests[0] if tests else None


def _row_test(node: Node, label: Value | None = None) -> RowTest | None:
    """What a node, and the relation towards it if the node depends, says of its word; None: nothing."""
    tests = [_column_test(test) for test in node.tests]
    if node.root:
        tests.append(lambda row: row[HEAD] == "0")
    both = _conjunction(tests)
    if node.negated:
        positive = both
        both = (lambda row: not positive(row)) if positive else (lambda _: False)
    labelled = [_label_test(label)] if label else []
    return _conjunction([*labelled, *([both] if both else [])])


def _label_test(label: Value) -> RowTest:
    return _column_test(Condition(DEPREL, None, label, False))


def _first_depends(symbol: str) -> bool:
    """Whether a label is the relation of the first word, which is the lower one, and not of the second."""
    return symbol.startswith("<")


def _relation_row_test(relation: Relation) -> RowTest | None:
    return _row_test(relation.node, None if _first_depends(relation.symbol) else relation.label)


def _needed(node: Node) -> Iterator[Relation]:
    """The relations without which nothing matches."""
    parts: list[Expression] = [node.relations] if node.relations else []
    for part in parts:
        if isinstance(part, All):
            parts += part.parts
        elif isinstance(part, Relation):
            yield part
            yield from _needed(part.node)


# Generators of all ways to match a part

Solver = Callable[[_Tree, int, Words], Iterator[Words]]
Names = dict[str, tuple[int, ...]]


def _node(node: Node, names: Names) -> Solver:
    """All ways to match a node and its relations at a word; the word itself has been tested."""
    slot = node.slot
    same = [other for other in names[node.name] if other < slot] if node.name else []
    relations = _expression(node.relations, names) if node.relations else None

    def solve(tree: _Tree, word: int, words: Words) -> Iterator[Words]:
        for other in same:
            if words[other] not in (0, word):
                return
        words = (*words[:slot], word, *words[slot + 1 :])
        if relations is None:
            yield words
        else:
            yield from relations(tree, word, words)

    return solve


def _expression(part: Expression, names: Names) -> Solver:
    if isinstance(part, Relation):
        return _relation(part, names)
    if isinstance(part, All):
        return _all([_expression(inner, names) for inner in part.parts])
    if isinstance(part, Either):
        branches = [_expression(inner, names) for inner in part.parts]
        return lambda tree, word, words: chain.from_iterable(b(tree, word, words) for b in branches)
    inner = _expression(part.part, names)
    if isinstance(part, Not):
        return lambda tree, word, words: iter(() if any(inner(tree, word, words)) else (words,))
    return _optional(inner)


def _all(parts: list[Solver]) -> Solver:
    def solve(tree: _Tree, word: int, words: Words, done: int = 0) -> Iterator[Words]:
        if done == len(parts):
            yield words
            return
        for extended in parts[done](tree, word, words):
            yield from solve(tree, word, extended, done + 1)

    return solve


def _optional(inner: Solver) -> Solver:
    def solve(tree: _Tree, word: int, words: Words) -> Iterator[Words]:
        matched = False
        for extended in inner(tree, word, words):
            matched = True
            yield extended
        if not matched:
            yield words

    return solve


def _relation(relation: Relation, names: Names) -> Solver:
    if relation.symbol == "<>":
        sides: list[Any] = [
            _relation(Relation(symbol, relation.node, relation.label), names) for symbol in "<>"
        ]
        return lambda tree, word, words: chain.from_iterable(side(tree, word, words) for side in sides)
    candidates = _CANDIDATES[relation.symbol]
    accepts = _relation_row_test(relation) or (lambda _: True)
    label = relation.label if _first_depends(relation.symbol) else None
    first = _label_test(label) if label else None
    node = _node(relation.node, names)

    def solve(tree: _Tree, word: int, words: Words) -> Iterator[Words]:
        if first is not None and not first(tree.rows[word - 1]):
            return
        for candidate in candidates(tree, word, relation):
            if accepts(tree.rows[candidate - 1]):
                yield from node(tree, candidate, words)

    return solve
