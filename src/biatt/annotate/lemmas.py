"""Lemmas by rules, so that a network can choose the lemma of a form that it has never seen.

A rule changes the letters' case, then removes letters at either end and adds others:

    rule("Flies", "fly")    l 0 - 3 y    lower case; nothing at the start; at the end 3 letters off, "y" on
    rule("went", "go")      =go          the two have nothing in common: the rule is the lemma itself

The parts of a rule are separated by tabs, which forms and lemmas cannot contain.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import SequenceMatcher
from functools import lru_cache

# The changes of case, in the order in which `rule` tries them.
_CASES: dict[str, Callable[[str], str]] = {
    "s": str,
    "l": str.lower,
    "t": str.capitalize,
    "u": str.upper,
}


@lru_cache(maxsize=1 << 16)
def rule(form: str, lemma: str) -> str:
    """The rule that keeps the most letters of the form; `apply(rule(form, lemma), form) == lemma`."""
    best, longest = constant(lemma), 0
    for case, change in _CASES.items():
        changed = change(form)
        common = SequenceMatcher(None, changed, lemma, autojunk=False).find_longest_match()
        if common.size > longest:
            longest = common.size
            front, back = lemma[: common.b], lemma[common.b + common.size :]
            removed = len(changed) - common.a - common.size
            candidate = f"{case}\t{common.a}\t{front}\t{removed}\t{back}"
            if apply(candidate, form) == lemma:
                best = candidate
    return best


def constant(lemma: str) -> str:
    """The rule that gives this lemma to every form."""
    return f"={lemma}"


def is_constant(rule: str) -> bool:
    return rule.startswith("=")


def apply(rule: str, form: str) -> str:
    """The lemma, or the form itself if it is too short for the rule."""
    if is_constant(rule):
        return rule[1:]
    change, start, front, removed, back = _parts(rule)
    changed = change(form)
    if start + removed > len(changed):
        return form
    return front + changed[start : len(changed) - removed] + back or form


@lru_cache(maxsize=1 << 12)
def _parts(rule: str) -> tuple[Callable[[str], str], int, str, int, str]:
    case, start, front, removed, back = rule.split("\t")
    return _CASES[case], int(start), front, int(removed), back
