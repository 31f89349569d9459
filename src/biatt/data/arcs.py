"""Arcs of a sentence: do they form a tree, and which of them cross?

Heads are a sequence of n numbers: heads[t − 1] is the head of word t, and 0 is ROOT, before the first word.
Plain Python, because reading a file must not wait for numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cycle(heads: Sequence[int]) -> list[int]:
    """The words of a cycle, each followed by its head, or none; every head must be within 0 … n.

    Linear time: each word is visited by one walk only.
    """
    walk = [0] * (len(heads) + 1)  # the word whose walk towards ROOT came here first
    walk[0] = -1
    for start in range(1, len(heads) + 1):
        word = start
        while not walk[word]:
            walk[word] = start
            word = heads[word - 1]
        if walk[word] == start:
            words = [word]
            while heads[words[-1] - 1] != word:
                words.append(heads[words[-1] - 1])
            return words
    return []


def is_tree(heads: Iterable[int]) -> bool:
    """Whether every word reaches ROOT by its heads; ROOT may have several children."""
    heads = list(map(int, heads))
    return all(0 <= head <= len(heads) for head in heads) and not cycle(heads)


def is_projective(heads: Iterable[int]) -> bool:
    """Whether no two arcs cross, including the arcs from ROOT."""
    return not any(crossing_arcs(heads))


def crossing_arcs(heads: Iterable[int], *, among: Iterable[bool] | None = None) -> list[bool]:
    """Whether each word's arc crosses another arc of the sentence.

    Two arcs cross if exactly one end of the one lies strictly between the ends of the other. A word with head
    −1 has no arc. With `among`, a truth value for each word, only the arcs of those words exist.
    """
    heads = list(map(int, heads))
    if among is not None:
        heads = [head if exists else -1 for head, exists in zip(heads, among, strict=True)]
    # An arc is crossed if an arc from a position inside it ends outside. The farthest ends decide that.
    farthest_left, farthest_right = list(range(len(heads) + 1)), list(range(len(heads) + 1))
    for dependent, head in enumerate(heads, 1):
        if head >= 0:
            left, right = (head, dependent) if head < dependent else (dependent, head)
            if right > farthest_right[left]:
                farthest_right[left] = right
            if left < farthest_left[right]:
                farthest_left[right] = left
    crossed = []
    for dependent, head in enumerate(heads, 1):
        left, right = (head, dependent) if head < dependent else (dependent, head)
        if head < 0 or right - left < 2:
            crossed.append(False)
        else:
            inside = slice(left + 1, right)
            crossed.append(max(farthest_right[inside]) > right or min(farthest_left[inside]) < left)
    return crossed
