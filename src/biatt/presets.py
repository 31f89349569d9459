"""Named configurations: those of parsers, and that of the tokeniser of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from biatt.config import (
    Config,
    EncoderConfig,
    ParserConfig,
    ParserTrainingConfig,
    TokeniserSettings,
    TrainingConfig,
    check,
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
    ParserConfig(affixes=4, layers=2, query_input="memory", pair_hidden=128, vector_rows=100_000),
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
TAG_DROPOUT = 0.8  # of a pipeline: most text that it will see has no tags


@dataclass(frozen=True)
class PipelineConfig:
    """What a pipeline has beside its parser: a tokeniser."""

    tokeniser: TokeniserSettings = TOKENISER

    def with_settings(self, settings: Sequence[str]) -> PipelineConfig:
        """A copy with `tokeniser.key=value` texts applied."""
        texts = []
        for text in settings:
            part, _, rest = text.partition(".")
            key = rest.partition("=")[0].strip()
            known = part == "tokeniser" and key.replace("-", "_") in setting_names(TokeniserSettings)
            check(known, f"The {part} has no setting '{key}'")
            texts.append(rest)
        return PipelineConfig(with_settings(self.tokeniser, texts))


def of_pipeline(config: Config) -> Config:
    """The configuration of a parser that takes words without tags, and chooses tags and lemmas itself."""
    return Config(
        replace(config.model, columns=("form",), tags=True),
        replace(config.training, tag_dropout=config.training.tag_dropout or TAG_DROPOUT),
    )


def trained_further(config: Config, network: ParserConfig) -> Config:
    """The configuration with the network of a model that is trained further."""
    return Config(network, of_pipeline(config).training if network.tags else config.training)


PRESETS = {
    "paper": Config(),
    "best": BEST,
    "fast": replace(BEST, model=replace(BEST.model, hidden=96, layers=1, pair_hidden=64)),
}


# A pipeline in about two minutes on one core, whatever the size of the treebank: three passes over a sample
# of DRAFT_WORDS, or as many steps over less. On English EWT, LAS on dev with its own tags is 77.1.
DRAFT_WORDS = 200_000
DRAFT = with_settings(
    of_pipeline(PRESETS["fast"]),
    ["hidden=64", "epochs=3", "least_batches=3000", "average=2", "dropout=0.2", "rate=0.003"],
)
DRAFT_PIPELINE = PipelineConfig().with_settings(
    ["tokeniser.hidden=48", "tokeniser.epochs=2", "tokeniser.least_batches=1200"]
)


def preset(name: str) -> Config:
    """The configuration of a parser with this name: paper, best or fast."""
    if name not in PRESETS:
        raise ConfigError(f"There is no preset '{name}'; the presets are {', '.join(PRESETS)}.")
    return PRESETS[name]
