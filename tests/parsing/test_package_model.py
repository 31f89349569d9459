"""Packages of models: reproducible, installable offline, and usable by name."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import biatt
from biatt.errors import ConfigError, ModelError
from biatt.parser import Parser
from biatt.parsing.package_model import Package, spdx, write_package, write_sources
from builders import random_parser, random_tokeniser
from commands import SOURCE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def model() -> Parser:
    parser = random_parser({"tags": True, "columns": ("form",)})
    parser.tokeniser = random_tokeniser()
    parser.card = "# A\n\n| | |\n|---|---|\n| training data | /home/x/a.conllu |\n| licence | not stated |\n"
    return parser


FACTS = Package(
    "zz-toy",
    "1.0",
    language="Toy",
    treebank="UD Toy, 2.16",
    licence="CC BY-SA 4.0",
    introduction="By A. Author.\n",
    scores={"UAS": 90.125, "LAS": 88.0},
)


def test_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    model().save(tmp_path / "model")
    first = write_package(model(), FACTS, tmp_path / "1")
    second = write_package(biatt.load(tmp_path / "model"), FACTS, tmp_path / "2")
    assert first.name == "biatt_zz_toy-1.0-py3-none-any.whl"
    assert first.read_bytes() == second.read_bytes()


def test_card_licence_and_attribution_are_inside_and_no_program(tmp_path: Path) -> None:
    with zipfile.ZipFile(write_package(model(), FACTS, tmp_path)) as archive:
        about = "biatt_zz_toy-1.0.dist-info"
        metadata = email.message_from_bytes(archive.read(f"{about}/METADATA"))
        licence = archive.read(f"{about}/licenses/LICENSE.txt").decode()
        card = archive.read("biatt_zz_toy/README.md").decode()
        assert archive.read(f"{about}/entry_points.txt") == b"[biatt.models]\nzz-toy = biatt_zz_toy\n"
        assert [name for name in archive.namelist() if name.endswith((".py", ".pth"))] == []
    assert metadata["Name"] == "biatt-zz-toy"
    assert metadata["License-Expression"] == "CC-BY-SA-4.0"
    assert metadata["Requires-Dist"] == f"biatt>={biatt.__version__}"
    assert metadata.get_payload() == card
    assert "creativecommons.org/licenses/by-sa/4.0/" in licence
    for text in (card, licence):
        assert "By A. Author." in text
        assert "| scores | test, from raw text: UAS 90.12, LAS 88.00 |" in text
        assert "/home" not in text
        assert "not stated" not in text


def test_licence_text_is_taken_as_it_is(tmp_path: Path) -> None:
    facts = Package("zz", "1.0", licence="Own licence, v1", licence_text="All of it.\n")
    with zipfile.ZipFile(write_package(model(), facts, tmp_path)) as archive:
        assert archive.read("biatt_zz-1.0.dist-info/licenses/LICENSE.txt") == b"All of it.\n"
        assert b"\nLicense: Own licence, v1\n" in archive.read("biatt_zz-1.0.dist-info/METADATA")


@pytest.mark.parametrize(
    ("licence", "name"),
    [("CC BY-SA 3.0", "CC-BY-SA-3.0"), ("cc by 4.0", "CC-BY-4.0"), ("LGPL-LR", "LGPLLR"), ("my own", None)],
)
def test_licences_have_their_spdx_names(licence: str, name: str | None) -> None:
    assert spdx(licence) == name


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("Da", "1.0", "The name Da is not one of small letters"),
        ("../da", "1.0", "The name ../da is not one of small letters"),
        ("en", "1.0", "The name en is taken"),
        ("auto", "1.0", "The name auto is taken"),
        ("da", "one", "A version is a number like 1.0 or 2.1.3, not one"),
    ],
)
def test_odd_names_and_versions_are_refused(name: str, version: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Package(name, version)


def test_encoder_outside_of_the_model_is_refused(tmp_path: Path) -> None:
    class Encoder:
        class reference:
            bundled = False

    parser = model()
    parser.encoder = Encoder()  # type: ignore[assignment]
    with pytest.raises(ModelError, match="train it with --bundle-encoder"):
        write_package(parser, FACTS, tmp_path)


def test_sources_describe_the_same_package_and_replace_only_a_package(tmp_path: Path) -> None:
    wheel = write_package(model(), FACTS, tmp_path)
    folder = write_sources(model(), FACTS, tmp_path)
    assert write_sources(model(), FACTS, tmp_path) == folder == tmp_path / "biatt-zz-toy"
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("biatt_zz_toy/"):
                assert (folder / name).read_bytes() == archive.read(name)
        licence = archive.read("biatt_zz_toy-1.0.dist-info/licenses/LICENSE.txt")
    assert (folder / "LICENSE.txt").read_bytes() == licence
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], project["version"]) == ("biatt-zz-toy", "1.0")
    assert project["entry-points"] == {"biatt.models": {"zz-toy": "biatt_zz_toy"}}
    (tmp_path / "other" / "biatt-zz-toy").mkdir(parents=True)
    (tmp_path / "other" / "biatt-zz-toy" / "notes").touch()
    with pytest.raises(ConfigError, match="is there, and no package"):
        write_sources(model(), FACTS, tmp_path / "other")


def pip_install(target: Path, *what: object) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    done = subprocess.run(
        [*command, "--no-deps", "--no-build-isolation", "--target", str(target), *map(str, what)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def parsed_by_name(target: Path, name: str, text: str) -> str:
    """What `biatt parse --model NAME` writes where a package is installed."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from biatt.cli import main; main()",
            "parse",
            "--model",
            name,
            "--text",
            text,
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(target)])},
        cwd=target,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_pip_installs_the_wheel_and_its_name_is_enough_to_parse(tmp_path: Path) -> None:
    pip_install(tmp_path / "site", write_package(model(), FACTS, tmp_path))
    assert "# text = The old bird." in parsed_by_name(tmp_path / "site", "zz-toy", "The old bird.")


@pytest.mark.slow
def test_pip_builds_the_sources(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    pip_install(tmp_path / "site", write_sources(model(), FACTS, tmp_path))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        assert biatt.load("zz-toy").card == (tmp_path / "site" / "biatt_zz_toy" / "README.md").read_text(
            "utf-8"
        )
