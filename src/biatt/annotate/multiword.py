"""The words of multiword tokens ("don't" is "do" and "n't"), learned from a treebank.

A token that occurs in the treebank is split as it is there, another one by a rule, which removes letters at
its start and end and puts whole words before and after the rest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """before + (the token with `start` instead of `front` and `finish` instead of `end`) + after."""

    before: tuple[str, ...]
    front: str
    start: str
    end: str
    finish: str
    after: tuple[str, ...]

    def words(self, token: str) -> list[str] | None:
        """The words of a lower-cased token that the rule fits."""
        size = len(self.front) + len(self.end)
        if len(token) <= size or not token.startswith(self.front) or not token.endswith(self.end):
            return None
        stem = token[len(self.front) : len(token) - len(self.end)]
        return [*self.before, self.start + stem + self.finish, *self.after]


class Multiword:
    """The multiword tokens of a treebank, and rules for others."""

    def __init__(self, known: Mapping[str, Sequence[str]], rules: Iterable[Rule]) -> None:
        self.known = {token: list(words) for token, words in known.items()}
        self.rules = list(rules)  # the first one that fits is used

    @classmethod
    def learned(cls, examples: Iterable[tuple[str, Sequence[str]]]) -> Multiword:
        seen: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for token, words in examples:
            seen[token.lower()][tuple(word.lower() for word in words)] += 1
        known = {token: _most(counts) for token, counts in sorted(seen.items())}
        fitting = Counter(
            rule for token, words in known.items() for rule in _rules(token, words)
        )  # by how many different tokens they fit
        used: Counter[Rule] = Counter()
        for token, words in known.items():
            used[max(_rules(token, words), key=lambda rule: (fitting[rule], rule))] += 1
        general = [rule for rule, times in used.items() if times > 1]
        return cls(known, sorted(general, key=lambda rule: (-len(rule.front + rule.end), -used[rule], rule)))

    def words(self, token: str) -> list[str]:
        """The words of a token; the token itself if no rule fits it."""
        lower = token.lower()
        words = self.known.get(lower)
        if words is None:
            by_rules = (split for rule in self.rules if (split := rule.words(lower)) is not None)
            words = next(by_rules, [token])
        return _in_case_of(token, words)

    def to_json(self) -> dict[str, Any]:
        return {
            "known": self.known,
            "rules": [[list(before), *letters, list(after)] for before, *letters, after in self.rules],
        }

    @classmethod
    def from_json(cls, data: Any) -> Multiword:
        rules = [(tuple(before), *ends, tuple(after)) for before, *ends, after in data["rules"]]
        return cls(data["known"], map(Rule._make, rules))


def _most(counts: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    return min(counts, key=lambda words: (-counts[words], words))


def _rules(token: str, words: Sequence[str]) -> list[Rule]:
    """The rules that split this token into these words: one for the first word and one for the last."""
    rules = []
    for place, word in enumerate(words):
        before, after = tuple(words[:place]), tuple(words[place + 1 :])
        if not before:  # the token begins with this word, or with a part of it
            kept = _common(token, word)
            rules.append(Rule(before, "", "", token[kept:], word[kept:], after))
        elif not after:  # it ends with it
            kept = _common(token[::-1], word[::-1])
            front, start = token[: len(token) - kept], word[: len(word) - kept]
            rules.append(Rule(before, front, start, "", "", after))
    return rules


def _common(a: str, b: str) -> int:
    """The number of letters that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _in_case_of(token: str, words: Sequence[str]) -> list[str]:
    """The words in the letters of the token where they are its parts, else capitalised like it."""
    if "".join(words) == token.lower() and len(token.lower()) == len(token):
        parts, at = [], 0
        for word in words:
            parts.append(token[at : at + len(word)])
            at += len(word)
        return parts
    if len(token) > 1 and token.isupper():
        return [word.upper() for word in words]
    first = words[0][:1].upper() + words[0][1:] if token[:1].isupper() else words[0]
    return [first, *words[1:]]
