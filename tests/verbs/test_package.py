"""package and models: options, and the list of models."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import biatt
from biatt.cli import app
from biatt.data.toy_treebank import generate
from biatt.models.language_profile import LanguageProfile
from builders import random_pipeline
from commands import invoke


@pytest.fixture
def model(tmp_path: Path) -> Path:
    random_pipeline().save(tmp_path / "model")
    return tmp_path / "model"


def test_package_has_all_that_the_options_say(model: Path, tmp_path: Path) -> None:
    biatt.write(generate(3), tmp_path / "test.conllu")
    (tmp_path / "card.md").write_text("By Æ. Author.\n", encoding="utf-8")
    (tmp_path / "licence").write_text("Free.\n")
    facts = ["--treebank", "Toy 1", "--licence", "CC0", "--licence-file", tmp_path / "licence"]
    facts += ["--card", tmp_path / "card.md", "--test", tmp_path / "test.conllu"]
    printed = invoke("package", model, "--name", "ga", "--version", "1.0", "--out", tmp_path / "dist", *facts)
    wheel = tmp_path / "dist" / "biatt_ga-1.0-py3-none-any.whl"
    assert printed == f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB\n"
    with zipfile.ZipFile(wheel) as archive:
        card = archive.read("biatt_ga/README.md").decode()
        assert archive.read("biatt_ga-1.0.dist-info/licenses/LICENSE.txt") == b"Free.\n"
    assert "# Irish: a model of biatt" in card
    assert "By Æ. Author." in card
    for row in ("| treebank | Toy 1 |", "| licence | CC0 |", "| scores | test, from raw text: Tokens "):
        assert row in card


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero on this system")
def test_licence_without_end_is_refused(model: Path, tmp_path: Path) -> None:
    options = ["--name", "da", "--version", "1.0", "--output", str(tmp_path), "--licence-file", "/dev/zero"]
    result = CliRunner().invoke(app, ["package", str(model), *options])
    assert result.exit_code == 2
    assert "/dev/zero: the input is larger than the limit" in result.stderr


def test_models_are_listed_with_what_their_cards_say(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--name", "da", "--version", "1.0", "--output", tmp_path, "--licence", "CC0"]
    wheel = tmp_path / "biatt_da-1.0-py3-none-any.whl"
    invoke("package", model, *options, "--treebank", "Toy 1")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "site" / "biatt_zz-2.dist-info").mkdir()
    (tmp_path / "site" / "biatt_zz-2.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: biatt-zz\nVersion: 2\nRequires-Dist: biatt>=99\n"
    )
    (tmp_path / "site" / "biatt_zz-2.dist-info" / "entry_points.txt").write_text(
        "[biatt.models]\nzz = biatt_zz\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    listed = {item["name"]: item for item in json.loads(invoke("models", "--format", "json"))["models"]}
    assert listed["da"] == {
        "name": "da",
        "language": "Danish",
        "treebank": "Toy 1",
        "licence": "CC0",
        "scores": None,
        "bytes": sum(path.stat().st_size for path in (tmp_path / "site" / "biatt_da").rglob("*.*")),
        "package": "biatt-da 1.0",
        "folder": str(tmp_path / "site" / "biatt_da"),
        "problem": None,
    }
    assert listed["en"]["language"] == "English"
    assert listed["zz"]["problem"].startswith("The package biatt-zz 2 needs biatt >=99")
    table = invoke("models")
    assert "Danish" in table
    assert "biatt-zz 2" in table


def test_the_list_has_the_scores_of_a_card_that_tell_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for scores, shown in (
        (
            "test, from raw text: Tokens 99.53, Sentences 92.21, UPOS 96.83, UAS 89.15, LAS 84.36",
            "UPOS 96.83, UAS 89.15, LAS 84.36",
        ),
        ("dev UAS / LAS: 91.38 / 88.92", "dev UAS / LAS: 91.38 / 88.92"),
    ):
        facts = {
            "name": "da",
            "language": "Danish",
            "treebank": "DDT",
            "licence": "CC0",
            "scores": scores,
            "bytes": 1,
            "package": "biatt-da 1",
            "folder": "/models/da",
            "problem": None,
        }
        monkeypatch.setattr("biatt.models.model_facts.model_facts", lambda _, facts=facts: facts)
        assert f" {shown} " in invoke("models")
        assert json.loads(invoke("models", "--format", "json"))["models"][0]["scores"] == scores


@pytest.mark.parametrize("name", ["sample.txt", "sample.conllu"])
def test_sample_gives_the_language_profile(model: Path, tmp_path: Path, name: str) -> None:
    text = "Koen står på engen."
    if name.endswith("txt"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    else:
        biatt.write([biatt.Sentence.from_words(["Koen", "står", "på", "engen", "."])], tmp_path / name)
    options = ["--name", "da", "--version", "1.0", "--output", tmp_path / "out", "--sources"]
    invoke("package", model, *options, "--sample", tmp_path / name)
    parser = biatt.load(tmp_path / "out" / "biatt-da" / "biatt_da")
    assert parser.profile == LanguageProfile.of_text(text)
