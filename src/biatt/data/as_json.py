"""Documents and sentences as values that JSON can hold, and back: version 1 of `document.schema.json`.

The command line, Python and a service share this one schema. Missing values are null. FEATS and MISC are
objects; where an object would not give back the column letter by letter, the column itself is given.
Probabilities have four digits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, get_args

from biatt.data.columns import COLUMNS, DEPREL, DEPS, FEATS, FORM, HEAD, ID, LEMMA, MISC, UPOS, XPOS
from biatt.data.document import Document
from biatt.data.key_values import joined
from biatt.data.places import Places
from biatt.data.sentence import Sentence
from biatt.errors import FormatError
from biatt.options import ConllFormat

if TYPE_CHECKING:
    from biatt.data.scores import Confidence

VERSION = 1
SOURCE = "<JSON>"  # what error messages call the place of a fault
TEXT_COLUMNS = {"lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "deprel": DEPREL, "deps": DEPS}
MAPPING_COLUMNS = {"feats": FEATS, "misc": MISC}
PROBABILITY = "_probability"  # with which the names of probabilities end
PARTS_OF_TREES = {"head", "arc", "relation"}  # whose probabilities are not those of tags

_KINDS = {str: "a string", int: "a number", list: "an array", dict: "an object"}


def document_to_dict(document: Document) -> dict[str, Any]:
    sentences = [_sentence(sentence) for sentence in document]
    return {"version": VERSION, "text": document.text, "sentences": sentences}


def sentence_to_dict(sentence: Sentence) -> dict[str, Any]:
    return {"version": VERSION, **_sentence(sentence)}


def _sentence(sentence: Sentence) -> dict[str, Any]:
    confidence = sentence.confidence
    result: dict[str, Any] = {
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "start_char": sentence.start_char,
        "end_char": sentence.end_char,
        "format": sentence.format,
        "comments": sentence.comments,
        "words": [_word(i, row, sentence) for i, row in enumerate(sentence.rows)],
        "multiword_tokens": [
            {
                "id": [token.start + 1, token.end],
                "form": token.form,
                "start_char": token.start_char,
                "end_char": token.end_char,
                **_other_columns(token.row),
            }
            for token in sentence.tokens
            if token.is_multiword
        ],
        "empty_nodes": [
            {"id": row[ID], "form": row[FORM], **_other_columns(row)}
            for row in (line.split("\t") for _, line in sentence.verbatim if not line.startswith("#"))
            if "." in row[ID]
        ],
    }
    if confidence is not None:
        result["log_probability"] = _finite(confidence.log_probability)
        result["entropy"] = _finite(confidence.entropy)
        columns = {name: values.tolist() for name, values in confidence.columns.items()}
        for i, word in enumerate(result["words"]):
            word |= {name: round(v[i], 4) for name, v in columns.items() if not math.isnan(v[i])}
    return result


def _word(index: int, row: list[str], sentence: Sentence) -> dict[str, Any]:
    start, end = sentence.word_places[index]
    return {
        "id": index + 1,
        "form": row[FORM],
        "lemma": _text(row[LEMMA]),
        "upos": _text(row[UPOS]),
        "xpos": _text(row[XPOS]),
        "feats": _mapping(row[FEATS]),
        "head": None if row[HEAD] == "_" else int(row[HEAD]),
        "deprel": _text(row[DEPREL]),
        "deps": _text(row[DEPS]),
        "misc": _mapping(row[MISC]),
        "start_char": start,
        "end_char": end,
    }


def _other_columns(row: list[str]) -> dict[str, Any]:
    """The columns that a multiword token or an empty node has, besides ID and FORM."""
    columns = {name: row[column] for name, column in (*TEXT_COLUMNS.items(), ("head", HEAD))}
    mappings = {name: _mapping(row[column]) for name, column in MAPPING_COLUMNS.items()}
    return {
        **{name: value for name, value in columns.items() if value != "_"},
        **{name: value for name, value in mappings.items() if value is not None},
    }


def _text(column: str) -> str | None:
    return None if column == "_" else column


def _mapping(column: str) -> dict[str, str] | str | None:
    if column == "_":
        return None
    items = [item.partition("=") for item in column.split("|")]
    values = {name: value for name, _, value in items}
    return values if len(values) == len(items) and all(n and v for n, _, v in items) else column


def _finite(value: float) -> float | None:
    """JSON has no infinity: heads that form no tree, as argmax can give, have log-probability −∞."""
    return round(float(value), 4) if math.isfinite(value) else None


# Reading


def document_from_dict(data: Any) -> Document:
    _check_version(data)
    text = _value(data, "text", str, "the document")
    sentences = _value(data, "sentences", list, "the document")
    return Document(text, [_read_sentence(item, f"sentences[{i}]", text) for i, item in enumerate(sentences)])


def sentence_from_dict(data: Any) -> Sentence:
    _check_version(data)
    return _read_sentence(data, "the sentence", None)


def _check_version(data: Any) -> None:
    if not isinstance(data, dict):
        raise TypeError(f"An object of the schema is a dict, not {type(data).__name__}.")
    version = _value(data, "version", int, "the object")
    if version != VERSION:
        fault = f"it follows version {version} of the schema; this version of biatt reads version {VERSION}."
        raise FormatError(fault, source=SOURCE)


def _read_sentence(data: Any, where: str, text: str | None) -> Sentence:
    words = _value(data, "words", list, where)
    rows = []
    for i, word in enumerate(words):
        row = _row(word, f"{where}.words[{i}]")
        head = _value(word, "head", int, f"{where}.words[{i}]", missing=None)
        row[ID], row[HEAD] = str(i + 1), "_" if head is None else str(head)
        rows.append(row)
    verbatim: list[tuple[int, str]] = [(0, line) for line in _comments(data, where)]
    others: list[tuple[int, int, str]] = []  # where they stand; an empty node stands before a multiword token
    places = [_place(word, f"{where}.words[{i}]") for i, word in enumerate(words)]
    for i, token in enumerate(_value(data, "multiword_tokens", list, where, missing=[])):
        row = _row(token, name := f"{where}.multiword_tokens[{i}]")
        first, last = _range(token, len(rows), name)
        row[ID] = f"{first}-{last}"
        others.append((first - 1, 1, "\t".join(row)))
        places[first - 1 : last] = [_place(token, name)] + [None] * (last - first)  # type: ignore[list-item]
    for i, node in enumerate(_value(data, "empty_nodes", list, where, missing=[])):
        row = _row(node, name := f"{where}.empty_nodes[{i}]")
        row[ID] = _value(node, "id", str, name)
        before = row[ID].partition(".")[0]
        others.append((int(before) if before.isdecimal() else 0, 0, "\t".join(row)))
    verbatim += [(place, line) for place, _, line in sorted(others, key=lambda other: other[:2])]
    format = _value(data, "format", str, where, missing="conllu")
    if format not in get_args(ConllFormat):
        raise FormatError(f"the format of {where} is neither conllu nor conllx.", source=SOURCE)
    sentence = Sentence(rows, verbatim, format, SOURCE)
    sentence.mark_edited()  # so that it is checked when it is written
    found = [place for place in places if place is not None]
    base = 0 if text is not None else _value(data, "start_char", int, where)
    whole = _value(data, "text", str, where) if text is None else text
    starts, ends = [start - base for start, _ in found], [end - base for _, end in found]
    sentence.place_in(Places(whole, starts, ends, base))
    if rows and "confidence" in words[0]:
        sentence.confidence = _confidence(data, words, where)
    return sentence


def _row(data: Any, where: str) -> list[str]:
    """The columns of a word, multiword token or empty node; ID and a word's HEAD are the caller's."""
    row = ["_"] * COLUMNS
    row[FORM] = _value(data, "form", str, where)
    for name, column in TEXT_COLUMNS.items():
        row[column] = _value(data, name, str, where, missing=None) or "_"
    for name, column in MAPPING_COLUMNS.items():
        row[column] = _mapping_column(data.get(name), f"{where}.{name}")
    if isinstance(data.get("head"), str):
        row[HEAD] = data["head"]
    return row


def _mapping_column(value: Any, where: str) -> str:
    try:
        return value if isinstance(value, str) else joined(value or {})
    except (AttributeError, TypeError, ValueError):
        fault = f"{where} is neither a column nor an object of strings that can be one."
        raise FormatError(fault, source=SOURCE) from None


def _comments(data: dict[str, Any], where: str) -> list[str]:
    comments = _value(data, "comments", list, where, missing=[])
    if not all(isinstance(line, str) and line.startswith("#") for line in comments):
        raise FormatError(f"the comments of {where} are not strings that begin with #.", source=SOURCE)
    return list(comments)


def _range(token: Any, words: int, where: str) -> tuple[int, int]:
    numbers = _value(token, "id", list, where)
    if len(numbers) != 2 or not all(isinstance(number, int) for number in numbers):
        raise FormatError(f"the id of {where} is not the numbers of two words.", source=SOURCE)
    first, last = numbers
    if not 1 <= first < last <= words:
        raise FormatError(f"{where} has the words {first} to {last} of {words}.", source=SOURCE)
    return first, last


def _place(data: Any, where: str) -> tuple[int, int]:
    return _value(data, "start_char", int, where), _value(data, "end_char", int, where)


def _confidence(data: dict[str, Any], words: list[dict[str, Any]], where: str) -> Confidence:
    import numpy as np

    from biatt.data.scores import Confidence, Temperature

    def column(name: str) -> Any:
        return np.array([float(word.get(name, math.nan)) for word in words])

    names = dict.fromkeys(name for word in words for name in word if name.endswith(PROBABILITY))
    kinds = [name.removesuffix(PROBABILITY) for name in names]
    log_probability = data.get("log_probability")
    try:
        return Confidence(
            heads=column("head_probability"),
            arcs=column("arc_probability"),
            agreement=column("agreement"),
            relations=column("relation_probability"),
            log_probability=-math.inf if log_probability is None else float(log_probability),
            entropy=float(data.get("entropy") or 0.0),
            temperature=Temperature(),
            tags={kind: column(kind + PROBABILITY) for kind in kinds if kind not in PARTS_OF_TREES},
            joint=column("confidence"),
        )
    except (TypeError, ValueError):
        raise FormatError(f"a probability of {where} is not a number.", source=SOURCE) from None


_REQUIRED = object()


def _value(data: Any, name: str, kind: type, where: str, *, missing: Any = _REQUIRED) -> Any:
    """data[name], checked; `missing` takes the place of null, or of nothing."""
    if not isinstance(data, dict):
        raise FormatError(f"{where} is not an object.", source=SOURCE)
    value = data.get(name)
    if value is None and missing is not _REQUIRED:
        return missing
    if not isinstance(value, kind) or isinstance(value, bool):
        fault = f"has no {name}" if name not in data else f"has a value of {name} that is not {_KINDS[kind]}"
        raise FormatError(f"{where} {fault}.", source=SOURCE)
    return value
