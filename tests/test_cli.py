"""The command line: its verbs, its help, wrong usage, and log messages."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import biatt
from biatt import cli
from biatt.cli import VERBS as VERB_GROUPS
from commands import ENVIRONMENT, biatt_process, invoke

VERBS = [verb for verbs in VERB_GROUPS.values() for verb in verbs]


def test_verbs_are_these() -> None:
    found = invoke("--help")
    assert [verb for verb in VERBS if verb in found] == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_explains_it(verb: str) -> None:
    found = invoke(verb, "--help")
    assert f"Usage: biatt {verb}" in found or f"{verb} [OPTIONS]" in found
    assert invoke(verb, "-h") == found


def test_help_shows_groups_and_no_types_of_python() -> None:
    for verb in VERBS:
        found = invoke(verb, "--help")
        assert re.findall(r"<(?:list|bool|str|int|float|path)\b.*?>", found) == []
    assert [group for group in VERB_GROUPS if group in invoke("--help")] == list(VERB_GROUPS)
    assert "─ Output ─" in invoke("parse", "--help")


@pytest.mark.slow
def test_verb_does_not_wait_for_what_it_does_not_need(tmp_path: Path) -> None:
    program = """
import sys
from biatt.cli import main
try:
    main()
finally:
    print(*(name for name in sys.modules if name.startswith(("biatt.verbs.", "rich."))), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "parse", "--text", "It works.", "-o", tmp_path / "a.conllu"],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, "BIATT_KERNELS": "plain"},
    )
    assert set(done.stderr.split()) == {f"biatt.verbs.{name}" for name in ("options", "parse", "printing")}


@pytest.mark.slow
def test_misspelt_verb_is_corrected() -> None:
    assert b"Did you mean 'parse'?" in biatt_process("prase").stderr


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version_is_printed(option: str) -> None:
    assert invoke(option) == f"biatt {biatt.__version__}\n"


@pytest.mark.slow
@pytest.mark.parametrize("words", [["parse", "--decode", "guess"], ["train"], ["prase"], ["generate", "0"]])
def test_wrong_usage_is_exit_code_2_without_a_traceback(words: list[str]) -> None:
    done = biatt_process(*words)
    assert done.returncode == 2
    assert b"Usage: biatt" in done.stderr
    assert b"Traceback" not in done.stderr


def test_log_messages_are_printed_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "Compiling for this processor, once."
    monkeypatch.setattr(cli, "app", lambda: logging.getLogger("biatt.machine.compiled").info(message))
    cli.main()
    assert capsys.readouterr() == ("", f"biatt: {message}\n")


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "missing"])
def test_log_messages_do_not_need_a_standard_error(
    closed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(cli, "app", lambda: logging.getLogger("biatt.machine.compiled").info("Compiling."))
    monkeypatch.setattr(sys, "stderr", stream if closed else None)
    cli.main()
    assert capsys.readouterr().out == ""
