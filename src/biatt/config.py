"""Every setting with its default, its limits and its help text, which `biatt train --settings` prints.

`EncoderConfig` and its subclasses describe a network; they are stored with the model. `TrainingConfig`
describes how its weights are trained. A class has only settings that have an effect on its network.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from biatt.errors import ConfigError

# The columns of a CoNLL line that a token embedding can add up, in the order of the line.
COLUMNS = ("form", "lemma", "upos", "xpos", "feats")

Directions = Literal["both", "left-to-right", "right-to-left"]
Attention = Literal["agreement", "single"]
DIRECTIONS = {"both": "lr", "left-to-right": "l", "right-to-left": "r"}  # the query components, in order
QueryInput = Literal["embedding", "memory"]
Schedule = Literal["paper", "linear"]

S = TypeVar("S", bound="Settings")


def setting(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


def check(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(f"{message}.")


_TYPES: dict[Any, dict[str, Any]] = {}


def _types(kind: Any) -> dict[str, Any]:
    """The type of each field of a dataclass, remembered, because reading annotations is slow."""
    if kind not in _TYPES:
        hints = get_type_hints(kind)
        _TYPES[kind] = {item.name: hints[item.name] for item in fields(kind)}
    return _TYPES[kind]


def _typed(name: str, value: Any, kind: Any) -> Any:
    """The value if it has the type; types of Python, so True is no number and 16.0 no whole number."""
    shown = repr(value)[:40]
    if kind is float:
        check(type(value) in (int, float), f"{name} must be a number, not {shown}")
        check(abs(value) <= sys.float_info.max, f"{name} must be finite")
        return float(value)
    if kind is int:
        check(type(value) is int, f"{name} must be a whole number, not {shown}")
    elif kind is bool:
        check(type(value) is bool, f"{name} must be true or false, not {shown}")
    elif get_origin(kind) is Literal:
        choices = get_args(kind)
        known = type(value) is str and value in choices
        check(known, f"{name} must be one of {', '.join(choices)}, not {shown}")
    elif kind == tuple[str, ...]:
        strings = type(value) is tuple and all(type(item) is str for item in value)
        check(strings, f"{name} must be names, not {shown}")
    elif kind == tuple[int, ...]:
        numbers = type(value) is tuple and all(type(item) is int for item in value)
        check(numbers, f"{name} must be whole numbers, not {shown}")
    else:
        check(type(value) is kind, f"{name} must be of the class {kind.__name__}, not {shown}")
    return value


class Checked:
    """A dataclass whose values have the types of its fields."""

    def __post_init__(self) -> None:
        for name, kind in _types(type(self)).items():
            # A whole number is a number too: 1 becomes 1.0, so that equal settings look equal.
            object.__setattr__(self, name, _typed(name, getattr(self, name), kind))


@dataclass(frozen=True)
class EncoderConfig(Checked):
    """Token embeddings and memory: all of a tokeniser's network, and a part of a parser's."""

    hidden: int = setting(176, "size of every hidden layer, h; the memory is 2h wide")
    embedding: int = setting(
        0, "width of the token embeddings before P; 0 means the hidden size, as in the paper"
    )
    layers: int = setting(1, "layers of the memory, each reading the one before; the paper has one")
    state_limit: float = setting(
        1e4,
        "largest absolute value of a GRU's candidate state, which LReL does not bound; the paper has no "
        "limit, and 10000 only keeps numbers finite",
    )
    min_count: int = setting(
        2, "a form, lemma or tag that occurs less often is unknown; in the paper, one that occurs once"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.hidden >= 1, "hidden must be at least 1")
        check(self.embedding >= 0, "embedding must be 0 or more")
        check(1 <= self.layers <= 9, "layers must be from 1 to 9")
        check(self.min_count >= 1, "min_count must be at least 1")
        check(0 < self.state_limit <= 1e4, "state_limit must be above 0 and at most 10000")

    @property
    def width(self) -> int:
        """The width of the token embeddings."""
        return self.embedding or self.hidden


@dataclass(frozen=True)
class ParserConfig(EncoderConfig):
    """A parser's network: the paper's by default, each of its variants by one setting."""

    affixes: int = setting(
        0,
        "longest prefix and suffix of a form to embed, in letters, with its lower case and shape; 0 for none",
    )
    columns: tuple[str, ...] = setting(
        COLUMNS, "columns to embed, comma-separated; a column that is empty in the training data is left out"
    )
    directions: Directions = setting(
        "both", "query components: both, left-to-right or right-to-left (Table 4, models 2, 5 and 4)"
    )
    feedback: bool = setting(True, "feed the soft headword to the next query step (off: Table 4, model 6)")
    attention: Attention = setting(
        "agreement",
        "agreement: one attention for each direction; single: one over both queries (text under Table 4)",
    )
    query_input: QueryInput = setting(
        "embedding", "what the query components read of a word: its embedding, as in the paper, or its memory"
    )
    pair_hidden: int = setting(
        0,
        "hidden size of a second scorer of relations, which reads a word and its decoded head; 0 for none",
    )
    tags: bool = setting(
        False,
        "choose tags and lemmas by the memory's first layer, and add the embeddings of the tags to it, or of "
        "those that the input has; --pipeline turns it on",
    )
    feature_layers: tuple[int, ...] = setting(
        (),
        "layers of the --encoder whose mean, with learned weights, is added to the embeddings; 0 is the "
        "encoder's own embeddings; empty: four from its middle on",
    )
    feature_width: int = setting(0, "width of these layers; --encoder sets it")
    vector_rows: int = setting(
        0,
        "words of --embeddings, the first of the file, whose vectors are kept as they are and added to the "
        "token embeddings; 0: the vectors only initialise the embeddings of known forms, as in the paper",
    )
    vector_width: int = setting(0, "width of the vectors that are kept; --embeddings sets it")

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.affixes >= 0, "affixes must be 0 or more")
        check(all(layer >= 0 for layer in self.feature_layers), "feature_layers must be 0 or more each")
        check(self.feature_width >= 0, "feature_width must be 0 or more")
        ascending = list(self.feature_layers) == sorted(set(self.feature_layers))
        check(ascending, "feature_layers must be different and ascending")
        check(bool(self.feature_layers) or not self.feature_width, "feature_width needs feature_layers")
        check(self.vector_rows >= 0, "vector_rows must be 0 or more")
        check(self.vector_width >= 0, "vector_width must be 0 or more")
        check(self.vector_rows > 0 or not self.vector_width, "vector_width needs vector_rows above 0")
        check(self.pair_hidden >= 0, "pair_hidden must be 0 or more")
        check(bool(self.columns), "columns must name at least one column")
        check(len(set(self.columns)) == len(self.columns), "columns must be different")
        unknown = [name for name in self.columns if name not in COLUMNS]
        check(not unknown, f"columns has no {', '.join(unknown)}; it knows {', '.join(COLUMNS)}")
        single = self.attention == "single"
        check(
            not (single and self.feedback),
            "attention=single has no soft headword to feed back: set feedback=false",
        )
        check(not (single and self.directions != "both"), "attention=single needs directions=both")


@dataclass(frozen=True)
class TrainingConfig(Checked):
    """Optimiser, schedule, regularisation."""

    rate: float = setting(
        0.002,
        "initial learning rate; the paper's were 0.0004 to 0.0010 for hidden 128 to 320, in batches of one",
    )
    beta2: float = setting(0.99, "Adam's decay of the second moment (the authors')")
    clip: float = setting(
        0.02,
        "largest global norm of a gradient; nearly all are scaled to it, so that no batch outweighs another",
    )
    batch_words: int = setting(100, "words in a batch, about five sentences; larger batches score lower")
    epochs: int = setting(60, "largest number of epochs; the paper's schedule stops long before")
    schedule: Schedule = setting(
        "paper",
        "paper: halve the rate when the dev log-likelihood drops, then stop; "
        "linear: lower the rate to 0 over all epochs and keep the epoch with the best dev score",
    )
    least_batches: int = setting(
        0, "with the linear schedule: on a small treebank, add epochs until there are this many batches"
    )
    average: int = setting(
        1, "with the linear schedule: average the weights of the last N epochs; 1 turns it off"
    )
    dropout: float = setting(
        0.0,
        "rate of dropout of embeddings, memory and relation scorer, one mask a sentence; the paper has none",
    )
    word_dropout: float = setting(0.0, "rate of forms, lemmas and affixes replaced by unknown in training")
    smoothing: float = setting(0.0, "label smoothing: the part of each target spread over all choices")
    noise: float = setting(
        0.0,
        "rate of training sentences, of a tokeniser paragraphs, that are changed as `biatt noise` does, "
        "others in every epoch",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dropout", "word_dropout", "smoothing"):
            check(0 <= getattr(self, name) < 1, f"{name} must be in [0, 1)")
        check(0 <= self.noise <= 1, "noise must be from 0 to 1")
        check(self.rate > 0, "rate must be above 0")
        check(0 <= self.beta2 < 1, "beta2 must be in [0, 1)")
        check(self.clip > 0, "clip must be above 0")
        check(self.batch_words >= 1, "batch_words must be at least 1")
        check(self.epochs >= 1, "epochs must be at least 1")
        check(self.least_batches >= 0, "least_batches must be 0 or more")
        check(self.average >= 1, "average must be at least 1")
        linear = self.schedule == "linear"
        check(linear or self.average == 1, "average needs schedule=linear")
        check(linear or self.least_batches == 0, "least_batches needs schedule=linear")

    def all_epochs(self, words: int) -> int:
        """The largest number of epochs over a treebank with this many words."""
        return max(self.epochs, -(-self.least_batches * self.batch_words // words))


@dataclass(frozen=True)
class ParserTrainingConfig(TrainingConfig):
    """The training of a parser, which can also learn to parse without tags."""

    tag_dropout: float = setting(
        0.0,
        "rate of tags and features replaced by unknown in training; with tags=true, rate of sentences that "
        "are parsed by the network's own tags",
    )
    tag_weight: float = setting(0.3, "with tags=true: weight of the loss of each kind of tag, and of lemmas")
    encoder_rate: float = setting(
        0.0, "rate at which the --encoder is trained too, after a rise over the first epoch; 0: it is frozen"
    )
    silver_ratio: float = setting(
        1.0, "with --silver: words of silver text in an epoch for each word of the training data"
    )
    gold_epochs: int = setting(2, "with --silver: number of last epochs without silver text")
    silver_min_count: int = setting(
        5, "with --silver: a form or affix that is not in the training data is unknown if it is rarer"
    )
    silver_symbols: int = setting(
        50_000, "with --silver: largest number of such forms, and of such affixes, the most frequent"
    )
    silver_confidence: float = setting(
        0.0,
        "with --silver: leave out sentences whose heads and relations have a lower mean probability a word, "
        "by the probabilities that are given",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check(0 <= self.tag_dropout <= 1, "tag_dropout must be in [0, 1]")
        check(self.tag_weight > 0, "tag_weight must be above 0")
        check(self.encoder_rate >= 0, "encoder_rate must be 0 or more")
        check(self.silver_ratio > 0, "silver_ratio must be above 0")
        check(self.gold_epochs >= 0, "gold_epochs must be 0 or more")
        check(self.silver_min_count >= 1, "silver_min_count must be at least 1")
        check(self.silver_symbols >= 0, "silver_symbols must be 0 or more")
        check(0 <= self.silver_confidence < 1, "silver_confidence must be in [0, 1)")


@dataclass(frozen=True)
class Settings(Checked):
    """A network and its training."""

    model: EncoderConfig
    training: TrainingConfig

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(json.dumps(asdict(self), allow_nan=False))
        return data

    @classmethod
    def from_json(cls: type[S], data: Any) -> S:
        """Settings from JSON; one that is missing has its default."""
        classes = _types(cls)
        check(isinstance(data, Mapping), "The settings must be an object")
        _check_names(data, classes)
        for name in classes:
            check(isinstance(data.get(name), Mapping), f"There are no settings '{name}'")
        return cls(**{name: _from_json(kind, data[name]) for name, kind in classes.items()})


@dataclass(frozen=True)
class Config(Settings):
    """The settings of a parser."""

    model: ParserConfig = ParserConfig()
    training: ParserTrainingConfig = ParserTrainingConfig()


@dataclass(frozen=True)
class TokeniserSettings(Settings):
    model: EncoderConfig = EncoderConfig()
    training: TrainingConfig = TrainingConfig()


def setting_names(kind: type[Settings]) -> set[str]:
    """The names of all settings of a model of this kind."""
    return {name for part in _types(kind).values() for name in _types(part)}


def with_settings(config: S, settings: Sequence[str]) -> S:
    """The configuration with `key=value` texts applied; later ones win."""
    parts = {part.name: getattr(config, part.name) for part in fields(config)}
    part_of = {name: part for part in parts for name in _types(type(parts[part]))}
    changes: dict[str, dict[str, Any]] = {part: {} for part in parts}
    for text in settings:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        check(bool(equals), f"'{text}' is not of the form key=value")
        _check_names([key], part_of)
        kind = _types(type(parts[part_of[key]]))[key]
        changes[part_of[key]][key] = parse_value(key, value.strip(), kind)
    return replace(config, **{part: replace(parts[part], **changes[part]) for part in parts})


def parse_value(key: str, value: str, kind: Any) -> Any:
    """The value of a setting of this type that a text gives."""
    if kind is bool:
        if value.lower() in ("true", "on", "yes", "1"):
            return True
        if value.lower() in ("false", "off", "no", "0"):
            return False
        raise ConfigError(f"{key} must be true or false, not '{value}'.")
    if kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            raise ConfigError(f"{key} must be a {_NUMBERS[kind]}, not '{value}'.") from None
    if kind in (tuple[str, ...], tuple[int, ...]):
        items = [item.strip() for item in value.split(",") if item.strip()]
        return tuple(items if kind == tuple[str, ...] else (parse_value(key, item, int) for item in items))
    return value  # one of a few words; the class checks which


_NUMBERS = {int: "whole number", float: "number"}


def _from_json(kind: Any, data: Mapping[str, Any]) -> Any:
    types = _types(kind)
    _check_names(data, types)
    tuples = {
        name: tuple(value)
        for name, value in data.items()
        if types[name] in (tuple[str, ...], tuple[int, ...]) and isinstance(value, list)
    }
    return kind(**{**data, **tuples})


def _check_names(names: Sequence[str] | Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name in names:
        check(name in known, f"There is no setting '{name}'; the settings are {', '.join(sorted(known))}")
