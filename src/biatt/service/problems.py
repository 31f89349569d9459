"""Errors as problem JSON (RFC 9457) that names the field."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from biatt.data.visible import json_text

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """A request that cannot be answered: a status, one sentence, and the fields that are at fault."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.fields, self.headers = dict(fields or {}), dict(headers or {})

    @classmethod
    def in_field(cls, field: str, detail: str, *, status: int = 422) -> Problem:
        """A problem with the value of one field."""
        return cls(status, detail, fields={field: detail})

    def to_dict(self) -> dict[str, Any]:
        problem: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.fields:
            problem["errors"] = [{"field": name, "detail": fault} for name, fault in self.fields.items()]
        return problem

    def response(self) -> Response:
        return Response(json_text(self.to_dict()), self.status, headers=self.headers, media_type=MEDIA_TYPE)


def overloaded(detail: str) -> Problem:
    return Problem(503, detail, headers={"Retry-After": "1"})


# JSON schema of a problem, for the OpenAPI document.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, in one sentence."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "detail"],
                "properties": {"field": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}

DESCRIPTIONS = {
    400: "The request is no JSON, no form or no UTF-8.",
    404: "There is nothing at this address.",
    405: "This address has other methods.",
    406: "No format that the client accepts.",
    408: "The request did not arrive in time.",
    413: "The body, the text or the answer is larger than the limits.",
    415: "The body has a content type that is not read here.",
    422: "A field is wrong.",
    500: "A fault of the service.",
    503: "Too many requests at once, or one took too long; Retry-After says when to try again.",
}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The responses of an operation in the OpenAPI document that are problems."""
    return {
        status: {"description": DESCRIPTIONS[status], "content": {MEDIA_TYPE: {"schema": SCHEMA}}}
        for status in statuses
    }
