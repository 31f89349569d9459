"""The weights of networks: names, shapes and the packed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from biatt.config import ParserConfig
from biatt.errors import ModelError
from biatt.models.weights import (
    EMBEDDINGS,
    SCALE,
    StoredWeights,
    Table,
    check_shapes,
    memory_layers,
    pack,
    parser_shapes,
    shapes_of,
    unpack,
)


@pytest.mark.parametrize(("layers", "names"), [(1, ("memory",)), (3, ("memory", "memory2", "memory3"))])
def test_layers_of_the_memory_are_numbered_from_the_second(layers: int, names: tuple[str, ...]) -> None:
    config = ParserConfig(layers=layers)
    assert memory_layers(config) == names
    assert {f"{name}.W" for name in names} < parser_shapes(config, rows=1, relations=1).keys()


def test_weights_that_differ_are_named() -> None:
    expected = {"a": (1, 2), "b": (3,), "c": (4,)}
    check_shapes({"a": [1, 2], "b": [3], "c": [4]}, expected)
    with pytest.raises(ModelError, match=r"do not fit .*\(b, c, d\)"):
        check_shapes({"a": [1, 2], "b": [4], "d": [1]}, expected)


FLOATS = st.floats(-1e4, 1e4, width=32)


@given(arrays(np.float32, (5, 3), elements=FLOATS), arrays(np.float32, (4,), elements=FLOATS))
def test_packing_keeps_numbers_within_half_a_step(table: np.ndarray, bias: np.ndarray) -> None:
    packed = pack({EMBEDDINGS: table, "bias": bias})
    assert [packed[name].dtype for name in (EMBEDDINGS, SCALE, "bias")] == [np.int8, np.float32, np.float16]
    found = unpack(packed)
    assert all(value.dtype == np.float32 for value in found.values())
    assert (np.abs(found[EMBEDDINGS] - table) <= 0.501 * packed[SCALE][:, None]).all()
    np.testing.assert_allclose(found["bias"], bias, rtol=1e-3, atol=1e-7)


@given(
    arrays(np.int8, (5, 3), elements=st.integers(-127, 127)),
    arrays(np.float32, (5,), elements=st.floats(2.0**-100, 2.0**100, width=32)),
    arrays(np.float16, (4,), elements=st.floats(width=16, allow_nan=False)),
)
def test_packed_weights_survive_unpacking_and_packing_bit_for_bit(
    table: np.ndarray, scale: np.ndarray, bias: np.ndarray
) -> None:
    packed = {EMBEDDINGS: table, SCALE: scale, "bias": bias}
    again = pack(unpack(packed), scale)
    assert again.keys() == packed.keys()
    for name, value in packed.items():
        assert again[name].tobytes() == value.tobytes()


@given(arrays(np.int8, (6, 3)), arrays(np.float32, (6,), elements=FLOATS), st.lists(st.integers(0, 5)))
def test_rows_of_a_packed_table_are_those_of_the_whole(
    numbers: np.ndarray, scale: np.ndarray, indices: list[int]
) -> None:
    table = Table(numbers, scale)
    assert np.array_equal(table.rows(np.array(indices, np.int32)), table.whole()[np.array(indices, int)])
    assert table.whole().dtype == np.float32


def test_packed_embeddings_are_unpacked_only_when_they_are_asked_for() -> None:
    weights = {EMBEDDINGS: np.ones((4, 2), np.float32), "bias": np.ones(3, np.float32)}
    stored = unpack(pack(weights))
    assert stored.table.numbers.dtype == np.int8
    assert shapes_of(stored) == shapes_of(weights) == {EMBEDDINGS: (4, 2), "bias": (3,)}
    assert "_embeddings" not in vars(stored)
    assert {name: value.shape for name, value in stored.items()} == shapes_of(weights)
    assert "_embeddings" in vars(stored)
    assert StoredWeights.of(stored) is stored
    assert len(stored) == 2
