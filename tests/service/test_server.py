"""The service as a process: its address, its end, and what it needs."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

import httpx

from biatt.errors import BiattError
from biatt.service.server import _listen, serve
from services import toy_parser

SOURCE = Path(__file__).parents[2] / "src"
# Without compiled kernels, which take most of the time in which such a process starts.
ENVIRONMENT = {
    **os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1", "BIATT_KERNELS": "plain",
}  # fmt: skip
MAIN = "import sys; sys.argv[0] = 'biatt'; from biatt.cli import main; main()"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, seed in (("one", 0), ("two", 1)):
        toy_parser(seed).save(folder / name)
    return folder


def run(*words: object, main: str = MAIN) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", main, "serve", *map(str, words)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)


@contextmanager
def serving(*words: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service as a process, and its address."""
    command = [sys.executable, "-c", MAIN, "serve", "--port", "0", "--timeout", "3600", *map(str, words)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.fullmatch(r"Serving .+ at (http://\S+/) \(Ctrl-C stops\)\.\n", line)
        try:
            assert match, line
            yield process, match[1]
        finally:
            if process.poll() is None:
                process.kill()


def test_several_models_are_served_under_a_prefix(models: Path) -> None:
    options = ["--model", models / "one", "--model", models / "two", "--root-path", "/biatt", "--threads", 2]
    with serving(*options) as (process, address):
        with httpx.Client(base_url=address, timeout=None, trust_env=False) as client:
            assert client.get("/models").json()["default_model"] == "one"
            assert [client.get(path).status_code for path in ("/", "/docs", "/none")] == [200, 200, 404]
            answer = client.post("/parse", json={"tokens": [["a", "b"]], "model": "two"})
            assert answer.json()["model"] == "two"
            assert client.get("/openapi.json").json()["servers"] == [{"url": "/biatt"}]
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate()
    assert process.returncode == 0
    assert log.count("biatt: ") == 6
    assert " POST /parse 200 2 words " in log


def test_answers_are_not_kept_back_by_the_system() -> None:
    """Connections send at once: without this option, head and body of an answer are 40 ms apart."""
    with _listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_has_been_accepted_is_finished(models: Path, number: signal.Signals) -> None:
    body = json.dumps({"tokens": [["a", "b"]]}).encode()
    head = (
        "POST /parse HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with serving("--model", models / "one") as (process, address):
        url = httpx.URL(address)
        with socket.create_connection((url.host, url.port)) as connection:
            connection.sendall(head.encode())
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100 ")  # the request is being read
            process.send_signal(number)
            connection.sendall(body)
            answer = b""
            while block := connection.recv(1 << 16):
                answer += block
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b'"model": "one"' in answer
        _, log = process.communicate()
    assert process.returncode == 0
    assert "Traceback" not in log
    with pytest.raises(httpx.ConnectError):
        httpx.get(address, trust_env=False)


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("--port", port)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert done.stderr.startswith(f"biatt: The address 127.0.0.1, port {port} cannot be used: ")


def test_bad_options_are_refused(models: Path) -> None:
    for options in (
        {"models": ["none"]},
        {"models": [str(models / "one")] * 2},
        {"models": []},
        {"root_path": "x/"},
        {"host": "256.0.0.1"},
    ):
        with pytest.raises(BiattError):
            serve(**{"port": 0, **options})  # type: ignore[arg-type]


def test_open_opens_the_address_that_is_announced(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    announced: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    serve([str(models / "one")], port=0, open_browser=True, announce=announced.append)
    (address,) = opened
    assert announced == [f"Serving one at {address} (Ctrl-C stops)."]


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_without_the_extra_one_sentence_says_what_to_install(package: str) -> None:
    done = run(main=f"import sys; sys.modules['{package}'] = None\n{MAIN}")
    assert done.returncode == 2
    assert done.stderr == "biatt: biatt serve needs more packages: pip install 'biatt[serve]'.\n"


def test_the_rest_of_biatt_imports_nothing_of_the_web() -> None:
    code = (
        "import sys, biatt.cli, biatt.parsing.parse_file; biatt.load('en').parse_tokens([['a']])\n"
        "print({'fastapi', 'starlette', 'uvicorn', 'pydantic', 'asyncio'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "set()\n")
