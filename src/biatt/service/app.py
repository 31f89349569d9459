"""The routes of the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Scope

from biatt import __version__
from biatt.data.sentence import Sentence
from biatt.errors import BiattError
from biatt.service import metrics, openapi
from biatt.service.answers import CONTENT_TYPES, accepted, written
from biatt.service.api_page import api_page
from biatt.service.batching import Batcher
from biatt.service.forms import read_fields
from biatt.service.jobs import Job, Trees
from biatt.service.limits import Limits
from biatt.service.middleware import WORDS, Body, ClientLeft, Log
from biatt.service.models import Models
from biatt.service.problems import Problem, overloaded
from biatt.service.requests import ParseRequest
from biatt.service.searching import SearchRequest, find
from biatt.service.udpipe import process_job

PAGE = Path(__file__).parent / "page"
NO_SCRIPTS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:"}


class Service:
    """The models, the queue before them, and the routes that use both."""

    def __init__(self, models: Models, limits: Limits, *, threads: int = 1) -> None:
        self.models, self.limits = models, limits
        self.batcher = Batcher(limits, threads=threads)

    async def parse(self, request: Request, body: ParseRequest) -> Response:
        """Parse a text, sentences of words, or CoNLL-U."""
        format = accepted(request.headers.get("accept", ""))
        model = self.models.find(body.model, body.sample)
        body.check(self.models[model])

        def answer(_: Sequence[Sentence], trees: list[Trees]) -> bytes:
            return written(body, model, trees, format)

        job = Job(
            model=model,
            parser=self.models[model],
            manner=body.manner(),
            text=body.text,
            read=body.read if body.text is None else None,
            size=body.size,
            answer=answer,
            limits=self.limits,
            field=body.field,
            fixed=body.constraints(),
            attention=body.attention,
        )
        content = await self._answer(job, request)
        headers = {**NO_SCRIPTS, "Vary": "Accept"} if format == "svg" else {"Vary": "Accept"}
        return Response(content, media_type=CONTENT_TYPES[format], headers=headers)

    async def search(self, body: SearchRequest) -> Response:
        """Find a dependency pattern in parsed sentences."""
        return Response(await find(body), media_type="application/json")

    async def process(self, request: Request) -> Response:
        """Process a text as UDPipe's REST service does."""
        fields = await read_fields(request)
        content = await self._answer(process_job(fields, self.models, self.limits), request)
        return Response(content, media_type="application/json")

    async def list_models(self) -> Response:
        """The models and what each of them does, as UDPipe's REST service gives them; and their relations."""
        return JSONResponse(
            {
                "models": self.models.components(),
                "default_model": self.models.default,
                "relations": self.models.relations(),
            }
        )

    async def health(self) -> Response:
        """Whether the service works."""
        return JSONResponse({"status": "ok", "version": __version__})

    async def metrics(self) -> Response:
        """Counters in the text format of Prometheus."""
        return PlainTextResponse(self.batcher.metrics.text(), media_type=metrics.MEDIA_TYPE)

    async def _answer(self, job: Job, request: Request) -> bytes:
        """Wait for a job, as long as the client does and the limit of time allows."""
        self.batcher.submit(job)
        result = asyncio.wrap_future(job.result)
        left = asyncio.ensure_future(_left(request))
        try:
            seconds = self.limits.seconds
            waiting: set[asyncio.Future[Any]] = {result, left}
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                request.scope[WORDS] = job.words
                return result.result()
            if left.done():
                raise ClientLeft
            raise overloaded(f"The request took longer than {seconds:g} seconds: send less text at once.")
        except BiattError as error:
            raise Problem(422, str(error)) from error
        finally:
            left.cancel()
            result.cancel()  # and with it the job, if it is not done


class Page(StaticFiles):
    """The files of the page. It gets all requests that no route takes, also those of a wrong method."""

    def __init__(self, methods: Mapping[str, set[str]]) -> None:
        super().__init__(directory=PAGE, html=True)
        self._methods = methods

    async def get_response(self, path: str, scope: Scope) -> Response:
        allowed = self._methods.get(f"/{path}", {"GET", "HEAD"})
        if scope["method"] not in allowed or f"/{path}" in self._methods:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(allowed))})
        return await super().get_response(path, scope)


async def _left(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def make_app(models: Mapping[str, Any], limits: Limits | None = None, *, threads: int = 1) -> FastAPI:
    """The service as an ASGI application, for parsers by name."""
    service = Service(Models(models), limits or Limits(), threads=threads)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        await asyncio.to_thread(service.batcher.close)

    app = FastAPI(
        title="biatt",
        version=__version__,
        description="Dependency parsing by bi-directional attention with agreement.",
        docs_url=None,
        redoc_url=None,
        lifespan=running,
        exception_handlers={HTTPException: _http_problem, RequestValidationError: _field_problem},
    )
    _add_routes(app, service)
    methods: dict[str, set[str]] = {}
    for route in app.routes:
        if isinstance(route, Route):
            methods.setdefault(route.path, set()).update(route.methods or ())
    app.mount("/", Page(methods))
    app.add_middleware(Body, limits=service.limits)
    app.add_middleware(Log, metrics=service.batcher.metrics, paths=methods)
    return app


def _add_routes(app: FastAPI, service: Service) -> None:
    async def docs() -> Response:
        return HTMLResponse(api_page(app.openapi()), headers=NO_SCRIPTS)

    app.post("/parse", **openapi.PARSE)(service.parse)
    app.post("/search", **openapi.SEARCH)(service.search)
    app.get("/process", **openapi.PROCESS_GET)(service.process)
    app.post("/process", **openapi.PROCESS_POST)(service.process)
    app.get("/models", **openapi.MODELS)(service.list_models)
    app.get("/health", **openapi.HEALTH)(service.health)
    app.get("/metrics", **openapi.METRICS)(service.metrics)
    app.get("/docs", include_in_schema=False)(docs)


async def _http_problem(_: Request, error: HTTPException) -> Response:
    """What the framework refuses: unknown addresses, other methods, bodies that it cannot decode."""
    if error.status_code == 400:
        return Problem.in_field(
            "body", "The body is not JSON in UTF-8, or too deep to read.", status=400
        ).response()
    return Problem(error.status_code, _sentence(str(error.detail)), headers=error.headers).response()


async def _field_problem(request: Request, error: RequestValidationError) -> Response:
    """What does not fit the schema of the request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        fault = "The body must be application/json."
        return Problem(415, fault, fields={"Content-Type": fault}).response()
    faults = error.errors()
    if faults[0]["type"] == "json_invalid":
        return Problem.in_field("body", "The body is not JSON.", status=400).response()
    fields = {
        ".".join(map(str, fault["loc"][1:])) or "body": _sentence(fault["msg"].removeprefix("Value error, "))
        for fault in reversed(faults)
    }
    return Problem(422, "The request does not fit its schema.", fields=fields).response()


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
