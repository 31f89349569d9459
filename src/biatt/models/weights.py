"""The weights of a network: their names and shapes, the check that they fit, and their packed form.

Names are the paper's symbols; matrices are stored input × output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.config import COLUMNS, DIRECTIONS, EncoderConfig, ParserConfig
from biatt.errors import ModelError

Shapes = dict[str, tuple[int, ...]]

EMBEDDINGS = "E.weight"  # (rows, width); `column_rows` says what each row is for
SCALE = "E.scale"  # (rows,): what the 8-bit numbers of packed embeddings are multiplied by

# Word vectors that training does not change: always packed, and no part of a checkpoint.
VECTORS, VECTOR_SCALE = "vectors.weight", "vectors.scale"
FROZEN = (VECTORS, VECTOR_SCALE)

ROOT = 0  # the row of E that is the whole embedding of the ROOT token
AFFIX = "affix"  # the name of a form's spelling, which is embedded like a column
VECTOR = "vector"  # the name of the words with such a vector; their rows follow those of E
BAGS = ("feats", AFFIX)  # a token has any number of these symbols; unknown ones are left out


@dataclass(frozen=True)
class Table:
    """The rows of E, perhaps packed."""

    numbers: NDArray[Any]
    scale: NDArray[np.float32] | None = None  # (rows,): what each row of packed numbers is multiplied by

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self, indices: NDArray[np.int32]) -> NDArray[np.float32]:
        """Some of the rows, one after the other."""
        return _unpacked(self.numbers[indices], None if self.scale is None else self.scale[indices])

    def whole(self) -> NDArray[np.float32]:
        return _unpacked(self.numbers, self.scale)


def _unpacked(numbers: NDArray[Any], scale: NDArray[np.float32] | None) -> NDArray[np.float32]:
    return numbers if scale is None else numbers * scale[:, None]


class StoredWeights(Mapping[str, NDArray[Any]]):
    """Weights by name. Those of E stay packed, until all of them are asked for: few of its rows are used."""

    def __init__(self, weights: Mapping[str, NDArray[Any]], table: Table | None = None) -> None:
        """`table` is E, unless it is one of the weights."""
        self.table = table or Table(np.ascontiguousarray(weights[EMBEDDINGS], np.float32))
        self._others = {name: value for name, value in weights.items() if name != EMBEDDINGS}

    @classmethod
    def of(cls, weights: Mapping[str, NDArray[Any]]) -> StoredWeights:
        return weights if isinstance(weights, StoredWeights) else cls(weights)

    @cached_property
    def _embeddings(self) -> NDArray[np.float32]:
        return self.table.whole()

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._embeddings if name == EMBEDDINGS else self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._others, EMBEDDINGS))

    def __len__(self) -> int:
        return len(self._others) + 1


def shapes_of(weights: Mapping[str, NDArray[Any]]) -> dict[str, Sequence[int]]:
    if not isinstance(weights, StoredWeights):
        return {name: value.shape for name, value in weights.items()}
    others = {name: weights[name].shape for name in weights if name != EMBEDDINGS}
    return {**others, EMBEDDINGS: weights.table.numbers.shape}


NO_LABELS: Mapping[str, int] = MappingProxyType({})


class ColumnRows(NamedTuple):
    """The rows of E for the symbols of a column."""

    unknown: int | None  # for symbols that are not known; None where they are left out
    first: int  # for the first known symbol; the others follow


def column_rows(symbols: Mapping[str, Sequence[str]]) -> tuple[dict[str, ColumnRows], int]:
    """The rows of E for the symbols of each column, and the number of all rows with ROOT's."""
    columns, size = {}, 1
    for name in (*COLUMNS, AFFIX):
        if name in symbols:
            unknown = None if name in BAGS else size
            first = size if unknown is None else size + 1
            columns[name] = ColumnRows(unknown, first)
            size = first + len(symbols[name])
    return columns, size


def memory_layers(config: EncoderConfig) -> tuple[str, ...]:
    """The names of the memory's layers."""
    return ("memory", *(f"memory{k}" for k in range(2, config.layers + 1)))


def encoder_shapes(config: EncoderConfig, *, rows: int) -> Shapes:
    """The weights of token embeddings and memory."""
    h = config.hidden
    shapes: Shapes = {EMBEDDINGS: (rows, config.width), "P": (config.width, h), "P_bias": (h,)}
    for k, name in enumerate(memory_layers(config)):
        shapes |= _gru_shapes(name, 2, 2 * h if k else h, h)
    return shapes


def labeller_shapes(config: EncoderConfig, *, rows: int, labels: int) -> Shapes:
    """The weights of a network that labels words."""
    output: Shapes = {"out": (2 * config.hidden, labels), "out_bias": (labels,)}
    return encoder_shapes(config, rows=rows) | output


def parser_shapes(
    config: ParserConfig, *, rows: int, relations: int, labels: Mapping[str, int] = NO_LABELS
) -> Shapes:
    """The weights of a parser; `labels` has the number of labels of each kind, if it chooses tags."""
    h, d, k = config.hidden, len(DIRECTIONS[config.directions]), config.pair_hidden
    single = config.attention == "single"
    attentions = 1 if single else d
    shapes = encoder_shapes(config, rows=rows)
    if config.feature_layers:
        layers, width = len(config.feature_layers), config.feature_width
        shapes["features.mix"] = (layers,)
        shapes["features.shift"] = (layers, width)  # − the mean of each number of a layer
        shapes["features.factor"] = (layers, width)  # 1 / its standard deviation
        shapes["features.P"] = (width, h)
    if config.vector_width:
        shapes[VECTORS] = (config.vector_rows, config.vector_width)
        shapes[VECTOR_SCALE] = (config.vector_rows,)
        shapes["vectors.P"] = (config.vector_width, h)
    if config.tags:
        shapes["tags.out"] = (2 * h, sum(labels.values()))
        shapes["tags.out_bias"] = (sum(labels.values()),)
        shapes["tags.embeddings"] = (sum(fed_labels(labels)), 2 * h)
    shapes |= _gru_shapes("query", d, 2 * h if config.query_input == "memory" else h, h)
    if config.feedback:
        shapes["F"] = (d, 2 * h, 3 * h)  # the rows of the query's W that multiply the soft headword
    shapes["C"] = (1, 2 * h, h)  # shared by the attentions, as in the authors' program
    shapes["D"] = (attentions, d * h if single else h, h)
    shapes["v"] = (attentions, h)
    shapes["U"] = (attentions, 2 * h, relations)
    shapes["W"] = (d, h, relations)
    shapes["relation_bias"] = (relations,)
    if k:
        shapes["pair.query"] = (d, h, k)
        shapes["pair.word"] = (2 * h, k)
        shapes["pair.head"] = (2 * h, k)
        shapes["pair.bias"] = (k,)
        shapes["pair.out"] = (k, relations)
    return shapes


def fed_labels(labels: Mapping[str, int]) -> list[int]:
    """The number of labels of the kinds whose embeddings go on into the network: those of tags."""
    return [size for kind, size in labels.items() if kind != "lemma"]


def _gru_shapes(name: str, directions: int, inputs: int, hidden: int) -> Shapes:
    return {
        f"{name}.W": (directions, inputs, 3 * hidden),  # reset gate, update gate, candidate
        f"{name}.U": (directions, hidden, 3 * hidden),
        f"{name}.bias": (directions, 3 * hidden),
        f"{name}.first": (directions, hidden),
    }


def check_shapes(shapes: Mapping[str, Sequence[int]], expected: Shapes) -> None:
    """Raise ModelError where weights are missing, unknown or of another shape."""
    differing = sorted(
        name
        for name in shapes.keys() | expected.keys()
        if name not in shapes or tuple(shapes[name]) != expected.get(name)
    )
    if differing:
        raise ModelError(
            f"The weights do not fit the configuration and the vocabulary ({', '.join(differing)})."
        )


def row_scale(embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
    """What each row of packed embeddings is multiplied by; the largest number of a row is packed as 127."""
    scale: NDArray[np.float32] = np.maximum(np.abs(embeddings).max(1), np.float32(1e-6)) / np.float32(127)
    return scale


def packed_rows(
    table: NDArray[np.float32], scale: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The rows of a table in 8 bits, and what each is multiplied by."""
    scale = row_scale(table) if scale is None else scale
    return np.round(table / scale[:, None]).astype(np.int8), scale


def pack(
    weights: Mapping[str, NDArray[Any]], scale: NDArray[np.float32] | None = None
) -> dict[str, NDArray[Any]]:
    """The weights in a third of the space: embeddings in 8 bits with a scale for each row, the rest in 16.

    With the scale that `unpack` returned, its weights are packed into the same bits again.
    """
    embeddings, scale = packed_rows(weights[EMBEDDINGS].astype(np.float32), scale)
    packed: dict[str, NDArray[Any]] = {
        name: value if name in FROZEN else value.astype(np.float16)
        for name, value in weights.items()
        if name != EMBEDDINGS
    }
    return {**packed, EMBEDDINGS: embeddings, SCALE: scale}


def unpack(packed: Mapping[str, NDArray[Any]]) -> StoredWeights:
    """The weights that `pack` was given, as near as it keeps them, in float32; frozen vectors stay packed."""
    weights = {
        name: value if name in FROZEN else value.astype(np.float32)
        for name, value in packed.items()
        if name not in (EMBEDDINGS, SCALE)
    }
    return StoredWeights(weights, Table(packed[EMBEDDINGS], packed[SCALE]))
