from __future__ import annotations

import asyncio
import tracemalloc
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

from biatt.service.limits import Limits
from biatt.service.middleware import MOST_DISCARDED, Body
from biatt.service.problems import Problem

BLOCK = 1 << 18


def received(blocks: int, limits: Limits, headers: list[tuple[bytes, bytes]] | None = None) -> list[bytes]:
    """What the application gets of a body in so many blocks."""
    bodies: list[bytes] = []
    sent = 0

    async def app(_: Any, receive: Any, __: Any) -> None:
        bodies.append((await receive())["body"])

    async def receive() -> dict[str, Any]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b"a" * BLOCK, "more_body": sent < blocks}

    async def send(_: Any) -> None:
        pass

    scope = {"type": "http", "headers": headers or [(b"transfer-encoding", b"chunked")]}
    asyncio.run(Body(app, limits)(scope, receive, send))
    return bodies


def test_a_body_within_the_limit_arrives_whole() -> None:
    assert received(3, Limits(body_bytes=3 * BLOCK)) == [b"a" * 3 * BLOCK]


@pytest.mark.parametrize("declared", [[], [(b"content-length", b"%d" % (1 << 40))]])
def test_a_larger_body_is_refused_in_constant_memory(declared: list[tuple[bytes, bytes]]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(Problem) as refused:
            received(4 * MOST_DISCARDED // BLOCK, Limits(body_bytes=BLOCK), declared)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.status == 413
    assert peak < 8 * BLOCK
