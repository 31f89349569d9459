"""Parsed sentences on their way out: CoNLL, drawings, pictures or JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import get_args

from biatt.data.conll import write
from biatt.data.files import COMPRESSED, writing
from biatt.data.sentence import Sentence
from biatt.decode.confidence import annotated
from biatt.display import attention as heatmap
from biatt.display import terminal as render
from biatt.display.png import png, stacked
from biatt.errors import ConfigError
from biatt.options import OutputFormat

_TEXT: dict[str, tuple[Callable[[Sentence], str], str]] = {
    "tree": (render.tree, "\n\n"),
    "json": (render.as_json, "\n"),
}
_PICTURE = {"svg": render.svg, "png": render.svg, "attention": heatmap.attention}
_BY_SUFFIX = {".jsonl": "json", ".txt": "tree"}


def format_for(target: str, *, terminal: bool) -> OutputFormat | None:
    """The format that a file's name or a terminal asks for, if any."""
    if target == "-":
        return "tree" if terminal else None
    path = Path(target)
    suffix = Path(path.stem if path.suffix in COMPRESSED else path.name).suffix.lower()
    name = _BY_SUFFIX.get(suffix, suffix[1:])
    return next((format for format in get_args(OutputFormat) if format == name), None)


def write_parsed(
    sentences: Iterable[Sentence],
    target: str,
    format: OutputFormat | None = None,
    *,
    confidence: bool = False,
) -> None:
    """Write sentences, by default in the CoNLL format that they have, with the parser's confidence or not."""
    if format is not None and format in _TEXT:
        draw, end = _TEXT[format]
        with writing(target) as stream:
            for sentence in sentences:
                stream.write(f"{draw(sentence)}{end}".encode())
    elif format is not None and format in _PICTURE:
        pictures = [_PICTURE[format](sentence) for sentence in sentences if len(sentence)]
        if not pictures:
            raise ConfigError("There is no sentence to draw.")
        picture = stacked(pictures)
        as_png = format == "png" or target.lower().endswith(".png")
        with writing(target) as stream:
            stream.write(png(picture) if as_png else f"{picture}\n".encode())
    else:
        write(_in_conll(sentences, format, confidence), target)


def _in_conll(
    sentences: Iterable[Sentence], format: OutputFormat | None, confidence: bool
) -> Iterator[Sentence]:
    for sentence in sentences:
        if format == "conllu" or format == "conllx":
            sentence = sentence.as_format(format)
        yield annotated(sentence) if confidence and len(sentence) else sentence
