"""Every command and snippet of README and docs runs, on a treebank of a few generated sentences."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import biatt
from biatt.cli import main
from biatt.data.toy_treebank import generate
from biatt.display.view import view_file
from biatt.parser import Parser, load
from encoders import write_encoder

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = PAGES[0].read_text(encoding="utf-8")

# What is in blocks. Text, JSON and nginx are output and settings; tests/service/test_serve_page.py runs R.
LANGUAGES = {"python", "sh", "text", "json", "nginx", "r"}
# What commands begin with that have tests of their own, or only install.
ELSEWHERE = ("pip install ", "scripts/", "docker ")
# Commands that need more than the treebank below, and what is run instead.
APART = {
    "biatt reproduce experiments/table3.toml --treebanks FOLDER": "the small recipe of the same page",
    **dict.fromkeys(
        (
            "biatt parse notes.txt --output notes.conllu --engine ray --workers 0",
            "biatt corpus letters.jsonl --output-dir parsed --engine ray --workers 0",
        ),
        "tests/test_engines.py starts Ray once for all",
    ),
    "biatt calibrate dev.conllu --model model --fit": "tests/verbs/test_score.py fits a model to 2,000 words",
}

# Blocks that import one of these run where it is installed.
OPTIONAL = ("duckdb", "pandas", "polars", "spacy")

# The presets train large networks for minutes, however small the treebank is; here they only have to run.
QUICK, QUICK_TOKENISER = (
    f" --set {part}least_batches=0 --set {part}hidden=8 --set {part}epochs=1" for part in ("", "tokeniser.")
)


def shortened(command: str) -> str:
    """A command of a page, with settings that keep training short."""
    if not re.match(r"(torchrun .* -m )?biatt train --train", command):
        return command
    command = command.split("  #")[0]
    silver = " --set gold_epochs=0" if "--silver" in command else ""
    return command + QUICK + (QUICK_TOKENISER if re.search("--pipeline|--draft", command) else "") + silver


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, content) of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def runs_here(language: str, block: str) -> bool:
    """All but installing and the scripts, which have tests of their own."""
    return language == "python" or (
        language == "sh" and re.search(r"^(torchrun .* -m )?biatt ", block, re.MULTILINE) is not None
    )


@pytest.fixture
def treebank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with small files of the names that the pages use, as working directory."""
    for name, count, seed in (("train", 30, 1), ("dev", 8, 2), ("test", 8, 3)):
        biatt.write(generate(count, seed=seed), tmp_path / f"{name}.conllu")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_shell(command: str, folder: Path) -> str:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    if not re.search(r"\bbiatt train\b", command):  # parsing so little is faster without kernels
        environment["BIATT_KERNELS"] = "plain"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs_shell(line: str) -> bool:
    """Whether a command has pipes, redirections or variables, outside of quotes, or is not ours."""
    words = list(shlex.shlex(line, posix=True, punctuation_chars="|<>&"))
    return words[:1] not in ([], ["biatt"]) or "$" in line or any(word[0] in "|<>&" for word in words if word)


def run_commands(block: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shell syntax needs a shell; plain commands run in this process, which is faster."""
    text = re.search(r"^.* <<(\w+)\n.*?^\1$", block, re.MULTILINE | re.DOTALL)
    if text:  # for a command, over several lines
        in_shell(block[: text.end()], folder)
        block = block[text.end() :].lstrip()
    for line in map(shortened, block.splitlines()):
        if needs_shell(line):
            in_shell(line, folder)
            continue
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code, line


@pytest.fixture(scope="module")
def english() -> Parser:
    return biatt.load("en")


# The calls of serve.md need a service: tests/service/test_serve_page.py runs them.
RUNNING = [
    page for page in PAGES if page.name != "serve.md" and any(runs_here(*block) for block in blocks(page))
]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.name)
def test_the_snippets_run_in_the_order_of_the_page(
    page: Path,
    treebank: Path,
    english: Parser,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def load_once(model: str | Path = "en", **options: Any) -> Parser:
        return english if model == "en" else load(model, **options)

    monkeypatch.setattr(biatt, "load", load_once)  # the pages load it forty times
    for language, block in blocks(page):
        if not runs_here(language, block):
            continue
        if "pyspark" in block:  # tests/corpus/test_spark.py runs it
            continue
        if any(f"import {library}" in block and find_spec(library) is None for library in OPTIONAL):
            continue
        if "--encoder" in block:
            write_encoder(treebank / "encoder")
        capfd.readouterr()
        if language == "python":
            exec(compile(block, page.name, "exec"), {"__name__": "__main__"})
            assert capfd.readouterr().out.strip()
        else:
            run_commands(block, treebank, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_command_is_left_out(page: Path) -> None:
    """Whatever looks like a command is in a block that a test runs, or is named above."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^[ >]*(?:```|~~~)", text, re.MULTILINE)
    assert len(fences) == 2 * len(blocks(page)), "a block is indented or has no language"
    assert {language for language, _ in blocks(page)} <= LANGUAGES
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    commands = re.findall(
        r"^(?: {4,}|\t)(?:\$ *)?((?:biatt|curl|pip|python3?|scripts/\w+) .*)", outside, re.MULTILINE
    )
    for language, block in blocks(page):
        if language == "sh" and not runs_here(language, block):
            commands += block.splitlines()
    called = ("curl ",) if page.name == "serve.md" else ()
    assert {line for line in commands if not line.startswith((*ELSEWHERE, *called))} <= APART.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [
        name for name in targets if not name.startswith("https://") and not (page.parent / name).exists()
    ]
    assert not missing


@pytest.mark.parametrize(
    "file", sorted((ROOT / "docs").glob("pictures/*.conllu")), ids=lambda file: file.stem
)
def test_pictures_are_what_the_code_draws(file: Path) -> None:
    """scripts/pictures draws them anew."""
    drawn = io.BytesIO()
    view_file(file, drawn, format="svg", show=("upos", "lemma"))
    assert file.with_suffix(".svg").read_bytes() == drawn.getvalue()


def test_there_are_twelve_recipes() -> None:
    recipes = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(recipes) == 12
    assert all(recipe.count("```python\n") == 1 for recipe in recipes)


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= 150


def test_the_pip_commands_name_extras_that_exist() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = [
        extra for page in PAGES for extra in re.findall(r"\.\[(\w+)\]", page.read_text(encoding="utf-8"))
    ]
    assert extras
    assert all(f"\n{extra} = [" in project for extra in extras)


@pytest.mark.slow
def test_the_first_command_draws_the_tree_that_the_readme_shows() -> None:
    if not (ROOT / ".venv").exists():
        pytest.skip("scripts/demo would install a whole environment: there is no .venv in this clone yet")
    (drawing,) = (content for language, content in blocks(PAGES[0]) if language == "text")
    assert "scripts/demo " in README
    assert in_shell("scripts/demo", ROOT).rstrip("\n") == drawing.rstrip("\n")


def test_the_second_command_is_what_checks_a_change() -> None:
    assert "scripts/test " in README
    assert "scripts/test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    if shutil.which("mkdocs", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("mkdocs is not installed: pip install 'biatt[docs]'")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--site-dir",
            str(tmp_path / "site"),
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    api = (tmp_path / "site" / "api" / "index.html").read_text(encoding="utf-8")
    assert [name for name in biatt.__all__ if name != "__version__" and name not in api] == []
