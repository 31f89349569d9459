"""What parsed sentences become on their way out."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest

from biatt.data.arcs import is_tree
from biatt.data.conll import read, write
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.display.output import format_for, with_confidence_columns, write_parsed
from biatt.display.svg import tree_picture
from biatt.display.terminal import tree_text
from biatt.errors import ConfigError
from builders import random_parser

PARSER = random_parser()
SENTENCES = generate(3, seed=9)


@pytest.mark.parametrize(
    ("target", "terminal", "format"),
    [
        ("-", True, "tree"),
        ("-", False, None),
        ("a.conllu", True, "conllu"),
        ("a.CONLLX", False, "conllx"),
        ("a.json", False, "json"),
        ("a.jsonl", False, "json"),
        ("a.svg", True, "svg"),
        ("a.png", True, "png"),
        ("a.html", True, "html"),
        ("a.txt", False, "tree"),
        ("a.jsonl.gz", False, "json"),
        ("a.json.xz", False, "json"),
        ("parsed", True, None),
        ("parsed.gz", False, None),
        ("folder.d/attention", False, None),
    ],
)
def test_format_that_a_target_asks_for(target: str, terminal: bool, format: str | None) -> None:
    assert format_for(target, terminal=terminal) == format


@pytest.mark.parametrize("target", ["a.doc", "a.conll", "a.tree", "a.attention", "a.doc.gz"])
def test_unknown_suffix_is_refused_with_the_known_ones(target: str) -> None:
    suffix = target.removesuffix(".gz")[1:]
    known = r"\.conllu, \.conllx, \.txt, \.json, \.jsonl, \.svg, \.png, \.html, or --format\.$"
    with pytest.raises(ConfigError, match=rf"^{target}: the suffix {suffix} is unknown; use one of {known}"):
        format_for(target, terminal=False)


def test_conll_formats_are_turned_into_each_other(tmp_path: Path) -> None:
    write_parsed(SENTENCES, str(tmp_path / "x"), "conllx")
    found = list(read(tmp_path / "x", format="conllx"))
    assert [s.heads for s in found] == [s.heads for s in SENTENCES]
    assert not any(s.verbatim for s in found)
    assert all(row[8:] == ["_", "_"] for s in found for row in s.rows)
    write_parsed(found, str(tmp_path / "u"), "conllu")
    assert [s.rows[0][:8] for s in read(tmp_path / "u", format="conllu")] == [
        s.rows[0][:8] for s in SENTENCES
    ]
    assert SENTENCES[0].as_format("conllu") is SENTENCES[0]


def test_pictures_are_written_by_format(tmp_path: Path) -> None:
    for format, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("html", b"<!DOCTYPE html>")):
        write_parsed(SENTENCES, str(tmp_path / "a"), format)  # type: ignore[arg-type]
        assert (tmp_path / "a").read_bytes().startswith(start)


def test_picture_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no sentence"):
        write_parsed([], str(tmp_path / "a.svg"), "svg")
    assert not (tmp_path / "a.svg").exists()


def test_json_is_a_line_for_each_sentence_or_an_array_in_a_json_file(tmp_path: Path) -> None:
    parsed = list(PARSER.parse(SENTENCES, confidence=True))
    for name in ("a.jsonl", "a.json", "lines", "a.json.gz"):
        write_parsed(parsed, str(tmp_path / name), "json")
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [[token["form"] for token in line["words"]] for line in lines] == [s.forms for s in parsed]
    assert [[token["head"] for token in line["words"]] for line in lines] == [s.heads for s in parsed]
    assert lines[0]["words"][0]["confidence"] == round(next(iter(parsed[0])).confidence, 4)
    assert json.loads((tmp_path / "a.json").read_text()) == lines
    assert json.loads(gzip.decompress((tmp_path / "a.json.gz").read_bytes())) == lines
    assert (tmp_path / "lines").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


def test_no_sentence_is_an_empty_array_or_no_line(tmp_path: Path) -> None:
    for name, content in (("a.json", "[]\n"), ("a.jsonl", "")):
        write_parsed([], str(tmp_path / name), "json")
        assert (tmp_path / name).read_text() == content


def test_json_of_a_cycle_has_null_for_its_log_probability(tmp_path: Path) -> None:
    """Argmax can give heads that form no tree: their probability among all trees is 0."""
    parsed = list(random_parser(seed=3).parse(generate(20, seed=1), decoder="argmax", confidence=True))
    assert not all(is_tree(sentence.heads) for sentence in parsed)
    write_parsed(parsed, str(tmp_path / "a.json"), "json")
    values = json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail)
    assert [value["log_probability"] is not None for value in values] == [is_single_tree(s) for s in parsed]


def is_single_tree(sentence: Sentence) -> bool:
    return is_tree(sentence.heads) and sentence.heads.count(0) == 1


def test_attention_is_png_or_html_in_such_a_file(tmp_path: Path) -> None:
    parsed = list(PARSER.parse(SENTENCES[:1], confidence=True))
    for name, start in (("a.svg", b"<svg"), ("a", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!D")):
        write_parsed(parsed, str(tmp_path / name), "attention")
        assert (tmp_path / name).read_bytes().startswith(start)


# ---- Confidence


LINES = (
    "# text = so what\n1-2\tsowhat{0}\n1\tso{0}\n2\twhat\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|HeadProb=9\n\n"
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_confidence_goes_to_misc_and_a_comment_and_nothing_else_changes(end: str) -> None:
    text = LINES.format("\t_" * 8).replace("\n", end)
    (sentence,) = PARSER.parse(read(io.BytesIO(text.encode())), confidence=True)
    out = io.BytesIO()
    write([with_confidence_columns(sentence)], out)
    lines = out.getvalue().decode().split(end)
    assert lines[0] == "# text = so what"
    assert lines[1].startswith("# tree_logprob = -") or lines[1] == "# tree_logprob = 0.0000"
    assert lines[2] == f"1-2\tsowhat{chr(9)}_" + 7 * "\t_"
    misc = [dict(item.split("=") for item in line.split("\t")[9].split("|")) for line in lines[3:5]]
    assert list(misc[0]) == ["HeadProb", "ArcProb", "Agree", "RelProb", "WordProb"]
    assert list(misc[1]) == ["SpaceAfter", *misc[0]]
    assert sentence.confidence is not None
    assert float(misc[1]["HeadProb"]) == pytest.approx(sentence.confidence.heads[1], abs=1e-4)
    assert end.join(lines).count("\r") == (0 if end == "\n" else len(lines) - 1)


def test_confidence_in_tags_is_written_where_the_network_chose_them(tmp_path: Path) -> None:
    sentence = Sentence.from_words(["so", "what"], upos=["ADV", "_"], xpos=["RB", "_"])
    parser = random_parser({"tags": True, "columns": ("form",)})
    (parsed,) = parser.parse([sentence], confidence=True)
    given, tagged = parsed[0], parsed[1]
    assert list(given.tag_confidence) == ["feats", "lemma"]
    assert list(tagged.tag_confidence) == ["upos", "xpos", "feats", "lemma"]
    written = with_confidence_columns(parsed)
    assert list(written[0].misc)[5:] == ["FeatsProb", "LemmaProb"]
    assert list(written[1].misc)[5:] == ["UposProb", "XposProb", "FeatsProb", "LemmaProb"]
    assert float(written[1].misc["UposProb"]) == pytest.approx(tagged.tag_confidence["upos"], abs=1e-4)
    write_parsed([parsed], str(tmp_path / "a.json"), "json")
    ((first, second),) = [value["words"] for value in json.loads((tmp_path / "a.json").read_text())]
    assert "upos_probability" not in first
    assert second["lemma_probability"] == round(tagged.tag_confidence["lemma"], 4)
    assert sentence[0].tag_confidence == {}


def test_confidence_has_no_place_in_conllx() -> None:
    sentence = Sentence.from_words(["so", "what"], format="conllx")
    (parsed,) = PARSER.parse([sentence], confidence=True)
    with pytest.raises(ConfigError, match="MISC column of CoNLL-U"):
        with_confidence_columns(parsed)


def test_sentence_shows_its_tree_and_its_attention() -> None:
    (sentence,) = PARSER.parse(generate(1, seed=8), confidence=True)
    assert sentence.tree() == tree_text(sentence)
    assert sentence.svg() == tree_picture(sentence).svg()
    assert sentence.attention is not None
    assert sentence.scores is not None
    np.testing.assert_allclose(sentence.attention.left_to_right, np.exp(sentence.scores.left))
    product_of_both = sentence.attention.left_to_right * sentence.attention.right_to_left
    expected = product_of_both / product_of_both.sum(-1, keepdims=True)
    np.testing.assert_allclose(sentence.attention.agreement, expected, rtol=1e-4)
    assert generate(1, seed=8)[0].attention is None
