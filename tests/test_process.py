"""The process of the command line: how it ends, whatever happens to its streams."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import biatt
from biatt.cli import app
from biatt.data.toy_treebank import generate
from biatt.process import StandardError
from builders import random_parser

SOURCE = Path(biatt.__file__).parents[1]
# Streams and signals are the same with compiled kernels, which take most of such a process's time to load.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE), "BIATT_KERNELS": "plain"}
MAIN = [sys.executable, "-c", "import sys; sys.argv[0] = 'biatt'; from biatt.cli import main; main()"]
LONGEST_WAIT = 1800  # seconds; a busy machine is no failure

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals and streams of POSIX"),
    pytest.mark.slow,  # starts processes
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("process")
    random_parser().save(folder / "model")
    biatt.write(generate(10), folder / "a.conllu")
    return folder


def run(
    *words: str, folder: Path, redirection: str = "", **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """A process whose streams the shell redirects or closes."""
    command = ["sh", "-c", f'"$@" {redirection}', "sh", *MAIN, *words]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, **options)


EVALUATE = ["evaluate", "a.conllu", "a.conllu"]
PARSE = ["parse", "--model", "model"]
CORPUS = ["corpus", "a.conllu", "--model", "model", "--output-dir"]


@pytest.mark.parametrize(
    "words", [["generate", "9"], EVALUATE, [*EVALUATE, "-f", "json"], ["--version"]], ids=str
)
def test_closed_output_is_one_sentence(data: Path, words: list[str]) -> None:
    done = run(*words, folder=data, redirection=">&-")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"biatt: <stdout>: cannot be written: standard output is closed.\n"


def test_closed_input_is_one_sentence(data: Path) -> None:
    done = run(*PARSE, folder=data, redirection="<&-")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"biatt: <stdin>: cannot be read: standard input is closed.\n"


def test_output_to_a_file_needs_no_standard_streams(data: Path) -> None:
    for redirection in ("<&- >&- 2>&-", ""):
        (data / "new.conllu").unlink(missing_ok=True)
        done = run("generate", "10", "-o", "new.conllu", folder=data, redirection=redirection)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert (data / "new.conllu").read_bytes() == (data / "a.conllu").read_bytes()


def test_log_message_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    StandardError().emit(logging.makeLogRecord({"msg": "2 pages: %s", "args": ("\x1b[2J.svg",)}))
    assert capsys.readouterr().err == "biatt: 2 pages: \\x1b[2J.svg\n"


def test_errors_are_not_printed_on_standard_output(data: Path) -> None:
    done = run("info", "gone", folder=data, redirection="2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")


COMPARE = ["compare", *["a.conllu"] * 3, "--samples", str(10**15)]
TRAIN = ["train", "--train", "a.conllu", "-o", "large", "--set"]


NO_MEMORY = "biatt: the memory is not enough for this.\n"


def test_too_little_memory_is_one_sentence(data: Path) -> None:
    done = run(*COMPARE, folder=data)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == NO_MEMORY.encode()


@pytest.mark.parametrize("hidden", [999999999999, 2**59])
def test_too_little_memory_for_a_network_is_one_sentence(
    data: Path, hidden: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(data)
    with pytest.raises(SystemExit) as caught:
        app([*TRAIN, f"hidden={hidden}"])
    assert (caught.value.code, *capfd.readouterr()) == (2, "", NO_MEMORY)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("redirection", ["2>/dev/full", "2</dev/null"])
def test_error_that_cannot_be_printed_has_its_exit_code(data: Path, redirection: str) -> None:
    done = run("info", "gone", folder=data, redirection=redirection)
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize(
    "words", [["generate", "9"], EVALUATE, [*EVALUATE, "-f", "json"], [*CORPUS, "full"]], ids=str
)
def test_full_output_is_one_sentence(data: Path, words: list[str]) -> None:
    done = run(*words, folder=data, redirection="> /dev/full")
    assert done.returncode == 2
    assert done.stderr == b"biatt: <stdout>: cannot be written: no space left on device.\n"


@pytest.mark.parametrize(
    "words",
    [
        ["generate", "9"],
        EVALUATE,
        [*EVALUATE, "-f", "json"],
        ["compare", "a.conllu", "a.conllu", "a.conllu", "--samples", "9"],
        ["raw", "a.conllu"],
        ["view", "a.conllu"],
        ["search", "a.conllu", "{}"],
        ["search", "a.conllu", "{}", "--count", "upos"],
        ["parse", "--help"],
        ["noise", "a.conllu"],
        ["info", "model"],
        [*PARSE, "a.conllu"],
        [*CORPUS, "left"],
        ["train", "--settings"],
        ["--version"],
        ["--help"],
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_reader_that_leaves_is_met_with_silence_and_141(data: Path, words: list[str]) -> None:
    out, into = os.pipe()
    os.close(out)
    try:
        done = subprocess.run([*MAIN, *words], cwd=data, env=ENVIRONMENT, stdout=into, stderr=subprocess.PIPE)
    finally:
        os.close(into)
    assert (done.returncode, done.stderr) == (141, b"")


# How exceptions get lost: C calls Python; an object is removed; a library clears whatever it meets.
SWALLOWING = {
    "callback": "ctypes.CFUNCTYPE(None)(arrives)()",
    "removal": "weakref.finalize(set(), arrives)",
    "cleared": "with suppress(BaseException): arrives()",
}
WAITING = """
import ctypes, signal, sys, time, weakref
from contextlib import suppress
import typer
from biatt.process import Verbs, run

app = typer.Typer(cls=Verbs)
app.callback()(lambda: None)

def arrives():
    signal.raise_signal({number})
    time.sleep(0)

@app.command()
def wait():
    {swallowing}
    while True:
        time.sleep(0.01)

run(app)
"""


@pytest.mark.parametrize("swallowing", SWALLOWING)
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_signal_is_not_lost_with_its_exception(name: str, code: int, swallowing: str) -> None:
    number = int(getattr(signal, name))
    script = WAITING.format(number=number, swallowing=SWALLOWING[swallowing])
    done = subprocess.run(
        [sys.executable, "-c", script, "wait"],
        env=ENVIRONMENT,
        capture_output=True,
        timeout=LONGEST_WAIT,
        preexec_fn=partial(signal.signal, number, signal.SIG_DFL),
    )
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr == (b"biatt: interrupted.\n" if name == "SIGINT" else b"")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_signal_leaves_no_temporary_file(data: Path, tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    model, target = data / "model", tmp_path / "new.conllu"
    process = subprocess.Popen(
        [*MAIN, "parse", "--model", str(model), "--output", str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        # Tests that run in the background of a shell ignore some signals, and so would their children.
        preexec_fn=partial(signal.signal, number, signal.SIG_DFL),
    )
    assert process.stdin is not None
    with process:
        try:
            process.stdin.write(generate(1)[0].to_text().encode())
            process.stdin.flush()
            end = time.monotonic() + LONGEST_WAIT
            while not list(tmp_path.glob(".*.tmp")):  # until it has begun to write
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.01)
            process.send_signal(number)
            process.wait(LONGEST_WAIT)  # with its input open: nothing but the signal ends it
            out, error = process.communicate()
        finally:
            process.kill()
    ended = (130, b"biatt: interrupted.\n") if name == "SIGINT" else (128 + number, b"")
    assert (process.returncode, error) == ended
    assert list(tmp_path.iterdir()) == []
    assert out == b""
