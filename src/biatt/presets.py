"""Settings that go together, by name: the paper's, ours, and those of a pipeline's parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from biatt.config import (
    Config,
    EncoderConfig,
    ParserConfig,
    ParserTrainingConfig,
    TaggerConfig,
    TaggerSettings,
    TokeniserSettings,
    TrainingConfig,
    check,
    parse_value,
    setting_names,
    with_settings,
)
from biatt.errors import ConfigError

# The hidden sizes that the paper chose on its dev sets (section 4.2).
PAPER_HIDDEN = {
    "arabic": 128,
    "bulgarian": 160,
    "chinese": 114,
    "czech": 224,
    "danish": 176,
    "dutch": 220,
    "english": 368,
    "german": 200,
    "japanese": 128,
    "portuguese": 168,
    "slovene": 128,
    "spanish": 144,
    "swedish": 176,
    "turkish": 128,
}

# How these were chosen, and what each is worth, is in experiments/README.md.
BEST = Config(
    ParserConfig(affixes=4, layers=2, query_input="memory", pair_hidden=128),
    ParserTrainingConfig(
        beta2=0.9,
        batch_words=200,
        schedule="linear",
        epochs=20,
        least_batches=8000,
        average=3,
        dropout=0.33,
        word_dropout=0.2,
        smoothing=0.05,
    ),
)

# What makes sentences and tags of raw text, for `train --pipeline`; chosen on EWT dev.
TOKENISER = TokeniserSettings(
    EncoderConfig(hidden=64, min_count=4),
    TrainingConfig(
        beta2=0.9,
        batch_words=1500,
        schedule="linear",
        epochs=8,
        least_batches=3000,
        average=2,
        dropout=0.2,
        word_dropout=0.05,
    ),
)
TAGGER = TaggerSettings(
    TaggerConfig(affixes=5, layers=2),
    TrainingConfig(
        beta2=0.9,
        batch_words=200,
        schedule="linear",
        epochs=10,
        least_batches=4000,
        average=3,
        dropout=0.3,
        word_dropout=0.1,
        smoothing=0.03,
    ),
)


@dataclass(frozen=True)
class PipelineConfig:
    """What comes before the parser: `train --pipeline`."""

    tokeniser: TokeniserSettings = TOKENISER
    tagger: TaggerSettings = TAGGER
    folds: int = (
        4  # the parser's training sentences are tagged by so many taggers, each trained without its own
    )

    def __post_init__(self) -> None:
        check(self.folds >= 2, "folds must be at least 2")

    def with_settings(self, settings: Sequence[str]) -> PipelineConfig:
        """With `tokeniser.key=value`, `tagger.key=value` or `folds=value` applied."""
        parts: dict[str, list[str]] = {"tokeniser": [], "tagger": []}
        folds = self.folds
        for text in settings:
            part, dot, rest = text.partition(".")
            if dot:
                key = rest.partition("=")[0].strip()
                known = setting_names(type(getattr(self, part)))
                check(key.replace("-", "_") in known, f"The {part} has no setting '{key}'")
                parts[part].append(rest)
            else:
                folds = parse_value("folds", text.partition("=")[2].strip(), int)
        own = {name: with_settings(getattr(self, name), rest) for name, rest in parts.items()}
        return PipelineConfig(**own, folds=folds)


def for_text(setting: str) -> bool:
    """Is this setting about what comes before the parser?"""
    return setting.startswith(("tokeniser.", "tagger.", "folds="))


PRESETS = {
    "paper": Config(),
    "best": BEST,
    "fast": replace(BEST, model=replace(BEST.model, hidden=96, layers=1, pair_hidden=64)),
}


def preset(name: str) -> Config:
    if name not in PRESETS:
        raise ConfigError(f"There is no preset '{name}'; the presets are {', '.join(PRESETS)}.")
    return PRESETS[name]


def hidden_size(text: str) -> int:
    """A number, or a language whose size the paper gives."""
    if text.lower() in PAPER_HIDDEN:
        return PAPER_HIDDEN[text.lower()]
    try:
        return int(text)
    except ValueError:
        raise ConfigError(
            f"'{text}' is neither a hidden size nor a language of the paper ({', '.join(PAPER_HIDDEN)})."
        ) from None


def describe() -> list[tuple[str, str, str, dict[str, str]]]:
    """(name, the paper's value, help, other values by who has them) of every setting, in order."""
    text, listed = PipelineConfig(), []
    others = {**PRESETS, "tokeniser": text.tokeniser, "tagger": text.tagger}
    for part in ("model", "training"):
        paper = getattr(PRESETS["paper"], part)
        for item in fields(paper):
            default = _show(getattr(paper, item.name))
            values = {
                name: _show(getattr(getattr(config, part), item.name))
                for name, config in others.items()
                if item.name in setting_names(type(config))
            }
            differing = {name: value for name, value in values.items() if value != default}
            listed.append((item.name, default, item.metadata["help"], differing))
    return listed


def _show(value: Any) -> str:
    return (
        ",".join(value)
        if isinstance(value, tuple)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
