"""The packages of `packages/`: pip installs them, and biatt finds their models by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import biatt

ROOT = Path(__file__).parents[1]
PACKAGES = sorted((ROOT / "packages").glob("biatt-*"))
LARGEST = 8_000_000  # bytes of a package, packed
LARGEST_OF_ALL = 80_000_000  # so that the repository stays small enough to clone


def packed_size(folder: Path) -> int:
    return sum(len(zlib.compress(path.read_bytes())) for path in folder.rglob("*") if path.is_file())


def test_packages_are_small() -> None:
    sizes = {folder.name: packed_size(folder) for folder in PACKAGES}
    assert len(sizes) >= 8
    assert max(sizes.values()) <= LARGEST, sizes
    assert sum(sizes.values()) <= LARGEST_OF_ALL


def test_every_package_has_a_result_and_the_scores_of_its_card_are_those() -> None:
    lines = (ROOT / "experiments" / "languages" / "results.jsonl").read_text().splitlines()
    results = {result["code"]: result for result in map(json.loads, lines)}
    assert {f"biatt-{code}" for code in results} == {folder.name for folder in PACKAGES}
    for code, result in results.items():
        card = (ROOT / "packages" / f"biatt-{code}" / f"biatt_{code}" / "README.md").read_text("utf-8")
        assert f"LAS {result['test']['LAS']:.2f} |" in card
        assert "| licence | " in card


@pytest.mark.slow
@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_model_parses_and_keeps_the_text(folder: Path) -> None:
    (module,) = folder.glob("biatt_*")
    text = "Anna 12. Berlin?"
    document = biatt.load(module)(text)
    assert document.text == text
    assert all(sentence.root is not None for sentence in document)


@pytest.mark.slow
def test_package_is_installed_by_pip_and_found_by_name(tmp_path: Path) -> None:
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            *offline,
            "--target",
            tmp_path,
            ROOT / "packages" / "biatt-af",
        ],
        check=True,
    )
    command = [sys.executable, "-m", "biatt", "parse", "--model", "af", "--text", "Die trein vertrek."]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([*command, "--format", "conllu"], check=True, env=environment, capture_output=True)
    assert "# text = Die trein vertrek.\n" in done.stdout.decode()
    assert "\troot\t" in done.stdout.decode()
