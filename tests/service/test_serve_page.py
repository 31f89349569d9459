"""The calls of docs/serve.md, against a service, and the files that the container is made of."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

import httpx

import biatt
from biatt.service import server
from commands import invoke
from services import running

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "serve.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8000"


def calls(language: str) -> list[str]:
    found = [block for of_block, block in BLOCKS if of_block == language and ADDRESS in block]
    assert found
    return [block for block in found if not block.startswith(("biatt", "docker"))]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running({"en": biatt.load("en")}) as client:
        yield str(client.base_url).rstrip("/")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl(address: str, tmp_path: Path) -> None:
    lines = "".join(calls("sh")).strip().splitlines()
    assert len(lines) == 7
    for line in lines:
        command = line.replace(ADDRESS, address).replace(
            "curl ", "curl --fail-with-body --silent --noproxy '*' "
        )
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        assert "--output" in line or done.stdout
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8").startswith("<svg")


def test_commands_start_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not started; tests/service/test_server.py does that."""
    started: list[object] = []
    monkeypatch.setattr(server, "serve", lambda *arguments, **options: started.append(arguments))
    lines = [line for language, block in BLOCKS if language == "sh" for line in block.splitlines()]
    commands = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("biatt ")]
    for words in commands:
        invoke(*words)
    assert len(started) == len(commands) == 3


@pytest.mark.slow
def test_python(address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(httpx, "post", partial(httpx.post, timeout=None))  # a busy machine is no failure
    (block,) = calls("python")
    assert [language for language, _ in BLOCKS].count("python") == 1
    exec(compile(block.replace(ADDRESS, address), PAGE.name, "exec"), {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["leaves", "took"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r(address: str) -> None:
    (block,) = calls("r")
    check = (
        "for (name in c('httr2', 'jsonlite')) if (!requireNamespace(name, quietly = TRUE)) quit(status = 77)"
    )
    command = ["Rscript", "-e", check, "-e", block.replace(ADDRESS, address)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("the R packages httr2 and jsonlite are not installed")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 The ")


def test_the_figures_of_the_page_are_those_of_the_benchmark() -> None:
    results = json.loads((ROOT / "benchmarks" / "serving.json").read_text(encoding="utf-8"))
    load, one = results["load"], results["one_client"]
    text = PAGE.read_text(encoding="utf-8")
    figures = [
        f"{load['requests']:,} requests, {load['errors']} errors, {load['share_of_biatt_parse']:.0%}",
        f"{load['resident_mib_before']:.1f} MiB, {load['resident_mib_after']:.1f} MiB",
        f"{median(one['service_cpu_ms']):.1f} ms; the parser itself {median(one['parser_cpu_ms']):.1f} ms",
        f"{median(one['service_ms']):.1f} ms, of which {median(one['health_ms']):.1f} ms are",
        f"the parser itself {median(one['parser_ms']):.1f} ms",
    ]
    assert [figure for figure in figures if figure.replace("%", " %") not in text] == []


def test_the_container_is_made_of_files_that_exist() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [name for line in lines if line.startswith("COPY") for name in line.split()[1:-1]]
    assert copied
    assert all((ROOT / name).exists() for name in copied)
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in copied} <= set(kept)
    assert "USER biatt" in lines


def test_the_options_that_the_page_names_exist() -> None:
    known = invoke("serve", "--help")
    limits = re.findall(r"`(--[\w-]+)`", PAGE.read_text(encoding="utf-8"))
    assert "--queue" in limits
    assert [option for option in limits if option not in known] == []
