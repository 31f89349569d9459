"""Bytes of a word in a corpus, and words/s that the first process of a run reads: writes corpus_sizes.json.

    corpus_sizes.py --treebank FILE [--model en] [--repeats 100] [--out benchmarks]

The raw text of FILE is parsed by `biatt corpus` into each format, plain and compressed with gzip, whose bytes
are divided by the words. For the reading, the paragraphs of the text, repeated, are documents of a JSON lines
file, which is read into shards that are pickled, as for a worker, and not parsed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from run import commit, cpu_name, save

import biatt
from biatt.corpus.manifest import MANIFEST
from biatt.corpus.records import FIELDS
from biatt.corpus.run import SHARD_CHARACTERS, parse_corpus
from biatt.corpus.shards import SUFFIXES, Manner
from biatt.corpus.source import Source
from biatt.data.raw_text import raw_text

HERE = Path(__file__).parent


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--treebank", type=Path, required=True, help="CoNLL-U file")
    parser.add_argument("--model", default="en")
    parser.add_argument("--repeats", type=int, default=100, help="of the text, to be read")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of corpus_sizes.json")
    options = parser.parse_args(arguments)
    text = raw_text(biatt.read(options.treebank))
    with TemporaryDirectory() as folder:
        words, sizes = bytes_of_a_word(text, Path(folder), options.model)
        read = words_read(text, Path(folder), options.repeats, words)
    conditions = {
        "cpu": cpu_name(),
        "commit": commit(),
        "model": options.model,
        "file": options.treebank.name,
    }
    results = {
        "conditions": conditions,
        "words": words,
        "bytes_of_a_word": sizes,
        "read_words_per_second": read,
    }
    print(json.dumps(results, indent=1))
    save(results, options.out / "corpus_sizes.json")


def bytes_of_a_word(text: str, folder: Path, model: str) -> tuple[int, dict[str, Any]]:
    """The words of the text, and plain and compressed bytes of each, as text and as shards."""
    source = folder / "text.txt"
    source.write_text(text, encoding="utf-8")
    data, words = {"text": text.encode()}, 0
    for format in SUFFIXES:
        out = folder / format
        words = parse_corpus([source], out, model=model, input="text", format=format).words
        data[format] = b"".join(path.read_bytes() for path in sorted(out.iterdir()) if path.name != MANIFEST)
    return words, {
        name: {"plain": len(plain) / words, "gzip": len(gzip.compress(plain)) / words}
        for name, plain in data.items()
    }


def words_read(text: str, folder: Path, repeats: int, words: int) -> float:
    """Words that the first process hands out in a second of its processor time."""
    source = folder / "documents.jsonl"
    lines = [json.dumps({"text": paragraph}) + "\n" for paragraph in text.split("\n\n")]
    source.write_text("".join(lines) * repeats, encoding="utf-8")
    manner = Manner(folder, "conllu", "stop", {})
    start = time.process_time()
    for task in Source([source], None, FIELDS, manner, SHARD_CHARACTERS, frozenset()).tasks():
        pickle.dumps(task)
    return words * repeats / (time.process_time() - start)


if __name__ == "__main__":
    main()
