"""Documents and sentences as values that JSON can hold: version 1 of `document.schema.json`.

The command line, Python and a service share this one schema. Missing values are null. FEATS and MISC are
objects; where an object would not give back the column letter by letter, the column itself is given.
Probabilities have four digits. `from_json` reads them back.
"""

from __future__ import annotations

import math
from typing import Any

from biatt.data.columns import DEPREL, DEPS, FEATS, FORM, HEAD, ID, LEMMA, MISC, UPOS, XPOS
from biatt.data.document import Document
from biatt.data.sentence import Sentence

VERSION = 1
TEXT_COLUMNS = {"lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "deprel": DEPREL, "deps": DEPS}
MAPPING_COLUMNS = {"feats": FEATS, "misc": MISC}


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
