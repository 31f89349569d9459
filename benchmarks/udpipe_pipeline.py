"""Train all of UDPipe 1 with its default settings and run it on raw text, in the peers' environment.

Only what a treebank does not have is turned off: a single root in each sentence, or lemmas.

    udpipe_pipeline.py TRAIN DEV RAW OUT

Knows nothing of biatt. Writes the sentences that it finds in RAW to OUT, and what it took as JSON to stdout.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from peer_parsers import sentences_of
from udpipe_models import read_sentences, train_model
from ufal.udpipe import Pipeline, ProcessingError

DEFAULTS = ""


def main(train: str, dev: str, raw: str, out: str) -> None:
    started, error = time.process_time(), ProcessingError()
    sentences = list(sentences_of(train))
    several_roots = any([row[6] for row in rows].count("0") > 1 for rows in sentences)
    parser = "single_root=0" if several_roots else DEFAULTS  # else it would refuse the treebank
    lemmas = any(row[2] != "_" for rows in sentences for row in rows)
    tagger = DEFAULTS if lemmas else "provide_lemma=0"  # else it crashes on Danish
    model, size = train_model(
        read_sentences(train), read_sentences(dev), tokeniser=DEFAULTS, tagger=tagger, parser=parser
    )
    spent = time.process_time() - started
    text = Path(raw).read_text(encoding="utf-8")
    pipeline, started = (
        Pipeline(model, "tokenizer", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu"),
        time.process_time(),
    )
    parsed = pipeline.process(text, error)
    seconds = time.process_time() - started
    if error.occurred():
        raise RuntimeError(error.message)
    Path(out).write_text(parsed, encoding="utf-8")
    about = {"version": version("ufal.udpipe"), "tagger": tagger, "parser": parser, "bytes": size}
    print("\n" + json.dumps({**about, "training_cpu_seconds": spent, "cpu_seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
