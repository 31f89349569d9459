"""Documents of files, folders and patterns: ids, columns, and failures in their place."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.corpus import records as module
from biatt.corpus.records import Failure, Fields, Record, input_files, read_records
from biatt.data.conll import dumps
from biatt.errors import BiattError, ConfigError
from builders import TREEBANK


def ids(path: Path, kind: Any = None, **options: Any) -> list[str]:
    return [record.id for record in read_records(path, kind, **options)]


def test_inputs_are_files_folders_and_patterns_each_once(tmp_path: Path) -> None:
    for name in ("b.txt", "a/2.txt", "a/1.txt", "a/_hidden.txt", "a/.x/3.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    folder = tmp_path / "a"
    one, two, b = folder / "1.txt", folder / "2.txt", tmp_path / "b.txt"
    assert input_files([folder]) == [one, two]
    assert input_files([str(tmp_path / "**" / "[12].txt"), b, folder]) == [one, two, b]
    with pytest.raises(BiattError, match=r"gone\.txt: cannot be read: no such file"):
        input_files([tmp_path / "gone.txt"])
    with pytest.raises(ConfigError, match=r"\*\.csv has no files to parse"):
        input_files([f"{tmp_path}/*.csv"])


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes and devices of POSIX")
def test_input_that_can_be_read_once_only_is_refused(tmp_path: Path) -> None:
    """Its checksum would use it up, and nothing would be left to parse."""
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", "/dev/zero", "-"):
        with pytest.raises(ConfigError, match=f"^{name} is not a file; inputs are read twice"):
            input_files([name])


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_json_lines_keep_ids_and_columns(tmp_path: Path, suffix: str, pack: Any) -> None:
    lines = ['{"id": 7, "text": "a", "year": 1999}', "", '{"body": "x"}', '{"text": "b"}']
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(pack("\n".join(lines).encode()))
    first, second, third = read_records(path)
    assert first == Record("7", "a", {"year": 1999}, str(path), 1)
    assert second == Failure(f"{path}:3", str(path), 3, "the field text is missing.")
    assert third == Record(f"{path}:4", "b", {}, str(path), 4)
    (_, body, _) = read_records(path, fields=Fields("body", "year"))
    assert body == Record(f"{path}:3", "x", {}, str(path), 3)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"text": 3}', "is a number, not a text"),
        (b'{"text": null}', "is missing"),
        (b'{"text": "\\ud800"}', "half a character"),
        (b'{"text": "a", "id": "\\ud800"}', "half a character"),
    ],
)
def test_a_bad_line_is_one_failure(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n' + line + b'\n{"text": "b"}\n')
    first, failure, last = read_records(path)
    assert isinstance(failure, Failure)
    assert (failure.line, reason in failure.reason) == (2, True)
    json.dumps(failure).encode()
    assert isinstance(first, Record)
    assert isinstance(last, Record)


def test_a_text_file_is_a_document_or_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("One.\n\nTwo.\n\nThree.\n")
    assert list(read_records(path)) == [Record(str(path), "One.\n\nTwo.\n\nThree.\n", {}, str(path))]
    monkeypatch.setattr(module, "LARGEST_DOCUMENT", 12)
    parts = list(read_records(path))
    assert [part.id for part in parts] == [f"{path}#1", f"{path}#2"]
    assert "".join(str(part.content) for part in parts) == path.read_text()  # type: ignore[union-attr]
    path.write_text("")
    assert ids(path) == [str(path)]


@given(
    st.lists(st.sampled_from(["", "# newdoc", "# newdoc id = x", "# newdoc id = y"]), min_size=1, max_size=8)
)
def test_documents_of_sentences_begin_at_newdoc(tmp_path_factory: Any, comments: list[str]) -> None:
    path = tmp_path_factory.mktemp("documents") / "a.conllu"
    sentences = [TREEBANK[0].copy() for _ in comments]
    for sentence, comment in zip(sentences, comments, strict=True):
        if comment:
            sentence.verbatim.insert(0, (0, comment))
    path.write_text(dumps(sentences))
    found = list(read_records(path))
    assert [s for record in found for s in record.content] == sentences  # type: ignore[union-attr]
    assert len(found) == 1 + sum(map(bool, comments[1:]))
    named = [record.id for record in found if not record.id.startswith(str(path))]
    assert named == [comment[-1] for comment in comments if "=" in comment]
    assert len({record.id for record in found} - {"x", "y"}) == len(found) - len(named)


def test_parts_of_a_long_document_keep_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SENTENCES", 2)
    path = tmp_path / "a.conllu"
    path.write_text(f"# newdoc id = x\n{dumps(TREEBANK[:5])}# newdoc id = y\n{dumps(TREEBANK[:1])}")
    found = [record for record in read_records(path) if isinstance(record, Record)]
    assert [record.id for record in found] == ["x", "x#2", "x#3", "y"]
    assert [record.continues for record in found] == [False, True, True, False]


def test_documents_before_a_fault_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(f"{dumps(TREEBANK[:2])}# newdoc\n{dumps(TREEBANK[:1])}1\tword\n")
    record, failure = read_records(path)
    assert record.content == TREEBANK[:2]  # type: ignore[union-attr]
    assert isinstance(failure, Failure)
    assert str(failure.error()) == f"{path}, line {failure.line}: {failure.reason}"
    path.write_bytes(b"\x1f\x8bdamaged")
    (failure,) = read_records(path)
    assert "damaged or cut short" in str(failure.error())  # type: ignore[union-attr]


def test_tokens_are_sentences_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a b\nc\nd\n")
    monkeypatch.setattr(module, "MOST_SENTENCES", 2)
    first, second = read_records(path, "tokens")
    assert [s.forms for s in first.content] == [["a", "b"], ["c"]]  # type: ignore[union-attr]
    assert (second.id, first.size) == (f"{path}#2", 6)
