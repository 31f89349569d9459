"""Train UDPipe's tokeniser and tagger, and run them, in the peers' environment.

    udpipe_text.py TRAIN DEV RAW TOKENS OUT_RAW OUT_TOKENS

Knows nothing of biatt. Writes the sentences that it finds in RAW to OUT_RAW, those of TOKENS with its tags to
OUT_TOKENS, and what it took as JSON to stdout.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from udpipe_models import read_sentences, train_model
from ufal.udpipe import OutputFormat, Pipeline, ProcessingError

TOKENISER = "epochs=20;batch_size=50;learning_rate=0.005;dimension=24;dropout=0.1"
TAGGER = "models=1;iterations=2"


def main(train: str, dev: str, raw: str, tokens: str, out_raw: str, out_tokens: str) -> None:
    started, error = time.process_time(), ProcessingError()
    model, size = train_model(
        read_sentences(train), read_sentences(dev), tokeniser=TOKENISER, tagger=TAGGER, parser="none"
    )
    spent = time.process_time() - started
    took = {}
    text = Path(raw).read_text(encoding="utf-8")
    for name, source, tag in (
        ("tokeniser", "tokenizer", Pipeline.NONE),
        ("both", "tokenizer", Pipeline.DEFAULT),
    ):
        pipeline, started = Pipeline(model, source, tag, Pipeline.NONE, "conllu"), time.process_time()
        parsed = pipeline.process(text, error)
        took[name] = time.process_time() - started
    Path(out_raw).write_text(parsed, encoding="utf-8")
    writer, lines = OutputFormat.newOutputFormat("conllu"), []
    for sentence in read_sentences(tokens):
        if not model.tag(sentence, Pipeline.DEFAULT, error):
            raise RuntimeError(error.message)
        lines.append(writer.writeSentence(sentence))
    Path(out_tokens).write_text("".join(lines), encoding="utf-8")
    about = {"version": version("ufal.udpipe"), "tokeniser": TOKENISER, "tagger": TAGGER}
    print("\n" + json.dumps({**about, "bytes": size, "training_cpu_seconds": spent, "cpu_seconds": took}))


if __name__ == "__main__":
    main(*sys.argv[1:])
