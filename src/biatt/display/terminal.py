"""Dependency trees as lines of text for a terminal, drawn with box characters."""

from __future__ import annotations

from rich.cells import cell_len

from biatt.data.arcs import is_tree
from biatt.data.sentence import Sentence
from biatt.data.visible import visible
from biatt.errors import FormatError

# The character where the line of a word meets a stem, by whether the stem continues (upwards, downwards).
_AT_DEPENDENT = {(False, True): "╭", (True, True): "├", (True, False): "╰"}
_AT_HEAD = {(False, True): "┬", (True, True): "┼", (True, False): "┴"}
_CROSSING = {(True, True): "│"}


def tree_text(sentence: Sentence) -> str:
    """The tree as lines of text, one for each word: branches, form, universal tag, relation.

    Every head has a stem, which spans the rows of the head and its dependents. The line of a word
    begins at the stem of its head, or at the margin if it is a root, and its own stem joins that line
    at ┬, ┴ or ┼. A stem that the line only crosses, as in a non-projective tree, stays │.

        ╭─ the       DET   det
      ╭─┴─ gardener  NOUN  nsubj
    ──┼─── saw       VERB  root
      ╰─── birds     NOUN  obj
    """
    heads = checked_heads(sentence)
    dependents = _dependents(heads)
    stems = {head: (min(head, *words), max(head, *words)) for head, words in dependents.items() if head}
    levels = _stem_levels(dependents, stems)
    width = 2 * max(levels.values(), default=0) + 2
    column = {head: width - 2 * level for head, level in levels.items()}

    branches = []
    for word, head in enumerate(heads, 1):
        start = column[head] if head else 0
        cells = [" "] * start + ["─"] * (width - start)
        for stem, (first, last) in stems.items():
            if first <= word <= last:
                shapes = _AT_HEAD if stem == word else _AT_DEPENDENT if stem == head else _CROSSING
                cells[column[stem]] = shapes[first < word, word < last]
        branches.append("".join(cells))

    annotation = [values for values in (sentence.upos, sentence.deprels) if set(values) != {"_"}]
    rows = zip(branches, *map(_padded, [sentence.forms, *annotation]), strict=True)
    return "\n".join(f"{branch} {'  '.join(values)}".rstrip() for branch, *values in rows)


def checked_heads(sentence: Sentence) -> list[int]:
    """The heads of a sentence, which must form a tree."""
    heads = sentence.heads
    if not is_tree(heads):
        fault = "the sentence cannot be drawn, because its heads form no tree."
        raise FormatError(fault, source=sentence.source, line=sentence.line)
    return heads


def _dependents(heads: list[int]) -> dict[int, list[int]]:
    """The dependents of 0 and of every other head, each head before the heads below it."""
    unordered: dict[int, list[int]] = {}
    for word, head in enumerate(heads, 1):
        unordered.setdefault(head, []).append(word)
    ordered, agenda = {}, [0]
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
