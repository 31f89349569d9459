"""A trained model as the start of another training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import biatt
from biatt.annotate.known_lemmas import KnownLemmas
from biatt.annotate.tokeniser import Tokeniser
from biatt.config import with_settings
from biatt.data.conll import read, write
from biatt.data.toy_treebank import generate
from biatt.errors import ConfigError
from biatt.models.model_folder import CARD, TOKENISER
from biatt.parser import load
from biatt.presets import PipelineConfig, preset, trained_further
from biatt.training.settings import configurations
from biatt.training.start import Start
from biatt.training.train import train
from builders import random_parser
from trainings import InterruptedAt, contents, weights

pytestmark = pytest.mark.slow  # trains

BARELY = ["epochs=1", "least_batches=0", "average=1", "rate=1e-7"]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A treebank with words, lemmas and a relation that the one of `pipeline` does not have."""
    path = tmp_path_factory.mktemp("data") / "other.conllu"
    sentences = generate(12, seed=77)
    for sentence in sentences:
        sentence.rows[0][1:3] = "Xyzzy", "xyzzies"
        sentence.rows[0][7] = "vocative"
    write(sentences, path)
    return path


def config_of(model: Path, settings: list[str]) -> biatt.Config:
    return with_settings(trained_further(preset("fast"), load(model).config.model), settings)


def test_training_begins_with_the_weights_of_the_model(pipeline: Path, other: Path, tmp_path: Path) -> None:
    begun = load(pipeline)
    further = train(other, dev=other, out=tmp_path / "m", start=pipeline, config=config_of(pipeline, BARELY))
    assert further.weights.keys() == begun.weights.keys()
    for name, weight in begun.weights.items():
        np.testing.assert_allclose(further.weights[name], weight, atol=1e-3)
    assert any(not np.array_equal(further.weights[name], begun.weights[name]) for name in begun.weights)
    assert f"| begun with the weights of | {pipeline} |" in (tmp_path / "m" / CARD).read_text()


def test_words_tags_relations_and_tokeniser_stay(pipeline: Path, other: Path, tmp_path: Path) -> None:
    begun, further = (
        load(pipeline),
        train(other, dev=other, out=tmp_path / "m", start=pipeline, config=config_of(pipeline, BARELY)),
    )
    assert further.vocabulary.to_json() == begun.vocabulary.to_json()
    assert "vocative" not in further.vocabulary.relations
    assert further.tags is not None
    assert begun.tags is not None
    assert further.tags.labels.kinds == begun.tags.labels.kinds
    assert weights(tmp_path / "m" / TOKENISER) == weights(pipeline / TOKENISER)
    text = "The cat saw a dog."
    assert [s.forms for s in further(text)] == [s.forms for s in begun(text)]


def test_lemmas_of_the_treebank_come_first_and_those_of_the_model_stay(pipeline: Path, other: Path) -> None:
    begun = Start.load(pipeline)
    lemmas = begun.lemmas(list(read(other)))
    assert lemmas is not None
    assert begun.known_lemmas is not None
    assert any(forms.get("Xyzzy") == ["xyzzies"] for forms in lemmas.table.values())
    for upos, forms in begun.known_lemmas.table.items():
        assert forms.keys() <= lemmas.table[upos].keys()


def test_it_is_resumed_to_the_same_weights_and_only_from_the_same_model(
    pipeline: Path, other: Path, tmp_path: Path
) -> None:
    config = config_of(pipeline, ["epochs=3", "least_batches=0", "batch_words=40"])
    options: dict[str, Any] = {"dev": other, "config": config, "start": pipeline}
    train(other, out=tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        train(other, out=tmp_path / "parts", listener=InterruptedAt(2), **options)
    moved = tmp_path / "moved"
    load(pipeline).save(moved)
    train(other, out=tmp_path / "parts", resume=True, **{**options, "start": moved})  # by content, not name
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    with pytest.raises(ConfigError, match="other data, settings"):
        train(other, out=tmp_path / "parts", resume=True, **{**options, "start": tmp_path / "whole"})


def test_silver_text_adds_no_words(pipeline: Path, other: Path, treebank: Path, tmp_path: Path) -> None:
    config = config_of(pipeline, ["epochs=2", "gold_epochs=1", "least_batches=0", "silver_min_count=1"])
    further = train(treebank, dev=treebank, out=tmp_path / "m", start=pipeline, config=config, silver=[other])
    assert further.vocabulary.to_json() == load(pipeline).vocabulary.to_json()


def test_digest_covers_all_that_a_training_takes_from_the_model(pipeline: Path) -> None:
    start, again = Start.load(pipeline), Start.load(pipeline)
    assert start.digest() == again.digest()
    assert start.tokeniser is not None
    assert start.known_lemmas is not None
    weights = {name: weight + 1 for name, weight in start.tokeniser.weights.items()}
    others = [
        start._replace(weights={name: weight + 1 for name, weight in start.weights.items()}),
        start._replace(known_lemmas=KnownLemmas({"NOUN": {"mice": ["mouse"]}})),
        start._replace(tokeniser=Tokeniser.from_stored(replace(start.tokeniser.stored(), weights=weights))),
        start._replace(tokeniser=None),
    ]
    assert len({start.digest(), *(other.digest() for other in others)}) == 5


def test_settings_of_the_network_are_the_models(pipeline: Path) -> None:
    start = Start.load(pipeline)
    config, others = configurations(["epochs=5"], start=start)
    assert (config.model, config.training.epochs, others) == (start.network, 5, None)
    assert config.training.tag_dropout  # most text has no tags
    assert configurations([], pipeline=True, start=start)[1] == PipelineConfig()


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        (["layers=3"], {}, "layers=3 cannot be set"),
        ([], {"hidden": "8"}, "hidden=8 cannot be set"),
        (["tokeniser.hidden=8"], {"pipeline": True}, "tokeniser.hidden=8 cannot be set"),
        ([], {"draft": True}, "--draft"),
    ],
)
def test_settings_of_another_network_are_refused(
    pipeline: Path, settings: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        configurations(settings, start=Start.load(pipeline), **options)


def test_what_cannot_be_trained_further_is_refused(pipeline: Path, other: Path, tmp_path: Path) -> None:
    ensemble = random_parser()
    ensemble.add(random_parser())
    with pytest.raises(ConfigError, match="is an ensemble"):
        Start.of(ensemble, "it")
    with pytest.raises(ConfigError, match="neither vectors, encoder nor ensemble"):
        train(other, out=tmp_path / "m", start=pipeline, ensemble=2)
    with pytest.raises(ConfigError, match="hidden=176"):
        train(other, out=tmp_path / "m", start=pipeline, config=preset("best"))
    assert not (tmp_path / "m").exists()
