"""The page at /docs: the OpenAPI document for people, in one file without scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881;
  --accent: #1d4ed8; --paper: #fff; --word: #0f172a; }
@media (prefers-color-scheme: dark) { :root { --accent: #93c5fd; --paper: #0f1522; --word: #e8edf5; } }
body { background: var(--paper); color: var(--word);
  font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h2 { border-top: 1px solid var(--line); padding-top: 1rem; font-size: 1.15rem; }
a, .method { color: var(--accent); } .method { font-weight: 700; margin-right: .4rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; border-radius: 4px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; }
tr { border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
"""


def api_page(document: Mapping[str, Any]) -> str:
    """All operations of an OpenAPI document, with their fields and answers."""
    info = document["info"]
    body = "\n".join(_operations(document))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(info["title"])}: HTTP interface</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(info["title"])} {escape(info["version"])}: HTTP interface</h1>
<p>{escape(info["description"])} The same as an <a href="openapi.json">OpenAPI document</a>.
Errors are problem JSON (RFC 9457), whose <code>errors</code> name the fields at fault.</p>
{body}
</body>
</html>
"""


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f'<h2><span class="method">{method.upper()}</span><code>{escape(path)}</code></h2>'
            yield f"<p>{escape(operation.get('description') or operation['summary'])}</p>"
            yield from _parameters(operation)
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                schema = _resolved(document, content["schema"])
                yield f"<h3>Body: <code>{escape(kind)}</code></h3>"
                yield _table(document, schema)
                for example in schema.get("examples", []):
                    yield f"<pre>{escape(json.dumps(example, indent=1))}</pre>"
            rows = [(status, answer["description"], ", ".join(answer.get("content", {})))
                    for status, answer in operation["responses"].items()]  # fmt: skip
            yield "<h3>Answers</h3>" + _rows(("status", "meaning", "content"), rows)


def _parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    given = operation.get("parameters", [])
    if given:
        rows = [(item["name"], item["schema"].get("type", ""), item["description"]) for item in given]
        yield "<h3>Query</h3>" + _rows(("field", "type", "meaning"), rows)


def _table(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    rows = [
        (name, _type(document, field), field.get("description", ""))
        for name, field in schema.get("properties", {}).items()
    ]
    return _rows(("field", "type", "meaning"), rows)


def _type(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The type of a field in words, such as: array of string."""
    schema = _resolved(document, schema)
    if "anyOf" in schema:
        kinds = [_type(document, item) for item in schema["anyOf"] if item.get("type") != "null"]
        return " or ".join(kinds)
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"array of {_type(document, schema['items'])}"
    if schema.get("type") == "object" and "properties" in schema:
        return "{" + ", ".join(schema["properties"]) + "}"
    return str(schema.get("type", "any"))


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    resolved: Mapping[str, Any] = document
    for name in schema["$ref"].removeprefix("#/").split("/"):
        resolved = resolved[name]
    return resolved


def _rows(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>"
        + f"<td><code>{escape(first)}</code></td>"
        + "".join(f"<td>{escape(c)}</td>" for c in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'
