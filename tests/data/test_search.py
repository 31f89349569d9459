"""Searching: the examples that Semgrex documents, and a slow twin that tries every assignment of words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from biatt.data.patterns import (
    All,
    Condition,
    Either,
    Expression,
    Node,
    Not,
    Optional,
    Pattern,
    Relation,
    Value,
    read_pattern,
)
from biatt.data.search import Search
from biatt.data.sentence import Sentence
from biatt.errors import PatternError

BAKED = Sentence.from_words(
    ["Ann", "baked", "apple", "pies"],
    lemmas=["Ann", "bake", "apple", "pie"],
    upos=["PROPN", "VERB", "NOUN", "NOUN"],
    xpos=["NNP", "VBD", "NN", "NNS"],
    feats=["Number=Sing", "Mood=Ind|Person=1|Tense=Past", "Number=Sing", "Number=Plur"],
    heads=[2, 0, 4, 2],
    deprels=["nsubj", "root", "compound", "obj"],
)
THOUGHT = Sentence.from_words(
    ["I", "think", "the", "old", "boy", "sliced", "it", "yesterday"],
    lemmas=["I", "think", "the", "old", "boy", "slice", "it", "yesterday"],
    upos=["PRON", "VERB", "DET", "ADJ", "NOUN", "VERB", "PRON", "NOUN"],
    xpos=["PRP", "VBP", "DT", "JJ", "NN", "VBD", "PRP", "NN"],
    feats=["_", "Tense=Pres", "_", "_", "_", "Person=3|Tense=Past", "_", "_"],
    heads=[2, 0, 5, 5, 6, 2, 6, 6],
    deprels=["nsubj", "root", "det", "amod", "nsubj", "ccomp", "obj", "obl:tmod"],
)


def forms(sentence: Sentence, pattern: str) -> str:
    """The words of the first node, one for each match."""
    return " ".join(match.word.form for match in sentence.find(pattern))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{}", "Ann baked apple pies"),
        ("{word:Ann}", "Ann"),
        ("!{word:Ann}", "baked apple pies"),
        ("{word:/^(?!Ann).*$/}", "baked apple pies"),
        ("{word:/nn/}", ""),  # the whole value must match
        ("{word:/.*nn/}", "Ann"),
        ("{tag:/NN.*/}", "Ann apple pies"),
        ("{lemma!:pie;cpos:NOUN}", "apple"),
        ("{$}", "baked"),
        ("({tag:NN}=noun)", "apple"),
        ("{} << {}", "Ann apple apple pies"),  # apple has two ancestors
        ("{} >> {}", "baked baked baked pies"),  # baked has three descendants
        ("{} < {}", "Ann apple pies"),
        ("{} > {}", "baked baked pies"),
        ("{} << !{word:baked}=a", "apple"),
        ("{} >> ({} >> {})", "baked"),
        ("{}=a >> {}=b >> {}=c", "baked " * 9 + "pies"),
        ("{} 2,3<< {word:baked}", "apple"),
        ("{} 0,1<< {word:baked}", "Ann pies"),
        ("{} 2>> {}", "baked"),
        ("{idx:1} < {idx:2}", "Ann"),
    ],
)
def test_small_patterns_match_as_in_semgrex(pattern: str, expected: str) -> None:
    assert forms(BAKED, pattern) == expected.strip()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{lemma:slice;tag:/VB.*/}", "sliced"),
        ("{morphofeatures:{Tense:Past;Person!:3}}", ""),
        ("{morphofeatures:{Tense:/P.*/;Person!:3}}", "think"),
        ("{} >nsubj {} >obj {}", "sliced"),  # all relations are those of the first node
        ("{} >nsubj ({} >amod {})", "sliced"),
        ("{} >ccomp {} >obj {}", ""),
        ("{} <<ccomp {}", "sliced"),  # the label of the first arc, upwards
        ("{} <<nsubj {}", "I boy boy"),
        ("{} >>amod {}", "think boy sliced"),  # the label of the last arc, downwards
        ("{} [<nsubj {} | <obj {}] & . {}", "I boy it"),
        ("{} [<nsubj {} | <obj {}] . {upos:VERB}", "I boy"),
        ("{}=a >> {word:the} : {}=a >> {word:it}", "think sliced"),
        ("{}=a >> {word:the} >> {word:it}", "think sliced"),
        ("{} >obj ({} > {}=foo) >nsubj ({} > {}=foo)", ""),  # in a tree, no two paths lead to one word
        ("{upos:VERB} !>obj {}", "think"),
        ("{upos:VERB} ?>obj {}=object", "think sliced"),
        ("{} >/obl.*/ {}", "sliced"),
        ("{} >obl:tmod {}", "sliced"),
        ("{} <> {word:boy}", "the old sliced"),
        ("{} <>nsubj {word:boy}", "sliced"),
        ("{} == {word:boy}", "boy"),
        ("{} . {word:boy}", "old"),
        ("{} - {word:boy}", "sliced"),
        ("{} .. {word:the}", "I think"),
        ("{} -- {word:sliced}", "it yesterday"),
        ("{} $+ {}", "the it"),
        ("{} $- {}", "old yesterday"),
        ("{} $++ {word:yesterday}", "boy it"),
        ("{} $-- {word:boy}", "it yesterday"),
        ("{} >++ {}", "think sliced sliced"),
        ("{} >-- {}", "think boy boy sliced"),
        ("{} <++ {}", "I the old boy"),
        ("{} <--obj {}", "it"),
        ("{} > [{word:boy} | {word:I}]", "think sliced"),
        ("{morphofeatures:{Person:__}}", "sliced"),  # any value, but there must be one
        ("{lemma!:__}", ""),
        ("{} >__ {word:boy}", "sliced"),
        ("{word:boy}=foo ?<nsubj {}=bar", "boy"),
    ],
)
def test_the_documented_notation_of_semgrex(pattern: str, expected: str) -> None:
    assert forms(THOUGHT, pattern) == expected


def test_names_give_the_words() -> None:
    (match,) = THOUGHT.find("{upos:VERB}=verb >nsubj {}=subject >obj {}=object ?>iobj {}=other")
    assert (match.word.form, match["subject"].form, match["object"].lemma) == ("sliced", "boy", "it")
    assert match.names == {"verb": 6, "subject": 5, "object": 7}
    assert match.numbers == [5, 6, 7]
    assert repr(match) == "<Match of sliced (6), verb = sliced, subject = boy, object = it>"


def test_a_missing_value_matches_no_regular_expression() -> None:
    untagged = Sentence.from_words(["_", "a"])
    assert untagged.find("{lemma:/.*/}") == []
    assert forms(untagged, "{form:/.*/}") == "_ a"
    assert forms(untagged, "{lemma:_}") == "_ a"
    assert forms(untagged, "{lemma!:a}") == "_ a"
    assert forms(untagged, "{lemma:__}") == ""
    assert forms(untagged, "{lemma!:__}") == "_ a"


def test_a_pattern_is_a_string() -> None:
    with pytest.raises(TypeError, match="A pattern is a string, not NoneType"):
        THOUGHT.find(None)  # type: ignore[arg-type]


def test_words_below_the_root_are_no_siblings() -> None:
    two = Sentence.from_words(["a", "b", "c"], heads=[0, 0, -1], deprels=["root", "root", "_"])
    assert two.find("{} $++ {}") == []


# The slow twin


def words_of(text: str, value: Value) -> bool:
    return re.fullmatch(value.text, text) is not None if value.regex else text == value.text


def fits(row: list[str], condition: Condition) -> bool:
    text = row[condition.column]
    if condition.key is None:
        return words_of(text, condition.value) is not condition.negated
    items = dict(item.split("=") for item in text.split("|") if item != "_")
    return (condition.key in items and words_of(items[condition.key], condition.value)) != condition.negated


def ancestors(heads: list[int], word: int) -> list[int]:
    path = [word]
    while heads[path[-1] - 1] > 0 and heads[path[-1] - 1] not in path:
        path.append(heads[path[-1] - 1])
    return path[1:]


def related(sentence: Sentence, a: int, b: int, relation: Relation) -> bool:
    heads, symbol = sentence.heads, relation.symbol
    up, down = heads[a - 1] == b, heads[b - 1] == a
    siblings = a != b and heads[a - 1] == heads[b - 1] > 0
    label = relation.label
    of_a = label is None or words_of(sentence.deprels[a - 1], label)
    of_b = label is None or words_of(sentence.deprels[b - 1], label)

    def chain(low: int, high: int) -> bool:
        above = ancestors(heads, low)
        return high in above and relation.shortest <= above.index(high) + 1 <= (
            relation.longest or len(heads)
        )

    return {
        "<": up and of_a,
        ">": down and of_b,
        "<>": (up and of_a) or (down and of_b),
        "<<": chain(a, b) and of_a,
        ">>": chain(b, a) and of_b,
        "<++": up and of_a and a < b,
        "<--": up and of_a and a > b,
        ">++": down and of_b and a < b,
        ">--": down and of_b and a > b,
        "==": a == b,
        ".": a + 1 == b,
        "-": a - 1 == b,
        "..": a < b,
        "--": a > b,
        "$+": siblings and a + 1 == b,
        "$-": siblings and a - 1 == b,
        "$++": siblings and a < b,
        "$--": siblings and a > b,
        ":": True,
    }[symbol]


def slots(part: Node | Expression | None) -> list[int]:
    """The slots outside negations."""
    if isinstance(part, Node):
        return [part.slot, *slots(part.relations)]
    if isinstance(part, Relation):
        return slots(part.node)
    if isinstance(part, (All, Either)):
        return [slot for inner in part.parts for slot in slots(inner)]
    return slots(part.part) if isinstance(part, Optional) else []


class Twin:
    def __init__(self, sentence: Sentence, pattern: Pattern) -> None:
        self.sentence, self.pattern = sentence, pattern

    def matches(self) -> list[tuple[int, ...]]:
        nothing = dict.fromkeys(range(self.pattern.slots), 0)
        every = self.assignments(nothing, slots(self.pattern.first))
        return [tuple(words.values()) for words in every if self.node(self.pattern.first, words)]

    def assignments(self, words: dict[int, int], chosen: list[int]) -> Iterator[dict[int, int]]:
        for numbers in product(range(len(self.sentence) + 1), repeat=len(chosen)):
            yield {**words, **dict(zip(chosen, numbers, strict=True))}

    def node(self, node: Node, words: dict[int, int]) -> bool:
        word = words[node.slot]
        if not word:
            return False
        row = self.sentence.rows[word - 1]
        described = all(fits(row, test) for test in node.tests) and (not node.root or row[6] == "0")
        earlier = [words[slot] for slot in self.pattern.names.get(node.name or "", ()) if slot < node.slot]
        return (
            described is not node.negated
            and set(earlier) <= {0, word}
            and (node.relations is None or self.holds(node.relations, word, words))
        )

    def holds(self, part: Expression, word: int, words: dict[int, int]) -> bool:
        if isinstance(part, Relation):
            other = words[part.node.slot]
            return other > 0 and related(self.sentence, word, other, part) and self.node(part.node, words)
        if isinstance(part, All):
            return all(self.holds(inner, word, words) for inner in part.parts)
        if isinstance(part, Either):
            used = {slot for slot in slots(part) if words[slot]}
            return any(used <= {*slots(inner)} and self.holds(inner, word, words) for inner in part.parts)
        inside = slots(part.part)
        possible = any(self.holds(part.part, word, tried) for tried in self.assignments(words, inside))
        if isinstance(part, Not):
            return not possible
        unmatched = not any(words[slot] for slot in inside)
        return self.holds(part.part, word, words) or (unmatched and not possible)


SYMBOLS = ["<", ">", "<>", "<<", ">>", "<++", "<--", ">++", ">--", "==", ".", "-", "..", "--"]
SYMBOLS += ["$+", "$-", "$++", "$--", "1,2>>", "2<<"]
NODES = ["{}", "{}", "{upos:X}", "{upos!:X}", "!{form:u}", "{form:/[uv]/;upos:X}", "{$}", "{feats:{F:1}}"]
NODES += ["{feats:{F!:1}}"]
relations_text = st.builds(
    lambda symbol, label: symbol + (label if "<" in symbol or ">" in symbol else ""),
    st.sampled_from(SYMBOLS),
    st.sampled_from(["", "", "a", "/a|b/"]),
)
nodes_text = st.builds(str.__add__, st.sampled_from(NODES), st.sampled_from(["", "", "=m", "=n"]))


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} {}".format, inner, inner),
        st.builds("[{} | {}]".format, inner, inner),
        st.builds("!{}".format, relations_text.flatmap(lambda r: nodes_text.map(lambda n: f"{r} {n}"))),
        st.builds("{}[{}]".format, st.sampled_from("!?"), inner),
        st.builds("{} ({} {})".format, relations_text, nodes_text, inner),
    )


expressions_text = st.recursive(st.builds("{} {}".format, relations_text, nodes_text), larger, max_leaves=4)
patterns_text = st.builds(
    lambda first, parts, further: f"{first} {parts}{further}",
    nodes_text,
    expressions_text,
    st.sampled_from(["", "", "", " : {}=m", " : {} > {}=n"]),
)


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Short sentences; heads may be missing, and form cycles."""
    n = draw(st.integers(1, 4))
    each = {"min_size": n, "max_size": n}
    heads = [
        draw(st.sampled_from([head for head in range(-1, n + 1) if head != word])) for word in range(1, n + 1)
    ]
    return Sentence.from_words(
        draw(st.lists(st.sampled_from("uvw"), **each)),
        upos=draw(st.lists(st.sampled_from("XY"), **each)),
        feats=draw(st.lists(st.sampled_from(["_", "F=1", "E=1|F=2"]), **each)),
        heads=heads,
        deprels=draw(st.lists(st.sampled_from("abc"), **each)),
    )


@given(sentences(), patterns_text)
def test_matches_are_all_assignments_that_fit(sentence: Sentence, text: str) -> None:
    try:
        pattern = read_pattern(text)
    except PatternError:  # a name that is new inside a negation
        reject()
    assume(pattern.slots <= 4)
    found = [(match.number, match.numbers, match.names) for match in Search(text).find(sentence)]
    expected = [
        (
            words[0],
            sorted({word for word in words if word}),
            {
                name: max(words[slot] for slot in of)
                for name, of in pattern.names.items()
                if any(words[s] for s in of)
            },
        )
        for words in Twin(sentence, pattern).matches()
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert [number for number, _, _ in found] == sorted(number for number, _, _ in found)
