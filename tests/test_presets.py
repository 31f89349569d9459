"""Presets: the numbers of the paper, and what each part of a model has."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from biatt.config import Config, TokeniserSettings, setting_names, with_settings
from biatt.errors import ConfigError
from biatt.presets import PAPER_HIDDEN, PRESETS, PipelineConfig, of_pipeline, preset

PAPER = Path(__file__).parents[2] / "shared" / "paper.tex"
# Section 4.2 of the paper.
SELECTED_SIZES = """368 (English), 114 (Chinese), 128 (Arabic), 160 (Bulgarian), 224 (Czech), 176 (Danish),
    220 (Dutch), 200 (German), 128 (Japanese), 168 (Portuguese), 128 (Slovene), 144 (Spanish), 176 (Swedish),
    128 (Turkish)"""


def sizes_in(text: str) -> dict[str, int]:
    return {name.lower(): int(size) for size, name in re.findall(r"(\d+) \((\w+)\)", text)}


def test_hidden_sizes_are_those_of_the_paper() -> None:
    assert sizes_in(SELECTED_SIZES) == PAPER_HIDDEN
    assert len(PAPER_HIDDEN) == 14


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not beside the clone")
def test_hidden_sizes_are_those_of_the_papers_source() -> None:
    text = PAPER.read_text(encoding="utf-8")
    listed = text.split("selected hidden layer sizes for these languages are:")[1].split("\n\n")[0]
    assert sizes_in(listed) == PAPER_HIDDEN


def test_paper_preset_is_the_papers_model_and_the_authors_adam() -> None:
    config = preset("paper")
    assert config == Config() == PRESETS["paper"]
    assert (config.model.directions, config.model.feedback, config.model.attention) == (
        "both",
        True,
        "agreement",
    )
    assert config.model.min_count == 2  # singletons become unknown
    assert config.training.beta2 == 0.99
    beyond = config.model.affixes, config.model.layers, config.model.query_input, config.model.pair_hidden
    assert beyond == (0, 1, "embedding", 0)
    assert config.training.schedule == "paper"
    for name in ("dropout", "word_dropout", "tag_dropout", "smoothing"):
        assert getattr(config.training, name) == 0, name


def test_unknown_preset_names_the_presets() -> None:
    with pytest.raises(ConfigError, match="no preset 'papre'; the presets are paper"):
        preset("papre")


def test_tokeniser_refuses_settings_that_would_change_nothing() -> None:
    unused = setting_names(Config) - setting_names(TokeniserSettings)
    assert {"columns", "pair_hidden", "tag_dropout", "affixes"} < unused
    for name in unused:
        with pytest.raises(ConfigError, match=f"The tokeniser has no setting '{name}'"):
            PipelineConfig().with_settings([f"tokeniser.{name}=1"])
    assert PipelineConfig().with_settings(["tokeniser.layers=3"]).tokeniser.model.layers == 3


def test_parser_of_a_pipeline_reads_words_alone_and_chooses_tags() -> None:
    config = of_pipeline(preset("fast"))
    assert config.model == replace(preset("fast").model, columns=("form",), tags=True)
    assert 0 < config.training.tag_dropout < 1
    own = with_settings(preset("fast"), ["tag_dropout=0.5"])
    assert of_pipeline(own).training.tag_dropout == 0.5
