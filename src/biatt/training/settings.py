"""The settings of `biatt train` as text: from the command line, and for its list of settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from biatt.config import Config, setting_names, with_settings
from biatt.errors import ConfigError
from biatt.options import PresetName
from biatt.presets import PAPER_HIDDEN, PRESETS, PipelineConfig, of_pipeline, preset

PIPELINE_SETTINGS = ("tokeniser.",)


class DescribedSetting(NamedTuple):
    name: str
    default: str  # the paper's value
    help: str
    other_values: dict[str, str]  # by preset, or by part of a pipeline


def configurations(
    settings: Sequence[str], *, preset_name: PresetName | None, hidden: str | None, pipeline: bool
) -> tuple[Config, PipelineConfig | None]:
    """The configurations of a parser and, if asked for, of the rest of a pipeline.

    Without a preset, a parser alone starts from `paper`, one of a pipeline from `best`.
    """
    of_others = [text for text in settings if text.startswith(PIPELINE_SETTINGS)]
    if of_others and not pipeline:
        raise ConfigError(f"The setting '{of_others[0]}' is about --pipeline.")
    of_parser = [text for text in settings if text not in of_others]
    if hidden is not None:
        of_parser.append(f"hidden={hidden_size(hidden)}")
    if not pipeline:
        return with_settings(preset(preset_name or "paper"), of_parser), None
    config = with_settings(of_pipeline(preset(preset_name or "best")), of_parser)
    return config, PipelineConfig().with_settings(of_others)


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
        paper = getattr(PRESETS["paper"], part)
        for item in fields(paper):
            default = _text(getattr(paper, item.name))
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
