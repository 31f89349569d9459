"""From a form to its lemma by a rule, so that a tagger can choose lemmas of words that it never saw.

A rule says what to do with the letters' case, and what to take off and put on at either end:

    rule("Flies", "fly")    l 0 – 3 y      lower case; nothing at the front; at the end, 3 letters off, "y" on
    rule("went", "go")      =go            nothing in common: the lemma itself

Its parts stand between tabs, which no form and no lemma holds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

# What a rule does to a form before anything else; the first that leads to the lemma is taken.
_CASES: dict[str, Callable[[str], str]] = {
    "s": str,
    "l": str.lower,
    "t": str.capitalize,
    "u": str.upper,
}


@lru_cache(maxsize=1 << 16)
def rule(form: str, lemma: str) -> str:
    """The rule that makes this lemma of this form: `apply(rule(form, lemma), form) == lemma`."""
    best, kept = f"={lemma}", 0
    for case, change in _CASES.items():
        changed = change(form)
        start, at, size = _longest_common(changed, lemma)
        if size > kept:
            kept = size
            front, back = lemma[:at], lemma[at + size :]
            off = len(changed) - start - size
            candidate = f"{case}\t{start}\t{front}\t{off}\t{back}"
            if apply(candidate, form) == lemma:
                best = candidate
    return best


def apply(rule: str, form: str) -> str:
    """The lemma; of a form that is too short for the rule, the form itself."""
    if rule.startswith("="):
        return rule[1:]
    case, start, front, off, back = rule.split("\t")
    changed = _CASES[case](form)
    if int(start) + int(off) > len(changed):
        return form
    middle = changed[int(start) : len(changed) - int(off)]
    return front + middle + back or form


def is_rule(text: str) -> bool:
    """Is this a rule that can be applied?"""
    parts = text.split("\t")
    return text.startswith("=") or (
        len(parts) == 5 and parts[0] in _CASES and parts[1].isdecimal() and parts[3].isdecimal()
    )


def _longest_common(a: str, b: str) -> tuple[int, int, int]:
    """Start in a, start in b and length of the first longest string that both hold."""
    best = (0, 0, 0)
    lengths = [0] * (len(b) + 1)
    for i, letter in enumerate(a):
        above = 0  # what stood at the place before, in the row before
        for j, other in enumerate(b):
            here = lengths[j + 1]
            lengths[j + 1] = above + 1 if letter == other else 0
            if lengths[j + 1] > best[2]:
                size = lengths[j + 1]
                best = (i - size + 1, j - size + 1, size)
            above = here
    return best
