"""Inputs that make no sense, and texts of all scripts."""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import signal
import sys
import time
import traceback
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from workload import untrained

import biatt
from biatt.config import Config, ParserConfig
from biatt.corpus.records import read_records
from biatt.data.conll import dumps, read, reads
from biatt.data.document import Document
from biatt.data.raw_text import raw_text
from biatt.data.text import read_text
from biatt.data.toy_treebank import generate
from biatt.encoding.word_vectors import read_vectors
from biatt.errors import BiattError
from biatt.parser import Parser

LONGEST_SECONDS = 10
MOST_MIB = 2048
SHARES = {"conllu": 30, "conllx": 20, "text": 15, "json": 15, "json lines": 8, "vectors": 10, "model": 2}
PIECES = [b"\t", b"\n", b"\n\n", b"\r\n", b"_", b"#", b"0", b"1", b"-", b".", b"=", b"|", b"\x00", b"\xff"]
PIECES += [b"1-2\t", b"1.1\t", b"# text = ", b"{", b"}", b"[", b'"', b"null", b"1e999", b"NaN", b"\\ud800"]
PIECES += [b"\xef\xbb\xbf", "\u200d\u0301".encode(), b"9" * 30, b"-1", b" ", "\u2028".encode(), b"true"]


# With a multiword token, an empty node, a comment and MISC.
ODD = """# newdoc id = x
# text = Il va au bar.
1\tIl\til\tPRON\t_\tNumber=Sing|Person=3\t2\tnsubj\t2:nsubj\t_
2\tva\taller\tVERB\t_\t_\t0\troot\t0:root\tNote|A=1
2.1\tva\taller\tVERB\t_\t_\t_\t_\t0:root\tCopyOf=2
3-4\tau\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\s
3\tà\tà\tADP\t_\t_\t5\tcase\t_\t_
4\tle\tle\tDET\t_\t_\t5\tdet\t_\t_
5\tbar\tbar\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""


class Hang(BaseException):
    pass


def inputs(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Valid inputs, changed at random, to all that reads: what is no error of ours must round-trip."""
    draw, tasks = random.Random(options.seed), _tasks(folder)
    signal.signal(signal.SIGALRM, _hang)
    counts, accepted, longest, correct = Counter[str](), Counter[str](), 0.0, 0
    for number in range(options.inputs):
        (kind,) = draw.choices(list(SHARES), list(SHARES.values()))
        seed, check = tasks[kind]
        data = changed(seed, draw)
        counts[kind] += 1
        start = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)
        try:
            accepted[kind] += check(data)
            correct += 1
        except (Exception, Hang):
            print(f"input {number} ({kind}): {data[:300]!r}\n{traceback.format_exc()}", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        longest = max(longest, time.perf_counter() - start)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {f"{kind}_accepted": f"{accepted[kind]:,}/{counts[kind]:,}" for kind in SHARES if counts[kind]}
    figures |= {"longest_seconds": round(longest, 2), "most_MiB": round(memory)}
    return {"tried": options.inputs, "correct": correct if memory < MOST_MIB else 0, "figures": figures}


def _hang(*_: object) -> NoReturn:
    raise Hang(f"It takes more than {LONGEST_SECONDS} seconds.")


def changed(data: bytes, draw: random.Random) -> bytes:
    """The data with some bytes inserted, removed, repeated or replaced."""
    for _ in range(draw.choice((1, 1, 1, 2, 4, 8))):
        at = draw.randrange(len(data) + 1)
        end = min(len(data), at + draw.choice((0, 1, 1, 2, 10, 100)))
        piece = draw.choice((b"", draw.choice(PIECES), bytes([draw.randrange(256)]), data[at:end] * 2))
        data = data[:at] + piece + data[end:]
    return data


def _tasks(folder: Path) -> dict[str, tuple[bytes, Callable[[bytes], bool]]]:
    """For each kind a valid input, and what checks a changed one: False if it is refused in one sentence."""
    sentences = generate(4, seed=3)
    text = "\n\n".join(" ".join(sentence.forms) for sentence in sentences)
    conllu = dumps(sentences) + ODD
    conllx = dumps(sentence.as_format("conllx") for sentence in sentences)
    document = Document.from_sentences(sentences)
    lines = "\n".join(json.dumps({"id": i, "text": text, "n": [1, None]}) for i in range(3))
    vectors = "3 2\nthe 0.5 -1\ncat 1e-3 2\n. 0 0\n"
    parser = untrained(Config(ParserConfig(hidden=8, min_count=1)), generate(30), seed=1)
    parser.save(folder / "model")
    return {
        "conllu": (conllu.encode(), lambda data: _conll(data, "conllu")),
        "conllx": (conllx.encode(), lambda data: _conll(data, "conllx")),
        "text": (text.encode(), _text),
        "json": (json.dumps(document.to_dict()).encode(), _json),
        "json lines": (lines.encode(), lambda data: _json_lines(data, folder / "a.jsonl")),
        "vectors": (vectors.encode(), lambda data: _vectors(data, folder / "vectors")),
        "model": (b"".join(_model_files(folder).values()), lambda data: _model(data, folder)),
    }


def _conll(data: bytes, format: Any) -> bool:
    try:
        sentences = list(read(BytesIO(data), format=format))
        written = dumps(sentences)
    except BiattError:
        return False
    again = reads(written, format=format)
    assert again == sentences
    assert dumps(again) == written
    return True


def _text(data: bytes) -> bool:
    try:
        paragraphs = list(read_text(BytesIO(data)))
    except BiattError:
        return False
    assert "".join(paragraphs).encode() == data
    return True


def _json(data: bytes) -> bool:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    try:
        document = Document.from_dict(value)
    except BiattError:
        return False
    written = document.to_dict()
    assert Document.from_dict(written).to_dict() == written
    return True


def _json_lines(data: bytes, path: Path) -> bool:
    path.write_bytes(data)
    records = list(read_records(path))
    assert len(records) <= data.count(b"\n") + 1
    return any(hasattr(record, "content") for record in records)


def _vectors(data: bytes, path: Path) -> bool:
    path.write_bytes(data)
    try:
        vectors = read_vectors(path)
    except BiattError:
        return False
    assert all(vectors.get(word) is not None for word in vectors.words)
    return True


def _model_files(folder: Path) -> dict[str, bytes]:
    names = ("config.json", "vocabulary.json", "model.safetensors")
    return {name: (folder / "model" / name).read_bytes() for name in names}


def _model(data: bytes, folder: Path) -> bool:
    """The files of a model, one after the other, cut at the old places: changes meet one file or several."""
    changed_folder = folder / "changed"
    shutil.rmtree(changed_folder, ignore_errors=True)
    changed_folder.mkdir()
    files = _model_files(folder)
    at = 0
    for name, content in files.items():
        end = at + len(content) if name != "model.safetensors" else len(data)
        (changed_folder / name).write_bytes(data[at:end])
        at = end
    try:
        parser = Parser.load(changed_folder)
        parser.parse_tokens([["the", "cat", "sleeps"]])
    except BiattError:
        return False
    return True


# Unicode


def unicode(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Raw texts, rebuilt from the places of their tokens and from CoNLL-U."""
    nlp, draw = biatt.load(options.model), random.Random(options.seed)
    scripts = dict(_scripts())
    tried = correct = 0
    texts = ((text, text) for text in _texts(scripts, draw, options.strings))
    for document, text in nlp.pipe(texts, as_tuples=True):
        tried += 1
        fault = _not_rebuilt(text, document)
        correct += not fault
        if fault:
            print(f"{fault}: {text[:200]!r}", flush=True)
    figures = {"scripts_and_other_groups": len(scripts), "random_strings": options.strings}
    return {"tried": tried, "correct": correct, "figures": figures | {"Unicode": unicodedata.unidata_version}}


def _scripts() -> Iterator[tuple[str, list[str]]]:
    """Characters by the first word of their name, which is that of their script, or "SIGN" and the like."""
    found: dict[str, list[str]] = {}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if name := unicodedata.name(character, ""):
            found.setdefault(name.partition(" ")[0], []).append(character)
    yield from found.items()


def _texts(scripts: dict[str, list[str]], draw: random.Random, count: int) -> Iterator[str]:
    for characters in scripts.values():
        words = ["".join(draw.choices(characters, k=draw.randint(1, 9))) for _ in range(30)]
        yield " ".join(words)
    everything = [character for characters in scripts.values() for character in characters]
    spaces = [" ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u2003", "\u200b", "\ufeff", "\u2028", "\x85"]
    for _ in range(count):
        pool = draw.choice(
            (everything, draw.choice(list(scripts.values())), spaces + list("ab.!e\u0301\u200d"))
        )
        yield "".join(draw.choices(pool, k=draw.randint(0, 60)))
    yield " ".join(["word"] * 100_000)
    yield "word" * 100_000
    yield " " * 100_000
    yield "\n" * 100_000


def _not_rebuilt(text: str, document: Document) -> str:
    if document.text != text:
        return "the text of the document differs"
    at = int(text.startswith("\ufeff"))  # a byte order mark counts as space
    for token in document.tokens:
        if text[token.start_char : token.end_char] != token.text or token.start_char < at - 1:
            return f"the token at {token.start_char} is not in its place"
        if text[at : token.start_char].strip():
            return f"there is text between tokens at {at}"
        at = token.end_char
    if text[at:].strip():
        return "there is text after the last token"
    if len(document.words) and raw_text(biatt.reads(biatt.dumps(document))) != text:
        return "CoNLL-U does not give back the text"
    return ""
