"""UDPipe's REST shape: what its clients send, and what they get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

import httpx

import biatt
from biatt.data.toy_treebank import generate
from services import running, toy_parser

PARSER = toy_parser()
TEXT = "the cat sleeps. über a dog 🙂 barks\n"
ALL = {"tokenizer": "", "tagger": "", "parser": ""}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with running({"toy": PARSER}) as client:
        yield client


def result(answer: httpx.Response) -> list[biatt.Sentence]:
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert set(found) == {"model", "acknowledgements", "result"}
    assert found["model"] == "toy"
    assert all(isinstance(text, str) for text in found["acknowledgements"])
    return biatt.reads(found["result"])


def mail_form(fields: dict[str, str]) -> dict[str, Any]:
    """A multipart form as UDPipe's own client sends it: parts in the manner of mail, line ends of mail."""
    parts = [
        '--==1==\r\nContent-Type: text/plain; charset="utf-8"\r\nMIME-Version: 1.0\r\n'
        f'Content-Disposition: form-data; name="{name}"\r\nContent-Transfer-Encoding: 8bit\r\n\r\n'
        + value.replace("\n", "\r\n")
        for name, value in fields.items()
    ]
    content = "\r\n".join([*parts, "--==1==--\r\n"]).encode()
    return {"content": content, "headers": {"Content-Type": 'multipart/form-data; boundary="==1=="'}}


def test_all_ways_to_send_fields_give_the_same(client: httpx.Client) -> None:
    fields = {"data": TEXT, "model": "toy", **ALL}
    files = {name: (None, value) for name, value in fields.items()}
    answers = [
        client.get("/process", params=fields),
        client.post("/process", data=fields),
        client.post("/process", files=files),
        client.post("/process", params=ALL, files={"data": ("text.txt", TEXT.encode(), "text/plain")}),
        client.post("/process", **mail_form(fields)),
    ]
    found = [result(answer) for answer in answers]
    assert [sentence.rows for sentence in found[0]] == [sentence.rows for sentence in PARSER(TEXT)]
    assert found[0][0].sent_id == "1"
    assert all(sentences == found[0] for sentences in found)


def test_components_fill_their_own_columns_only(client: httpx.Client) -> None:
    def columns(**fields: str) -> tuple[bool, bool]:
        sentences = result(client.post("/process", data={"data": TEXT, "tokenizer": "", **fields}))
        assert [s.forms for s in sentences] == [s.forms for s in PARSER.split([TEXT])[0]]
        tagged = any(tag != "_" for sentence in sentences for tag in sentence.upos)
        parsed = any(relation != "_" for sentence in sentences for relation in sentence.deprels)
        return tagged, parsed

    assert columns() == (False, False)
    assert columns(tagger="") == (True, False)
    assert columns(parser="") == (False, True)
    assert columns(tagger="", parser="") == (True, True)


def test_conllu_keeps_its_tags_unless_the_tagger_is_asked_for(client: httpx.Client) -> None:
    given = generate(2, seed=3)
    data = biatt.dumps(given)
    parsed = result(client.post("/process", data={"data": data, "parser": ""}))
    assert [s.upos for s in parsed] == [s.upos for s in given]
    assert [s.heads for s in parsed] == [s.heads for s in PARSER.parse(given)]
    tagged = result(client.post("/process", data={"data": data, "tagger": ""}))
    assert [s.upos for s in tagged] == [s.upos for s in PARSER.parse(given, retag=True)]
    assert [s.heads for s in tagged] == [s.heads for s in given]


def test_horizontal_and_vertical(client: httpx.Client) -> None:
    sentences = [["the", "cat"], ["dogs", "bark", "."]]
    horizontal, vertical = "the cat\ndogs bark .\n", "the\ncat\n\ndogs\nbark\n.\n\n"
    for format, data in (("horizontal", horizontal), ("vertical", vertical)):
        found = result(client.post("/process", data={"data": data, "input": format, "parser": ""}))
        assert [sentence.forms for sentence in found] == sentences
        for output, expected in (("horizontal", horizontal), ("vertical", vertical)):
            answer = client.post("/process", data={"data": data, "input": format, "output": output})
            assert answer.json()["result"] == expected


def test_ranges(client: httpx.Client) -> None:
    found = result(client.post("/process", data={"data": TEXT, "tokenizer": "ranges"}))
    for sentence in found:
        for token in sentence.tokens:
            start, end = map(int, token.misc["TokenRange"].split(":"))
            assert "".join(TEXT[start:end].split()) == "".join(token.form.split())


@pytest.mark.parametrize(
    ("request_", "status", "field"),
    [
        ({"data": {}}, 422, "data"),
        ({"data": {"data": "a", "model": "none"}}, 422, "model"),
        ({"data": {"data": "a", "input": "epe"}}, 422, "input"),
        ({"data": {"data": "a", "output": "matxin"}}, 422, "output"),
        ({"data": {"data": "a", "tokenizer": "presegmented"}}, 422, "tokenizer"),
        ({"data": {"data": "not CoNLL-U"}}, 422, "data"),
        (
            {"content": b"data=%ff", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
            400,
            "body",
        ),
        (
            {"content": b"a&" * 200, "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
            400,
            "body",
        ),
        ({"content": b"{}", "headers": {"Content-Type": "application/json"}}, 415, "Content-Type"),
        ({"content": b"data", "headers": {"Content-Type": "multipart/form-data"}}, 400, "Content-Type"),
        ({"content": b"data", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}, 400, "body"),
        ({"files": {"data": ("a.txt", b"\xff\xfe")}}, 400, "data"),
        ({"files": {f"a{i}": "a" for i in range(101)}}, 400, "body"),
    ],
)
def test_faults_are_problems(client: httpx.Client, request_: dict[str, Any], status: int, field: str) -> None:
    answer = client.post("/process", **request_)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert result(client.post("/process", data={"data": TEXT, **ALL}))
