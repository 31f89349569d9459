"""Named configurations: those of parsers, and those of the tokeniser and the tagger of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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

# experiments/README.md says how these were chosen, and what each is worth.
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

# Chosen on the dev sentences of EWT.
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
    """Tokeniser and tagger of a pipeline, and the number of jack-knife taggers.

    The parser's training sentences are tagged by `folds` taggers, each trained without the sentences that it
    tags.
    """

    tokeniser: TokeniserSettings = TOKENISER
    tagger: TaggerSettings = TAGGER
    folds: int = 4

    def __post_init__(self) -> None:
        check(self.folds >= 2, "folds must be at least 2")

    def with_settings(self, settings: Sequence[str]) -> PipelineConfig:
        """A copy with `tokeniser.key=value`, `tagger.key=value` or `folds=value` texts applied."""
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
        return PipelineConfig(
            with_settings(self.tokeniser, parts["tokeniser"]),
            with_settings(self.tagger, parts["tagger"]),
            folds,
        )


PRESETS = {
    "paper": Config(),
    "best": BEST,
    "fast": replace(BEST, model=replace(BEST.model, hidden=96, layers=1, pair_hidden=64)),
}


def preset(name: str) -> Config:
    """The configuration of a parser with this name: paper, best or fast."""
    if name not in PRESETS:
        raise ConfigError(f"There is no preset '{name}'; the presets are {', '.join(PRESETS)}.")
    return PRESETS[name]
