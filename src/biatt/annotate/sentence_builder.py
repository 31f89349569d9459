"""From the labels of a text's characters to its sentences, with the place of every token in the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.annotate.multiword import Multiword
from biatt.data.graphemes import joined
from biatt.data.places import Places
from biatt.data.sentence import NO_FILE, TEXT, Sentence
from biatt.data.spaces import SPACES_AFTER, SPACES_BEFORE, SPACES_IN_TOKEN, escaped, item_for
from biatt.data.text import BYTE_ORDER_MARK
from biatt.encoding.vocabulary import Indices

INSIDE, TOKEN_END, SENTENCE_END = range(3)  # what ends at a character
LONGEST_SENTENCE = 1000  # words: a text without any end of sentence is cut here

_IS_SPACE = np.array([chr(code).isspace() for code in range(0x3002)])  # no later character is


class Cuts(NamedTuple):
    """Where the tokens of a text are, and what the labels say about them."""

    starts: list[int]
    ends: list[int]
    characters: list[int]  # of each token, without space
    end_sentence: list[bool]
    several: list[bool]  # whether it has several words


def cut_text(text: str, labels: Indices, paragraph_ends: Sequence[int], *, spaces: bool) -> Cuts:
    """Cut a text where its labels say so, but never inside a grapheme cluster.

    `labels` are (characters, 2), for all but space; after the characters `paragraph_ends`, a sentence ends.
    Space ends a token unless `spaces`. A cut that the labels have inside a cluster is made after it. A token
    has the space that is in one cluster with its first or last character.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    visible = ~_IS_SPACE[np.minimum(codes, len(_IS_SPACE) - 1)]
    visible[0] &= not text.startswith(BYTE_ORDER_MARK)  # it counts as space
    places = np.flatnonzero(visible)
    kinds = labels[:, 0].copy()
    if not spaces:
        before_space = np.flatnonzero(places[1:] - places[:-1] > 1)
        kinds[before_space] = np.maximum(kinds[before_space], TOKEN_END)
    kinds[paragraph_ends] = SENTENCE_END
    in_cluster = joined(text, codes)
    if in_cluster is not None:
        _move_out_of_clusters(kinds, np.cumsum(~in_cluster, dtype=np.int64)[places])
    last = np.flatnonzero(kinds)
    first = np.concatenate([[0], last[:-1] + 1])
    starts, ends = places[first], places[last] + 1
    if in_cluster is not None:
        bounds = np.append(np.flatnonzero(~in_cluster), len(text))
        starts = bounds[np.searchsorted(bounds, starts, "right") - 1]
        ends = bounds[np.searchsorted(bounds, ends, "left")]
    return Cuts(
        starts.tolist(),
        ends.tolist(),
        (last + 1 - first).tolist(),
        (kinds[last] == SENTENCE_END).tolist(),
        (labels[last, 1] > 0).tolist(),
    )


def _move_out_of_clusters(kinds: Indices, clusters: NDArray[np.int64]) -> None:
    """Move what ends inside a cluster to its last character."""
    first = np.flatnonzero(np.diff(clusters, prepend=-1))
    ends = np.maximum.reduceat(kinds, first)
    kinds[:] = INSIDE
    kinds[np.append(first[1:], len(kinds)) - 1] = ends


def build_sentences(text: str, cuts: Cuts, multiword: Multiword) -> Iterator[Sentence]:
    """The sentences of a text that has at least one token."""
    starts, ends, *_ = cuts
    following = [*starts[1:], len(text)]
    before = SPACES_BEFORE + escaped(text[: starts[0]]) if starts[0] else ""
    builder, first = SentenceBuilder(), 0
    for number, (start, end, characters, ends_sentence, several, next_start) in enumerate(
        zip(*cuts, following, strict=True), 1
    ):
        token, after = text[start:end], text[end:next_start]
        # The last space is written also if it is a blank, since a file ends otherwise if nothing is said.
        misc = SPACES_AFTER + escaped(after) if after and number == len(starts) else item_for(after)
        if characters != end - start and (form := " ".join(token.split())) != token:
            misc = _joined(SPACES_IN_TOKEN + escaped(token), misc)
            token = form
        if before:
            misc, before = _joined(before, misc), ""
        builder.add(token, misc or "_", space_after=next_start > end)
        if several:
            builder.divide(multiword.words(token))
        if ends_sentence or builder.size >= LONGEST_SENTENCE or number == len(starts):
            sentence = builder.sentence()
            sentence.place_in(Places(text, starts[first:number], ends[first:number]))
            yield sentence
            builder, first = SentenceBuilder(), number


def _joined(item: str, others: str) -> str:
    """Items of MISC, if there are others."""
    return f"{item}|{others}" if others else item


class SentenceBuilder:
    """Makes a sentence of its tokens, added one by one."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.verbatim: list[tuple[int, str]] = []
        self.text: list[str] = []

    @property
    def size(self) -> int:
        return len(self.rows)

    def add(self, token: str, misc: str, *, space_after: bool) -> None:
        """Add a token of one word."""
        rows = self.rows
        rows.append([str(len(rows) + 1), token, "_", "_", "_", "_", "_", "_", "_", misc])
        self.text.append(token + " " if space_after else token)

    def divide(self, words: Sequence[str]) -> None:
        """The last token has these words."""
        if len(words) > 1:
            _, token, *rest = self.rows.pop()
            before = len(self.rows)
            self.verbatim.append((before, "\t".join([f"{before + 1}-{before + len(words)}", token, *rest])))
            self.rows += [[str(i), word, *"________"] for i, word in enumerate(words, before + 1)]

    def sentence(self) -> Sentence:
        self.verbatim.insert(0, (0, TEXT + "".join(self.text).rstrip()))
        return Sentence(self.rows, self.verbatim, source=NO_FILE[1])
