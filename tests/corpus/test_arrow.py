"""Parquet in and out: every column, exact places, and readers that need one line."""

from __future__ import annotations

import datetime
import io
import json
from pathlib import Path

import pytest

from biatt.corpus import arrow
from biatt.corpus.arrow import ParquetShard, jsonable, read_rows, schema
from biatt.corpus.records import Fields, Record, read_records
from biatt.data.conll import reads
from biatt.data.document import Document
from biatt.errors import ConfigError, FormatError
from builders import ODD_CONLLU, random_parser

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def test_documents_come_back_with_all_columns() -> None:
    sentences = list(random_parser().parse(reads(ODD_CONLLU), confidence=True))
    document = Document.from_sentences(sentences)
    record = Record("d1", sentences, {"day": datetime.date(2020, 1, 2), "x": float("nan")}, "a.conllu")
    stream = io.BytesIO()
    shard = ParquetShard(stream)
    shard.add([(record, document)])
    shard.add([(record._replace(columns={}), Document("", []))])
    shard.finish()
    table = pq.read_table(io.BytesIO(stream.getvalue()))
    assert table.schema.equals(schema())
    row, empty = table.to_pylist()
    assert (row["id"], row["source"], row["text"]) == ("d1", "a.conllu", document.text)
    assert json.loads(row["columns"]) == {"day": "2020-01-02", "x": None}
    assert (empty["columns"], empty["sentences"]) == (None, [])
    expected = document.to_dict()["sentences"]
    for found, of_json in zip(row["sentences"], expected, strict=True):
        for name in ("sent_id", "text", "start_char", "end_char"):
            assert found[name] == of_json[name]
        for word, other in zip(found["words"], of_json["words"], strict=True):
            for name in ("id", "form", "lemma", "upos", "head", "deprel", "deps", "start_char", "end_char"):
                assert word[name] == other[name]
            assert row["text"][word["start_char"] : word["end_char"]]
            assert word["confidence"] == pytest.approx(other["confidence"], abs=1e-4)
        assert [t["form"] for t in found["multiword_tokens"]] == [
            t["form"] for t in of_json["multiword_tokens"]
        ]
    assert row["sentences"][0]["words"][1]["misc"] == "Note|A=1|A=2"


def test_rows_of_parquet_are_records(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"key": [1, None, 3], "body": ["a", "b", None], "n": [7, 8, 9]}), path)
    first, second, third = read_records(path, fields=Fields("body", "key"))
    assert first == Record("1", "a", {"n": 7}, str(path), 1)
    assert second == Record(f"{path}:2", "b", {"n": 8}, str(path), 2)
    assert "the field body is missing" in third.reason  # type: ignore[union-attr]
    with pytest.raises(FormatError, match="there is no column text; these are: key, body, n"):
        list(read_rows(path, "text"))
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(FormatError, match="the Parquet file cannot be read"):
        list(read_rows(path, "text"))


def test_values_become_json() -> None:
    assert jsonable({1: [b"a", float("inf"), True, None, ("x",)]}) == {"1": ["b'a'", None, True, None, ["x"]]}


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'biatt\[parquet\]'"):
        arrow.schema()
