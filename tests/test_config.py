"""Settings: what they parse to, what they refuse, and the numbers of the paper."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.config import COLUMNS, REMOVED_SETTINGS, Config, ModelConfig, TrainingConfig, with_settings
from biatt.errors import ConfigError
from biatt.presets import PAPER_HIDDEN, PRESETS, UNUSED, PipelineConfig, describe, hidden_size, preset

PAPER = Path(__file__).parents[2] / "shared" / "paper.tex"
# Section 4.2 of the paper.
SELECTED_SIZES = """368 (English), 114 (Chinese), 128 (Arabic), 160 (Bulgarian), 224 (Czech), 176 (Danish),
    220 (Dutch), 200 (German), 128 (Japanese), 168 (Portuguese), 128 (Slovene), 144 (Spanish), 176 (Swedish),
    128 (Turkish)"""


def sizes_in(text: str) -> dict[str, int]:
    return {name.lower(): int(size) for size, name in re.findall(r"(\d+) \((\w+)\)", text)}


def parsed(*settings: str) -> Config:
    return with_settings(Config(), settings)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    single = draw(st.booleans())
    model = ModelConfig(
        hidden=draw(st.integers(1, 999)),
        embedding=draw(st.integers(0, 999)),
        columns=tuple(draw(st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True))),
        directions="both" if single else draw(st.sampled_from(["both", "left-to-right", "right-to-left"])),
        feedback=False if single else draw(st.booleans()),
        attention="single" if single else "agreement",
        reset=draw(st.sampled_from(["before", "after"])),
        shared_memory_projection=draw(st.booleans()),
        min_count=draw(st.integers(1, 9)),
        affixes=draw(st.integers(0, 9)),
        layers=draw(st.integers(1, 9)),
        query_input=draw(st.sampled_from(["embedding", "memory"])),
        pair_hidden=draw(st.integers(0, 999)),
    )
    linear = draw(st.booleans())
    training = TrainingConfig(
        rate=draw(st.floats(1e-9, 1)),
        beta2=draw(st.floats(0, 1, exclude_max=True)),
        clip=draw(st.floats(1e-6, 1e6)),
        batch_words=draw(st.integers(1, 10_000)),
        schedule="linear" if linear else "paper",
        least_batches=draw(st.integers(0, 9999)) if linear else 0,
        average=draw(st.integers(1, 9)) if linear else 1,
        dropout=draw(st.floats(0, 1, exclude_max=True)),
        word_dropout=draw(st.floats(0, 1, exclude_max=True)),
        tag_dropout=draw(st.floats(0, 1, exclude_max=True)),
        smoothing=draw(st.floats(0, 1, exclude_max=True)),
    )
    return Config(model, training)


def as_settings(config: Config) -> list[str]:
    """Every field written as a user would."""
    shown = {tuple: ",".join, bool: str}
    return [
        f"{item.name}={shown.get(type(value), str)(value)}"
        for part in (config.model, config.training)
        for item in fields(part)
        for value in [getattr(part, item.name)]
    ]


def test_hidden_sizes_are_those_of_the_paper() -> None:
    assert sizes_in(SELECTED_SIZES) == PAPER_HIDDEN
    assert len(PAPER_HIDDEN) == 14


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not beside the clone")
def test_hidden_sizes_are_those_of_the_papers_source() -> None:
    text = PAPER.read_text(encoding="utf-8")
    listed = text.split("selected hidden layer sizes for these languages are:")[1].split("\n\n")[0]
    assert sizes_in(listed) == PAPER_HIDDEN


@pytest.mark.parametrize(("text", "size"), [("danish", 176), ("English", 368), ("64", 64)])
def test_hidden_size_is_a_number_or_a_language(text: str, size: int) -> None:
    assert hidden_size(text) == size


def test_hidden_size_of_an_unknown_language_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'Klingon' is neither .*danish.*turkish"):
        hidden_size("Klingon")


def test_paper_preset_is_the_papers_model_and_the_authors_adam() -> None:
    config = preset("paper")
    assert config == Config() == PRESETS["paper"]
    assert (config.model.directions, config.model.feedback, config.model.attention) == (
        "both",
        True,
        "agreement",
    )
    assert (config.model.reset, config.model.shared_memory_projection) == ("before", True)
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


def test_settings_reach_the_part_they_belong_to() -> None:
    config = parsed(
        "hidden=32", "rate=0.001", "columns=form, xpos", "feedback=off", "directions=left-to-right"
    )
    assert config.model == ModelConfig(
        hidden=32, columns=("form", "xpos"), feedback=False, directions="left-to-right"
    )
    assert config.training == TrainingConfig(rate=0.001)


def test_later_settings_win_and_hyphens_and_spaces_do_not_matter() -> None:
    assert parsed("batch-words = 7", "batch_words=9").training.batch_words == 9


def test_settings_that_need_each_other_come_in_any_order() -> None:
    assert parsed("attention=single", "feedback=no") == parsed("feedback=no", "attention=single")


def test_settings_leave_the_given_configuration_as_it_was() -> None:
    config = Config()
    with_settings(config, ["hidden=3"])
    assert config == Config()


@pytest.mark.parametrize("word", ["true", "On", "YES", "1"])
def test_words_for_true(word: str) -> None:
    assert with_settings(Config(ModelConfig(feedback=False)), [f"feedback={word}"]).model.feedback is True


@pytest.mark.parametrize("word", ["false", "Off", "NO", "0"])
def test_words_for_false(word: str) -> None:
    assert parsed(f"feedback={word}").model.feedback is False


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["hidden"], "'hidden' is not of the form key=value"),
        (["hiden=3"], "no setting 'hiden'; the settings are .*hidden"),
        (["hidden=many"], "hidden takes a number, not 'many'"),
        (["hidden=2.5"], "hidden takes a number, not '2.5'"),
        (["rate=fast"], "rate takes a number, not 'fast'"),
        (["feedback=maybe"], "feedback is true or false, not 'maybe'"),
        (["directions=up"], "directions is one of both, left-to-right, right-to-left, not 'up'"),
        (["attention=double"], "attention is one of agreement, single, not 'double'"),
        (["reset=never"], "reset is one of before, after, not 'never'"),
        (["query_input=words"], "query_input is one of embedding, memory, not 'words'"),
        (["schedule=cosine"], "schedule is one of paper, linear"),
        (["columns="], "columns must name at least one column"),
        (["columns=form,shape"], "columns has no shape; it knows form, lemma, upos, xpos, feats"),
        (["attention=single"], "set feedback=false"),
        (["attention=single", "feedback=false", "directions=left-to-right"], "needs directions=both"),
        (["hidden=0"], "hidden must be at least 1"),
        (["embedding=-1"], "embedding must be 0 or more"),
        (["min_count=0"], "min_count must be at least 1"),
        (["affixes=-1"], "affixes must be 0 or more"),
        (["layers=0"], "layers must be from 1 to 9"),
        (["layers=10"], "layers must be from 1 to 9"),
        (["pair_hidden=-1"], "pair_hidden must be 0 or more"),
        (["dropout=1"], r"dropout must be in \[0, 1\)"),
        (["word_dropout=-0.1"], r"word_dropout must be in \[0, 1\)"),
        (["tag_dropout=1"], r"tag_dropout must be in \[0, 1\)"),
        (["smoothing=1"], r"smoothing must be in \[0, 1\)"),
        (["dropout=nan"], "dropout must be finite"),
        (["rate=0"], "rate must be above 0"),
        (["rate=nan"], "rate must be finite"),
        (["clip=inf"], "clip must be finite"),
        (["beta2=-0.1"], r"beta2 must be in \[0, 1\)"),
        (["clip=0"], "clip must be above 0"),
        (["batch_words=0"], "batch_words must be at least 1"),
        (["epochs=0"], "epochs must be at least 1"),
    ],
)
def test_bad_settings_are_one_sentence_with_the_name(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parsed(*settings)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("field", ["directions", "attention", "reset", "query_input"])
def test_choices_are_checked_without_the_settings_parser_too(field: str) -> None:
    data = Config().to_json()
    data["model"][field] = "sideways"
    with pytest.raises(ConfigError, match=f"{field} is one of .*, not 'sideways'"):
        Config.from_json(data)


@given(configs())
def test_json_round_trip(config: Config) -> None:
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_json_without_a_field_takes_its_default() -> None:
    data = Config().to_json()
    del data["model"]["reset"]
    assert Config.from_json(data) == Config()


def test_settings_that_earlier_versions_had_are_ignored_but_no_others_are() -> None:
    data = Config().to_json()
    data["training"] |= dict.fromkeys(REMOVED_SETTINGS, 0.5)
    assert Config.from_json(data) == Config()
    for part, name in (("training", "rate_steps"), ("model", "deviation")):
        with pytest.raises(TypeError):
            Config.from_json({**Config().to_json(), part: {name: 0.5}})


@given(configs())
def test_every_field_can_be_set_by_text(config: Config) -> None:
    assert parsed(*as_settings(config)) == config


def test_description_has_every_field_with_help_and_a_default_that_parses() -> None:
    described = describe()
    names = [item.name for part in (ModelConfig, TrainingConfig) for item in fields(part)]
    assert [name for name, _, _, _ in described] == names
    assert all(len(help) > 10 for _, _, help, _ in described)
    assert parsed(*[f"{name}={default}" for name, default, _, _ in described]) == Config()
    for other in ("best", "fast"):
        differing = [f"{name}={others[other]}" for name, _, _, others in described if other in others]
        assert parsed(*differing) == preset(other)


def test_description_has_what_tokeniser_and_tagger_use() -> None:
    described = {name: others for name, _, _, others in describe()}
    assert described["hidden"]["tokeniser"] == "64"
    assert described["columns"] == {}
    assert not any(part in described[name] for part, names in UNUSED.items() for name in names)


@pytest.mark.parametrize("part", ["tokeniser", "tagger"])
def test_pipeline_refuses_settings_that_would_change_nothing(part: str) -> None:
    for name in UNUSED[part]:
        with pytest.raises(ConfigError, match=f"The {part} has no setting '{name}'"):
            PipelineConfig().with_settings([f"{part}.{name}=1"])
    assert getattr(PipelineConfig().with_settings([f"{part}.layers=3"]), part).model.layers == 3


@pytest.mark.parametrize(("embedding", "width"), [(0, 40), (300, 300)])
def test_width_is_the_hidden_size_unless_given(embedding: int, width: int) -> None:
    assert ModelConfig(hidden=40, embedding=embedding).width == width


def test_numbers_are_finite() -> None:
    names = [item.name for item in fields(TrainingConfig) if item.name != "schedule"]
    values: list[Any] = [getattr(TrainingConfig(), name) for name in names]
    assert all(math.isfinite(value) for value in values)
    with pytest.raises(ConfigError):
        replace(TrainingConfig(), rate=-1.0)


@pytest.mark.parametrize("setting", ["average=3", "least_batches=9"])
def test_settings_of_the_linear_schedule_need_it(setting: str) -> None:
    with pytest.raises(ConfigError, match="needs schedule=linear"):
        with_settings(Config(), [setting])
    with_settings(Config(), [setting, "schedule=linear"])


def test_small_treebank_gets_more_epochs() -> None:
    training = TrainingConfig(schedule="linear", epochs=20, least_batches=100, batch_words=50)
    assert [training.all_epochs(words) for words in (50, 99, 249, 250, 5000)] == [100, 51, 21, 20, 20]
