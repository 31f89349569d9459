"""Documents and sentences from values that `as_json` has made, or another program by the same schema.

What does not follow the schema is refused with its place. Columns are checked when they are written.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, get_args

from biatt.data.as_json import MAPPING_COLUMNS, TEXT_COLUMNS, VERSION
from biatt.data.columns import FORM, HEAD, ID, WIDTH
from biatt.data.document import Document
from biatt.data.key_values import joined
from biatt.data.places import Places
from biatt.data.sentence import Sentence
from biatt.errors import FormatError
from biatt.options import ConllFormat

if TYPE_CHECKING:
    from biatt.data.scores import Confidence

SOURCE = "<JSON>"  # what error messages call the place of a fault
PROBABILITY = "_probability"  # with which the names of probabilities end
PARTS_OF_TREES = {"head", "arc", "relation"}  # whose probabilities are not those of tags

_KINDS = {str: "a string", int: "a number", list: "an array"}


def document_from_dict(data: Any) -> Document:
    _check_version(data)
    text = _value(data, "text", str, "the document")
    sentences = _value(data, "sentences", list, "the document")
    return Document(text, [_sentence(item, f"sentences[{i}]", text, 0) for i, item in enumerate(sentences)])


def sentence_from_dict(data: Any) -> Sentence:
    _check_version(data)
    where = "the sentence"
    return _sentence(data, where, _value(data, "text", str, where), _value(data, "start_char", int, where))


def _check_version(data: Any) -> None:
    if not isinstance(data, dict):
        raise TypeError(f"An object of the schema is a dict, not {type(data).__name__}.")
    version = _value(data, "version", int, "the object")
    if version != VERSION:
        fault = f"it follows version {version} of the schema; this version of biatt reads version {VERSION}."
        raise FormatError(fault, source=SOURCE)


def _sentence(data: Any, where: str, text: str, base: int) -> Sentence:
    """A sentence; `base` is the place of the text's first character."""
    words = _value(data, "words", list, where)
    format = _value(data, "format", str, where, missing="conllu")
    if format not in get_args(ConllFormat):
        raise FormatError(f"the format of {where} is neither conllu nor conllx.", source=SOURCE)
    rows = [_word_row(word, i, f"{where}.words[{i}]") for i, word in enumerate(words)]
    tokens = _multiword_tokens(data, len(words), where)
    nodes = _empty_nodes(data, where)
    verbatim = [(0, line) for line in _comments(data, where)]
    for place in range(len(rows) + 1):  # an empty node stands before a multiword token
        verbatim += [(place, line) for before, line in nodes if before == place]
        verbatim += [(place, tokens[place][1])] if place in tokens else []
    sentence = Sentence(rows, verbatim, format, SOURCE)
    sentence.mark_edited()  # so that it is checked when it is written
    starts, ends, at = [], [], 0
    while at < len(words):
        end, _, token = tokens.get(at) or (at + 1, "", words[at])
        name = f"word {at + 1} of {where}"
        start_char, end_char = (_value(token, key, int, name) - base for key in ("start_char", "end_char"))
        if not 0 <= start_char <= end_char <= len(text):
            raise FormatError(f"the place of {name} is outside of the text.", source=SOURCE)
        starts.append(start_char)
        ends.append(end_char)
        at = end
    sentence.place_in(Places(text, starts, ends, base))
    if words and "confidence" in words[0]:
        sentence.confidence = _confidence(data, words, where)
    return sentence


def _word_row(word: Any, index: int, where: str) -> list[str]:
    row = _row(word, where)
    head = _value(word, "head", int, where, missing=None)
    row[ID], row[HEAD] = str(index + 1), "_" if head is None else str(head)
    return row


def _multiword_tokens(data: Any, words: int, where: str) -> dict[int, tuple[int, str, Any]]:
    """By its first word, from 0: one past the last word of each multiword token, its line, and itself."""
    tokens: dict[int, tuple[int, str, Any]] = {}
    end = 0
    for i, token in enumerate(_value(data, "multiword_tokens", list, where, missing=[])):
        name = f"{where}.multiword_tokens[{i}]"
        row = _row(token, name, head=True)
        numbers = _value(token, "id", list, name)
        if len(numbers) != 2 or not all(isinstance(number, int) for number in numbers):
            raise FormatError(f"the id of {name} is not the numbers of two words.", source=SOURCE)
        first, last = numbers
        if not end < first < last <= words:
            fault = f"{name} has the words {first} to {last}, which are not between {end + 1} and {words}."
            raise FormatError(fault, source=SOURCE)
        row[ID], end = f"{first}-{last}", last
        tokens[first - 1] = last, "\t".join(row), token
    return tokens


def _empty_nodes(data: Any, where: str) -> list[tuple[int, str]]:
    """The word before each empty node, and its line."""
    nodes = []
    for i, node in enumerate(_value(data, "empty_nodes", list, where, missing=[])):
        name = f"{where}.empty_nodes[{i}]"
        row = _row(node, name, head=True)
        row[ID] = _value(node, "id", str, name)
        before = row[ID].partition(".")[0]
        if not (before.isascii() and before.isdecimal()):
            raise FormatError(f"the id of {name} is not like 8.1.", source=SOURCE)
        nodes.append((int(before), "\t".join(row)))
    return nodes


def _row(data: Any, where: str, *, head: bool = False) -> list[str]:
    """The columns but ID, and HEAD only if it is text, which it is of multiword tokens and empty nodes."""
    row = ["_"] * WIDTH
    row[FORM] = _value(data, "form", str, where)
    for name, column in TEXT_COLUMNS.items():
        row[column] = _value(data, name, str, where, missing="_")
    for name, column in MAPPING_COLUMNS.items():
        row[column] = _mapping_column(data.get(name), f"{where}.{name}")
    if head:
        row[HEAD] = _value(data, "head", str, where, missing="_")
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
            joint=column("confidence"),
            tags={kind: column(kind + PROBABILITY) for kind in kinds if kind not in PARTS_OF_TREES},
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
