"""The fields of a query or a form, in strict UTF-8."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request

from biatt.service.problems import Problem

URL_ENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
MOST_FIELDS = 100


async def read_fields(request: Request) -> dict[str, str]:
    """The fields of the query and of the body; of equal names the last one counts."""
    fields = _url_encoded(request.scope["query_string"], "query")
    if request.method != "POST":
        return fields
    body = await request.body()
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == URL_ENCODED:
        return fields | _url_encoded(body, "body")
    if kind == MULTIPART:
        return fields | _multipart(body, content_type)
    if kind or body:
        fault = f"A form is {URL_ENCODED} or {MULTIPART}."
        raise Problem(415, fault, fields={"Content-Type": fault})
    return fields


def _url_encoded(data: bytes, name: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            data.decode(),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except UnicodeDecodeError:
        raise Problem.in_field(name, f"The {name} is not UTF-8.", status=400) from None
    except ValueError:
        fault = f"The {name} has more than {MOST_FIELDS} fields."
        raise Problem.in_field(name, fault, status=400) from None
    return dict(pairs)


def _multipart(body: bytes, content_type: str) -> dict[str, str]:
    """The parts of a form (RFC 7578), in one pass over the body."""
    boundary = _parameters(content_type).get("boundary")
    if not boundary:
        raise Problem.in_field("Content-Type", "The form has no boundary.", status=400)
    delimiter = b"\r\n--" + boundary.encode("latin-1", "replace")
    _, *parts = (b"\r\n" + body).split(delimiter, MOST_FIELDS + 1)
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise Problem.in_field("body", f"The body is no form of 1 to {MOST_FIELDS} parts.", status=400)
    return dict(map(_part, parts[:-1]))


def _part(part: bytes) -> tuple[str, str]:
    """The name and the content of a part. A field that is no file has the line ends that its text had."""
    head, _, content = part.partition(b"\r\n\r\n")
    parameters: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition":
            parameters = _parameters(value)
    if "name" not in parameters:
        raise Problem.in_field("body", "A part of the form has no name.", status=400)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise Problem.in_field(parameters["name"], "The text is not UTF-8.", status=400) from None
    return parameters["name"], text if "filename" in parameters else text.replace("\r\n", "\n")


def _parameters(header: str) -> dict[str, str]:
    """The parameters of a header, such as boundary of: multipart/form-data; boundary="a"."""
    _, *parameters = header.split(";")
    pairs = (parameter.partition("=") for parameter in parameters)
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
