"""Every command and snippet of the README runs, on a treebank of a few generated sentences."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from biatt import write
from biatt.data.toy_treebank import generate

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


# A pipeline trains for minutes however small the treebank is; here it only has to run.
PARTS = ("tokeniser.", "tagger.", "")
QUICK = " ".join(f"--set {part}least_batches=0 --set {part}epochs=1" for part in PARTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    for name, count, seed in (("train", 30, 1), ("dev", 8, 2), ("test", 8, 3)):
        write(generate(count, seed=seed), folder / f"{name}.conllu")
    return folder


def run(command: list[str], folder: Path) -> str:
    bin_folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_shows_a_picture_that_exists() -> None:
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)


def test_the_snippets_run_in_the_order_of_the_page(folder: Path) -> None:
    """All but installing and the two scripts, which have tests of their own."""
    done = 0
    for language, block in BLOCKS:
        if language == "python":
            assert run([sys.executable, "-W", "ignore::ResourceWarning", "-c", block], folder).strip()
            done += 1
        elif language == "sh" and re.search(r"^biatt ", block, re.MULTILINE):
            run(
                ["bash", "-euo", "pipefail", "-c", block.replace("--pipeline", f"--pipeline {QUICK}")], folder
            )
            done += 1
    assert done >= 9
    assert (folder / "notes.conllu").read_text().count("# sent_id") == 2
    assert "HeadProb=" in (folder / "sure.conllu").read_text()
    assert "# k_best = 3" in (folder / "three.conllu").read_text()


def test_the_pip_commands_name_extras_that_exist() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for extra in re.findall(r"pip install '\.\[(\w+)\]'", README):
        assert f"\n{extra} = [" in project


def test_the_first_command_draws_a_tree() -> None:
    if not (ROOT / ".venv").is_dir():
        pytest.skip("scripts/demo would install a whole environment: there is no .venv in this clone yet")
    assert "scripts/demo " in README
    output = run([str(ROOT / "scripts" / "demo")], ROOT)
    assert re.search(r"──+.* read +VERB +root", output)


def test_the_second_command_is_what_checks_a_change() -> None:
    assert "scripts/test " in README
    assert "scripts/test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
