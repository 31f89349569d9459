"""Settings: what texts and JSON give, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.config import (
    COLUMNS,
    Config,
    ParserConfig,
    ParserTrainingConfig,
    Settings,
    TokeniserSettings,
    TrainingConfig,
    with_settings,
)
from biatt.errors import ConfigError


def parsed(*settings: str) -> Config:
    return with_settings(Config(), settings)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    single = draw(st.booleans())
    model = ParserConfig(
        hidden=draw(st.integers(1, 999)),
        embedding=draw(st.integers(0, 999)),
        columns=tuple(draw(st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True))),
        directions="both" if single else draw(st.sampled_from(["both", "left-to-right", "right-to-left"])),
        feedback=False if single else draw(st.booleans()),
        attention="single" if single else "agreement",
        min_count=draw(st.integers(1, 9)),
        affixes=draw(st.integers(0, 9)),
        layers=draw(st.integers(1, 9)),
        query_input=draw(st.sampled_from(["embedding", "memory"])),
        pair_hidden=draw(st.integers(0, 999)),
    )
    linear = draw(st.booleans())
    training = ParserTrainingConfig(
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


def test_settings_reach_the_part_they_belong_to() -> None:
    config = parsed(
        "hidden=32", "rate=0.001", "columns=form, xpos", "feedback=off", "directions=left-to-right"
    )
    assert config.model == ParserConfig(
        hidden=32, columns=("form", "xpos"), feedback=False, directions="left-to-right"
    )
    assert config.training == ParserTrainingConfig(rate=0.001)


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
    assert with_settings(Config(ParserConfig(feedback=False)), [f"feedback={word}"]).model.feedback is True


@pytest.mark.parametrize("word", ["false", "Off", "NO", "0"])
def test_words_for_false(word: str) -> None:
    assert parsed(f"feedback={word}").model.feedback is False


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["hidden"], "'hidden' is not of the form key=value"),
        (["hiden=3"], "no setting 'hiden'; the settings are .*hidden"),
        (["hidden=many"], "hidden must be a whole number, not 'many'"),
        (["hidden=2.5"], "hidden must be a whole number, not '2.5'"),
        (["rate=fast"], "rate must be a number, not 'fast'"),
        (["feedback=maybe"], "feedback must be true or false, not 'maybe'"),
        (["directions=up"], "directions must be one of both, left-to-right, right-to-left, not 'up'"),
        (["attention=double"], "attention must be one of agreement, single, not 'double'"),
        (["query_input=words"], "query_input must be one of embedding, memory, not 'words'"),
        (["schedule=cosine"], "schedule must be one of paper, linear"),
        (["columns="], "columns must name at least one column"),
        (["columns=form,form"], "columns must be different"),
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
        (["silver_ratio=0"], "silver_ratio must be above 0"),
        (["gold_epochs=-1"], "gold_epochs must be 0 or more"),
        (["silver_min_count=0"], "silver_min_count must be at least 1"),
        (["silver_symbols=-1"], "silver_symbols must be 0 or more"),
        (["silver_confidence=1"], r"silver_confidence must be in \[0, 1\)"),
        (["tag_dropout=1.1"], r"tag_dropout must be in \[0, 1\]"),
        (["tag_weight=0"], "tag_weight must be above 0"),
        (["feature_layers=1,x"], "feature_layers must be a whole number, not 'x'"),
        (["feature_layers=-1", "feature_width=4"], "feature_layers must be 0 or more each"),
        (["feature_layers=2,1"], "feature_layers must be different and ascending"),
        (["feature_layers=1,1"], "feature_layers must be different and ascending"),
        (["feature_width=4"], "feature_width needs feature_layers"),
        (["encoder_rate=-1"], "encoder_rate must be 0 or more"),
        (["smoothing=1"], r"smoothing must be in \[0, 1\)"),
        (["dropout=nan"], "dropout must be finite"),
        (["rate=0"], "rate must be above 0"),
        (["rate=nan"], "rate must be finite"),
        (["clip=inf"], "clip must be finite"),
        (["beta2=-0.1"], r"beta2 must be in \[0, 1\)"),
        (["clip=0"], "clip must be above 0"),
        (["batch_words=0"], "batch_words must be at least 1"),
        (["epochs=0"], "epochs must be at least 1"),
        (["noise=1.1"], "noise must be from 0 to 1"),
    ],
)
def test_bad_settings_are_one_sentence_with_the_name(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parsed(*settings)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("field", ["directions", "attention", "query_input"])
def test_choices_are_checked_without_the_settings_parser_too(field: str) -> None:
    data = Config().to_json()
    data["model"][field] = "sideways"
    with pytest.raises(ConfigError, match=f"{field} must be one of .*, not 'sideways'"):
        Config.from_json(data)


TYPES = {
    int: [16.0, "16", True, None, [1], math.nan],
    float: ["0.1", True, None, [0.1], math.nan, math.inf, -math.inf, 10**400],
    bool: [1, 0, "no", None],
    str: [1, None, "", ["both"]],
    tuple: ["form", ["form", 1], [None], {"form": 1}, None],
}


@pytest.mark.parametrize("kind", [Config, TokeniserSettings])
def test_values_of_another_type_are_refused(kind: type[Settings]) -> None:
    settings = kind.from_json({"model": {}, "training": {}})
    for part in ("model", "training"):
        for item in fields(getattr(settings, part)):
            for value in TYPES[type(item.default)]:
                with pytest.raises(ConfigError, match=item.name):
                    replace(getattr(settings, part), **{item.name: value})
                with pytest.raises(ConfigError, match=item.name):
                    kind.from_json({"model": {}, "training": {}, part: {item.name: value}})


def test_whole_number_is_a_number_too() -> None:
    training = TrainingConfig(clip=1, rate=1)
    assert repr(training) == repr(TrainingConfig(clip=1.0, rate=1.0))


NOT_SETTINGS: list[Any] = [None, 3, "model", [], ["model", "training"], {"model": {}}, {"training": {}}]
NOT_SETTINGS += [{"model": [], "training": {}}, {"model": {}, "training": None}]
NOT_SETTINGS += [{"model": {}, "training": {}, "more": {}}]


@pytest.mark.parametrize("data", NOT_SETTINGS)
def test_json_of_another_form_is_refused(data: Any) -> None:
    with pytest.raises(ConfigError, match="setting"):
        Config.from_json(data)


def test_parts_of_another_class_are_refused() -> None:
    with pytest.raises(ConfigError, match="model must be of the class EncoderConfig"):
        TokeniserSettings(ParserConfig())
    with pytest.raises(ConfigError, match="training must be of the class ParserTrainingConfig"):
        Config(training=TrainingConfig())  # type: ignore[arg-type]


@pytest.mark.parametrize(("part", "name"), [("training", "rate_step"), ("model", "rate")])
def test_unknown_settings_are_refused(part: str, name: str) -> None:
    data = Config().to_json()
    data[part][name] = 0.5
    with pytest.raises(ConfigError, match=f"no setting '{name}'"):
        Config.from_json(data)


@given(configs())
def test_json_round_trip(config: Config) -> None:
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_json_without_a_field_takes_its_default() -> None:
    data = Config().to_json()
    del data["model"]["attention"]
    assert Config.from_json(data) == Config()


@given(configs())
def test_every_field_can_be_set_by_text(config: Config) -> None:
    assert parsed(*as_settings(config)) == config


@pytest.mark.parametrize(("embedding", "width"), [(0, 40), (300, 300)])
def test_width_is_the_hidden_size_unless_given(embedding: int, width: int) -> None:
    assert ParserConfig(hidden=40, embedding=embedding).width == width


@pytest.mark.parametrize("setting", ["average=3", "least_batches=9"])
def test_settings_of_the_linear_schedule_need_it(setting: str) -> None:
    with pytest.raises(ConfigError, match="needs schedule=linear"):
        with_settings(Config(), [setting])
    with_settings(Config(), [setting, "schedule=linear"])


def test_small_treebank_gets_more_epochs() -> None:
    training = TrainingConfig(schedule="linear", epochs=20, least_batches=100, batch_words=50)
    assert [training.all_epochs(words) for words in (50, 99, 249, 250, 5000)] == [100, 51, 21, 20, 20]
