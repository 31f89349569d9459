"""The settings of `biatt train` as text: from the command line, and for its list of settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from biatt.config import Config, setting_names, with_settings
from biatt.errors import ConfigError
from biatt.options import DEFAULT_PRESET, PresetName
from biatt.presets import (
    DRAFT,
    DRAFT_PIPELINE,
    PAPER_HIDDEN,
    PRESETS,
    PipelineConfig,
    of_pipeline,
    preset,
    trained_further,
)

if TYPE_CHECKING:
    from biatt.training.start import Start

PIPELINE_SETTINGS = ("tokeniser.",)


class DescribedSetting(NamedTuple):
    name: str
    default: str  # the value in DEFAULT_PRESET
    help: str
    other_values: dict[str, str]  # by preset, or by part of a pipeline


def configurations(
    settings: Sequence[str],
    *,
    preset_name: PresetName | None = None,
    hidden: str | None = None,
    pipeline: bool = False,
    draft: bool = False,
    start: Start | None = None,
) -> tuple[Config, PipelineConfig | None]:
    """The configurations of a parser and, if asked for, of the rest of a pipeline; a draft is a pipeline.

    `start` is a model that is trained further: its network and its tokeniser stay.
    """
    of_others = [text for text in settings if text.startswith(PIPELINE_SETTINGS)]
    if of_others and not (pipeline or draft):
        raise ConfigError(f"The setting '{of_others[0]}' is about --pipeline.")
    if draft and (preset_name or hidden):
        raise ConfigError("--draft has a preset and a hidden size of its own; --set changes its settings.")
    if start and draft:
        raise ConfigError("--draft trains a network of its own, so it has no --start.")
    if start and start.tokeniser and of_others:
        raise ConfigError(f"The tokeniser of {start.name} stays as it is, so {of_others[0]} cannot be set.")
    of_parser = [text for text in settings if text not in of_others]
    if draft:
        return with_settings(DRAFT, of_parser), DRAFT_PIPELINE.with_settings(of_others)
    if hidden is not None:
        of_parser.append(f"hidden={hidden_size(hidden)}")
    config = preset(preset_name or DEFAULT_PRESET)
    if start:
        config = with_settings(trained_further(config, start.network), of_parser)
        start.check_network(config)
        return config, PipelineConfig().with_settings(of_others) if pipeline else None
    if not pipeline:
        return with_settings(config, of_parser), None
    return with_settings(of_pipeline(config), of_parser), PipelineConfig().with_settings(of_others)


def hidden_size(text: str) -> int:
    """A number, or the size that the paper has for a language."""
    if text.lower() in PAPER_HIDDEN:
        return PAPER_HIDDEN[text.lower()]
    try:
        return int(text)
    except ValueError:
        raise ConfigError(
            f"'{text}' is neither a hidden size nor a language of the paper ({', '.join(PAPER_HIDDEN)})."
        ) from None


def described_settings() -> list[DescribedSetting]:
    """All settings of a parser, in order."""
    pipeline, described = PipelineConfig(), []
    configs = {**PRESETS, "tokeniser": pipeline.tokeniser}
    for part in ("model", "training"):
        of_default = getattr(PRESETS[DEFAULT_PRESET], part)
        for item in fields(of_default):
            default = _text(getattr(of_default, item.name))
            values = {
                name: _text(getattr(getattr(config, part), item.name))
                for name, config in configs.items()
                if item.name in setting_names(type(config))
            }
            other_values = {name: value for name, value in values.items() if value != default}
            described.append(DescribedSetting(item.name, default, item.metadata["help"], other_values))
    return described


def _text(value: Any) -> str:
    """The value as `--set` takes it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
