"""Dependency trees as lines of text for a terminal, drawn with box characters."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from biatt.data.arcs import cycle
from biatt.data.sentence import NO_HEAD, Sentence
from biatt.data.visible import visible
from biatt.display.doubt import percentages
from biatt.display.word_lines import word_lines
from biatt.errors import FormatError
from biatt.options import WORD_LINES, WordLine

# The character where the line of a word meets a stem, by whether the stem continues (upwards, downwards).
_AT_DEPENDENT = {(False, True): "╭", (True, True): "├", (True, False): "╰"}
_AT_HEAD = {(False, True): "┬", (True, True): "┼", (True, False): "┴"}
_CROSSING = {(True, True): "│"}


def tree_text(sentence: Sentence, *, show: Sequence[WordLine] = WORD_LINES) -> str:
    """The tree as lines of text, one for each word: branches, form, what `show` names, relation, doubt.

    Every head has a stem, which spans the rows of the head and its dependents. The line of a word
    begins at the stem of its head, or at the margin if it is a root, and its own stem joins that line
    at ┬, ┴ or ┼. A stem that the line only crosses, as in a non-projective tree, stays │. A word without a
    head has no line. An arc that the parser doubts has its probability at the end.

        ╭─ the       DET   det
      ╭─┴─ gardener  NOUN  nsubj
    ──┼─── saw       VERB  root
      ╰─── birds     NOUN  obj
    """
    heads = _checked_heads(sentence)
    dependents = _dependents(heads)
    stems = {head: (min(head, *words), max(head, *words)) for head, words in dependents.items() if head}
    levels = _stem_levels(dependents, stems)
    width = 2 * max(levels.values(), default=0) + 2
    column = {head: width - 2 * level for head, level in levels.items()}

    branches = []
    for word, head in enumerate(heads, 1):
        start = 0 if head == 0 else column.get(word, width) if head == NO_HEAD else column[head]
        cells = [" "] * start + ["─"] * (width - start)
        for stem, (first, last) in stems.items():
            if first <= word <= last:
                shapes = _AT_HEAD if stem == word else _AT_DEPENDENT if stem == head else _CROSSING
                cells[column[stem]] = shapes[first < word, word < last]
        branches.append("".join(cells))

    values = [*word_lines(sentence, show), sentence.deprels, percentages(sentence)]
    columns = [sentence.forms, *(column for column in values if set(column) - {"_", ""})]
    rows = zip(branches, *map(_padded, columns), strict=True)
    return "\n".join(f"{branch} {'  '.join(values)}".rstrip() for branch, *values in rows)


def _checked_heads(sentence: Sentence) -> list[int]:
    """The heads of a sentence: a tree, or parts of one where heads are missing."""
    heads = sentence.heads
    fault = "the sentence cannot be drawn, because its heads form no tree"
    if not all(NO_HEAD <= head <= len(heads) for head in heads):
        raise FormatError(f"{fault}.", source=sentence.source, line=sentence.line)
    if words := cycle([max(head, 0) for head in heads]):
        round_trip = " → ".join(map(str, [*words, words[0]]))
        fault = f"{fault} but a cycle, {round_trip}; SVG shows it."
        raise FormatError(fault, source=sentence.source, line=sentence.line)
    return heads


def _dependents(heads: list[int]) -> dict[int, list[int]]:
    """The dependents of 0 and of every head, each head before the heads below it; −1, no head, is not one."""
    unordered: dict[int, list[int]] = {}
    for word, head in enumerate(heads, 1):
        unordered.setdefault(head, []).append(word)
    ordered, agenda = {}, [0, *unordered.pop(NO_HEAD, [])]
    for head in agenda:
        if head in unordered:
            ordered[head] = unordered[head]
            agenda += unordered[head]
    return ordered


def _stem_levels(dependents: dict[int, list[int]], stems: dict[int, tuple[int, int]]) -> dict[int, int]:
    """The distance of each stem from the words: beyond those of its dependents, apart from all others."""
    levels: dict[int, int] = {}
    taken: set[tuple[int, int]] = set()  # (level, row)
    for head in reversed(dependents):
        if head:
            first, last = stems[head]
            level = 1 + max(levels.get(word, 0) for word in dependents[head])
            while any((level, row) in taken for row in range(first, last + 1)):
                level += 1
            levels[head] = level
            taken.update((level, row) for row in range(first, last + 1))
    return levels


def _padded(values: list[str]) -> list[str]:
    shown = [visible(value) for value in values]
    width = max(map(cell_len, shown), default=0)
    return [value + " " * (width - cell_len(value)) for value in shown]
