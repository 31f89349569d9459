"""`train` as a whole: what it leaves, repeatable, resumable after any death, whole or not at all."""

from __future__ import annotations

import ast
import errno
import inspect
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import biatt
from biatt.cli import main
from biatt.config import with_settings
from biatt.data.conll import read, write
from biatt.data.toy_treebank import generate
from biatt.errors import BiattError, ConfigError, ModelError
from biatt.evaluation.metrics import evaluate
from biatt.models.model_folder import CARD, CHECKPOINT, FINGERPRINT, METRICS, WEIGHTS
from biatt.parser import load
from biatt.presets import of_pipeline
from biatt.training.train import train
from builders import random_parser
from forked import forked, send_before
from trainings import (
    SMALL,
    SMALL_BEST,
    InterruptedAfter,
    InterruptedAt,
    Messages,
    contents,
    untimed,
    weights,
)

SOURCE, TESTS = Path(__file__).parents[2] / "src", Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(TESTS)])}


def temporaries(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.tmp")]


@pytest.mark.slow
def test_result_is_the_model_in_the_folder_and_nothing_else_is_left(whole: Path) -> None:
    names = sorted(path.name for path in whole.iterdir())
    assert names == [CARD, "config.json", FINGERPRINT, METRICS, WEIGHTS, "vocabulary.json"]
    assert load(whole).config == SMALL


def test_train_is_short() -> None:
    function = ast.parse(inspect.getsource(train)).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert function.end_lineno is not None
    assert function.end_lineno - function.body[1].lineno < 30  # without its options and their description


@pytest.mark.slow
def test_several_files_are_one_treebank(treebank: Path, whole: Path, tmp_path: Path) -> None:
    sentences = list(read(treebank))
    write(sentences[:12], tmp_path / "a.conllu.gz")
    write(sentences[12:], tmp_path / "b.conllu")
    train([tmp_path / "a.conllu.gz", tmp_path / "b.conllu"], out=tmp_path / "model", config=SMALL)
    assert weights(tmp_path / "model") == weights(whole)


@pytest.mark.slow
def test_training_on_a_sample_says_so_in_the_card(treebank: Path, tmp_path: Path) -> None:
    config = with_settings(SMALL, ["epochs=1"])
    train(treebank, dev=treebank, out=tmp_path / "model", config=config, sample_words=80)
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"{re.escape(str(treebank))}, [1-9] sentences chosen at random", card)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads"),
        ({"ensemble": 0}, "ensemble"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"device": "abacus"}, "device"),
    ],
)
def test_impossible_option_is_refused(
    treebank: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        train(treebank, out=tmp_path / "m", config=SMALL, **options)
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
def test_training_without_torch_is_one_clear_error(treebank: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import biatt\n"
        "assert callable(biatt.train)\n"
        "try: biatt.train(sys.argv[1], out=sys.argv[2])\n"
        "except biatt.BiattError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(treebank), str(tmp_path / "m")],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("Training, and parsing on a GPU, need PyTorch: pip install 'biatt[train]'.\n")


# Repeatable


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_same_seed_gives_the_same_bytes(treebank: Path, tmp_path: Path, threads: int) -> None:
    for name in "ab":
        train(treebank, out=tmp_path / name, config=SMALL, seed=7, threads=threads)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert untimed(tmp_path / "a") == untimed(tmp_path / "b")


@pytest.mark.slow
def test_other_seed_gives_other_bytes(treebank: Path, whole: Path, tmp_path: Path) -> None:
    train(treebank, out=tmp_path / "other", config=SMALL, seed=2)
    assert weights(tmp_path / "other") != weights(whole)


# Foreign folders


@pytest.mark.parametrize("resume", [False, True])
def test_foreign_folder_is_refused_and_left_as_it_was(treebank: Path, tmp_path: Path, resume: bool) -> None:
    out = tmp_path / "mine"
    (out / "folds").mkdir(parents=True)
    for name in (CARD, "config.json", METRICS, "folds/kept.txt"):
        (out / name).write_text("mine")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match="is not empty"):
        train(treebank, out=out, config=SMALL, resume=resume)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_second_training_in_a_folder_is_refused_while_the_first_runs(
    treebank: Path, whole: Path, tmp_path: Path
) -> None:
    class Second(Messages):
        """Starts a second training in the middle of the first."""

        def epoch(self, record: dict[str, Any]) -> None:
            if record["epoch"] == 1:
                with pytest.raises(ConfigError, match="Another process is training in"):
                    train(treebank, out=tmp_path / "m", config=SMALL, resume=True)
                self.message("refused")

    second = Second()
    train(treebank, out=tmp_path / "m", config=SMALL, listener=second)
    assert "refused" in second.texts
    assert contents(tmp_path / "m") == contents(whole)


@pytest.mark.slow
def test_model_without_a_fingerprint_is_not_taken_for_a_finished_training(
    treebank: Path, whole: Path, tmp_path: Path
) -> None:
    load(whole).save(tmp_path / "copy")
    before = contents(tmp_path / "copy")
    with pytest.raises(ConfigError, match="was not made by training"):
        train(treebank, out=tmp_path / "copy", config=SMALL, resume=True)
    assert contents(tmp_path / "copy") == before


# Resuming


@pytest.mark.slow
@pytest.mark.parametrize("stops", [[1], [3], [2, 1, 2]])
def test_interrupted_training_ends_like_a_whole_one(
    treebank: Path, whole: Path, tmp_path: Path, stops: list[int]
) -> None:
    out, messages = tmp_path / "model", Messages()
    for number in stops:
        with pytest.raises(KeyboardInterrupt):
            train(treebank, out=out, config=SMALL, resume=True, listener=InterruptedAt(number))
    train(treebank, out=out, config=SMALL, resume=True, listener=messages)
    done = sum(number - 1 for number in stops)
    assert (f"Resuming after epoch {done}." in messages.texts) == (done > 0)
    assert contents(out) == contents(whole)
    assert untimed(out) == untimed(whole)


@pytest.mark.slow
def test_interrupted_training_leaves_the_best_model_so_far(treebank: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=tmp_path / "cut", config=SMALL, listener=InterruptedAt(3))
    train(treebank, out=tmp_path / "two", config=with_settings(SMALL, ["epochs=2"]))
    assert weights(tmp_path / "cut") == weights(tmp_path / "two")
    assert list(load(tmp_path / "cut").parse(generate(2, seed=8)))


OTHER_OPTIONS = pytest.mark.parametrize(
    "other",
    [
        {"seed": 2},
        {"threads": 2},
        {"search_rate": True},
        {"ensemble": 2},
        {"config": with_settings(SMALL, ["hidden=20"])},
        {"dev_fraction": 0.5},
    ],
    ids=lambda other: next(iter(other)),
)


@pytest.fixture(scope="module")
def cut(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that was interrupted."""
    out = tmp_path_factory.mktemp("cut") / "model"
    with pytest.raises(KeyboardInterrupt):
        train(treebank, out=out, config=SMALL, listener=InterruptedAt(2))
    return out


@pytest.mark.slow
@OTHER_OPTIONS
def test_resuming_with_other_options_is_refused(
    treebank: Path, cut: Path, whole: Path, other: dict[str, Any]
) -> None:
    for out in (cut, whole):
        before = {path.name: path.read_bytes() for path in out.iterdir()}
        with pytest.raises(ConfigError, match="other data, settings, seed or threads"):
            train(treebank, **{"out": out, "config": SMALL, "resume": True, **other})
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.slow
def test_used_folder_is_not_overwritten(treebank: Path, cut: Path, whole: Path) -> None:
    for out in (cut, whole):
        with pytest.raises(ConfigError, match="already contains a model or a run"):
            train(treebank, out=out, config=SMALL)


@pytest.mark.slow
def test_finished_training_is_loaded_and_its_card_gets_the_licence(
    treebank: Path, whole: Path, tmp_path: Path
) -> None:
    out, messages = tmp_path / "m", Messages()
    shutil.copytree(whole, out)
    parser = train(treebank, out=out, config=SMALL, resume=True, licence="CC0", listener=messages)
    assert parser.config == SMALL
    assert messages.texts == [f"{out} is already trained."]
    assert contents(out) == contents(whole)
    assert (out / METRICS).read_bytes() == (whole / METRICS).read_bytes()
    assert (out / CARD).read_text() == (whole / CARD).read_text().replace("not stated", "CC0")


@pytest.mark.slow
def test_damaged_checkpoint_is_named(treebank: Path, cut: Path, tmp_path: Path) -> None:
    shutil.copytree(cut, tmp_path / "m")
    path = tmp_path / "m" / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"checkpoint\.safetensors is damaged"):
        train(treebank, out=tmp_path / "m", config=SMALL, resume=True)


# Processes that end at a certain moment


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_training_killed_while_it_writes_is_resumed(treebank: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "m"
    for number, left in ((2, FILES_BEFORE), (FILES_AN_EPOCH, FILES_BEFORE + 1)):

        def killed(number: int = number) -> None:
            send_before("replace", number, signal.SIGKILL)
            train(treebank, out=out, config=SMALL, resume=True)

        done = forked(killed)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert len(temporaries(out)) == 1
        assert sum(path.is_file() and path.suffix != ".tmp" for path in out.iterdir()) > left
    train(treebank, out=out, config=SMALL, resume=True)
    assert contents(out) == contents(whole)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_terminated_training_leaves_no_half_file_and_can_be_resumed(
    treebank: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m"
    settings = ["hidden=4", "rate=0.01", "epochs=3", "batch_words=100", "clip=1"]
    options = [word for setting in settings for word in ("--set", setting)]
    files = ["--train", str(treebank), "--output", str(out)]

    def terminated() -> None:
        send_before("fsync", 8, signal.SIGTERM)
        sys.argv = ["biatt", "train", *files, "--preset", "paper", *options]
        main()

    done = forked(terminated)
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert not temporaries(out)
    assert (out / CHECKPOINT).exists()
    train(treebank, out=out, config=SMALL, resume=True)
    assert contents(out) == contents(whole)


# A full disk


def full_at_fsync(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, calls = os.fsync, [0]

    def full(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr("biatt.data.files.os.fsync", full)


class Full:
    """A file on a disk that fills up in the middle of a write."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> Full:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> int:
        self.file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_at_write(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [0]

    def opened(path: Any, mode: str = "r", *rest: Any) -> Any:
        file = open(path, mode, *rest)  # noqa: SIM115 (replacing closes it)
        calls[0] += "x" in mode
        return Full(file) if "x" in mode and calls[0] >= number else file

    monkeypatch.setattr("biatt.data.files.open", opened, raising=False)


FILES_BEFORE = 1  # the fingerprint
FILES_AN_EPOCH = 6  # checkpoint, metrics, card, configuration, vocabulary, weights


@pytest.fixture(scope="module")
def epochs(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The weights after one and after two epochs."""
    folder = tmp_path_factory.mktemp("epochs")
    for number in (1, 2):
        train(treebank, out=folder / str(number), config=with_settings(SMALL, [f"epochs={number}"]))
    return [weights(folder / str(number)) for number in (1, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("fill", [full_at_fsync, full_at_write])
@pytest.mark.parametrize("number", range(1, FILES_BEFORE + 2 * FILES_AN_EPOCH + 1))
def test_full_disk_leaves_the_earlier_model_and_a_run_to_resume(
    treebank: Path,
    epochs: list[bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    fill: Callable[[int, pytest.MonkeyPatch], None],
) -> None:
    config, out = with_settings(SMALL, ["epochs=2"]), tmp_path / "m"
    with monkeypatch.context() as patch:
        fill(number, patch)
        with pytest.raises(BiattError, match="no space left on device"):
            train(treebank, out=out, config=config)
    assert not temporaries(out)
    if number > FILES_BEFORE + FILES_AN_EPOCH:
        load(out)
        assert weights(out) == epochs[0]
    else:
        with pytest.raises(ModelError):
            load(out)
    train(treebank, out=out, config=config, resume=True)
    assert weights(out) == epochs[1]


# Ensembles


@pytest.fixture(scope="module")
def ensemble(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ensemble") / "model"
    train(treebank, dev=treebank, out=out, config=SMALL_BEST, ensemble=3)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("stop", [2, 5])
def test_interrupted_ensemble_ends_like_a_whole_one(
    treebank: Path, ensemble: Path, tmp_path: Path, stop: int
) -> None:
    options: dict[str, Any] = {"dev": treebank, "out": tmp_path / "cut", "config": SMALL_BEST, "ensemble": 3}
    with pytest.raises(KeyboardInterrupt):
        train(treebank, **options, listener=InterruptedAfter(stop))
    train(treebank, **options, resume=True)
    assert contents(tmp_path / "cut") == contents(ensemble)


@pytest.mark.slow
def test_ensemble_averages_the_probabilities_of_its_seeds(
    treebank: Path, ensemble: Path, tmp_path: Path
) -> None:
    together = load(ensemble)
    alone = [
        train(treebank, dev=treebank, out=tmp_path / str(seed), config=SMALL_BEST, seed=seed)
        for seed in (1, 2, 3)
    ]
    sentences = generate(5, seed=7)
    by_member = zip(*(parser.scores(sentences) for parser in alone), strict=True)
    for scores, members in zip(together.scores(sentences), by_member, strict=True):
        for name in ("left", "right"):
            expected = np.mean([np.exp(getattr(member, name)) for member in members], 0)
            assert np.allclose(np.exp(getattr(scores, name)), expected, atol=1e-6)
        heads = np.zeros(len(scores.left), int)
        expected = np.mean([member.relation_scores(heads) for member in members], 0)
        assert np.allclose(scores.relation_scores(heads), expected, atol=1e-5)


@pytest.mark.slow
def test_card_of_an_ensemble_has_its_dev_scores(treebank: Path, ensemble: Path) -> None:
    card = (ensemble / CARD).read_text()
    result = evaluate(read(treebank), biatt.load(ensemble).parse(read(treebank)))
    assert "| members of the ensemble | 3 |" in card
    assert f"| dev UAS / LAS, MST | {100 * result.uas:.2f} / {100 * result.las:.2f} |" in card
    assert "members" not in (ensemble / "ensemble" / "2" / CARD).read_text()


# Silver text

WITH_SILVER = with_settings(
    of_pipeline(SMALL_BEST),
    ["epochs=4", "gold_epochs=1", "silver_ratio=1.5", "silver_min_count=1", "noise=0.3"],
)


@pytest.fixture(scope="module")
def silver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences with the doubts of a parser that chooses tags."""
    path = tmp_path_factory.mktemp("data") / "silver.conllu.gz"
    teacher = random_parser({"tags": True, "columns": ("form",)})
    write(teacher.parse(generate(40, seed=6), probabilities=True, retag=True), path)
    return path


@pytest.mark.slow
def test_resumed_training_with_silver_text_gives_the_weights_of_one_that_was_never_interrupted(
    treebank: Path, silver: Path, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    options: dict[str, Any] = {"dev": treebank, "config": WITH_SILVER, "silver": [silver]}
    train(treebank, out=whole, **options)
    for number in (2, 1, 2):  # in the second, the third and the last epoch
        with pytest.raises(KeyboardInterrupt):
            train(treebank, out=parts, resume=True, listener=InterruptedAt(number), **options)
    train(treebank, out=parts, resume=True, **options)
    assert weights(parts) == weights(whole)
    assert untimed(parts) == untimed(whole)


@pytest.mark.slow
def test_silver_sentences_of_dev_and_of_excluded_files_are_left_out_and_counted(
    treebank: Path, silver: Path, tmp_path: Path
) -> None:
    sentences = list(read(silver))
    write(sentences[:2], tmp_path / "dev.conllu")
    write(sentences[2:3], tmp_path / "test.conllu")
    out, listener = tmp_path / "model", Messages()
    files = [tmp_path / "dev.conllu", tmp_path / "test.conllu"]
    config = with_settings(WITH_SILVER, ["epochs=2"])
    train(
        treebank, dev=files[0], out=out, config=config, silver=[silver], exclude=files[1:], listener=listener
    )
    unwanted = {tuple(sentence.forms) for sentence in sentences[:3]}
    kept = [sentence for sentence in sentences if tuple(sentence.forms) not in unwanted]
    summary = (
        f"{silver}: {len(kept)} sentences, {sum(map(len, kept))} words; "
        f"{len(sentences) - len(kept)} left out that are in {files[0]}, {files[1]}"
    )
    assert f"Silver text: {summary}." in listener.texts
    card = (out / CARD).read_text(encoding="utf-8")
    assert f"| silver text | {summary} |" in card
    (out / CARD).unlink()
    train(treebank, dev=files[0], out=out, config=config, silver=[silver], exclude=files[1:], resume=True)
    assert (out / CARD).read_text(encoding="utf-8") == card


@pytest.mark.slow
def test_words_of_silver_text_are_known(treebank: Path, silver: Path, tmp_path: Path) -> None:
    plain = {form for sentence in read(treebank) for form in sentence.forms}
    config = with_settings(WITH_SILVER, ["epochs=2", "min_count=1"])
    parser = train(treebank, dev=treebank, out=tmp_path / "model", config=config, silver=[silver])
    forms = {form for sentence in read(silver) for form in sentence.forms}
    assert set(parser.vocabulary.symbols["form"]) == plain | forms
    assert forms - plain


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["silver", "exclude"])
def test_training_is_not_resumed_with_other_silver_text(
    treebank: Path, silver: Path, tmp_path: Path, changed: str
) -> None:
    files = {"silver": tmp_path / "silver", "exclude": tmp_path / "exclude"}
    write(read(silver), files["silver"])
    write(generate(2, seed=8), files["exclude"])
    options: dict[str, Any] = {name: [path] for name, path in files.items()}
    options |= {"dev": treebank, "out": tmp_path / "model", "config": WITH_SILVER}
    with pytest.raises(KeyboardInterrupt):
        train(treebank, listener=InterruptedAt(2), **options)
    write(generate(3, seed=9), files[changed])
    with pytest.raises(ConfigError, match="other data, settings, seed or threads"):
        train(treebank, resume=True, **options)


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ([], {"exclude": ["x"]}, "--exclude is about --silver"),
        ([], {}, "gold_epochs is about silver text, and there is none"),
        (["schedule=paper", "average=1"], {"silver": ["x"]}, "schedule=linear"),
        (["gold_epochs=4"], {"silver": ["x"]}, "gold_epochs=4 of epochs=4 leave none"),
    ],
)
def test_silver_text_that_cannot_be_used_is_refused(
    treebank: Path, tmp_path: Path, settings: list[str], options: dict[str, Any], message: str
) -> None:
    config = with_settings(WITH_SILVER, settings)
    with pytest.raises(ConfigError, match=message):
        train(treebank, out=tmp_path / "m", config=config, **options)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("setting", ["tag_weight=0.9", "vector_width=4", "vector_rows=3"])
def test_settings_without_effect_are_refused(treebank: Path, tmp_path: Path, setting: str) -> None:
    config = with_settings(SMALL_BEST, [setting])
    with pytest.raises(ConfigError, match=f"{setting.partition('=')[0]} is about "):
        train(treebank, out=tmp_path / "m", config=config)
    assert not (tmp_path / "m").exists()


def test_missing_silver_text_is_one_sentence(treebank: Path, tmp_path: Path) -> None:
    with pytest.raises(BiattError, match=r"nowhere: cannot be read: no such file or directory\.$"):
        train(treebank, out=tmp_path / "m", config=WITH_SILVER, silver=[tmp_path / "nowhere"])
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": "best"}, r"config is a biatt.Config, such as preset\('best'\) gives, not 'best'\."),
        ({"pipeline": True}, r"pipeline is a biatt.PipelineConfig, not True\."),
        ({"seed": 1.5}, r"seed is a whole number, not 1.5\."),
        ({"threads": "2"}, r"threads is a whole number, not '2'\."),
    ],
)
def test_options_of_other_types_are_refused_at_once(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        train(tmp_path / "not-read.conllu", out=tmp_path / "m", **options)
    assert not (tmp_path / "m").exists()


def test_training_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^There is no file to train on\.$"):
        train([], out=tmp_path / "m")
