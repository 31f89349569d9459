"""The English model that comes with the package."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import biatt
from biatt import parser as parser_module
from biatt.data.raw_text import raw_text
from biatt.evaluation.metrics import evaluate
from biatt.models.card_table import table_rows
from biatt.models.named_models import MODELS
from biatt.parser import Parser
from biatt.verbs.package import SHOWN_SCORES

ROOT = Path(__file__).parents[1]
PACKAGE = Path(parser_module.__file__).parent
EWT = ROOT.parent / "shared" / "treebanks" / "english-ewt" / "dev.conllu.xz"
LARGEST_PACKAGE = 40_000_000  # bytes


@pytest.fixture(scope="module")
def nlp() -> Parser:
    return biatt.load("en")


def test_sentences_that_anyone_would_get_right(nlp: Parser) -> None:
    first, second = nlp("The dog chased the cat. She doesn't like fish.")
    assert first.forms == ["The", "dog", "chased", "the", "cat", "."]
    assert first.heads == [2, 3, 0, 5, 3, 3]
    assert first.deprels == ["det", "nsubj", "root", "det", "obj", "punct"]
    assert first.upos == ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"]
    assert first.lemmas == ["the", "dog", "chase", "the", "cat", "."]
    assert second.forms == ["She", "does", "n't", "like", "fish", "."]
    assert [(token.form, token.start, token.end) for token in second.tokens if token.is_multiword] == [
        ("doesn't", 1, 3)
    ]
    assert second.heads == [4, 4, 4, 0, 4, 4]
    assert second.lemmas[1:3] == ["do", "not"]
    assert all(token.confidence > 0.5 for token in first)  # type: ignore[operator]


@pytest.mark.slow
def test_real_text_is_parsed_as_well_as_the_readme_says(nlp: Parser) -> None:
    """On a part of the dev file: wide margins, to see a broken model and not a worse one."""
    if not EWT.is_file():
        pytest.skip(f"needs {EWT}, which is not part of the product")
    gold = list(biatt.read(EWT, trees=True))[:400]
    raw = evaluate(gold, nlp.parse(nlp.sentences([raw_text(gold)])))
    tokens = evaluate(gold, nlp.parse(gold, retag=True))
    assert raw.las > 0.78
    assert tokens.las > 0.82


def test_card_names_source_licence_and_authors() -> None:
    card = (MODELS / "en" / "README.md").read_text(encoding="utf-8")
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for text in (card, notice):
        assert "Silveira" in text
        assert "creativecommons.org/licenses/by-sa/4.0" in text
        assert "UD_English-EWT" in text
    assert "/tmp" not in card
    assert "../" not in card


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="the benchmarks are not part of the package")
def test_card_has_the_measured_scores_as_the_cards_of_packages_have() -> None:
    card = (MODELS / "en" / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"(\w+) (\d+\.\d\d)", table_rows(card)["scores"])
    measured = json.loads((ROOT / "benchmarks" / "raw_text.json").read_text(encoding="utf-8"))["test"]
    assert [name for name, _ in shown] == list(SHOWN_SCORES)
    for name, score in shown:
        assert float(score) == pytest.approx(measured["raw text"][name], abs=0.05)


@pytest.mark.slow
def test_package_is_small_enough() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in PACKAGE.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(PACKAGE))
    assert packed.tell() < LARGEST_PACKAGE


@pytest.mark.slow
def test_parsing_needs_no_torch_and_no_network() -> None:
    program = """
import sys, socket
sys.modules["torch"] = None
def refused(*_, **__): raise OSError("no network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refused
import biatt
print(biatt.load("en")("Markets slept.")[0].deprels)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "root" in done.stdout


STRANGE = {
    "5,000 words without an end": b"word " * 5000,
    "a word of 300,000 letters": b"a" * 300_000,
    "one letter again and again": b"a " * 8000,
    "emoji": ("\U0001f600" * 1000).encode(),
    "NUL": b".\x00" * 8000,
}
PARSE_ALL = """
import re, sys
from pathlib import Path
from biatt.cli import app
for path in Path(sys.argv[1]).glob("*.txt"):
    app(["parse", str(path), "-o", str(path.with_suffix(".conllu"))], standalone_mode=False)
# Of this process alone: ru_maxrss would begin with the memory of the process that started it.
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the memory of a process")
def test_strange_input_is_parsed_whole_in_bounded_memory(tmp_path: Path) -> None:
    for name, data in STRANGE.items():
        (tmp_path / f"{name}.txt").write_bytes(data)
    done = subprocess.run([sys.executable, "-c", PARSE_ALL, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1024 * 1024  # KiB; it takes about 400 MB
    for name, data in STRANGE.items():
        sentences = biatt.read(tmp_path / f"{name}.conllu")
        forms = [token.form for sentence in sentences for token in sentence.tokens]
        assert "".join(forms).encode() == b"".join(data.split()), name
