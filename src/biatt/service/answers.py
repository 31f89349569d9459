"""What `POST /parse` gives: a document as JSON, CoNLL-U or SVG, as the client accepts."""

from __future__ import annotations

from typing import Any, Literal

from biatt.data.conll import dumps
from biatt.data.document import Document
from biatt.data.sentence import Sentence
from biatt.data.visible import json_text
from biatt.display.attention import attention_picture
from biatt.display.output import with_confidence_columns
from biatt.display.picture import stacked
from biatt.display.svg import tree_picture
from biatt.service.jobs import Trees
from biatt.service.problems import Problem
from biatt.service.requests import ParseRequest

Format = Literal["json", "conllu", "svg"]
MEDIA_TYPES: dict[str, Format] = {
    "application/json": "json",
    "text/x-conllu": "conllu",
    "image/svg+xml": "svg",
}
CONTENT_TYPES: dict[Format, str] = {
    "json": "application/json",
    "conllu": "text/x-conllu; charset=utf-8",
    "svg": "image/svg+xml",
}


def accepted(header: str) -> Format:
    """The format that an Accept header likes best; JSON comes first among equals."""
    best: tuple[float, int] = (0.0, 0)
    chosen: Format | None = None
    ranges = [_range(part) for part in header.split(",") if part.strip()] or [("*/*", 1.0)]
    for place, (name, format) in enumerate(MEDIA_TYPES.items()):
        quality = _quality(name, ranges)
        if quality > 0 and (quality, -place) > best:
            best, chosen = (quality, -place), format
    if chosen is None:
        raise Problem(406, f"The formats are {', '.join(MEDIA_TYPES)}.", fields={"Accept": "Unknown format."})
    return chosen


def _range(part: str) -> tuple[str, float]:
    """A media range and its quality; a quality that is no number counts as 1."""
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = next((item[2:] for item in parameters if item.startswith("q=")), "1")
    return name, float(quality) if quality.replace(".", "", 1).isdecimal() and quality.isascii() else 1.0


def _quality(name: str, ranges: list[tuple[str, float]]) -> float:
    """What the most specific range that matches says."""
    for range in (name, f"{name.partition('/')[0]}/*", "*/*"):
        matching = [quality for of_range, quality in ranges if of_range == range]
        if matching:
            return max(matching)
    return 0.0


def written(request: ParseRequest, model: str, trees: list[Trees], format: Format) -> bytes:
    """The answer: the best trees as a document, and what else the request asks for."""
    if format == "conllu":
        ranked = [tree for of_sentence in trees for tree in of_sentence]
        return dumps(_with_columns(tree) if request.confidence else tree for tree in ranked).encode()
    if format == "svg":
        return _picture(request, trees)
    best = [of_sentence[0] for of_sentence in trees]
    document = Document.from_sentences(best) if request.text is None else Document(request.text, best)
    result: dict[str, Any] = {**document.to_dict(), "model": model}
    if request.k_best > 1:
        result["k_best"] = [[tree.to_dict() for tree in of_sentence] for of_sentence in trees]
    if request.attention:
        result["attention"] = [_attention(sentence) for sentence in best]
    return json_text(result).encode()


def _with_columns(sentence: Sentence) -> Sentence:
    return with_confidence_columns(sentence) if len(sentence) else sentence


def _picture(request: ParseRequest, trees: list[Trees]) -> bytes:
    draw = attention_picture if request.attention else tree_picture
    pictures = [draw(tree) for of_sentence in trees for tree in of_sentence if len(tree)]
    if not pictures:
        raise Problem.in_field(request.field, "There is no sentence to draw.")
    return f"{stacked(pictures).svg()}\n".encode()


def _attention(sentence: Sentence) -> dict[str, list[list[float]]] | None:
    """Three matrices: a row for each word, a column for each head, of which the first is ROOT."""
    attention = sentence.attention
    if attention is None:
        return None
    return {name: matrix.round(4).tolist() for name, matrix in attention._asdict().items()}
