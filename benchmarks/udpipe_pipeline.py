"""Train all of UDPipe 1 with its default settings and run it on raw text, in the peers' environment.

Only what a treebank does not have is turned off: a single root in each sentence. While it trains, UDPipe
evaluates with a setting of single roots that nothing has set, so it may crash unless they are called `root`:
they are given that name, and their own again in what it writes.

    udpipe_pipeline.py TRAIN DEV RAW OUT

Knows nothing of biatt. Writes the sentences that it finds in RAW to OUT, and what it took as JSON to stdout.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from peer_parsers import sentences_of
from udpipe_models import read_sentences, train_model
from ufal.udpipe import Pipeline, ProcessingError

DEFAULTS = ""
ROOT = "root"


def main(train: str, dev: str, raw: str, out: str) -> None:
    started, error = time.process_time(), ProcessingError()
    roots = [[row[7] for row in rows if row[6] == "0"] for rows in sentences_of(train)]
    several_roots = any(len(relations) > 1 for relations in roots)
    parser = "single_root=0" if several_roots else DEFAULTS  # else it would refuse the treebank
    ((relation, _),) = Counter(chain(*roots)).most_common(1)
    files = [renamed(read_sentences(path), relation, ROOT) for path in (train, dev)]
    model, size = train_model(*files, tokeniser=DEFAULTS, tagger=DEFAULTS, parser=parser)
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
    rows = [line.split("\t") for line in parsed.split("\n")]
    for row in rows:
        if len(row) == 10 and row[7] == ROOT:
            row[7] = relation
    Path(out).write_text("\n".join(map("\t".join, rows)), encoding="utf-8")
    about = {"version": version("ufal.udpipe"), "parser": parser, "bytes": size}
    print("\n" + json.dumps({**about, "training_cpu_seconds": spent, "cpu_seconds": seconds}))


def renamed(sentences: list[Any], relation: str, name: str) -> list[Any]:
    for sentence in sentences:
        for word in list(sentence.words)[1:]:  # copies
            if word.deprel == relation:
                sentence.setHead(word.id, word.head, name)
    return sentences


if __name__ == "__main__":
    main(*sys.argv[1:])
