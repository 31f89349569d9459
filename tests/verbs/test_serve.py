"""serve: what the options say reaches the service."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

from biatt.service import server
from biatt.service.limits import Limits
from commands import invoke

SIGNATURE = inspect.signature(server.serve)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the service is started with, which is not started."""
    calls: list[dict[str, Any]] = []

    def serve(*arguments: Any, **options: Any) -> None:
        calls.append(dict(SIGNATURE.bind(*arguments, **options).arguments))

    monkeypatch.setattr(server, "serve", serve)
    return calls


def test_defaults_are_those_of_the_service(served: list[dict[str, Any]]) -> None:
    invoke("serve")
    (call,) = served
    assert call.pop("limits") == Limits()
    assert call.pop("models") == ["en"]
    call.pop("announce")
    assert call == {name: SIGNATURE.parameters[name].default for name in call}


def test_all_options_reach_the_service(served: list[dict[str, Any]]) -> None:
    invoke(
        *("serve", "--model", "a", "-m", "b", "--host", "::1", "--port", 0, "--root-path", "/x", "--open"),
        *("--threads", 3, "--max-body", 1, "--max-words", 2, "--max-sentence-words", 3, "--max-sentences", 4),
        *("--timeout", 5, "--queue", 6, "--batch-delay", 7),
    )
    (call,) = served
    assert call.pop("limits") == Limits(1, 2, 3, 4, 5.0, 6, 0.007)
    call.pop("announce")
    assert call == {
        "models": ["a", "b"],
        "host": "::1",
        "port": 0,
        "root_path": "/x",
        "threads": 3,
        "open_browser": True,
    }
