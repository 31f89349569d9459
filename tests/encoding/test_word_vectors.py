"""Reading of word vectors: every format in the wild, and the place of every fault."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.encoding.word_vectors import WordVectors, read_vectors
from biatt.errors import BiattError, FormatError
from biatt.models.weights import VECTOR_SCALE, VECTORS

SOURCE = Path(__file__).parents[2] / "src"

Table = dict[str, list[float]]

ANIMALS: Table = {"cat": [1.0, -0.5], "Dog": [0.1, 2e-3], "日本": [-3.25, 0.0]}


def glove(table: Table) -> bytes:
    return "".join(f"{word} {' '.join(map(repr, row))}\n" for word, row in table.items()).encode()


def header(table: Table) -> bytes:
    return f"{len(table)} {len(next(iter(table.values())))}\n".encode()


def word2vec_text(table: Table) -> bytes:
    return header(table) + glove(table)


def fasttext(table: Table) -> bytes:
    return header(table) + glove(table).replace(b"\n", b" \n")  # it leaves a space at the end of each line


def word2vec_binary(table: Table) -> bytes:
    rows = [f"{word} ".encode() + struct.pack(f"<{len(row)}f", *row) + b"\n" for word, row in table.items()]
    return header(table) + b"".join(rows)


def gensim_binary(table: Table) -> bytes:
    rows = [f"{word} ".encode() + struct.pack(f"<{len(row)}f", *row) for word, row in table.items()]
    return header(table) + b"".join(rows)  # no line end after a vector


FORMATS: dict[str, Callable[[Table], bytes]] = {
    "glove": glove,
    "word2vec text": word2vec_text,
    "fasttext": fasttext,
    "word2vec binary": word2vec_binary,
    "gensim binary": gensim_binary,
}
formats = pytest.mark.parametrize("written", FORMATS.values(), ids=FORMATS.keys())


def loaded(path: Path, data: bytes) -> WordVectors:
    path.write_bytes(data)
    return read_vectors(path)


def check(vectors: WordVectors, table: Table) -> None:
    assert vectors.vectors.dtype == np.float32
    for word, row in table.items():
        found = vectors.get(word)
        assert found is not None
        np.testing.assert_array_equal(found, np.array(row, np.float32))


@formats
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_every_format_is_read_compressed_or_not(
    tmp_path: Path, written: Callable[[Table], bytes], compress: Callable[[bytes], bytes]
) -> None:
    vectors = loaded(tmp_path / "vectors", compress(written(ANIMALS)))
    check(vectors, ANIMALS)
    assert vectors.vectors.shape == (3, 2)


@pytest.mark.slow
@formats
def test_files_larger_than_any_buffer_are_read(tmp_path: Path, written: Callable[[Table], bytes]) -> None:
    values = np.random.default_rng(0).normal(size=(4000, 100)).astype(np.float32)
    table = {f"word{i}": row.tolist() for i, row in enumerate(values)}
    vectors = loaded(tmp_path / "vectors", written(table))
    np.testing.assert_array_equal(vectors.vectors, values)
    check(vectors, {"word3999": table["word3999"]})


@given(
    data=st.integers(2, 5).flatmap(
        lambda width: st.dictionaries(
            st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=12),
            st.lists(st.floats(-1e6, 1e6, width=32), min_size=width, max_size=width),
            min_size=1,
            max_size=5,
        )
    ),
    name=st.sampled_from(sorted(FORMATS)),
)
def test_what_is_written_comes_back(tmp_path_factory: pytest.TempPathFactory, data: Table, name: str) -> None:
    check(loaded(tmp_path_factory.getbasetemp() / "property", FORMATS[name](data)), data)


@pytest.mark.parametrize("written", [word2vec_text, fasttext])
def test_words_may_hold_spaces(tmp_path: Path, written: Callable[[Table], bytes]) -> None:
    table = {"cat": [1.0, 2.0], "New York": [3.0, 4.0], ". . .": [5.0, 6.0]}
    check(loaded(tmp_path / "vectors", written(table)), table)


def test_words_may_hold_spaces_after_the_first_line_of_a_glove_file(tmp_path: Path) -> None:
    table = {"cat": [1.0, 2.0], "at name@domain": [3.0, 4.0]}
    check(loaded(tmp_path / "vectors", glove(table)), table)


def test_no_break_space_and_other_line_ends_of_unicode_stay_in_the_word(tmp_path: Path) -> None:
    table = {"a\u00a0b": [1.0, 2.0], "c\u2028d": [3.0, 4.0], "e\u0085f": [5.0, 6.0]}
    check(loaded(tmp_path / "vectors", word2vec_text(table)), table)


def test_last_line_needs_no_line_end_and_lines_may_end_in_cr_lf(tmp_path: Path) -> None:
    check(loaded(tmp_path / "a", word2vec_text(ANIMALS).removesuffix(b"\n")), ANIMALS)
    check(loaded(tmp_path / "b", word2vec_text(ANIMALS).replace(b"\n", b"\r\n")), ANIMALS)


def test_form_that_is_missing_is_looked_up_in_lower_case(tmp_path: Path) -> None:
    vectors = loaded(tmp_path / "vectors", glove(ANIMALS))
    assert vectors.get("CAT") is not None
    np.testing.assert_array_equal(vectors.get("CAT"), vectors.get("cat"))  # type: ignore[arg-type]
    assert vectors.get("Dog") is not None
    assert vectors.get("dog") is None  # upper case is not tried
    assert vectors.get("cow") is None


def test_exact_form_goes_before_lower_case(tmp_path: Path) -> None:
    table = {"us": [1.0, 2.0], "US": [3.0, 4.0]}
    check(loaded(tmp_path / "vectors", glove(table)), table)


def test_first_of_duplicate_words_counts(tmp_path: Path) -> None:
    vectors = loaded(tmp_path / "vectors", b"cat 1 2\ncat 3 4\ndog 5 6\n")
    check(vectors, {"cat": [1.0, 2.0], "dog": [5.0, 6.0]})


def test_word_of_a_binary_file_that_is_not_utf8_is_kept_apart(tmp_path: Path) -> None:
    data = b"2 2\n" + b"caf\xe9 " + struct.pack("<2f", 1, 2) + b"cat " + struct.pack("<2f", 3, 4)
    check(loaded(tmp_path / "vectors", data), {"caf\ufffd": [1.0, 2.0], "cat": [3.0, 4.0]})


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"cat 1 2\ndog 3\n", 2, "expected a word and 2 numbers, found 2 fields"),
        (b"cat 1 2\ndog 3 x\n", 2, "expected a word in UTF-8 and 2 numbers"),
        (b"cat 1 2\n\ndog 3 4\n", 2, "expected a word and 2 numbers, found 1 fields"),
        (b"cat 1 2\ncaf\xe9 3 4\n", 2, "expected a word in UTF-8 and 2 numbers"),
        (b"cat\n", 1, "expected a word and 1 numbers, found 1 fields"),
        (b"2 2\ncat 1 x\ndog 3 4\n", 2, "expected a word in UTF-8 and 2 numbers"),
        (b"2 2\ncat 1\ndog 3 4\n", 2, "expected a word and 2 numbers, found 2 fields"),
        (b"2 2\ncat 1 2\ndog 3\n", 3, "expected a word and 2 numbers, found 2 fields"),
        (b"2 2\ncaf\xe9 1 2\ndog 3 4\n", 2, "expected a word in UTF-8 and 2 numbers"),
        (b"3 2\ncat 1 2\ndog 3 4\n", 3, "the file ends after 2 of 3 words"),
        (b"3 2\n", 1, "the file ends after 0 of 3 words"),
        (b"1 0\ncat\n", 2, "expected a word and 0 numbers"),
        (b"cat 1 2\ndog 3 nan\n", 2, "a number of 'dog' is not finite"),
        (b"cat 1 1e60\n", 1, "a number of 'cat' is not finite"),
        (f"{10**15} 300\n".encode() + b"cat \x00\x01\n", 1, "do not fit into memory"),
        (f"{10**30} 300\n".encode() + b"cat \x00\x01\n", 1, "do not fit into memory"),
        (b"9" * 5000 + b" 300\ncat \x00\x01\n", 2, "expected a word in UTF-8 and 1 numbers"),
        (b"", None, "the file holds no vectors"),
        (b"0 2\n", None, "the file holds no vectors"),
        (word2vec_binary(ANIMALS)[:-6], None, "the binary vectors end after 2 of 3 words"),
        (word2vec_binary(ANIMALS)[:-12], None, "the binary vectors end after 2 of 3 words"),
        (word2vec_binary({"cat": [1.0, float("inf")]}), None, "a number of 'cat' is not finite"),
    ],
)
def test_faulty_files_are_refused_with_their_place(
    tmp_path: Path, data: bytes, line: int | None, message: str
) -> None:
    path = tmp_path / "vectors.vec"
    with pytest.raises(FormatError, match=message) as caught:
        loaded(path, data)
    assert (caught.value.source, caught.value.line) == (str(path), line)
    assert str(caught.value).endswith(".")


def test_damaged_archive_is_a_format_error(tmp_path: Path) -> None:
    data = gzip.compress(glove({f"word{i}": [float(i), 1.0] for i in range(1000)}))
    with pytest.raises(FormatError, match="damaged or cut short"):
        loaded(tmp_path / "vectors.gz", data[:-20])


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BiattError, match="cannot be read"):
        read_vectors(tmp_path / "nothing")


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(word2vec_binary(ANIMALS)))))
    check(read_vectors("-"), ANIMALS)


def test_frozen_vectors_are_the_first_of_the_file_in_eight_bits() -> None:
    table = np.random.default_rng(1).normal(0, 3, (4, 5)).astype(np.float32)
    vectors = WordVectors(["the", "a", "the", "bird"], table)
    words, weights = vectors.frozen(3)
    assert words == ["the", "a", "bird"]
    packed, scale = weights[VECTORS], weights[VECTOR_SCALE]
    assert packed.dtype == np.int8
    assert (np.abs(packed * scale[:, None] - table[[0, 1, 3]]) <= 0.501 * scale[:, None]).all()
    assert vectors.frozen(1)[0] == ["the"]
    assert vectors.frozen(9)[0] == words
