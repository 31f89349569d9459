"""From raw text to sentences of words: a network labels every character with what ends there.

Spaces are not labelled; they are part of their neighbours' spelling. A long paragraph is cut into overlapping
windows, which are labelled in batches, so that memory does not grow with the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from biatt.annotate.labeller import FusedLabeller
from biatt.annotate.multiword import Multiword
from biatt.annotate.sentence_builder import build_sentences, cut_text
from biatt.config import TokeniserSettings
from biatt.data.full_width import half_width
from biatt.data.raw_text import Paragraph
from biatt.data.sentence import Sentence
from biatt.data.text import BYTE_ORDER_MARK
from biatt.encoding.labels import NO_LABEL, Labels
from biatt.encoding.vocabulary import ROW_BYTES, Encoded, Indices, in_bytes, offsets_of, with_root
from biatt.models.model_check import Kind
from biatt.models.model_folder import Model, read_model, write_model
from biatt.models.weights import ROOT, StoredWeights

INSIDE, TOKEN, SENTENCE = "inside", "token", "sentence"  # what ends at a character, as `cut_text` numbers it
ONE, SEVERAL = "one", "several"  # how many words the token that ends there has
LABELS = Labels({"end": [INSIDE, TOKEN, SENTENCE], "words": [ONE, SEVERAL]})

WINDOW = 400  # characters whose labels a window gives
MARGIN = 60  # characters on either side that the network reads too
BATCH_CHARACTERS = 3000  # the fastest of 1500 to 12000
WRAPPED = 40, 120  # characters, from and to, in the longest line of text that may be wrapped
LONGEST_LINE = 12  # tens of characters: the lengths of longer lines are not distinguished
LONGEST_CHUNK = 20  # characters between spaces that are embedded as a whole too
REMEMBERED_CHUNKS = 10_000  # whose rows are cached, in some three megabytes
REMEMBERED_CHARACTERS = 20_000  # with different neighbours

_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n\s*")  # a blank line


class Characters:
    """The rows of E of a character: for itself, its neighbours, its Unicode category and its chunk."""

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = list(symbols)
        self.size = len(self.symbols) + 1  # row 0 is ROOT
        self._rows = dict(zip(self.symbols, range(1, self.size), strict=True))
        self._chunks: dict[str, tuple[bytes, bytes]] = {}
        self._characters: dict[str, bytes] = {}

    @classmethod
    def build(cls, paragraphs: Sequence[Paragraph], *, min_count: int) -> Characters:
        chunks = Counter(chunk for paragraph in paragraphs for chunk in paragraph.chunks)
        count: Counter[str] = Counter()
        for chunk, times in chunks.items():
            for symbols in _spelled(chunk):
                count.update(dict.fromkeys(symbols, times))
        for paragraph in paragraphs:
            count.update(symbol for _, symbol in _line_symbols(paragraph))
        kept = [symbol for symbol, times in count.items() if times >= min_count]
        return cls(sorted(kept, key=lambda symbol: (-count[symbol], symbol)))

    def encode(self, paragraph: Paragraph) -> tuple[Indices, Indices]:
        """The rows of all characters of a paragraph, and their offsets as in `Encoded`, without ROOT."""
        chunks = list(map(self._chunk, paragraph.chunks))
        rows = np.frombuffer(b"".join([rows for rows, _ in chunks]), np.int32)
        sizes = np.frombuffer(b"".join([sizes for _, sizes in chunks]), np.uint8)
        offsets = offsets_of(sizes)
        symbols = [(c, self._rows[symbol]) for c, symbol in _line_symbols(paragraph) if symbol in self._rows]
        if symbols:
            characters, added = np.array(symbols).T
            rows = np.insert(rows, offsets[characters + 1], added)
            offsets = offsets_of(sizes + np.bincount(characters, minlength=len(sizes)))
        return rows, offsets

    def dropped(self) -> Indices:
        """The row that replaces each dropped row (`with_dropout`): none, except for ROOT."""
        replacement = np.full(self.size, -1, np.int32)
        replacement[ROOT] = ROOT
        return replacement

    def _chunk(self, chunk: str) -> tuple[bytes, bytes]:
        """The rows of the characters of a chunk, and the number of rows of each character."""
        bags_and_sizes = self._chunks.get(chunk)
        if bags_and_sizes is None:
            row_of = self._rows
            readable = half_width(chunk, but=lambda character: f"c{character}" in row_of)
            whole = in_bytes([row_of[symbol] for symbol in _whole(readable) if symbol in row_of])
            bags = [self._character(part) + whole for part in _with_neighbours(readable)]
            bags_and_sizes = b"".join(bags), bytes(len(bag) // ROW_BYTES for bag in bags)
            if len(chunk) <= LONGEST_CHUNK:
                if len(self._chunks) >= REMEMBERED_CHUNKS:
                    self._chunks.clear()
                self._chunks[chunk] = bags_and_sizes
        return bags_and_sizes

    def _character(self, with_neighbours: str) -> bytes:
        """The rows of a character for itself and its neighbours."""
        rows = self._characters.get(with_neighbours)
        if rows is None:
            row_of = self._rows
            rows = in_bytes([row_of[symbol] for symbol in _symbols(with_neighbours) if symbol in row_of])
            if len(self._characters) >= REMEMBERED_CHARACTERS:
                self._characters.clear()
            self._characters[with_neighbours] = rows
        return rows


def _spelled(chunk: str) -> Iterator[list[str]]:
    """The symbols of each character of a chunk."""
    for part in _with_neighbours(chunk):
        yield [*_symbols(part), *_whole(chunk)]


def _with_neighbours(chunk: str) -> list[str]:
    """Each character of a chunk between its neighbours."""
    around = f" {chunk} "
    return [around[i : i + 3] for i in range(len(chunk))]


def _symbols(with_neighbours: str) -> list[str]:
    before, character, after = list(with_neighbours)
    category = unicodedata.category(character)
    return [
        f"c{character}",
        f"k{category}",
        f"l{before}{character}",
        f"r{character}{after}",
        f"t{with_neighbours}",
    ]


def _whole(chunk: str) -> list[str]:
    return [f"w{chunk.lower()}"] if len(chunk) <= LONGEST_CHUNK else []


def _line_symbols(paragraph: Paragraph) -> Iterator[tuple[int, str]]:
    """Characters beside a line break, and the symbols that they have for that.

    Where lines may be wrapped, a break is like any space: the next chunk would make a line longer than all.
    """
    if not paragraph.line_ends:
        return
    ends = np.cumsum([len(chunk) for chunk in paragraph.chunks])  # in characters, without spaces
    line_ends = np.array([*paragraph.line_ends, len(ends) - 1])
    lengths = (np.diff(ends[line_ends] + line_ends, prepend=-1) - 1).tolist()  # with spaces
    longest = max(lengths)
    for end, length in zip(paragraph.line_ends, lengths, strict=False):
        fits = length + 1 + len(paragraph.chunks[end + 1]) <= longest
        if fits or not WRAPPED[0] <= longest <= WRAPPED[1]:
            yield int(ends[end]) - 1, f"n{min(length // 10, LONGEST_LINE)}"
            yield int(ends[end]), "n"


class Tokeniser:
    """A trained tokeniser: its configuration, its characters, its multiword tokens and its weights."""

    def __init__(
        self,
        config: TokeniserSettings,
        characters: Characters,
        multiword: Multiword,
        weights: Mapping[str, NDArray[Any]],
        *,
        spaces: bool = False,
        scale: NDArray[Any] | None = None,  # of packed embeddings: the model is stored packed
    ) -> None:
        self.scale = scale
        self.config, self.characters, self.multiword = config, characters, multiword
        self.weights = StoredWeights.of(weights)
        self.spaces = spaces  # whether a token can contain a space
        self.network = FusedLabeller(config, LABELS, self.weights, rows=characters.size)

    @classmethod
    def load(cls, folder: str | Path) -> Tokeniser:
        return cls.from_stored(read_model(folder, Kind.TOKENISER))

    @classmethod
    def from_stored(cls, model: Model) -> Tokeniser:
        symbols = model.symbols
        characters, multiword = Characters(symbols["symbols"]), Multiword.from_json(symbols["multiword"])
        return cls(
            model.config, characters, multiword, model.weights, spaces=symbols["spaces"], scale=model.scale
        )

    def save(self, folder: str | Path) -> None:
        """Write the tokeniser into a folder that belongs to it, for example that of its training."""
        write_model(folder, self.stored())

    def stored(self) -> Model:
        symbols = {
            "symbols": self.characters.symbols,
            "multiword": self.multiword.to_json(),
            "spaces": self.spaces,
        }
        return Model(Kind.TOKENISER, self.config, symbols, self.weights, self.scale)

    def split(self, texts: Sequence[str]) -> list[list[Sentence]]:
        """The sentences of each text; a blank line always ends one."""
        cut_up = [
            [
                Paragraph.from_text(part)
                for part in _PARAGRAPHS.split(text.removeprefix(BYTE_ORDER_MARK))
                if part.strip()
            ]
            for text in texts
        ]
        labels = iter(self._labels([paragraph for paragraphs in cut_up for paragraph in paragraphs]))
        return [
            self._sentences(text, [next(labels) for _ in paragraphs]) if paragraphs else []
            for text, paragraphs in zip(texts, cut_up, strict=True)
        ]

    def _labels(self, paragraphs: Sequence[Paragraph]) -> list[Indices]:
        """The labels of the characters of each paragraph."""
        windows = [window for paragraph in paragraphs for window in cut(paragraph, self.characters)]
        encoded = [window.encoded for window in windows]
        labelled = self.network.label(encoded, batch_words=BATCH_CHARACTERS)
        cores = iter([numbers[window.core] for window, numbers in zip(windows, labelled, strict=True)])
        counts = (-(-sum(map(len, chunks)) // WINDOW) for chunks, *_ in paragraphs)
        return [np.concatenate([next(cores) for _ in range(count)]) for count in counts]

    def _sentences(self, text: str, labels: Sequence[Indices]) -> list[Sentence]:
        """The sentences of a text whose paragraphs have these labels."""
        paragraph_ends = np.cumsum([len(of_paragraph) for of_paragraph in labels]) - 1
        cuts = cut_text(text, np.concatenate(labels), paragraph_ends.tolist(), spaces=self.spaces)
        return list(build_sentences(text, cuts, self.multiword))


class Window(NamedTuple):
    encoded: Encoded
    core: slice  # its characters without the margins
    labels: Indices  # (characters, kinds): gold labels, NO_LABEL in the margins


def cut(paragraph: Paragraph, characters: Characters) -> list[Window]:
    """The overlapping windows of a paragraph."""
    rows, offsets = characters.encode(paragraph)
    size, labels = len(offsets) - 1, character_labels(paragraph) if paragraph.tokens else None
    windows = []
    for start in range(0, size, WINDOW):
        end = min(start + WINDOW, size)
        first, last = max(0, start - MARGIN), min(size, end + MARGIN)
        encoded = with_root(rows[offsets[first] : offsets[last]], offsets[first : last + 1] - offsets[first])
        core = slice(start - first, end - first)
        of_window = np.full((last - first, len(LABELS.kinds)), NO_LABEL, np.int32)
        if labels is not None:
            of_window[core] = labels[start:end]
        windows.append(Window(encoded, core, of_window))
    return windows


def character_labels(paragraph: Paragraph) -> Indices:
    """(characters, 2): what ends at each character, and how many words the token has that ends there."""
    size = sum(map(len, paragraph.chunks))
    ends, words = [INSIDE] * size, cast("list[str | None]", [None] * size)
    for token in paragraph.tokens:
        ends[token.character] = SENTENCE if token.ends_sentence else TOKEN
        words[token.character] = SEVERAL if token.multiword else ONE
    return LABELS.encode(ends, words)
