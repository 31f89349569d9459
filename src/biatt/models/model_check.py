"""Everything that is checked of a model folder's content: settings, symbols and weights.

The functions take whatever JSON or a file of weights contains, and raise ModelError for anything that a
parser or a tokeniser could not work with. `model_folder.py` calls them in reading, and in writing,
so that what is written can be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.config import Config, Settings, TokeniserSettings, setting_names
from biatt.errors import ConfigError, ModelError
from biatt.models.weights import (
    AFFIX,
    EMBEDDINGS,
    SCALE,
    VECTOR,
    VECTOR_SCALE,
    VECTORS,
    Shapes,
    check_shapes,
    column_rows,
    labeller_shapes,
    parser_shapes,
)

VERSION = 3  # of the format that is written; versions 1 and 2, which had no curves, are read too

TEMPERATURES = ("arcs", "relations")
CURVES = ("head", "arc", "relation", "word", "upos", "xpos", "feats", "lemma")  # kinds of confidence
LABEL_KINDS = ("upos", "xpos", "feats", "lemma")
TOKENISER_LABELS = 5  # inside, end of a token, end of a sentence; one word, several words

# Settings of version 1 that are gone. None changed how a trained model parses.
REMOVED_SETTINGS = frozenset(
    {"rate_step", "beta1", "epsilon", "distillation", "agreement", "deviation", "first_state"}
)
# Settings of version 1 of which one value is left.
FIXED_SETTINGS: dict[str, Any] = {"reset": "before", "shared_memory_projection": True}

Points = dict[str, tuple[list[float], list[float]]]  # of curves, by name

LARGEST_WEIGHT = 1e6  # far above any trained weight; below it, no sum in a network overflows
LEAST_SCALE = 1e-30
ALWAYS_PACKED = {VECTORS: "I8", VECTOR_SCALE: "F32"}
LEAST_TEMPERATURE, LARGEST_TEMPERATURE = 1e-3, 1e3

_VALUE = re.compile(r"[^\t\n]+")  # of a column of a CoNLL line
# "=lemma", or five parts: case, letters to remove and to add at the start, the same at the end.
_LEMMA_RULE = re.compile(r"=[^\t\n]+|[sltu]\t[0-9]{1,5}\t[^\t\n]*\t[0-9]{1,5}\t[^\t\n]*")


class Kind(Enum):
    """The two kinds of model, by the name of their format in config.json."""

    PARSER = "biatt"
    TOKENISER = "biatt-tokeniser"

    @property
    def settings(self) -> type[Settings]:
        return {Kind.PARSER: Config, Kind.TOKENISER: TokeniserSettings}[self]


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ModelError(f"{message}.")


# Settings


def checked_settings(data: Any, kind: Kind) -> tuple[Settings, dict[str, float], Points]:
    """The settings, and a parser's temperatures and curves, of a config.json."""
    described = isinstance(data, dict) and data.get("format") == kind.value
    require(described, f"it does not describe a {kind.value} model")
    version = data.get("version")
    whole = type(version) is int and version >= 1
    require(whole, f"the version must be a whole number from 1 to {VERSION}, not {_shown(version)}")
    readable = version <= VERSION
    require(readable, f"the model has version {version}, but this biatt reads up to {VERSION}: upgrade it")
    parts = {name: value for name, value in data.items() if name not in ("format", "version")}
    temperature = _checked_temperature(parts.pop("temperature", {})) if kind is Kind.PARSER else {}
    curves = _checked_curves(parts.pop("curves", {})) if kind is Kind.PARSER and version > 2 else {}
    if version == 1:
        parts = {name: _without_removed(part, kind) for name, part in parts.items()}
    try:
        return kind.settings.from_json(parts), temperature, curves
    except ConfigError as error:
        raise ModelError(str(error)) from error


def _without_removed(part: Any, kind: Kind) -> Any:
    """A part of the settings of version 1, in which tokenisers had all settings of a parser."""
    if not isinstance(part, dict):
        return part
    for name, value in FIXED_SETTINGS.items():
        require(part.get(name, value) == value, f"{name} other than {value} is no longer supported")
    removed = (
        REMOVED_SETTINGS | FIXED_SETTINGS.keys() | (setting_names(Config) - setting_names(kind.settings))
    )
    return {name: value for name, value in part.items() if name not in removed}


def _checked_temperature(data: Any) -> dict[str, float]:
    require(isinstance(data, dict), f"temperature must be an object, not {_shown(data)}")
    for name, value in data.items():
        require(name in TEMPERATURES, f"there is no temperature '{name}'")
        number = type(value) in (int, float) and LEAST_TEMPERATURE <= value <= LARGEST_TEMPERATURE
        limits = f"{LEAST_TEMPERATURE:g} to {LARGEST_TEMPERATURE:g}"
        require(number, f"the temperature of {name} must be a number from {limits}, not {_shown(value)}")
    return {name: float(value) for name, value in data.items()}


def _checked_curves(data: Any) -> Points:
    """Points between 0 and 1, rising in both coordinates."""
    require(isinstance(data, dict), f"curves must be an object, not {_shown(data)}")
    for name, points in data.items():
        require(name in CURVES, f"there is no curve '{name}'")
        lists = isinstance(points, list | tuple) and len(points) == 2
        require(lists and all(map(_is_rising, points)), f"the curve of {name} must be two rising lists")
        require(len(points[0]) == len(points[1]), f"the lists of the curve of {name} differ in length")
    return {name: (list(map(float, points[0])), list(map(float, points[1]))) for name, points in data.items()}


def _is_rising(values: Any) -> bool:
    """Whether this is a list of rising numbers above 0 and below 1."""
    numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
    return numbers and all(a < b for a, b in pairwise([0, *values, 1]))


# Symbols


def expected_shapes(symbols: Any, config: Any, kind: Kind) -> Shapes:
    """The shapes of the weights that fit the settings and the symbols of a vocabulary.json."""
    check = {Kind.PARSER: _parser_shapes, Kind.TOKENISER: _tokeniser_shapes}
    return check[kind](symbols, config.model)


def _parser_shapes(data: Any, config: Any) -> Shapes:
    if config.tags and isinstance(data, dict) and "lemmas" in data:  # older models have none
        _check_lemmas(data["lemmas"])
        data = {name: value for name, value in data.items() if name != "lemmas"}
    combinations: Any = []
    if config.tags and isinstance(data, dict) and "combinations" in data:
        combinations = data["combinations"]
        data = {name: value for name, value in data.items() if name != "combinations"}
    _check_names(data, "the vocabulary", ("symbols", "relations", *(["labels"] if config.tags else [])))
    others = [*([AFFIX] if config.affixes else []), *([VECTOR] if config.vector_width else [])]
    rows = _checked_rows(data["symbols"], (*config.columns, *others))
    words = len(data["symbols"].get(VECTOR, []))
    vectors = config.vector_rows if config.vector_width else 0
    require(words == vectors, f"{words:,} words have a vector, but there are {vectors:,} vectors")
    _check_values(data["relations"], "the relations", _VALUE)
    labels = _checked_labels(data["labels"]) if config.tags else {}
    _check_combinations(combinations, [size for kind, size in labels.items() if kind != "lemma"])
    require(not config.feature_layers or config.feature_width > 0, "the feature_layers have no feature_width")
    return parser_shapes(config, rows=rows, relations=len(data["relations"]), labels=labels)


def _checked_labels(labels: Any) -> dict[str, int]:
    """The number of labels of each kind."""
    require(isinstance(labels, dict) and bool(labels), "the labels must be an object of lists")
    for kind, names in labels.items():
        require(kind in LABEL_KINDS, f"the labels are of {', '.join(LABEL_KINDS)}, not of '{kind}'")
        _check_values(names, f"the labels of {kind}", _LEMMA_RULE if kind == "lemma" else _VALUE)
    in_order = [kind for kind in LABEL_KINDS if kind in labels]
    require(list(labels) == in_order, f"the labels must be in the order {', '.join(in_order)}")
    return {kind: len(names) for kind, names in labels.items()}


def _check_combinations(combinations: Any, sizes: list[int]) -> None:
    """The numbers of labels that occur together, one of each kind but lemmas (encoding/labels.py)."""
    require(isinstance(combinations, list), "the combinations of labels must be a list")
    for numbers in combinations:
        fits = isinstance(numbers, list) and len(numbers) == len(sizes)
        fits = fits and all(type(n) is int and 0 <= n < size for n, size in zip(numbers, sizes, strict=True))
        require(fits, f"{_shown(numbers)} is no combination of labels")


def _check_lemmas(table: Any) -> None:
    """The lemmas of forms, by UPOS (annotate/known_lemmas.py)."""
    require(isinstance(table, dict), "the lemmas must be an object of objects")
    _check_strings(list(table), "the tags of the lemmas")
    for upos, forms in table.items():
        require(isinstance(forms, dict) and bool(forms), f"the lemmas of {_shown(upos)} must be an object")
        _check_strings(list(forms), f"the forms with lemmas of {_shown(upos)}")
        alone = [lemmas[0] for lemmas in forms.values() if type(lemmas) is list and len(lemmas) == 1]
        sound = _all_values(alone)  # most forms have one lemma, and a look at each would take long
        for form, lemmas in forms.items():
            if not (sound and type(lemmas) is list and len(lemmas) == 1):
                _check_values(lemmas, f"the lemmas of {_shown(form)}", _VALUE)


def _tokeniser_shapes(data: Any, config: Any) -> Shapes:
    _check_names(data, "the vocabulary", ("symbols", "multiword", "spaces"))
    _check_strings(data["symbols"], "the symbols")
    require(type(data["spaces"]) is bool, f"spaces must be true or false, not {_shown(data['spaces'])}")
    _check_multiword(data["multiword"])
    return labeller_shapes(config, rows=1 + len(data["symbols"]), labels=TOKENISER_LABELS)


def _checked_rows(symbols: Any, columns: tuple[str, ...]) -> int:
    """The rows of E for the symbols of these columns."""
    require(isinstance(symbols, dict), "the symbols must be an object of lists")
    for name, values in symbols.items():
        require(name in columns, f"the settings have no column '{name}'")
        _check_strings(values, f"the symbols of {name}")
    require(all(symbols.get(AFFIX, [])), f"the symbols of {AFFIX} must not be empty")
    return column_rows(symbols)[1]


def _check_multiword(data: Any) -> None:
    """The words of multiword tokens, and the rules for others (annotate/multiword.py)."""
    _check_names(data, "multiword", ("known", "rules"))
    known, rules = data["known"], data["rules"]
    require(isinstance(known, dict) and isinstance(rules, list), "multiword must have an object and a list")
    _check_strings(list(known), "the multiword tokens")
    for token, words in known.items():
        _check_values(words, f"the words of the multiword token {_shown(token)}", _VALUE, different=False)
    for rule in rules:
        require(isinstance(rule, list) and len(rule) == 6, "a multiword rule must have six parts")
        before, *letters, after = rule
        _check_strings(letters, "the letters of a multiword rule")
        require(not set("\t\n") & set("".join(letters)), "a multiword rule contains a tab or a line end")
        for words in (before, after):
            _check_strings(words, "the words of a multiword rule")
            for word in words:
                require(_VALUE.fullmatch(word) is not None, f"a multiword rule has the word {_shown(word)}")


def _check_names(data: Any, what: str, names: tuple[str, ...]) -> None:
    require(isinstance(data, dict) and set(data) == set(names), f"{what} must have {', '.join(names)}")


def _check_strings(values: Any, what: str) -> None:
    require(isinstance(values, list), f"{what} must be a list of strings")
    try:
        "".join(values).encode()  # the fastest way to look at every string
    except TypeError:
        raise ModelError(f"{what} must be a list of strings.") from None
    except UnicodeEncodeError:
        raise ModelError(f"{what} contain half of a surrogate pair.") from None


def _all_values(values: list[Any]) -> bool:
    """Whether all of these are strings that a column of CoNLL can have."""
    try:
        joined = "\n".join(values)
        joined.encode()
    except (TypeError, UnicodeEncodeError):
        return False
    return all(values) and "\t" not in joined and joined.count("\n") == max(len(values) - 1, 0)


def _check_values(values: Any, what: str, form: re.Pattern[str], *, different: bool = True) -> None:
    """Strings that a parser writes to a column of CoNLL."""
    _check_strings(values, what)
    require(bool(values), f"{what} must not be an empty list")
    for value in values:
        require(form.fullmatch(value) is not None, f"{what} contain {_shown(value)}")
    require(not different or len(set(values)) == len(values), f"{what} contain a value twice")


# Weights


def check_header(types: Mapping[str, str], shapes: Mapping[str, list[int]], expected: Shapes) -> None:
    """Weights are float32, or packed: embeddings of 8 bits with a float32 scale, and float16.

    Frozen word vectors are always packed.
    """
    packed = SCALE in types
    scale: Shapes = {SCALE: expected[EMBEDDINGS][:1]} if packed else {}
    check_shapes(shapes, expected | scale)
    kinds = ALWAYS_PACKED | {EMBEDDINGS: "I8", SCALE: "F32"} if packed else ALWAYS_PACKED
    for name, kind in types.items():
        wanted = kinds.get(name, "F16" if packed else "F32")
        require(kind == wanted, f"the weights {name} have the type {kind} instead of {wanted}")


def check_numbers(weights: Mapping[str, NDArray[Any]]) -> None:
    """No number is infinite, NaN or absurdly large."""
    for name, values in weights.items():
        if values.size and values.dtype != np.int8:
            least, largest = float(values.min()), float(values.max())  # NaN if any number is
            is_scale = name in (SCALE, VECTOR_SCALE)
            limit = LARGEST_WEIGHT / 128 if is_scale else LARGEST_WEIGHT
            fine = largest <= limit and least >= (LEAST_SCALE if is_scale else -limit)
            require(fine, f"the weights {name} contain a number that is not finite or out of range")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
