"""Training of a pipeline: every stage resumable, and treebanks without tags or spaces."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from biatt.annotate.known_lemmas import KnownLemmas
from biatt.config import with_settings
from biatt.data.conll import read, write
from biatt.data.raw_text import raw_text
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.errors import ConfigError
from biatt.evaluation.metrics import evaluate
from biatt.models.language_profile import LanguageProfile
from biatt.models.model_folder import FINGERPRINT, WEIGHTS, is_finished
from biatt.parser import load
from biatt.presets import PipelineConfig, preset
from biatt.training.records import read_records
from biatt.training.train import train
from trainings import SMALL_BEST, SMALL_PIPELINE, InterruptedAfter, Messages, contents


@pytest.mark.slow
def test_pipeline_learns_to_read_raw_text(tmp_path: Path) -> None:
    """What it has seen, it reads far better than chance; no figure is near its limit."""
    write(generate(60, seed=1), tmp_path / "t.conllu")
    settings = ["hidden=24", "epochs=4", "least_batches=150", "rate=0.02", "clip=1", "dropout=0"]
    config = with_settings(preset("fast"), [*settings, "pair_hidden=8", "affixes=2", "batch_words=100"])
    of_tokeniser = [f"tokeniser.{setting}" for setting in [*settings, "batch_words=400"]]
    pipeline = PipelineConfig().with_settings(of_tokeniser)
    nlp = train(tmp_path / "t.conllu", out=tmp_path / "m", config=config, pipeline=pipeline)
    gold = [sentence for sentence in read(tmp_path / "t.conllu") if sentence.forms[-1] in ".?!"]
    result = evaluate(gold, [sentence for part in nlp.pipe([raw_text(gold)]) for sentence in part])
    assert result.scores["Words"].f1 > 0.8
    assert result.scores["Sentences"].f1 > 0.5
    assert result.scores["UPOS"].f1 > 0.7
    assert result.scores["Lemmas"].f1 > 0.7
    assert result.las > 0.5


@pytest.mark.slow
def test_folder_contains_every_part_and_no_more(pipeline: Path) -> None:
    names = sorted(path.relative_to(pipeline).as_posix() for path in pipeline.rglob("*") if path.is_file())
    model = ["config.json", "metrics.jsonl", WEIGHTS, "vocabulary.json"]
    tokeniser = [f"tokeniser/{name}" for name in model]
    assert names == sorted(["README.md", "language.json", FINGERPRINT, *model, *tokeniser])
    card = (pipeline / "README.md").read_text()
    assert "tokeniser, accuracy on dev, labels of the training data | end " in card
    assert "tags, accuracy on dev, labels of the training data | upos " in card


@pytest.mark.slow
def test_model_has_the_language_profile_of_its_training_text(treebank: Path, pipeline: Path) -> None:
    profile = load(pipeline).profile
    assert profile is not None
    whole = LanguageProfile.of_text(raw_text(read(treebank)))  # a few sentences of which are dev
    assert set(profile.per_million) <= set(whole.per_million)
    assert len(profile.per_million) > len(whole.per_million) / 2


@pytest.mark.slow
def test_model_knows_the_lemmas_of_its_training_data(treebank: Path, pipeline: Path) -> None:
    tags = load(pipeline).tags
    assert tags is not None
    assert tags.known_lemmas is not None
    assert tags.known_lemmas.table == KnownLemmas.of(list(read(treebank))).table


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_interrupted_pipeline_ends_like_a_whole_one(
    treebank: Path, pipeline: Path, tmp_path: Path, stop: int
) -> None:
    """Interrupted in the tokeniser, between the two, and in the parser."""
    options: dict[str, Any] = {"dev": treebank, "config": SMALL_BEST, "pipeline": SMALL_PIPELINE}
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=tmp_path / "cut", **options, listener=InterruptedAfter(stop))
    assert is_finished(tmp_path / "cut" / "tokeniser") == (stop > 2)
    train(treebank, out=tmp_path / "cut", **options, resume=True)
    assert contents(tmp_path / "cut") == contents(pipeline)


@pytest.mark.slow
def test_finished_pipeline_is_not_trained_again(treebank: Path, pipeline: Path, tmp_path: Path) -> None:
    shutil.copytree(pipeline, tmp_path / "m")
    options: dict[str, Any] = {"dev": treebank, "config": SMALL_BEST, "pipeline": SMALL_PIPELINE}
    messages = Messages()
    train(treebank, out=tmp_path / "m", **options, resume=True, licence="CC0", listener=messages)
    assert messages.texts == [f"{tmp_path / 'm'} is already trained."]
    assert contents(tmp_path / "m") == contents(pipeline)
    card = (tmp_path / "m" / "README.md").read_text()
    assert card == (pipeline / "README.md").read_text().replace("not stated", "CC0")
    with pytest.raises(ConfigError, match="already contains"):
        train(treebank, out=tmp_path / "m", **options)


@pytest.mark.slow
def test_stages_are_not_used_with_other_settings(treebank: Path, pipeline: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"dev": treebank, "config": SMALL_BEST, "resume": True}
    other = SMALL_PIPELINE.with_settings(["tokeniser.hidden=9"])
    with pytest.raises(ConfigError, match="other data, settings, seed or threads"):
        train(treebank, out=pipeline, pipeline=other, **options)
    # Without its fingerprint, a finished stage could be of any settings.
    shutil.copytree(pipeline / "tokeniser", tmp_path / "m" / "tokeniser")
    with pytest.raises(ConfigError, match="was not made by training"):
        train(treebank, out=tmp_path / "m", pipeline=other, **options)
    assert not is_finished(tmp_path / "m")


@pytest.mark.slow
def test_treebank_without_tags_or_spaces(tmp_path: Path) -> None:
    bare = [Sentence.from_words(s.forms, heads=s.heads, deprels=s.deprels) for s in generate(30, seed=7)]
    write(bare, tmp_path / "t.conllu")
    messages, out = Messages(), tmp_path / "m"
    config, pipeline = with_settings(SMALL_BEST, ["epochs=1"]), SMALL_PIPELINE
    nlp = train(tmp_path / "t.conllu", out=out, config=config, pipeline=pipeline, listener=messages)
    assert nlp.tags is None
    assert not nlp.config.model.tags
    assert any("SpaceAfter=No" in text for text in messages.texts)
    assert any("neither tags nor lemmas" in text for text in messages.texts)
    assert load(out)("a b").text == "a b"


def test_pipeline_of_a_conllx_treebank_learns_from_restored_spaces(tmp_path: Path) -> None:
    path, messages = tmp_path / "t.conllx", Messages()
    words = {"heads": [2, 0, 2], "deprels": ["subj", "ROOT", "pnct"], "upos": ["P", "V", "X"]}
    write([Sentence.from_words(["Hun", "sover", "."], format="conllx", **words)] * 9, path)  # type: ignore[arg-type]
    config = with_settings(SMALL_BEST, ["epochs=1"])
    nlp = train(path, out=tmp_path / "m", config=config, pipeline=SMALL_PIPELINE, listener=messages)
    assert f"{path} does not say where spaces are (SpaceAfter=No): rules restore them." in messages.texts
    assert nlp.tokeniser is not None
    assert "wsover." in nlp.tokeniser.characters.symbols  # a chunk of the text that it was trained on


@pytest.mark.slow
def test_stages_report_their_epochs(pipeline: Path) -> None:
    assert [record["epoch"] for record in read_records(pipeline)] == [1, 2]
    assert [record["epoch"] for record in read_records(pipeline / "tokeniser")] == [1, 2]
