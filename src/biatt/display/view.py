"""Draw the trees of a CoNLL file without parsing: what `biatt view` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from biatt.data.conll import read
from biatt.data.files import check_not_input, name_of, writing
from biatt.data.sentence import Sentence
from biatt.data.visible import visible
from biatt.display.output import known_suffix
from biatt.display.pages import write_pictures
from biatt.display.svg import tree_picture
from biatt.display.terminal import tree_text
from biatt.options import WORD_LINES, WRAP, Theme, ViewFormat, WordLine

SUFFIXES: dict[str, ViewFormat] = {".txt": "tree", ".svg": "svg", ".png": "png", ".html": "html"}


def view_file(
    source: str | Path | BinaryIO,
    target: str | Path | BinaryIO = "-",
    *,
    format: ViewFormat | None = None,
    wrap: float | None = WRAP,
    show: Sequence[WordLine] = WORD_LINES,
    theme: Theme = "auto",
) -> None:
    """Draw every sentence of a CoNLL file, "-" (standard input) or a binary stream.

    Without `format`, the suffix of the target decides; "-" and a stream get drawings for a terminal. The
    other options are those of `tree_picture`; only `show` holds for a terminal, too.
    """
    check_not_input(target, [source])
    format = format or SUFFIXES.get(known_suffix(target, SUFFIXES), "tree")
    sentences = _with_words(source)
    if format == "tree":
        with writing(target) as stream:
            for sentence in sentences:
                name = f"# {visible(sentence.sent_id)}\n" if sentence.sent_id else ""
                stream.write(f"{name}{tree_text(sentence, show=show)}\n\n".encode())
        return
    pictures = (tree_picture(sentence, wrap=wrap, show=show) for sentence in sentences)
    write_pictures(pictures, target, format, theme=theme, title=Path(name_of(source)).name)


def _with_words(source: str | Path | BinaryIO) -> Iterator[Sentence]:
    return (sentence for sentence in read(source) if len(sentence))
