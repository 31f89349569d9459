"""Read sentences for UDPipe 1 and train it, in the peers' environment. Knows nothing of biatt."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import islice
from typing import Any

from ufal.udpipe import InputFormat, Model, ProcessingError, Sentence, Sentences, Trainer


def read_sentences(path: str, limit: int | None = None) -> list[Any]:
    """The first sentences of a CoNLL-U file, or all, as UDPipe holds them."""
    reader, error = InputFormat.newConlluInputFormat(), ProcessingError()
    with open(path, encoding="utf-8") as file:
        reader.setText(file.read())

    def sentences() -> Iterable[Any]:
        sentence = Sentence()
        while reader.nextSentence(sentence, error):
            yield sentence
            sentence = Sentence()

    return list(islice(sentences(), limit))


def train_model(
    train: Iterable[Any], dev: Iterable[Any], *, tokeniser: str = "none", tagger: str = "none", parser: str
) -> tuple[Any, int]:
    """A model with components of these options, where "" is the defaults, and its size in bytes."""
    error, parts = ProcessingError(), (Sentences(), Sentences())
    for part, sentences in zip(parts, (train, dev), strict=True):
        for sentence in sentences:
            part.append(sentence)
    trained = Trainer.train("morphodita_parsito", *parts, tokeniser, tagger, parser, error)
    if error.occurred():
        raise RuntimeError(error.message)
    with tempfile.NamedTemporaryFile() as file:
        file.write(trained)
        file.flush()
        return Model.load(file.name), len(trained)
