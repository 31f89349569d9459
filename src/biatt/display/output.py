"""Writing parsed sentences in any output format: CoNLL, drawings, pictures or JSON.

The modules that draw are imported when they are needed, so that CoNLL output does not wait for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import isnan
from pathlib import Path
from typing import Any, BinaryIO, Literal

from biatt.data.columns import MISC
from biatt.data.conll import write
from biatt.data.files import COMPRESSED, writing
from biatt.data.raw_text import RawText
from biatt.data.sentence import Sentence
from biatt.data.visible import json_text
from biatt.errors import ConfigError
from biatt.options import OutputFormat, PictureFormat

SUFFIXES: dict[str, OutputFormat] = {
    ".conllu": "conllu",
    ".conllx": "conllx",
    ".txt": "tree",
    ".json": "json",
    ".jsonl": "json",
    ".svg": "svg",
    ".png": "png",
    ".html": "html",
}
TREE_COMMENT = "# tree_logprob = "


def format_for(target: str, *, terminal: bool) -> OutputFormat | None:
    """The format for a target: by its suffix, or a drawing on a terminal; None is CoNLL as it was read.

    A suffix that stands for no format is refused.
    """
    if target == "-":
        return "tree" if terminal else None
    return SUFFIXES.get(known_suffix(target, SUFFIXES))


def known_suffix(target: str | Path | BinaryIO, known: Collection[str]) -> str:
    """The suffix of a target, one of those that are known; others are refused.

    It is empty for "-", for a stream, and for a name without suffix or just with that of a compressed file.
    """
    suffix = _suffix(target) if isinstance(target, (str, Path)) else ""
    if suffix and suffix not in known:
        listed = ", ".join(known)
        raise ConfigError(f"{target}: the suffix {suffix} is unknown; use one of {listed}, or --format.")
    return suffix


def write_parsed(
    sentences: Iterable[Sentence],
    target: str,
    format: OutputFormat | None = None,
    *,
    confidence: bool = False,
    offsets: bool = False,
) -> None:
    """Write sentences to a file or "-", by default in the CoNLL format that they have.

    JSON is a line for each sentence, or one array of them in a file that ends in .json. With `confidence`,
    CoNLL-U has the parser's confidence in MISC and in comments; JSON has it whenever the sentences have it.
    With `offsets`, MISC of CoNLL-U has the place of each token in the text.
    """
    if format == "tree":
        from biatt.display.terminal import tree_text

        with writing(target) as stream:
            for sentence in sentences:
                stream.write(f"{tree_text(sentence)}\n\n".encode())
    elif format == "json":
        write_json((sentence.to_dict() for sentence in sentences), target)
    elif format in ("svg", "png", "html", "attention"):
        _write_pictures(sentences, target, format)
    else:
        conll = _as_conll(sentences, format, confidence)
        write(with_token_ranges(conll) if offsets else conll, target)


def _suffix(target: str | Path) -> str:
    """The suffix in lower case; of a compressed file, the suffix before that of the compression."""
    path = Path(target)
    return Path(path.stem if path.suffix in COMPRESSED else path.name).suffix.lower()


def write_json(values: Iterable[Any], target: str | Path | BinaryIO) -> None:
    """Write a line of JSON for each value, or one array of them to a file that ends in .json."""
    array = isinstance(target, (str, Path)) and _suffix(target) == ".json"
    with writing(target) as stream:
        count = 0
        for count, value in enumerate(values, 1):
            before = (",\n" if count > 1 else "[\n") if array else ""
            stream.write(f"{before}{json_text(value)}{'' if array else chr(10)}".encode())
        if array:
            stream.write(b"\n]\n" if count else b"[]\n")


def _write_pictures(
    sentences: Iterable[Sentence], target: str, format: Literal["svg", "png", "html", "attention"]
) -> None:
    from biatt.display.attention import attention_picture
    from biatt.display.pages import write_pictures
    from biatt.display.svg import tree_picture

    draw = attention_picture if format == "attention" else tree_picture
    pictures = (draw(sentence) for sentence in sentences if len(sentence))
    by_suffix: dict[str, PictureFormat] = {".png": "png", ".html": "html"}
    kind = by_suffix.get(_suffix(target), "svg") if format == "attention" else format
    write_pictures(pictures, target, kind, title=Path(target).stem)


def _as_conll(
    sentences: Iterable[Sentence], format: OutputFormat | None, confidence: bool
) -> Iterator[Sentence]:
    for sentence in sentences:
        if format == "conllu" or format == "conllx":
            sentence = sentence.as_format(format)
        yield with_confidence_columns(sentence) if confidence and len(sentence) else sentence


def with_confidence_columns(sentence: Sentence) -> Sentence:
    """A copy with the sentence's confidence in MISC and in a comment."""
    confidence = sentence.confidence
    if confidence is None or sentence.format != "conllu":
        raise ConfigError("Confidence is written to the MISC column of CoNLL-U, which CoNLL-X does not have.")
    columns = {
        "HeadProb": confidence.heads,
        "ArcProb": confidence.arcs,
        "Agree": confidence.agreement,
        "RelProb": confidence.relations,
        "WordProb": confidence.words,
        **{f"{kind.title()}Prob": values for kind, values in confidence.tags.items()},
    }
    log_probability = confidence.log_probability + 0.0  # never −0
    copy = sentence.with_comment(f"{TREE_COMMENT}{log_probability:.4f}")
    for i, row in enumerate(copy.rows):
        items = [item for item in row[MISC].split("|") if item != "_"]
        kept = [item for item in items if item.partition("=")[0] not in columns]
        new = [f"{name}={values[i]:.4f}" for name, values in columns.items() if not isnan(values[i])]
        row[MISC] = "|".join([*kept, *new])
    return copy


def with_token_ranges(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Copies with TokenRange=start:end in the MISC of each token.

    Characters are counted in the text that was parsed, or in the text that `biatt raw` gives of the sentences
    of a CoNLL file.
    """
    raw = RawText()
    for sentence in sentences:
        if sentence.format != "conllu":
            raise ConfigError(
                "Offsets are written to the MISC column of CoNLL-U, which CoNLL-X does not have."
            )
        copy = sentence.copy()
        in_file = zip(*raw.add(sentence), strict=True)
        given = sentence.token_places.given
        for token, place in zip(copy.tokens, in_file, strict=True):
            start, end = (token.start_char, token.end_char) if given else place
            token.misc["TokenRange"] = f"{start}:{end}"
        yield copy
