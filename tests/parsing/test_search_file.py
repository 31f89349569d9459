"""Searching a file: where matches are written, and how."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import biatt
from biatt.cli import app
from biatt.data.sentence import Sentence
from biatt.errors import BiattError, ConfigError, PatternError
from biatt.options import SearchFormat
from biatt.parsing.search_file import SUFFIXES, count_file, search_file

PATTERN = "{upos:VERB}=verb >nsubj {}=subject ?>obj {}=object"
SLEPT = """\
# sent_id = s1
1	Cats	cat	NOUN	NNS	Number=Plur	2	nsubj	_	_
2	slept	sleep	VERB	VBD	Tense=Past	0	root	_	SpaceAfter=No
3	.	.	PUNCT	.	_	2	punct	_	_

"""
SAW = """\
# sent_id = s2
# text = 猫 saw and drew us
1	猫	猫	NOUN	NN	Number=Sing	2	nsubj	_	_
2	saw	see	VERB	VBD	Tense=Past	0	root	_	_
3	and	and	CCONJ	CC	_	4	cc	_	_
4	drew	draw	VERB	VBD	Tense=Past	2	conj	_	_
5	us	we	PRON	PRP	_	4	obj	_	_

"""
UNNAMED = """\
1	Dogs	dog	NOUN	NNS	Number=Plur	2	nsubj	_	_
2	like	like	VERB	VBP	Tense=Pres	0	root	_	_
3	birds	bird	NOUN	NNS	Number=Plur	2	obj	_	_

"""


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "trees.conllu"
    path.write_text(SLEPT + SAW + UNNAMED, encoding="utf-8")
    return path


def written(treebank: Path, pattern: str, format: SearchFormat) -> str:
    target = treebank.with_name("found")
    search_file(treebank, pattern, target, format=format)
    return target.read_text(encoding="utf-8")


def test_text_marks_the_words_in_their_sentence(treebank: Path) -> None:
    assert written(treebank, PATTERN, "text").splitlines() == [
        "s1: [Cats]=subject [slept]=verb .",
        "s2: [猫]=subject [saw]=verb and drew us",
        "line 14: [Dogs]=subject [like]=verb [birds]=object",
    ]


def test_each_match_is_a_line_and_words_without_a_name_are_marked_too(treebank: Path) -> None:
    assert written(treebank, "{lemma:like} > {upos:NOUN}=a > {}=b", "text").splitlines() == [
        "line 14: [Dogs]=a=b [like] birds",
        "line 14: [Dogs]=a [like] [birds]=b",
        "line 14: [Dogs]=b [like] [birds]=a",
        "line 14: Dogs [like] [birds]=a=b",
    ]


def test_conllu_has_the_matching_sentences_with_a_comment_for_each_match(treebank: Path) -> None:
    found = written(treebank, "{upos:VERB}=v > {upos:/NOUN|PRON/}=n", "conllu")
    assert found == (
        SLEPT.replace("s1\n", "s1\n# match = 2 v=2 n=1\n")
        + SAW.replace("us\n1", "us\n# match = 2 v=2 n=1\n# match = 4 v=4 n=5\n1")
        + "# match = 2 v=2 n=1\n# match = 2 v=2 n=3\n"
        + UNNAMED
    )
    assert written(treebank, "{lemma:draw}", "conllu") == SAW.replace("us\n1", "us\n# match = 4\n1")


def test_json_has_a_line_for_each_match(treebank: Path) -> None:
    lines = [json.loads(line) for line in written(treebank, PATTERN, "json").splitlines()]
    assert [line["sent_id"] for line in lines] == ["s1", "s2", None]
    assert (lines[1]["text"], lines[1]["line"], lines[1]["numbers"]) == ("猫 saw and drew us", 6, [1, 2])
    assert lines[2]["word"] == {
        "id": 2,
        "head": 0,
        "form": "like",
        "lemma": "like",
        "upos": "VERB",
        "xpos": "VBP",
        "feats": "Tense=Pres",
        "deprel": "root",
    }
    assert {name: word["form"] for name, word in lines[2]["names"].items()} == {
        "verb": "like",
        "subject": "Dogs",
        "object": "birds",
    }


def test_json_file_is_one_array(treebank: Path, tmp_path: Path) -> None:
    for pattern in (PATTERN, "{form:/nosuchword/}"):
        search_file(treebank, pattern, tmp_path / "a.json")
        lines = written(treebank, pattern, "json").splitlines()
        assert json.loads((tmp_path / "a.json").read_text()) == [json.loads(line) for line in lines]


def test_trees_have_arrows_at_the_words(treebank: Path) -> None:
    drawing = written(treebank, "{lemma:draw}=verb >obj {}", "tree")
    assert drawing.startswith("# s2\n")
    assert [line.split("←")[1].strip() for line in drawing.splitlines() if "←" in line] == ["verb", ""]


def test_pictures_mark_the_words(treebank: Path) -> None:
    picture = ElementTree.fromstring(written(treebank, "{lemma:draw}=verb >obj {}", "svg"))
    classes = [item.get("class") for item in picture.iter()]
    assert classes.count("biatt-highlight") == 2
    assert [name.text for item in picture.iter() if item.get("class") == "biatt-names" for name in item] == [
        "verb"
    ]


def test_no_match_is_no_error_except_for_a_picture(treebank: Path) -> None:
    assert written(treebank, "{lemma:absent}", "text") == written(treebank, "{lemma:absent}", "conllu") == ""
    with pytest.raises(ConfigError, match="no sentence to draw"):
        written(treebank, "{lemma:absent}", "svg")


def test_the_suffix_gives_the_format(treebank: Path) -> None:
    for suffix, format in SUFFIXES.items() - {(".json", "json")}:  # which is one array
        target = treebank.with_name(f"x{suffix}")
        search_file(treebank, PATTERN, target)
        if format == "png":
            assert target.read_bytes().startswith(b"\x89PNG")
        else:
            assert target.read_text(encoding="utf-8") == written(treebank, PATTERN, format)
    with pytest.raises(ConfigError, match=r"the suffix \.pdf is unknown"):
        search_file(treebank, PATTERN, treebank.with_name("x.pdf"))


def test_what_a_file_says_cannot_steer_a_terminal(tmp_path: Path) -> None:
    evil = Sentence.from_words(["\x1b[2J"], heads=[0], deprels=["root"])
    biatt.write([evil.with_comment("# sent_id = \x1b[1m")], tmp_path / "evil.conllu")
    for format in get_args(SearchFormat):
        if format not in ("conllu", "png"):  # CoNLL-U keeps every byte, and no terminal shows PNG
            assert "\x1b" not in written(tmp_path / "evil.conllu", "{}=a", format)


def test_on_a_terminal_the_words_are_coloured(
    treebank: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    search_file(treebank, "{lemma:sleep}")
    assert capsysbinary.readouterr().out == b"s1: Cats \x1b[1;31m[slept]\x1b[0m .\n"
    monkeypatch.setenv("NO_COLOR", "1")
    search_file(treebank, "{lemma:sleep}")
    assert capsysbinary.readouterr().out == b"s1: Cats [slept] .\n"


def test_counts_are_of_any_attribute_of_any_node(treebank: Path) -> None:
    assert count_file(treebank, "{upos:NOUN}", ["deprel"]) == {("nsubj",): 3, ("obj",): 1}
    assert count_file(treebank, "{upos:NOUN}", ["feats.Number"]) == {("Plur",): 3, ("Sing",): 1}
    assert count_file(treebank, PATTERN, ["verb.feats.Tense", "object.lemma"]) == {
        ("Past", "_"): 2,
        ("Pres", "bird"): 1,
    }


@pytest.mark.parametrize("attribute", ["color", "object.lemma", "verb", "lemma.x", "feats.a.b", ""])
def test_what_cannot_be_counted_is_refused(treebank: Path, attribute: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be counted: .* nodes with a name: verb\.$"):
        count_file(treebank, "{}=verb", [attribute])


def test_a_bad_pattern_is_refused_before_the_file_is_read(treebank: Path) -> None:
    with pytest.raises(PatternError):
        search_file(treebank.with_name("absent.conllu"), "{")


def test_streams_are_searched_as_they_are_read() -> None:
    """The matches before a fault of the file come out."""
    source = io.BytesIO(f"{SLEPT}{UNNAMED}1\tbroken\n".encode())
    target = io.BytesIO()
    with pytest.raises(BiattError, match="columns"):
        search_file(source, "{upos:VERB}", target)
    assert target.getvalue().decode().splitlines() == ["s1: Cats [slept] .", "line 6: Dogs [like] birds"]


def invoke(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["search", *map(str, words)], env={"COLUMNS": "200", "NO_COLOR": "1"})
    return result.exit_code, result.stdout, result.stderr


def test_the_verb_prints_matches_and_counts(treebank: Path) -> None:
    assert invoke(treebank, "{lemma:sleep}") == (0, "s1: Cats [slept] .\n", "")
    code, table, _ = invoke(treebank, PATTERN, "--count", "verb.lemma", "--count", "upos")
    assert code == 0
    assert [line.split() for line in table.splitlines() if "VERB" in line] == [
        ["like", "VERB", "1"],
        ["see", "VERB", "1"],
        ["sleep", "VERB", "1"],
    ]


def test_faults_are_one_sentence_and_exit_code_2(treebank: Path) -> None:
    code, _, error = invoke(treebank, "{upos:VERB} >obj")
    fault = "biatt: The pattern {upos:VERB} >obj is wrong at character 17: it ends where a node in braces was"
    assert (code, error) == (2, f"{fault} expected.\n")
    code, _, error = invoke(treebank, "{}", "--count", "upos", "--format", "json")
    assert (code, error) == (2, "biatt: --count prints a table; it goes without --format and --output.\n")
