"""What the OpenAPI document says about each route, beyond what FastAPI finds out."""

from __future__ import annotations

from typing import Any

from biatt.service.problems import documented

_TEXT = {"type": "string"}
_DOCUMENT = {
    "description": "The document as `Document.to_dict` gives it, with the name of the model.",
    "type": "object",
    "required": ["version", "text", "sentences", "model"],
    "properties": {
        "version": {"const": 1},
        "text": _TEXT,
        "sentences": {"type": "array", "items": {"type": "object", "required": ["text", "words"]}},
        "model": _TEXT,
        "k_best": {
            "description": "The trees of each sentence, best first.",
            "type": "array",
            "items": {"type": "array", "items": {"type": "object", "required": ["text", "words"]}},
        },
        "attention": {
            "description": "For each sentence three matrices: a row for each word, a column for each head, "
            "of which the first is ROOT.",
            "type": "array",
            "items": {"type": ["object", "null"]},
        },
    },
}
PARSE: dict[str, Any] = {
    "operation_id": "parse",
    "tags": ["Parse"],
    "responses": {
        200: {
            "description": "The parsed sentences, in the format that Accept asks for.",
            "content": {
                "application/json": {"schema": _DOCUMENT},
                "text/x-conllu": {"schema": _TEXT},
                "image/svg+xml": {"schema": _TEXT},
            },
        },
        **documented(400, 406, 408, 413, 415, 422, 500, 503),
    },
}

_NUMBER = {"type": "integer", "minimum": 1}
_MATCH = {
    "type": "object",
    "required": ["sentence", "words", "names"],
    "properties": {
        "sentence": _NUMBER,
        "words": {"type": "array", "items": _NUMBER, "description": "All words that the pattern describes."},
        "names": {"type": "object", "additionalProperties": _NUMBER, "description": "Words with a name."},
    },
}
SEARCH: dict[str, Any] = {
    "operation_id": "search",
    "tags": ["Search"],
    "responses": {
        200: {
            "description": "The matches, in the order of the sentences.",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["matches", "complete"],
                        "properties": {
                            "matches": {"type": "array", "items": _MATCH},
                            "complete": {
                                "type": "boolean",
                                "description": "False if there are more matches than one answer has.",
                            },
                        },
                    }
                }
            },
        },
        **documented(400, 408, 413, 415, 422, 500, 503),
    },
}

_FIELDS = {
    "data": "The text, or the sentences in the format of `input`.",
    "model": "Name of a model; see GET /models.",
    "tokenizer": "Present, even empty: split raw text. The option `ranges` writes TokenRange to MISC.",
    "tagger": "Present, even empty: choose tags, features and lemmas.",
    "parser": "Present, even empty: choose heads and relations.",
    "input": "Format of data without `tokenizer`: conllu, horizontal or vertical.",
    "output": "Format of the result: conllu, horizontal or vertical.",
}
_FORM = {
    "type": "object",
    "required": ["data"],
    "properties": {name: {**_TEXT, "description": help} for name, help in _FIELDS.items()},
}
_RESULT = {
    "type": "object",
    "required": ["model", "acknowledgements", "result"],
    "properties": {
        "model": _TEXT,
        "acknowledgements": {"type": "array", "items": _TEXT},
        "result": _TEXT,
    },
}
_PROCESSED = {
    200: {"description": "The result.", "content": {"application/json": {"schema": _RESULT}}},
    **documented(400, 408, 413, 415, 422, 500, 503),
}
PROCESS_GET: dict[str, Any] = {
    "operation_id": "process_query",
    "tags": ["UDPipe"],
    "responses": _PROCESSED,
    "openapi_extra": {
        "parameters": [
            {"name": name, "in": "query", "required": name == "data", "schema": _TEXT, "description": help}
            for name, help in _FIELDS.items()
        ]
    },
}
PROCESS_POST: dict[str, Any] = {
    "operation_id": "process_form",
    "tags": ["UDPipe"],
    "responses": _PROCESSED,
    "openapi_extra": {
        "requestBody": {
            "required": True,
            "content": {
                "application/x-www-form-urlencoded": {"schema": _FORM},
                "multipart/form-data": {"schema": _FORM},
            },
        }
    },
}


def _get(name: str, schema: dict[str, Any], *, media_type: str = "application/json") -> dict[str, Any]:
    return {
        "operation_id": name,
        "tags": ["Service"],
        "responses": {
            200: {"description": "The answer.", "content": {media_type: {"schema": schema}}},
            **documented(408, 413, 500),
        },
    }


MODELS = _get(
    "models",
    {
        "type": "object",
        "required": ["models", "default_model", "relations"],
        "properties": {
            "models": {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {"enum": ["tokenizer", "tagger", "parser"]},
                },
            },
            "default_model": _TEXT,
            "relations": {
                "description": "The relations that each model knows.",
                "type": "object",
                "additionalProperties": {"type": "array", "items": _TEXT},
            },
        },
    },
)
HEALTH = _get(
    "health",
    {
        "type": "object",
        "required": ["status", "version"],
        "properties": {"status": {"const": "ok"}, "version": _TEXT},
    },
)
METRICS = _get("metrics", _TEXT, media_type="text/plain")
