"""Training with a contextual encoder: frozen or tuned, resumed, in the model folder or beside it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import biatt
from biatt.config import Config, with_settings
from biatt.data.conll import read
from biatt.data.toy_treebank import generate
from biatt.errors import BiattError, ConfigError, ModelError
from biatt.models.encoder_folder import find_encoder
from biatt.network.contextual import ContextualEncoder
from biatt.parser import Parser
from biatt.presets import of_pipeline
from biatt.training import feature_cache
from biatt.training.encoder import standardised
from biatt.training.train import train
from encoders import LAYERS, WIDTH, needs_transformers, write_encoder
from trainings import SMALL, SMALL_BEST, InterruptedAfter, contents
from ways import ROUNDED

pytestmark = [pytest.mark.slow, needs_transformers]

FROZEN = with_settings(SMALL, ["noise=0.3"])
TUNED = with_settings(FROZEN, ["encoder_rate=0.001", "feature_layers=0,2", "schedule=linear"])


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests must not change it."""
    return write_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="module")
def frozen(treebank: Path, encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("frozen") / "model"
    train(treebank, dev=treebank, out=out, config=FROZEN, encoder=encoder)
    return out


@pytest.fixture(scope="module")
def tuned(treebank: Path, encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tuned") / "model"
    train(treebank, dev=treebank, out=out, config=TUNED, encoder=encoder)
    return out


def test_a_parser_reads_its_encoder(frozen: Path, encoder: Path) -> None:
    parser = Parser.load(frozen)
    assert parser.config.model.feature_layers == (1, 2)
    assert parser.config.model.feature_width == WIDTH
    assert parser.encoder is not None
    assert parser.encoder.reference.folder == encoder.resolve()
    assert parser.describe()["encoder"].startswith(f"{encoder.resolve()}, checksum ")
    (sentence,) = generate(1, seed=3)
    (before,) = parser.scores([sentence])
    parser.encoder.features = lambda sentences: [  # type: ignore[method-assign]
        np.zeros((len(forms), 2, WIDTH), np.float16) for forms in sentences
    ]
    (after,) = parser.scores([sentence])
    assert not np.allclose(before.left, after.left, atol=1e-3)


def test_torch_and_the_kernels_give_the_same_scores(frozen: Path) -> None:
    sentences = generate(5, seed=3)
    fused, plain = (Parser.load(frozen, fused=fused).scores(sentences) for fused in (True, False))
    for a, b in zip(fused, plain, strict=True):
        np.testing.assert_allclose(a.left, b.left, rtol=ROUNDED, atol=ROUNDED)


def test_the_features_of_parsing_are_those_of_training(
    frozen: Path, treebank: Path, encoder: Path, tmp_path: Path
) -> None:
    """The standardised features of the training sentences have mean 0 and variance 1."""
    parser = Parser.load(frozen)
    assert parser.encoder is not None
    features = parser.encoder.features([sentence.forms for sentence in read(treebank)])
    numbers = np.concatenate(features).astype(float)
    numbers = (numbers + parser.weights["features.shift"]) * parser.weights["features.factor"]
    np.testing.assert_allclose(numbers.mean(0), 0, atol=0.05)
    np.testing.assert_allclose(numbers.std(0), 1, atol=0.05)


@pytest.mark.parametrize("config", [FROZEN, TUNED], ids=["frozen", "tuned"])
def test_a_resumed_training_gives_the_same_model(
    config: Config, treebank: Path, encoder: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out = tmp_path / "model"
    options: dict[str, Any] = {"dev": treebank, "out": out, "config": config, "encoder": encoder}
    with pytest.raises(KeyboardInterrupt):
        train(treebank, listener=InterruptedAfter(1), **options)
    assert Parser.load(out).encoder is not None
    assert (tmp_path / "model.features").exists() == (config is FROZEN)
    train(treebank, resume=True, **options)
    whole = request.getfixturevalue("frozen" if config is FROZEN else "tuned")
    assert contents(out) == contents(whole)
    assert not (tmp_path / "model.features").exists()


def test_features_are_computed_once_for_several_trainings(
    treebank: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = 0
    features = ContextualEncoder.features

    def counted(self: ContextualEncoder, sentences: list[list[str]], *, threads: int = 1) -> Any:
        nonlocal computed
        computed += sum(map(len, sentences))
        return features(self, sentences, threads=threads)

    monkeypatch.setattr(ContextualEncoder, "features", counted)
    monkeypatch.setattr(feature_cache, "SHARD_WORDS", 50)
    config = with_settings(SMALL, ["epochs=1"])
    for name in ("a", "b"):
        train(
            treebank,
            dev=treebank,
            out=tmp_path / name,
            config=config,
            encoder=encoder,
            features=tmp_path / "f",
        )
        if name == "a":
            first, files = computed, len(list((tmp_path / "f").iterdir()))
    words = sum(map(len, read(treebank)))
    assert computed - first == words  # those of dev for the temperature, which the parser computes
    assert first == 2 * words  # dev is the same file, and so are its features
    assert len(list((tmp_path / "f").iterdir())) == files > 1
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_bundled_encoder_goes_with_the_model(treebank: Path, encoder: Path, tmp_path: Path) -> None:
    elsewhere = Path(shutil.copytree(encoder, tmp_path / "elsewhere"))
    config = with_settings(SMALL, ["epochs=1"])
    options: dict[str, Any] = {
        "dev": treebank,
        "config": config,
        "encoder": elsewhere,
        "bundle_encoder": True,
    }
    parser = train(treebank, out=tmp_path / "model", **options)
    shutil.rmtree(elsewhere)
    assert parser.describe()["encoder"].startswith("in the model folder, checksum ")
    parser.save(tmp_path / "copy")
    shutil.move(tmp_path / "copy", tmp_path / "moved")
    shutil.rmtree(tmp_path / "model")
    sentences = generate(3, seed=3)
    moved = biatt.load(tmp_path / "moved")
    for a, b in zip(parser.scores(sentences), moved.scores(sentences), strict=True):
        np.testing.assert_array_equal(a.left, b.left)
    moved.save(tmp_path / "moved")  # a model may replace itself


def test_a_model_that_points_to_its_encoder_can_be_saved(frozen: Path, encoder: Path, tmp_path: Path) -> None:
    Parser.load(frozen).save(tmp_path / "copy")
    again = Parser.load(tmp_path / "copy")
    assert again.encoder is not None
    assert again.encoder.reference == Parser.load(frozen).encoder.reference  # type: ignore[union-attr]


def test_a_missing_or_another_encoder_is_one_sentence(frozen: Path, encoder: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(frozen, tmp_path / "model"))
    reference = model / "encoder.json"
    reference.write_text(reference.read_text().replace(str(encoder), str(tmp_path / "gone")))
    with pytest.raises(
        ModelError, match=r"^The encoder of .*model is not in .*gone, where it was at training"
    ):
        Parser.load(model)
    write_encoder(model / "encoder", positions=32)
    with pytest.raises(ModelError, match=r"encoder is not the one that the model was trained with"):
        Parser.load(model)
    shutil.rmtree(model / "encoder")
    shutil.copytree(encoder, model / "encoder")
    Parser.load(model)
    for text in ("", "[]", '{"checksum": 1, "folder": ""}', '{"checksum": "a"}'):
        reference.write_text(text)
        with pytest.raises(ModelError, match=r"^[^\n]*encoder\.json[^\n]*$"):
            Parser.load(model)
    reference.unlink()
    with pytest.raises(ModelError, match=r"has no encoder\.json\.$"):
        Parser.load(model)


@pytest.mark.parametrize(
    ("setting", "value", "fault"),
    [
        ("feature_width", 0, "the feature_layers have no feature_width"),
        ("feature_width", WIDTH + 1, "do not fit"),
        ("feature_layers", [1], "do not fit"),
        ("feature_layers", [1, LAYERS + 1], "has the layers 0 to 3, not all of 1, 4"),
    ],
)
def test_settings_that_do_not_fit_the_encoder_are_refused(
    setting: str, value: Any, fault: str, frozen: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(frozen, tmp_path / "model"))
    data = json.loads((model / "config.json").read_text())
    data["model"][setting] = value
    (model / "config.json").write_text(json.dumps(data))
    with pytest.raises(BiattError, match=fault):
        Parser.load(model)


def test_a_tuned_encoder_is_in_the_model(tuned: Path, encoder: Path) -> None:
    parser = Parser.load(tuned)
    assert parser.encoder is not None
    assert parser.encoder.reference.bundled
    assert find_encoder(tuned / "encoder").checksum() != find_encoder(encoder).checksum()
    before, after = (load_file(folder / "model.safetensors") for folder in (encoder, tuned / "encoder"))
    changed = {name for name in after if not np.array_equal(before[name], after[name])}
    assert "embeddings.word_embeddings.weight" in changed
    assert any(name.startswith("encoder.layer.1.") for name in changed)
    assert not any(name.startswith("encoder.layer.2.") for name in after)  # above the highest layer
    assert not any(name.startswith("encoder.") for name in load_file(tuned / "model.safetensors"))
    assert "tuned, checksum" in (tuned / "README.md").read_text()


def test_a_tuned_encoder_begins_with_its_own_weights(treebank: Path, encoder: Path, tmp_path: Path) -> None:
    config = with_settings(TUNED, ["encoder_rate=1e-30", "epochs=1"])
    out = tmp_path / "model"
    train(treebank, dev=treebank, out=out, config=config, encoder=encoder)
    before, after = (load_file(folder / "model.safetensors") for folder in (encoder, out / "encoder"))
    for name, value in after.items():
        np.testing.assert_allclose(value, before[name], atol=1e-20, err_msg=name)


def test_an_ensemble_shares_a_frozen_encoder(treebank: Path, encoder: Path, tmp_path: Path) -> None:
    config = with_settings(SMALL, ["epochs=1"])
    options: dict[str, Any] = {"config": config, "encoder": encoder, "ensemble": 2}
    parser = train(treebank, dev=treebank, out=tmp_path / "model", bundle_encoder=True, **options)
    assert len(parser.members) == 1
    parser.save(tmp_path / "copy")
    assert len(Parser.load(tmp_path / "copy").scores(generate(2))) == 2
    with pytest.raises(ConfigError, match="encoder_rate does not go with an ensemble"):
        train(treebank, out=tmp_path / "other", **(options | {"config": TUNED}))


@pytest.mark.parametrize(
    "options",
    [
        {"config": with_settings(SMALL, ["feature_layers=1"])},
        {"config": with_settings(SMALL, ["encoder_rate=0.1"])},
        {"bundle_encoder": True},
        {"features": "folder"},
    ],
    ids=["feature_layers", "encoder_rate", "bundle_encoder", "features"],
)
def test_options_about_an_encoder_need_one(
    options: dict[str, Any], treebank: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    with pytest.raises(ConfigError, match=rf"^{name} is about an encoder, and there is none\.$"):
        train(treebank, out=tmp_path / "model", **options)
    assert not (tmp_path / "model").exists()


def test_a_wrong_encoder_stops_before_anything_is_written(
    treebank: Path, encoder: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="There is no encoder folder"):
        train(treebank, out=tmp_path / "model", encoder=tmp_path / "none")
    config = with_settings(SMALL, [f"feature_layers={LAYERS + 1}"])
    with pytest.raises(ConfigError, match="has the layers 0 to"):
        train(treebank, out=tmp_path / "model", encoder=encoder, config=config)
    assert not (tmp_path / "model").exists()


def test_another_encoder_is_another_training(treebank: Path, encoder: Path, tmp_path: Path) -> None:
    other = write_encoder(tmp_path / "other", positions=32)
    options: dict[str, Any] = {"dev": treebank, "out": tmp_path / "model", "config": SMALL}
    with pytest.raises(KeyboardInterrupt):
        train(treebank, listener=InterruptedAfter(1), encoder=encoder, **options)
    with pytest.raises(ConfigError, match="a run with other data, settings"):
        train(treebank, resume=True, encoder=other, **options)


def test_constant_features_are_ignored() -> None:
    array = np.zeros((4, 2, 3), np.float16)
    array[:, :, 1] = [[1], [2], [3], [4]]
    array[:, :, 2] = 7
    shift, factor = standardised([array[:3], array[3:]])
    np.testing.assert_allclose(shift, [[0, -2.5, -7]] * 2, atol=1e-6)
    np.testing.assert_allclose(factor, [[0, 1 / np.std([1, 2, 3, 4]), 0]] * 2, rtol=1e-5)


def test_silver_text_does_not_go_with_an_encoder(treebank: Path, encoder: Path, tmp_path: Path) -> None:
    config = with_settings(of_pipeline(SMALL_BEST), ["gold_epochs=1"])
    with pytest.raises(ConfigError, match="contextual encoder cannot be trained on silver text"):
        train(treebank, out=tmp_path / "m", config=config, silver=["x"], encoder=encoder)
    assert not (tmp_path / "m").exists()
