"""train: options, cards, presets, interruptions."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

import biatt
from biatt.cli import app, main
from biatt.config import ParserConfig, ParserTrainingConfig, with_settings
from biatt.options import PresetName
from biatt.presets import DRAFT, DRAFT_PIPELINE, DRAFT_WORDS, PRESETS
from commands import ENVIRONMENT, FAST, invoke
from encoders import write_encoder
from forked import forked, send_before


def test_settings_lists_every_setting_with_its_help() -> None:
    found = invoke("train", "--settings")
    for item in (*fields(ParserConfig), *fields(ParserTrainingConfig)):
        assert re.search(rf"^{item.name}=", found, re.MULTILINE)
        assert item.metadata["help"] in found


def test_presets_can_be_chosen_by_name() -> None:
    assert get_args(PresetName) == tuple(PRESETS)


@pytest.mark.slow
def test_train_takes_several_files_and_says_so_in_the_card(data: Path, trained: Path) -> None:
    card = (trained / "README.md").read_text()
    assert ", ".join(str(data / f"{name}.conllu") for name in "abc") in card
    assert "| licence | CC0 |" in card
    assert f"`biatt train --train {data / 'a.conllu'}" in card


@pytest.mark.slow
def test_an_encoder_is_bundled_and_described(data: Path, tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "encoder")
    options = [
        "--encoder",
        encoder,
        "--bundle-encoder",
        "--features",
        tmp_path / "f",
        "--output",
        tmp_path / "m",
    ]
    invoke("train", "--train", data / "a.conllu", *FAST, *options)
    assert any((tmp_path / "f").iterdir())
    info = invoke("info", tmp_path / "m")
    assert re.search(r"^encoder +in the model folder, checksum [0-9a-f]{12}…$", info, re.MULTILINE)
    assert re.search(
        r"^\| contextual encoder \| encoder, layers 1, 2, frozen, checksum [0-9a-f]{64} \|$", info, re.M
    )


@pytest.mark.slow
def test_hidden_takes_a_language_of_the_paper(data: Path, tmp_path: Path) -> None:
    options = ["--preset", "paper", "--hidden", "danish", "--set", "epochs=1", "--output", tmp_path / "m"]
    invoke("train", "--train", data / "a.conllu", *options)
    assert biatt.load(tmp_path / "m").config.model.hidden == 176


@pytest.mark.slow
def test_interrupted_training_goes_on_with_resume(data: Path, tmp_path: Path) -> None:
    """Ctrl-C is one line and exit code 130."""
    files = ["--train", str(data / "a.conllu"), "--output", str(tmp_path / "m")]
    settings = ["--hidden", "16", "--preset", "paper", "--set", "schedule=linear", "--set", "epochs=1000"]

    def interrupted() -> None:  # it never stops by itself
        send_before("fsync", 20, signal.SIGINT)
        sys.argv = ["biatt", "train", *files, *settings, "--resume"]
        main()

    first, again = forked(interrupted), forked(interrupted)
    _, _, *epochs, last = first.stderr.splitlines()  # what is trained on, the plan, …
    assert (first.returncode, last) == (130, "biatt: interrupted.")
    assert len(epochs) > 1
    assert all(line.startswith("epoch ") for line in epochs)
    assert again.stderr.startswith(f"Resuming after epoch {len(epochs)}.\n")


@pytest.mark.slow
def test_training_without_torch_says_what_to_install(data: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from biatt.cli import main; main()"
    command = [
        sys.executable,
        "-c",
        code,
        "train",
        "--train",
        str(data / "a.conllu"),
        "--output",
        str(tmp_path / "m"),
    ]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    message = "Training, and parsing on a GPU, need PyTorch: pip install 'biatt[train]'."
    assert done.stderr == f"biatt: {message}\n"


def values_given(*words: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `biatt train` is called with."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(biatt, "train", lambda files, **options: calls.append({"train": files, **options}))
    invoke("train", *words)
    return calls[0]


@pytest.mark.parametrize(
    "words",
    [
        "--train a b --silver c --silver d e --exclude f g --output m",
        "--output m --silver=c d e --train a --train b --exclude f g",
        "--silver c d e --exclude f --output m --exclude g --train a b",
    ],
)
def test_options_for_files_take_several(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = values_given(*words.split(), monkeypatch=monkeypatch)
    assert given["train"] == [Path("a"), Path("b")]
    assert given["silver"] == [Path("c"), Path("d"), Path("e")]
    assert given["exclude"] == [Path("f"), Path("g")]
    assert given["out"] == Path("m")


def test_a_draft_is_a_small_pipeline_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    given = values_given("--train", "a", "-o", "m", "--draft", "--set", "epochs=9", monkeypatch=monkeypatch)
    assert (given["pipeline"], given["sample_words"]) == (DRAFT_PIPELINE, DRAFT_WORDS)
    assert given["config"] == with_settings(DRAFT, ["epochs=9"])
    given = values_given("--train", "a", "-o", "m", monkeypatch=monkeypatch)
    assert (given["pipeline"], given["sample_words"], given["config"]) == (None, None, PRESETS["best"])


def test_value_after_an_option_for_one_is_refused() -> None:
    result = CliRunner().invoke(app, ["train", "--train", "a", "--output", "m", "b"])
    assert result.exit_code == 2
    assert "unexpected extra argument" in result.output
