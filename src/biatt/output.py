"""Parsed sentences on their way out: CoNLL, drawings, pictures or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from biatt import heatmap, render
from biatt.confidence import annotated
from biatt.conll import Sentence, write
from biatt.files import writing

Output = Literal["conllu", "conllx", "tree", "json", "svg", "attention"]

_DRAWN = {
    "tree": (render.tree, "\n\n"),
    "svg": (render.svg, "\n\n"),
    "attention": (heatmap.attention, "\n\n"),
    "json": (render.as_json, "\n"),
}


def write_parsed(
    sentences: Iterable[Sentence],
    target: str | Path | BinaryIO,
    format: Output | None = None,
    *,
    confidence: bool = False,
) -> None:
    """Write sentences, by default in the CoNLL format that they have, with the parser's confidence or not."""
    if format is not None and format in _DRAWN:
        draw, end = _DRAWN[format]
        with writing(target) as stream:
            for sentence in sentences:
                stream.write(f"{draw(sentence)}{end}".encode())
        return
    write(_in_conll(sentences, format, confidence), target)


def _in_conll(sentences: Iterable[Sentence], format: Output | None, confidence: bool) -> Iterator[Sentence]:
    for sentence in sentences:
        if confidence and len(sentence):
            sentence = annotated(sentence)
        yield sentence.as_format(format) if format == "conllu" or format == "conllx" else sentence
