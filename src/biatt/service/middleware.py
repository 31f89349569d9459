"""What every request passes through: the limits of its body, its line in the log, and its problem."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Collection
from datetime import datetime, timezone

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from biatt.data.visible import visible
from biatt.service.limits import Limits
from biatt.service.metrics import Metrics
from biatt.service.problems import Problem, overloaded

WORDS = "biatt.words"  # where routes write the number of words into the scope, for the log
LEFT = 499  # in the log and the metrics: the client has left before the answer
MOST_DISCARDED = 1 << 26  # bytes of a body that is too large, read so that the client sees the answer

log = logging.getLogger("biatt.service")


class ClientLeft(Exception):
    """There is nobody to answer."""


class Body:
    """Reads the whole body before the application runs, within the limits of size and time."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits
        self._bodies = 0  # of requests that are not answered yet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        if self._bodies >= self.limits.queue:
            raise overloaded(f"{self.limits.queue:,} requests are waiting already.")
        self._bodies += 1
        try:
            await self._with_body(scope, receive, send)
        finally:
            self._bodies -= 1

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await asyncio.wait_for(self._read(scope, receive), self.limits.seconds)
        except asyncio.TimeoutError:
            detail = f"The request did not arrive within {self.limits.seconds:g} seconds."
            raise Problem(408, detail, headers={"Connection": "close"}) from None
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return pending.pop() if pending else await receive()

        await self.app(scope, replay, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        headers = dict(scope["headers"])
        declared = int(headers.get(b"content-length", b"0"))
        if declared > self.limits.body_bytes and b"expect" in headers:
            raise self._too_large()
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientLeft
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
            if max(size, declared) <= self.limits.body_bytes:
                parts.append(message.get("body", b""))
            elif size > MOST_DISCARDED:
                break
            else:
                parts.clear()
        if max(size, declared) > self.limits.body_bytes:
            raise self._too_large()
        return b"".join(parts)

    def _too_large(self) -> Problem:
        detail = f"The body is too large; it can have up to {self.limits.body_bytes:,} bytes."
        return Problem(413, detail, fields={"body": detail}, headers={"Connection": "close"})


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


class Log:
    """Turns exceptions into problems, counts the request and logs one line, without anything of its text."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self.app, self.metrics, self.paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), LEFT

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except ClientLeft:
            pass
        except Problem as problem:
            await problem.response()(scope, receive, sending)
        except Exception as error:
            log.error("%s", _without_text(error))
            if status == LEFT:
                await Problem(500, "The service has a fault; its log says where.").response()(
                    scope, receive, sending
                )
        finally:
            self._write(scope, status, time.perf_counter() - begin)

    def _write(self, scope: Scope, status: int, seconds: float) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        path = path if path in self.paths else "other"  # could have anything of a client's text
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
        self.metrics.add_request(path, method, status, seconds)
        client = scope["client"][0] if scope.get("client") else "-"
        words = f" {scope[WORDS]} words" if WORDS in scope else ""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        log.info(
            "%s %s %s %s %d%s %.1f ms", now, visible(client), method, path, status, words, 1000 * seconds
        )


def _without_text(error: BaseException) -> str:
    """Kind and place of an exception; its message could have something of the request's text."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in reversed(frames))
    return f"{type(error).__name__} in {places}"
