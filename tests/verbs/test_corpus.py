"""corpus: options, the summary, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from biatt.corpus.manifest import MANIFEST
from builders import random_parser, random_tokeniser
from commands import biatt_process, invoke


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    parser = random_parser()
    parser.tokeniser = random_tokeniser()
    parser.save(folder / "model")
    lines = [json.dumps({"key": f"k{i}", "body": "The dog sees cats."}) for i in range(3)]
    (folder / "a.jsonl").write_text("\n".join([*lines, "{}"]))
    return folder


def test_options_reach_the_run_and_totals_are_printed(data: Path, tmp_path: Path) -> None:
    given = [
        data / "a.jsonl",
        "-m",
        data / "model",
        "--field",
        "body",
        "--id-field",
        "key",
        "--format",
        "json",
    ]
    words = [*given, "--on-error", "skip", "--output-dir", tmp_path / "out", "--shard-characters", 20]
    printed = invoke("corpus", *words)
    assert printed.startswith("3 documents, ")
    assert printed.rstrip().endswith("2 shards, 1 documents not parsed")
    lines = [line for path in sorted(tmp_path.glob("out/part-*")) for line in path.read_text().splitlines()]
    assert [json.loads(line)["id"] for line in lines] == ["k0", "k1", "k2"]
    assert invoke("corpus", *words, "--resume") == printed
    run = json.loads((tmp_path / "out" / MANIFEST).read_text().splitlines()[0])
    assert run["options"]["fields"] == ["body", "key"]


@pytest.mark.slow
def test_a_bad_document_is_one_sentence_and_exit_code_2(data: Path, tmp_path: Path) -> None:
    done = biatt_process("corpus", data / "a.jsonl", "-m", data / "model", "--output-dir", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        f"biatt: {data / 'a.jsonl'}, line 1: the field text is missing."
    ]
