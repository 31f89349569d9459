"""The trees of a gold file and of a system file, read and checked before they are scored.

Gold sentences must be trees: every word reaches ROOT by its heads, and ROOT may have several children. What
a system file must be depends on the style of scoring, as in the official evaluators:

- ``conllx``: every word needs a head. Heads that form a cycle are scored like others, since eval.pl compares
  columns only.
- ``ud``: trees, since the CoNLL 2018 evaluator refuses cycles. (It refuses several roots too, unless told
  otherwise; here they are accepted.)

Blocks of comments without words are no sentences and are left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, get_args

from biatt.data.arcs import cycle
from biatt.data.columns import HEAD
from biatt.data.conll import read
from biatt.data.document import sentences_in
from biatt.data.files import name_of
from biatt.data.sentence import Sentence
from biatt.errors import ConfigError, FormatError
from biatt.options import Punctuation, Style

_CYCLE_WORDS_SHOWN = 10


class Tree(NamedTuple):
    """What is scored of a sentence."""

    forms: list[str]
    heads: list[int]
    relations: list[str]  # as the style compares them
    counted: list[bool]  # False for punctuation where it is ignored


def gold_sentences(source: str | Path | Iterable[Sentence]) -> list[Sentence]:
    """The sentences of a gold file that have words; there must be one."""
    sentences = system_sentences(source)
    if not sentences:
        name = name_of(source) if isinstance(source, (str, Path)) else "the gold sentences"
        raise FormatError("there is no sentence with words, so there is nothing to score.", source=name)
    return sentences


def system_sentences(source: str | Path | Iterable[Sentence]) -> list[Sentence]:
    """The sentences of a file, or of an iterable of sentences or documents, that have words."""
    sentences = sentences_in(read(source) if isinstance(source, (str, Path)) else source)
    return [sentence for sentence in sentences if len(sentence)]


def scoring_options(
    gold: Sequence[Sentence], style: Style | None, punctuation: Punctuation | None
) -> tuple[Style, Punctuation]:
    """The style and the treatment of punctuation: as given, or by the format of the gold sentences."""
    for name, value, known in (
        ("style", style, get_args(Style)),
        ("punctuation", punctuation, get_args(Punctuation)),
    ):
        if value is not None and value not in known:
            raise ConfigError(f"The {name} {value!r} is unknown; it can be {' or '.join(known)}.")
    style = style or ("ud" if gold[0].format == "conllu" else "conllx")
    return style, punctuation or ("include" if style == "ud" else "ignore")


def scored_trees(
    sentences: Sequence[Sentence], style: Style, punctuation: Punctuation, *, allow_cycles: bool
) -> list[Tree]:
    """The trees to score; a missing head, one outside the sentence or a cycle is a FormatError."""
    trees = []
    for sentence in sentences:
        heads = sentence.heads
        _check_heads(sentence, heads, allow_cycles=allow_cycles)
        forms, relations = sentence.forms, sentence.deprels
        counted = [punctuation == "include" or not is_punctuation(form) for form in forms]
        trees.append(Tree(forms, heads, compared_relations(relations, style), counted))
    return trees


def compared_relations(relations: Sequence[str], style: Style) -> list[str]:
    """Relations as the style compares them: whole, or in style ud without subtypes."""
    return [relation.split(":", 1)[0] if style == "ud" else relation for relation in relations]


@lru_cache(maxsize=1 << 16)
def is_punctuation(form: str) -> bool:
    """Whether every character is of Unicode category P. (Symbols such as $ and + are not.)"""
    return all(unicodedata.category(character).startswith("P") for character in form)


def line_of(sentence: Sentence, word: int) -> int:
    """The line of a word (counted from 0) in the file of its sentence."""
    return sentence.line + word + sum(before <= word for before, _ in sentence.verbatim)


def check_same_words(gold: Sequence[Sentence], system: Sequence[Sentence], *, system_name: str) -> None:
    """Raise a FormatError for the first word or sentence that is not in both files."""
    for expected, sentence in zip(gold, system, strict=False):
        place = f"{expected.source}, line"
        for word, (gold_form, form) in enumerate(zip(expected.forms, sentence.forms, strict=False)):
            if form != gold_form:
                raise FormatError(
                    f"word {word + 1} is {form!r}, but {place} {line_of(expected, word)}, has "
                    f"{gold_form!r}; the same words were expected.",
                    source=sentence.source,
                    line=line_of(sentence, word),
                )
        if len(sentence) != len(expected):
            raise FormatError(
                f"this sentence has {len(sentence)} words, but that of {place} {expected.line}, has "
                f"{len(expected)}; the same words were expected.",
                source=sentence.source,
                line=sentence.line,
            )
    if len(gold) != len(system):
        raise FormatError(
            f"it holds {len(system)} sentences, but {gold[0].source} holds {len(gold)}; "
            "the same sentences were expected.",
            source=system[-1].source if system else system_name,
        )


def _check_heads(sentence: Sentence, heads: Sequence[int], *, allow_cycles: bool) -> None:
    for word, head in enumerate(heads):
        if not 0 <= head <= len(heads):
            raise FormatError(
                f"the head of word {word + 1} is {sentence.rows[word][HEAD]!r}; "
                f"a number from 0 to {len(heads)} was expected.",
                source=sentence.source,
                line=line_of(sentence, word),
            )
    if not allow_cycles and (words := cycle(heads)):
        shown = ", ".join(map(str, words[:_CYCLE_WORDS_SHOWN]))
        shown += ", ..." if len(words) > _CYCLE_WORDS_SHOWN else ""
        raise FormatError(
            f"the heads form a cycle through words {shown}; a tree was expected.",
            source=sentence.source,
            line=line_of(sentence, words[0] - 1),
        )
