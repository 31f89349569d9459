"""Settings as text: of parser and pipeline, languages of the paper, and the list of all settings."""

from __future__ import annotations

from dataclasses import fields

import pytest

from biatt.config import Config, ParserConfig, ParserTrainingConfig, with_settings
from biatt.errors import ConfigError
from biatt.presets import DRAFT, DRAFT_PIPELINE, PipelineConfig, of_pipeline, preset
from biatt.training.settings import configurations, described_settings, hidden_size


def test_settings_of_parser_and_pipeline_are_told_apart() -> None:
    settings = ["layers=3", "tokeniser.layers=4", "hidden=7"]
    config, pipeline = configurations(settings, hidden="danish", pipeline=True)
    assert config == with_settings(of_pipeline(preset("best")), ["layers=3", "hidden=176"])
    assert pipeline == PipelineConfig().with_settings(["tokeniser.layers=4"])
    assert configurations([]) == (preset("best"), None)
    paper = configurations([], preset_name="paper")
    assert paper == (Config(), None)
    assert configurations([], preset_name="fast", hidden="8", pipeline=False)[0].model.hidden == 8


def test_a_draft_is_a_pipeline_with_settings_of_its_own() -> None:
    config, pipeline = configurations(["hidden=7", "tokeniser.hidden=3"], draft=True)
    assert config == with_settings(DRAFT, ["hidden=7"])
    assert config.model.tags
    assert pipeline == DRAFT_PIPELINE.with_settings(["tokeniser.hidden=3"])
    for options in ({"preset_name": "fast"}, {"hidden": "8"}):
        with pytest.raises(ConfigError, match="--draft has a preset and a hidden size of its own"):
            configurations([], draft=True, **options)  # type: ignore[arg-type]


def test_settings_of_a_pipeline_need_one() -> None:
    setting = "tokeniser.hidden=2"
    with pytest.raises(ConfigError, match=f"The setting '{setting}' is about --pipeline"):
        configurations([setting])


@pytest.mark.parametrize(("text", "size"), [("danish", 176), ("English", 368), ("64", 64)])
def test_hidden_size_is_a_number_or_a_language(text: str, size: int) -> None:
    assert hidden_size(text) == size


def test_hidden_size_of_an_unknown_language_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'Klingon' is neither .*danish.*turkish"):
        hidden_size("Klingon")


def test_description_has_every_field_with_help_and_a_default_that_parses() -> None:
    described = described_settings()
    names = [item.name for part in (ParserConfig, ParserTrainingConfig) for item in fields(part)]
    assert [name for name, _, _, _ in described] == names
    assert all(len(help) > 10 for _, _, help, _ in described)
    best = with_settings(Config(), [f"{name}={default}" for name, default, _, _ in described])
    assert best == preset("best")
    for other in ("paper", "fast"):
        differing = [f"{name}={others[other]}" for name, _, _, others in described if other in others]
        assert with_settings(best, differing) == preset(other)


def test_description_has_what_the_tokeniser_uses() -> None:
    described = {name: others for name, _, _, others in described_settings()}
    assert described["hidden"]["tokeniser"] == "64"
    assert described["columns"] == {}
    assert all("tokeniser" not in described[name] for name in ("affixes", "directions", "tag_dropout"))
