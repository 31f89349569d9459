"""Every number that the paper or we chose, with its reason.

`ModelConfig` says what the network is and travels with the model; `TrainingConfig` says how its weights
are found. A field's help text is what `biatt train --settings` prints.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args, get_type_hints

from biatt.errors import ConfigError

# The columns that a token embedding can add up, in the order of a CoNLL line.
COLUMNS = ("form", "lemma", "upos", "xpos", "feats")

Directions = Literal["both", "left-to-right", "right-to-left"]
Attention = Literal["agreement", "single"]
DIRECTIONS = {"both": "lr", "left-to-right": "l", "right-to-left": "r"}  # the query components, in order
Reset = Literal["before", "after"]
QueryInput = Literal["embedding", "memory"]
Schedule = Literal["paper", "linear"]

# Settings of earlier versions, which model folders of format version 1 may still name. None changes how a
# trained model parses, so reading ignores them.
REMOVED_SETTINGS = frozenset(
    {"rate_step", "beta1", "epsilon", "distillation", "agreement", "deviation", "first_state"}
)


def setting(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


def check(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(f"{message}.")


@dataclass(frozen=True)
class ModelConfig:
    """The network: the paper's by default, each of its variants by one field."""

    hidden: int = setting(176, "size of every hidden layer, h; the memory is 2h wide")
    embedding: int = setting(
        0, "width of the token embeddings before P; 0 means the hidden size, as in the paper"
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
        "agreement: one attention per direction; single: one over both queries (text under Table 4)",
    )
    reset: Reset = setting(
        "before",
        "the GRU's reset gate acts before the product with U (Cho et al. 2014) or after it (a product less)",
    )
    shared_memory_projection: bool = setting(True, "both directions share C; the authors' program does")
    min_count: int = setting(
        2, "form, lemma or tag seen less often becomes unknown; the paper drops singletons"
    )
    affixes: int = setting(
        0,
        "longest prefix and suffix of a form to embed, in letters, with its lower case and shape; 0: none",
    )
    layers: int = setting(1, "layers of the memory, each reading the one before; the paper has one")
    query_input: QueryInput = setting(
        "embedding", "what the query components read of a word: its embedding, as in the paper, or its memory"
    )
    pair_hidden: int = setting(
        0,
        "hidden size of a relation scorer that sees a word and its decoded head, beside the paper's; 0: none",
    )

    def __post_init__(self) -> None:
        check(self.hidden >= 1, "hidden must be at least 1")
        check(self.embedding >= 0, "embedding must be 0 or more")
        check(self.min_count >= 1, "min_count must be at least 1")
        check(self.affixes >= 0, "affixes must be 0 or more")
        check(1 <= self.layers <= 9, "layers must be from 1 to 9")
        check(self.pair_hidden >= 0, "pair_hidden must be 0 or more")
        check(bool(self.columns), "columns must name at least one column")
        unknown = [name for name in self.columns if name not in COLUMNS]
        check(not unknown, f"columns has no {', '.join(unknown)}; it knows {', '.join(COLUMNS)}")
        choice = {"directions": Directions, "attention": Attention, "reset": Reset, "query_input": QueryInput}
        for name, kind in choice.items():
            value, choices = getattr(self, name), get_args(kind)
            check(value in choices, f"{name} is one of {', '.join(choices)}, not '{value}'")
        single = self.attention == "single"
        check(
            not (single and self.feedback),
            "attention=single has no soft headword to feed back: set feedback=false",
        )
        check(not (single and self.directions != "both"), "attention=single needs directions=both")

    @property
    def width(self) -> int:
        return self.embedding or self.hidden


@dataclass(frozen=True)
class TrainingConfig:
    """The way to the weights: Adam and the paper's schedule."""

    rate: float = setting(
        0.002,
        "initial learning rate; the paper's were 0.0004 to 0.0010 for hidden 128 to 320, in batches of one",
    )
    beta2: float = setting(0.99, "Adam's decay of the second moment (the authors')")
    clip: float = setting(
        0.02,
        "largest global norm of a gradient; nearly all are scaled to it, so that no batch outweighs another",
    )
    batch_words: int = setting(100, "words a batch: about five sentences; larger batches score lower")
    epochs: int = setting(60, "most epochs; the paper's schedule stops long before")
    schedule: Schedule = setting(
        "paper",
        "paper: halve the rate when dev log-likelihood drops, and stop; linear: down to 0 over all epochs, "
        "keeping the epoch of the best dev LAS",
    )
    least_batches: int = setting(
        0, "with the linear schedule, more epochs where the treebank is so small that there are fewer batches"
    )
    average: int = setting(
        1, "with the linear schedule, epochs whose weights are averaged: the last so many; 1: none"
    )
    dropout: float = setting(
        0.0,
        "share of embeddings, memory and relation scorer set to 0, one mask a sentence; the paper has none",
    )
    word_dropout: float = setting(0.0, "share of forms, lemmas and affixes that become unknown in training")
    tag_dropout: float = setting(0.0, "share of tags and features that become unknown in training")
    smoothing: float = setting(0.0, "label smoothing: share of each target spread over all choices")

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            check(item.name == "schedule" or math.isfinite(value), f"{item.name} must be finite")
        choices = get_args(Schedule)
        check(self.schedule in choices, f"schedule is one of {', '.join(choices)}, not '{self.schedule}'")
        for name in ("dropout", "word_dropout", "tag_dropout", "smoothing"):
            check(0 <= getattr(self, name) < 1, f"{name} must be in [0, 1)")
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
        """The number of epochs, at most, over a treebank of so many words."""
        return max(self.epochs, -(-self.least_batches * self.batch_words // words))


@dataclass(frozen=True)
class Config:
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Mapping[str, Any]]) -> Config:
        return cls(**{part.name: _part_from_json(part, data[part.name]) for part in fields(cls)})


def with_settings(config: Config, settings: Sequence[str]) -> Config:
    """The configuration with `key=value` settings applied, later ones winning."""
    changes: dict[str, dict[str, Any]] = {part.name: {} for part in fields(config)}
    owner = {item.name: part.name for part in fields(config) for item in fields(getattr(config, part.name))}
    for text in settings:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise ConfigError(f"'{text}' is not of the form key=value.")
        if key not in owner:
            raise ConfigError(f"There is no setting '{key}'; the settings are {', '.join(sorted(owner))}.")
        part = getattr(config, owner[key])
        changes[owner[key]][key] = parse_value(key, value.strip(), get_type_hints(type(part))[key])
    return replace(
        config, **{name: replace(getattr(config, name), **change) for name, change in changes.items()}
    )


def parse_value(key: str, value: str, kind: Any) -> Any:
    """What a setting's text means, for a setting of this type."""
    if kind is bool:
        if value.lower() in ("true", "on", "yes", "1"):
            return True
        if value.lower() in ("false", "off", "no", "0"):
            return False
        raise ConfigError(f"{key} is true or false, not '{value}'.")
    if kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            raise ConfigError(f"{key} takes a number, not '{value}'.") from None
    if kind == tuple[str, ...]:
        return tuple(item.strip() for item in value.split(",") if item.strip())
    return value  # one of a few words, which the configuration checks itself


def _part_from_json(part: Field[Any], data: Mapping[str, Any]) -> Any:
    kind: Any = type(part.default)
    hints = get_type_hints(kind)
    return kind(
        **{
            key: tuple(value) if hints.get(key) == tuple[str, ...] else value
            for key, value in data.items()
            if part.name != "training" or key not in REMOVED_SETTINGS
        }
    )
