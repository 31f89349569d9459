"""Words become the subwords of a contextual encoder, and long sentences become overlapping windows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from biatt.encoding.features import Pieces
from biatt.errors import ModelError

UNKNOWN_NAMES = ("[UNK]", "<unk>")  # where the tokeniser's own model does not name its unknown token


class Window(NamedTuple):
    """A part of a long sentence that the encoder reads at once, in subwords."""

    start: int
    end: int
    first: int  # the vectors of first … last - 1 are taken from this window
    last: int


class Subwords:
    """The tokeniser of an encoder, from the text of its `tokenizer.json`."""

    def __init__(self, description: str) -> None:
        from tokenizers import Tokenizer

        try:
            data = json.loads(description)
            self._tokenizer = Tokenizer.from_str(description)
            self._prefix_space = _is_byte_level(data.get("pre_tokenizer"))
            self._unknown = self._unknown_id(data["model"])
        except ModelError:
            raise
        except Exception as error:  # the library raises plain Exception for what it cannot read
            raise ModelError(f"it is damaged or of an unknown kind ({error}).") from error
        # Files may ask for a fixed length; sentences are cut into windows and padded by us.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        example = self._tokenizer.encode("a")
        special = np.array(example.special_tokens_mask, bool)
        inside = np.flatnonzero(~special)
        if not len(inside):
            raise ModelError("its tokeniser finds nothing in the letter a.")
        self.before = example.ids[: inside[0]]  # ids that begin and end the input of the network
        self.after = example.ids[inside[-1] + 1 :]
        self.largest = max(self._tokenizer.get_vocab(with_added_tokens=True).values())

    def _unknown_id(self, model: dict[str, Any]) -> int:
        if isinstance(model.get("unk_id"), int):
            return int(model["unk_id"])
        for name in (model.get("unk_token"), *UNKNOWN_NAMES):
            number = self._tokenizer.token_to_id(name) if name else None
            if number is not None:
                return number
        raise ModelError("it has no token for unknown words.")

    def pieces(self, sentences: Sequence[Sequence[str]]) -> list[Pieces]:
        """The subwords of each sentence; a word without any, e.g. of control characters, is unknown."""
        # Byte-level tokenisers mark the start of a word by a space inside its first subword.
        words = [[f" {form}" for form in forms] if self._prefix_space else list(forms) for forms in sentences]
        encodings = self._tokenizer.encode_batch(words, is_pretokenized=True, add_special_tokens=False)
        return [
            self._complete(encoding, len(forms)) for encoding, forms in zip(encodings, sentences, strict=True)
        ]

    def _complete(self, encoding: Any, count: int) -> Pieces:
        missing = sorted(set(range(count)).difference(encoding.word_ids))
        ids = np.array(encoding.ids + [self._unknown] * len(missing), np.int32)
        numbers = np.array(encoding.word_ids + missing, np.int32)
        order = np.argsort(numbers, kind="stable")
        return Pieces(ids[order], numbers[order])


def _is_byte_level(pre_tokenizer: Any) -> bool:
    if not isinstance(pre_tokenizer, dict):
        return False
    parts = pre_tokenizer.get("pretokenizers", [])
    return pre_tokenizer.get("type") == "ByteLevel" or any(map(_is_byte_level, parts))


def windows(length: int, size: int) -> Iterator[Window]:
    """Windows of up to `size` subwords that overlap by about half, for a sentence of `length` subwords.

    Each vector is taken from the window in which it is furthest from an edge. The ends of the sentence are no
    edges, because nothing is missing there.
    """
    starts = [*range(0, max(length - size, 0), max(size // 2, 1)), max(length - size, 0)]
    ends = [min(start + size, length) for start in starts]
    # Where windows overlap, the middle of the overlap is equally far from both edges.
    borders = [(start + end) // 2 for start, end in zip(starts[1:], ends[:-1], strict=True)]
    yield from map(Window, starts, ends, [0, *borders], [*borders, length])
