"""Services on toy models, for the tests of `biatt.service`."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import httpx
import pytest
import uvicorn

from biatt.parser import Parser
from biatt.service.app import make_app
from biatt.service.limits import Limits
from biatt.service.searching import find
from builders import random_pipeline

PATIENCE = 3600.0  # seconds: a busy machine is no failure


def patient(**limits: Any) -> Limits:
    """Limits under which no request takes too long, on however slow or busy a machine."""
    return Limits(**{"seconds": PATIENCE, **limits})


def toy_parser(seed: int = 0) -> Parser:
    """A model of random weights that takes raw text."""
    return random_pipeline(seed=seed)


class Held:
    """A parser that parses only while its gate is open."""

    def __init__(self, parser: Parser) -> None:
        self.parser, self.gate = parser, Event()

    def parse(self, *arguments: Any, **options: Any) -> Any:
        self.gate.wait()
        return self.parser.parse(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.parser, name)


@contextmanager
def running(
    models: dict[str, Any], limits: Limits | None = None, *, threads: int = 1
) -> Iterator[httpx.Client]:
    """A client of a service that listens on a free port of this machine."""
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as listening:
        patch.setitem(find.__kwdefaults__, "seconds", PATIENCE)  # a search starts a process
        config = uvicorn.Config(
            make_app(models, limits or patient(), threads=threads),
            http="h11",
            ws="none",
            access_log=False,
            log_config=None,
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx.Client(base_url=address, timeout=None, trust_env=False) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


def counters(client: httpx.Client) -> dict[str, float]:
    """The values of GET /metrics by name and labels."""
    lines = client.get("/metrics").text.splitlines()
    pairs = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in pairs}
