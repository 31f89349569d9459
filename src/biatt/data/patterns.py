"""Dependency patterns in the notation of Semgrex, read into a tree of tests.

    {upos:VERB}=verb >nsubj {lemma:/he|she/} !> {deprel:obj}

A node in braces stands for a word, a relation for its place beside another. `search` finds what matches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from biatt.data.columns import DEPREL, DEPS, FEATS, FORM, HEAD, ID, LEMMA, MISC, UPOS, XPOS
from biatt.errors import PatternError

# The names of the columns: those of CoNLL-U first, then those that Semgrex has.
_COLUMNS = {"id": ID, "form": FORM, "lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}
_COLUMNS |= {"head": HEAD, "deprel": DEPREL, "deps": DEPS, "misc": MISC}
_SEMGREX = {"idx": ID, "index": ID, "word": FORM, "text": FORM, "cpos": UPOS, "tag": XPOS, "pos": XPOS}
ATTRIBUTES = _COLUMNS | _SEMGREX | {"morphofeatures": FEATS}
MAPS = (FEATS, MISC)  # columns of the form Key=Value|Key=Value

# Relations that follow arcs, which may have a label; chains of arcs, which may have a length; the others.
ARCS = ("<", ">", "<>", "<++", "<--", ">++", ">--")
CHAINS = ("<<", ">>")
PLACES = ("==", ".", "..", "-", "--", "$+", "$-", "$++", "$--")
ANYWHERE = ":"  # begins a further pattern, whose first node may be any word

_SYMBOLS = "|".join(map(re.escape, sorted((*ARCS, *CHAINS, *PLACES), key=len, reverse=True)))
_RELATION = re.compile(rf"(?:([0-9]{{1,4}})(?:\s*,\s*([0-9]{{1,4}}))?\s*)?({_SYMBOLS})")
_LABEL = re.compile(r"%|[^\s(){}\[\]/|!?&=~<>.,$%:;@#+-]+(?::[^\s(){}\[\]/|!?&=~<>.,$%:;@#+-]+)*")
_NAME = re.compile(r"\w+")
_KEY = re.compile(r"[^\s:;{}!]+")
_PLAIN = re.compile(r"[^;{}]+")
_REGEX = re.compile(r"/((?:\\.|[^/\\\n])*)/")
_SPACE = re.compile(r"\s*")
_ANY = "__"  # of Semgrex: any value, but there must be one
_DEEPEST = 100  # brackets within brackets
_MOST_NODES = 100


class Value(NamedTuple):
    """What a text must be: equal to this one, or matched as a whole by this regular expression."""

    text: str
    regex: bool


class Condition(NamedTuple):
    """A condition on a column, or on the value of one key of a column that is a map."""

    column: int
    key: str | None
    value: Value
    negated: bool


@dataclass(frozen=True)
class Node:
    """A word of the pattern; `slot` is its number in the order of the text."""

    slot: int
    tests: tuple[Condition, ...]
    root: bool
    negated: bool
    name: str | None
    relations: Expression | None = None


@dataclass(frozen=True)
class Relation:
    symbol: str
    node: Node
    label: Value | None = None
    shortest: int = 1  # number of arcs of a chain
    longest: int | None = None


@dataclass(frozen=True)
class All:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Either:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Not:
    part: Expression


@dataclass(frozen=True)
class Optional:
    part: Expression


Expression = Relation | All | Either | Not | Optional


class Pattern(NamedTuple):
    text: str
    first: Node
    names: dict[str, tuple[int, ...]]  # the slots of each name
    slots: int


def read_pattern(text: str) -> Pattern:
    """The pattern that a text writes down; a PatternError says where it is wrong."""
    if not isinstance(text, str):
        raise TypeError(f"A pattern is a string, not {type(text).__name__}.")
    return _Reader(text).pattern()


class _Reader:
    """Recursive descent; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.slots = self.depth = self.negations = 0
        self.names: dict[str, tuple[int, ...]] = {}
        self._skip_space()

    def pattern(self) -> Pattern:
        first = self._subpattern()
        further = []
        while self._take(ANYWHERE):
            if self._peek(":"):
                self._fail("`::` with uniq or sort is not supported")
            further.append(Relation(ANYWHERE, self._subpattern()))
        if self.at < len(self.text):
            self._expected("a relation or the end")
        if further:
            first = _with_relations(first, All(tuple(further)))
        return Pattern(self.text, first, self.names, self.slots)

    def _subpattern(self) -> Node:
        """A node and its relations; parentheses may stand around them."""
        if self._take("("):
            self._enter()
            node = self._subpattern()
            self._close(")")
        else:
            node = self._node()
        return _with_relations(node, self._either()) if self._at_relation() else node

    def _either(self) -> Expression:
        parts = [self._all()]
        while self._take("|"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _all(self) -> Expression:
        parts = [self._one()]
        while self._take("&") or self._at_relation():
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _one(self) -> Expression:
        if self._take("!"):
            self.negations += 1
            part = self._group_or_relation()
            self.negations -= 1
            return Not(part)
        if self._take("?"):
            return Optional(self._group_or_relation())
        return self._group_or_relation()

    def _group_or_relation(self) -> Expression:
        if not self._take("["):
            return self._relation()
        self._enter()
        part = self._either()
        self._close("]")
        return part

    def _relation(self) -> Expression:
        start = self.at
        if (match := _RELATION.match(self.text, self.at)) is None:
            self._expected("a relation such as >nsubj")
        self._advance(match.end())
        symbol, low, high = match[3], match[1], match[2]
        if low and symbol not in CHAINS:
            self._fail(f"a number of arcs goes with << and >> only, not with {symbol}", start)
        shortest, longest = int(low or 1), int(high or low) if low else None
        if longest is not None and longest < max(1, shortest):
            self._fail("the second number of arcs is smaller than the first, or 0", start)
        label = self._label() if symbol not in PLACES else None
        for sign, what in (("=", "relations"), ("~", "arcs")):
            if self._peek(sign):
                self._fail(f"names of {what} are not supported; name the node that depends instead")
        if not self._take("["):
            return Relation(symbol, self._target(), label, shortest, longest)
        self._enter()
        parts = [Relation(symbol, self._target(), label, shortest, longest)]
        while self._take("|"):
            parts.append(Relation(symbol, self._target(), label, shortest, longest))
        self._close("]")
        return Either(tuple(parts))

    def _target(self) -> Node:
        if not self._take("("):
            return self._node()
        self._enter()
        node = self._subpattern()
        self._close(")")
        return node

    def _label(self) -> Value | None:
        if self._peek("/"):
            return self._regex()
        if (match := _LABEL.match(self.text, self.at)) is None:
            return None
        self._advance(match.end())
        return None if match[0] in ("%", _ANY) else Value(match[0], False)

    def _node(self) -> Node:
        negated = self._take("!")
        if not self._take("{"):
            self._expected("a node in braces")
        tests: list[Condition] = []
        root = False
        while not self._take("}"):
            if self._take("$"):
                root = True
            else:
                self._tests(tests)
            if not self._peek("}") and not self._take(";"):
                self._expected("; or }")
        slot, name = self.slots, None
        self.slots += 1
        if self.slots > _MOST_NODES:
            self._fail(f"there are more than {_MOST_NODES} nodes")
        if not self._peek("==") and self._take("="):
            name = self._named(slot)
        return Node(slot, tuple(tests), root, negated, name)

    def _named(self, slot: int) -> str:
        if (match := _NAME.match(self.text, self.at)) is None:
            self._expected("a name after =")
        if self.negations and match[0] not in self.names:
            self._fail(f"the node {match[0]} is inside a negation, where only earlier names can stand")
        self._advance(match.end())
        self.names[match[0]] = (*self.names.get(match[0], ()), slot)
        return match[0]

    def _tests(self, tests: list[Condition]) -> None:
        """One attribute with its value, or with a map of keys and values."""
        start = self.at
        if (match := _NAME.match(self.text, self.at)) is None:
            self._expected("an attribute")
        column = ATTRIBUTES.get(match[0])
        if column is None:
            self._fail(f"there is no attribute {match[0]}; known are {', '.join(ATTRIBUTES)}", start)
        self._advance(match.end())
        negated = self._colon()
        if not self._take("{"):
            tests.append(Condition(column, None, self._value(), negated))
            return
        if column not in MAPS or negated:
            self._fail("only feats and misc have keys, and a negation stands behind each key", start)
        while not self._take("}"):
            if (key := _KEY.match(self.text, self.at)) is None:
                self._expected("a key")
            self._advance(key.end())
            negated = self._colon()
            tests.append(Condition(column, key[0], self._value(), negated))
            if not self._peek("}") and not self._take(";"):
                self._expected("; or }")

    def _colon(self) -> bool:
        """Read `:` or `!:`; whether it was the second."""
        if self._take("!:"):
            return True
        if not self._take(":"):
            self._expected(": or !:")
        return False

    def _value(self) -> Value:
        if self._peek("/") and _REGEX.match(self.text, self.at):
            return self._regex()
        if (match := _PLAIN.match(self.text, self.at)) is None:
            self._expected("a value")
        if match[0].startswith("/") and len(match[0].rstrip()) > 1:
            self._fail("the regular expression has no / at its end")
        self._advance(match.end())
        text = match[0].rstrip()
        return Value("(?s:.*)", True) if text == _ANY else Value(text, False)

    def _regex(self) -> Value:
        if (match := _REGEX.match(self.text, self.at)) is None:
            self._fail("the regular expression has no / at its end")
        expression = match[1].replace("\\/", "/")
        try:
            re.compile(expression)
        except (re.error, OverflowError, RecursionError) as error:
            self._fail(f"the regular expression cannot be read: {error}")
        self._advance(match.end())
        return Value(expression, True)

    # Characters

    def _peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _take(self, text: str) -> bool:
        present = self._peek(text)
        if present:
            self._advance(self.at + len(text))
        return present

    def _advance(self, place: int) -> None:
        self.at = place
        self._skip_space()

    def _skip_space(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def _at_relation(self) -> bool:
        sign = self.text[self.at : self.at + 1]
        return sign in ("!", "?", "[") or _RELATION.match(self.text, self.at) is not None

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            self._fail(f"there are more than {_DEEPEST} brackets within each other")

    def _close(self, bracket: str) -> None:
        self.depth -= 1
        if not self._take(bracket):
            self._expected(f"a relation or {bracket}")

    def _expected(self, what: str) -> NoReturn:
        rest = self.text[self.at : self.at + 20]
        self._fail(f"{what} was expected, not {rest!r}" if rest else f"it ends where {what} was expected")

    def _fail(self, fault: str, place: int | None = None) -> NoReturn:
        raise PatternError(fault, pattern=self.text, place=self.at if place is None else place)


def _with_relations(node: Node, relations: Expression) -> Node:
    """The node with further relations."""
    both = relations if node.relations is None else All((node.relations, relations))
    return Node(node.slot, node.tests, node.root, node.negated, node.name, both)
