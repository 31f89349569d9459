"""parse: files, formats and options, end to end."""

from __future__ import annotations

import gzip
import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest

import biatt
from biatt.display.progress import ParseProgress
from commands import ENVIRONMENT, biatt_process, invoke


@pytest.mark.slow
def test_train_parse_evaluate_info(data: Path, trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "parsed.conllu"
    assert invoke("parse", "--model", trained, data / "blank.conllu", "-o", out) == ""
    gold, parsed = list(biatt.read(data / "a.conllu")), list(biatt.read(out, trees=True))
    assert [s.forms for s in parsed] == [s.forms for s in gold]
    assert all(sentence.heads.count(0) == 1 for sentence in parsed)

    table = invoke("evaluate", data / "a.conllu", out)
    result = biatt.evaluate(data / "a.conllu", out)
    assert re.search(rf"^ *LAS +{100 * result.las:.2f} ", table, re.MULTILINE)
    printed = json.loads(invoke("evaluate", data / "a.conllu", out, "-f", "json"))
    assert printed == json.loads(json.dumps(result.as_dict()))

    info = invoke("info", trained)
    assert re.search(r"^hidden +16$", info, re.MULTILINE)
    assert re.search(r"^parameters +[\d,]+$", info, re.MULTILINE)
    assert "| licence | CC0 |" in info


@pytest.mark.slow
def test_dash_is_standard_input_and_output(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "BIATT_KERNELS", "plain")  # these processes have little to do
    named = biatt_process("parse", "--model", data / "model", data / "blank.conllu")
    piped = biatt_process(
        "parse", "--model", data / "model", "-", "-o", "-", input=(data / "blank.conllu").read_bytes()
    )
    assert (piped.returncode, piped.stderr) == (0, b"")
    assert piped.stdout == named.stdout != b""


@pytest.mark.parametrize(("suffix", "codec"), [(".gz", gzip), (".xz", lzma)])
def test_compressed_files_go_in_and_out(data: Path, tmp_path: Path, suffix: str, codec: Any) -> None:
    source, target, plain = (
        tmp_path / f"in{suffix}",
        tmp_path / f"out.conllu{suffix}",
        tmp_path / "plain.conllu",
    )
    source.write_bytes(codec.compress((data / "blank.conllu").read_bytes()))
    invoke("parse", "--model", data / "model", source, "-o", target)
    invoke("parse", "--model", data / "model", data / "blank.conllu", "-o", plain)
    assert codec.decompress(target.read_bytes()) == plain.read_bytes()
    assert json.loads(invoke("evaluate", plain, target, "-f", "json"))["scores"]["LAS"]["f1"] == 1.0


def test_several_files_go_to_one_output_or_to_a_folder(data: Path, tmp_path: Path) -> None:
    files = [data / "a.conllu", data / "b.conllu"]
    for path in files:
        invoke("parse", "-m", data / "model", path, "-o", tmp_path / path.name)
    invoke("parse", "-m", data / "model", *files, "--output-dir", tmp_path / "parsed")
    one_by_one = [(tmp_path / path.name).read_bytes() for path in files]
    assert [(tmp_path / "parsed" / path.name).read_bytes() for path in files] == one_by_one
    invoke("parse", "-m", data / "model", *files, "-o", tmp_path / "all.conllu")
    assert (tmp_path / "all.conllu").read_bytes() == b"".join(one_by_one)


def test_progress_knows_where_trees_go_and_a_text_has_none(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = []

    def progress(target: str) -> ParseProgress:
        targets.append(target)
        return ParseProgress(target)

    monkeypatch.setattr("biatt.verbs.parse.parse_progress", progress)
    for options in ([], ["-o", tmp_path / "a.conllu"], ["--output-dir", tmp_path]):
        invoke("parse", "-m", data / "model", data / "blank.conllu", *options)
    invoke("parse", "-m", data / "model", "--text", "Anna sleeps.", "--input", "tokens")
    assert targets == ["-", str(tmp_path / "a.conllu"), str(tmp_path / "blank.conllu")]


@pytest.mark.slow
def test_parsing_by_two_workers_changes_nothing(data: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        out = tmp_path / f"{workers}.conllu"
        invoke("parse", "--model", data / "model", data / "blank.conllu", "-o", out, "--workers", workers)
    assert (tmp_path / "1.conllu").read_bytes() == (tmp_path / "2.conllu").read_bytes()


def test_fill_deps_writes_the_tree_to_deps(data: Path, tmp_path: Path) -> None:
    invoke("parse", "--model", data / "model", data / "blank.conllu", "-o", tmp_path / "o", "--fill-deps")
    for sentence in biatt.read(tmp_path / "o"):
        assert all(token.deps == f"{token.head}:{token.deprel}" for token in sentence)


@pytest.mark.parametrize("decoder", ["mst", "argmax", "projective"])
@pytest.mark.parametrize("roots", ["single", "any"])
def test_every_decoder_parses(data: Path, tmp_path: Path, decoder: str, roots: str) -> None:
    options = ["-o", tmp_path / "o", "--decode", decoder, "--roots", roots]
    invoke("parse", "--model", data / "model", data / "blank.conllu", *options)
    assert sum(1 for _ in biatt.read(tmp_path / "o", trees=decoder != "argmax")) == 20


def test_format_tree_draws_and_svg_is_svg(data: Path, tmp_path: Path) -> None:
    drawn, svg = tmp_path / "drawn", tmp_path / "svg"
    invoke("parse", "--model", data / "model", data / "blank.conllu", "--format", "tree", "-o", drawn)
    text = drawn.read_text(encoding="utf-8")
    assert "╭" in text
    assert all(form in text for sentence in biatt.read(data / "a.conllu") for form in sentence.forms)
    invoke("parse", "--model", data / "model", data / "blank.conllu", "--format", "svg", "-o", svg)
    pages = [page.read_text(encoding="utf-8") for page in tmp_path.glob("svg*")]
    assert sum(page.count("<svg") for page in pages) == len(pages) + 20  # all of them, in one picture a page


def test_confidence_is_written_to_misc_and_the_tree_stays_the_same(data: Path, tmp_path: Path) -> None:
    plain, sure = tmp_path / "plain.conllu", tmp_path / "sure.conllu"
    invoke("parse", data / "blank.conllu", "--model", data / "model", "-o", plain)
    invoke("parse", data / "blank.conllu", "--model", data / "model", "-o", sure, "--confidence")
    for one, other in zip(biatt.read(plain), biatt.read(sure), strict=True):
        assert (one.heads, one.deprels) == (other.heads, other.deprels)
        assert any(comment.startswith("# tree_logprob = ") for comment in other.comments)
        assert all("HeadProb" in token.misc for token in other)


def test_k_best_trees_of_each_sentence_are_written_one_after_the_other(data: Path) -> None:
    found = invoke("parse", data / "blank.conllu", "--model", data / "model", "--k-best", 3)
    ranks = re.findall("# k_best = ([0-9]+)", found)
    assert ranks == ["1", "2", "3"] * 20


def test_json_has_a_line_for_each_sentence(data: Path) -> None:
    lines = invoke("parse", data / "blank.conllu", "--model", data / "model", "--format", "json").splitlines()
    sentences = [json.loads(line) for line in lines]
    assert len(sentences) == 20
    for sentence in sentences:
        assert sentence["log_probability"] <= 0
        for token in sentence["words"]:
            assert 0 <= token["confidence"] <= 1
            assert token["head"] in range(len(sentence["words"]) + 1)


@pytest.mark.slow
def test_auto_says_on_standard_error_which_model_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "BIATT_KERNELS", "plain")  # these processes have little to do
    done = biatt_process("parse", "--model", "auto", input=b"The owl has seen the mouse.\n")
    assert done.returncode == 0
    assert done.stderr.startswith(b"biatt: <stdin>: model en (English)")
    named = biatt_process("parse", input=b"The owl has seen the mouse.\n")
    assert done.stdout == named.stdout
    refused = biatt_process("info", "auto")
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"auto is no model that can be loaded" in refused.stderr
