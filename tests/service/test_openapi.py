"""Requests that the OpenAPI document allows, made up by schemathesis: no 500, no undocumented status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, given
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from biatt.service.app import make_app
from examples import examples
from services import patient, running, toy_parser

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
OPERATIONS = ["parse", "search", "process_query", "process_form", "models", "health", "metrics"]


@pytest.fixture(scope="module")
def schema() -> Iterator[Any]:
    with running({"toy": toy_parser()}, patient(words=200, sentence_words=50)) as client:
        yield schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")


def test_these_are_all_operations() -> None:
    paths = make_app({"toy": toy_parser()}).openapi()["paths"]
    assert [item["operationId"] for path in paths.values() for item in path.values()] == OPERATIONS


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_made_up_requests(schema: Any, name: str) -> None:
    operation = schema.find_operation_by_id(name)
    modes = schemathesis.GenerationMode

    for mode in (modes.POSITIVE, modes.NEGATIVE):
        if mode is modes.NEGATIVE and name in ("models", "health", "metrics"):
            continue  # they take nothing that could be wrong

        @examples(25, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        check()
