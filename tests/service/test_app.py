"""The service over real connections."""

from __future__ import annotations

import json
import logging
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

import httpx

import biatt
from biatt.data.document import Document
from biatt.data.toy_treebank import generate
from biatt.models.language_profile import LanguageProfile
from biatt.service.limits import Limits
from biatt.service.problems import MEDIA_TYPE
from builders import random_parser
from services import Held, counters, patient, running, toy_parser

PARSER = toy_parser()
LIMITS = patient(body_bytes=20_000, words=300, sentences=20, sentence_words=50)
TOKENS = [["the", "cat", "sleeps", "."], ["a", "dog", "barks"]]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with running({"toy": PARSER, "other": toy_parser(seed=1)}, LIMITS) as client:
        yield client


def works(client: httpx.Client) -> None:
    """The next request works."""
    answer = client.post("/parse", json={"tokens": TOKENS})
    assert (answer.status_code, len(answer.json()["sentences"])) == (200, 2)


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA_TYPE)
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert found["detail"].endswith(".")
    return found


def fields(answer: httpx.Response, status: int = 422) -> set[str]:
    return {error["field"] for error in problem(answer, status)["errors"]}


# What it gives


def test_tokens_become_a_document(client: httpx.Client) -> None:
    answer = client.post("/parse", json={"tokens": TOKENS}).json()
    expected = PARSER.parse_tokens(TOKENS, confidence=False)
    assert answer["model"] == "toy"
    assert Document.from_dict(answer).sentences == expected
    assert answer == {**Document.from_sentences(expected).to_dict(), "model": "toy"}


def test_raw_text_has_offsets(client: httpx.Client) -> None:
    text = "the  cat sleeps.\n\na dog 🙂 barks"
    answer = client.post("/parse", json={"text": text, "confidence": True}).json()
    assert answer["text"] == text
    assert Document.from_dict(answer) == Document.from_dict(json.loads(json.dumps(answer)))
    for sentence in answer["sentences"]:
        assert text[sentence["start_char"] : sentence["end_char"]] == sentence["text"]
        assert all(0 <= word["arc_probability"] <= 1.0001 for word in sentence["words"])


def test_conllu_comes_back_as_biatt_parse_writes_it(client: httpx.Client) -> None:
    given = generate(3, seed=4)
    answer = client.post("/parse", json={"conllu": biatt.dumps(given)}, headers={"Accept": "text/x-conllu"})
    assert answer.headers["content-type"] == "text/x-conllu; charset=utf-8"
    assert answer.text == biatt.dumps(PARSER.parse(given))


def test_options_reach_the_parser(client: httpx.Client) -> None:
    def heads(**options: Any) -> list[list[int]]:
        answer = client.post("/parse", json={"tokens": TOKENS, **options}).json()
        return [[word["head"] for word in sentence["words"]] for sentence in answer["sentences"]]

    def expected(**options: Any) -> list[list[int]]:
        return [sentence.heads for sentence in PARSER.parse_tokens(TOKENS, **options)]

    for options in ({"decoder": "projective"}, {"decoder": "argmax"}, {"roots": "any"}):
        assert heads(**options) == expected(**options)
    assert heads(fixed=[{"sentence": 2, "word": 3, "head": 0}])[1][2] == 0
    other = toy_parser(seed=1).parse_tokens(TOKENS)
    assert heads(model="other") == [sentence.heads for sentence in other]


def test_model_of_the_inputs_language_is_chosen() -> None:
    english, danish, bare = toy_parser(), toy_parser(seed=1), toy_parser(seed=2)
    english.profile = LanguageProfile.of_text("the cat sleeps and a dog barks")
    danish.profile = LanguageProfile.of_text("katten sover og en hund gør")
    with running({"bare": bare, "english": english, "danish": danish}, LIMITS) as client:
        bodies = [{"text": "katten gør"}, {"tokens": [["the", "dog"]]}, {"conllu": danish_conllu()}]
        answers = [client.post("/parse", json={**body, "model": "auto"}).json() for body in bodies]
        assert [answer["model"] for answer in answers] == ["danish", "english", "danish"]
        fields = {"data": "the cat barks", "model": "auto", "tokenizer": ""}
        assert client.post("/process", data=fields).json()["model"] == "english"
    with running({"bare": bare}, LIMITS) as client:
        found = problem(client.post("/parse", json={"text": "the cat", "model": "auto"}), 422)
        assert "No model that is served has a language profile" in str(found)


def danish_conllu() -> str:
    return biatt.dumps([biatt.Sentence.from_words(["hund", "sover"])])


def test_k_best_trees_and_attention(client: httpx.Client) -> None:
    answer = client.post("/parse", json={"tokens": TOKENS, "k_best": 3, "attention": True}).json()
    for trees, best in zip(answer["k_best"], answer["sentences"], strict=True):
        assert trees[0]["words"] == best["words"]
        probabilities = [tree["log_probability"] for tree in trees]
        assert probabilities == sorted(probabilities, reverse=True)
    for attention, words in zip(answer["attention"], TOKENS, strict=True):
        assert set(attention) == {"left_to_right", "right_to_left", "agreement"}
        for matrix in attention.values():
            assert [len(row) for row in matrix] == [len(words) + 1] * len(words)


@pytest.mark.parametrize("attention", [False, True])
def test_svg_is_a_picture_without_scripts(client: httpx.Client, attention: bool) -> None:
    hostile = [["<script>alert(1)</script>", "'\"&", "\x1b[2J"]]
    answer = client.post(
        "/parse", json={"tokens": hostile, "attention": attention}, headers={"Accept": "image/svg+xml"}
    )
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.text.startswith("<svg")
    assert "<script" not in answer.text
    assert "\x1b" not in answer.text


def test_models_health_and_pages(client: httpx.Client) -> None:
    models = client.get("/models").json()
    assert models == {
        "models": {name: ["tokenizer", "tagger", "parser"] for name in ("toy", "other")},
        "default_model": "toy",
        "relations": {name: sorted(PARSER.vocabulary.relations) for name in ("toy", "other")},
    }
    assert client.get("/health").json() == {"status": "ok", "version": biatt.__version__}
    for path in ("/", "/docs"):
        page = client.get(path)
        assert page.headers["content-type"].startswith("text/html")
        assert re.findall(r'(?:src|href)="(?:https?:)?//', page.text) == []
        for link in re.findall(r'href="([^"]+)"', page.text):
            assert client.get(f"/{link}").status_code == 200
    for path in ("/parse", "/process", "/models", "/health", "/metrics"):
        assert path in client.get("/docs").text


def test_requests_at_the_same_time_get_their_own_answers(client: httpx.Client) -> None:
    treebank = generate(40, seed=9)

    def heads(i: int) -> list[int]:
        answer = client.post("/parse", json={"tokens": [treebank[i].forms], "confidence": i % 2 == 0})
        return [word["head"] for word in answer.json()["sentences"][0]["words"]]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(heads, range(40)))
    assert found == [tree.heads for tree in PARSER.parse_tokens([s.forms for s in treebank])]


def test_metrics_count(client: httpx.Client) -> None:
    before = counters(client)
    works(client)
    after = counters(client)
    requests = 'biatt_requests_total{path="/parse",method="POST",status="200"}'
    for name, more in ((requests, 1), ('biatt_words_total{model="toy"}', 7), ("biatt_batches_total", 1)):
        assert after[name] == before.get(name, 0) + more
    assert after["biatt_queue_requests"] == 0


def test_the_log_has_one_line_a_request_without_the_text(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="biatt"):
        client.post("/parse", json={"tokens": [["secret"]]})
        client.get("/process", params={"data": "secret", "tokenizer": ""})
        client.post("/parse", json={"secret": "secret"})
        client.get("/secret")
        client.get("/health")
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("biatt")]
    ends = [re.sub(r"^\S+Z 127\.0\.0\.1 |(?: \d+ words)? [\d.]+ ms$", "", line) for line in lines]
    assert ends == [
        *("POST /parse 200", "GET /process 200", "POST /parse 422", "GET other 404", "GET /health 200")
    ]
    assert "1 words" in lines[0]
    assert "secret" not in "".join(lines)


# What it refuses

FAULTS = [
    ({}, {"text", "tokens", "conllu"}),
    ({"text": "a", "tokens": TOKENS}, {"text", "tokens"}),
    ({"text": 3}, {"text"}),
    ({"text": None, "tokens": [["a", 3]]}, {"tokens.0.1"}),
    ({"tokens": [["a"], [""]]}, {"tokens.1"}),
    ({"tokens": [["a\tb"]]}, {"tokens.0"}),
    ({"conllu": "1\tx\n"}, {"conllu"}),
    ({"text": "a", "model": "none"}, {"model"}),
    ({"text": "a", "colour": 1}, {"colour"}),
    ({"text": "a", "decoder": "x"}, {"decoder"}),
    ({"text": "a", "k_best": 0}, {"k_best"}),
    ({"text": "a", "k_best": 1 << 70}, {"k_best"}),
    ({"text": "a", "k_best": 2, "decoder": "argmax"}, {"k_best"}),
    ({"text": "a", "confidence": "yes"}, {"confidence"}),
    ({"tokens": TOKENS, "fixed": [{"word": 0, "head": 1}]}, {"fixed.0.word"}),
    ({"tokens": TOKENS, "fixed": [{"word": 9, "head": 1}]}, {"fixed"}),
    ({"tokens": TOKENS, "fixed": [{"word": 1, "head": 1}]}, {"fixed"}),
    ({"tokens": TOKENS, "fixed": [{"sentence": 3, "word": 1, "head": 0}]}, {"fixed"}),
    ({"tokens": TOKENS, "fixed": [{"word": 1, "relation": "none"}]}, {"fixed.0.relation"}),
    ({"tokens": TOKENS, "fixed": [{"word": 1, "head": 0}] * 2}, {"fixed.1.word"}),
    ({"tokens": TOKENS, "keep_heads": True, "fixed": [{"word": 1, "head": 0}]}, {"fixed"}),
]


@pytest.mark.parametrize(("body", "named"), FAULTS, ids=[f"{body}"[:60] for body, _ in FAULTS])
def test_wrong_fields_are_named(client: httpx.Client, body: dict[str, Any], named: set[str]) -> None:
    assert fields(client.post("/parse", json=body)) == named
    works(client)


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("content", "headers", "status", "field"),
    [
        (b"{", JSON, 400, "body"),
        (b"", JSON, 422, "body"),
        (b'{"text": "\xff"}', JSON, 400, "body"),
        (b'{"text": "\\ud800"}', JSON, 422, "text"),
        (b'{"tokens": [["\\ud800"]]}', {**JSON, "Accept": "text/x-conllu"}, 422, "tokens.0.0"),
        (b'{"text": NaN}', JSON, 422, "text"),
        (b"[" * 5000, JSON, 400, "body"),
        (b"[1]", JSON, 422, "body"),
        (b'{"text": "a"}', {"Content-Type": "text/plain"}, 415, "Content-Type"),
        (b'{"text": "a"}', {**JSON, "Accept": "text/html"}, 406, "Accept"),
        (b'{"text": "' + b"a " * 20_000 + b'"}', JSON, 413, "body"),
        (b'{"text": "' + b"a. " * 1_000 + b'"}', JSON, 413, "text"),
        (b'{"tokens": [[' + b'"a",' * 100 + b'"a"]]}', JSON, 413, "tokens"),
        (b'{"tokens": [' + b'["a"],' * 20 + b'["a"]]}', JSON, 413, "tokens"),
        (b'{"tokens": [["a"]], "k_best": 30}', JSON, 413, "tokens"),
    ],
)
def test_bad_bodies_have_their_status_and_name_what_is_wrong(
    client: httpx.Client, content: bytes, headers: dict[str, str], status: int, field: str
) -> None:
    assert field in fields(client.post("/parse", content=content, headers=headers), status)
    works(client)


def test_unknown_addresses_and_methods(client: httpx.Client) -> None:
    problem(client.get("/none"), 404)
    refused = client.get("/parse")
    problem(refused, 405)
    assert refused.headers["allow"] == "POST"
    problem(client.delete("/models"), 405)
    works(client)


def test_a_model_without_tokeniser_takes_no_text() -> None:
    with running({"bare": random_parser()}) as client:
        assert fields(client.post("/parse", json={"text": "a"})) == {"text"}
        assert fields(client.post("/parse", json={"tokens": TOKENS, "retag": True})) == {"retag"}
        assert fields(client.post("/process", data={"data": "a", "tokenizer": ""})) == {"tokenizer"}
        works(client)


# Connections


def connect(client: httpx.Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port))


def request(body: bytes, *headers: str, length: int | None = None) -> bytes:
    size = f"Content-Length: {len(body) if length is None else length}"
    lines = ["POST /parse HTTP/1.1", "Host: x", "Content-Type: application/json", size, *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def everything(connection: socket.socket) -> bytes:
    received = b""
    while block := connection.recv(1 << 16):
        received += block
    return received


def until(client: httpx.Client, name: str, value: float) -> None:
    """Wait until a counter has this value."""
    while counters(client).get(name, 0) != value:
        time.sleep(0.01)


def test_a_body_of_10_mb_is_refused_however_it_is_sent(client: httpx.Client) -> None:
    block = b"a" * 1_000_000
    assert fields(client.post("/parse", content=block * 10, headers=JSON), 413) == {"body"}
    problem(client.post("/parse", content=(block for _ in range(10)), headers=JSON), 413)
    with connect(client) as connection:  # a client that asks first does not need to send it
        connection.sendall(request(b"", "Expect: 100-continue", length=10_000_000))
        assert b" 413 " in everything(connection).partition(b"\r\n")[0]
    works(client)


def test_endless_headers_are_refused(client: httpx.Client) -> None:
    with connect(client) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nX: " + b"a" * 100_000)
        assert b" 400 " in everything(connection).partition(b"\r\n")[0]
    works(client)


def test_a_slow_client_is_given_up() -> None:
    with running({"toy": PARSER}, Limits(seconds=1)) as client, connect(client) as connection:
        connection.sendall(request(b'{"tokens"', length=100))
        assert b" 408 " in everything(connection).partition(b"\r\n")[0]


def test_a_client_that_leaves_does_not_keep_its_place() -> None:
    held = Held(PARSER)
    with running({"toy": held}, patient(queue=1)) as client:
        with connect(client) as connection:
            connection.sendall(request(b'{"tokens": [["a"]]}'))
            until(client, "biatt_queue_requests", 1)
        until(client, 'biatt_requests_total{path="/parse",method="POST",status="499"}', 1)
        with connect(client) as connection:
            connection.sendall(request(b'{"tok', length=100))
        until(client, 'biatt_requests_total{path="/parse",method="POST",status="499"}', 2)
        held.gate.set()
        until(client, "biatt_queue_requests", 0)
        works(client)


def test_a_full_queue_answers_503() -> None:
    held = Held(PARSER)
    with running({"toy": held}, patient(queue=1)) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(works, client)
        until(client, "biatt_queue_requests", 1)
        refused = client.post("/parse", json={"tokens": TOKENS})
        held.gate.set()
        problem(refused, 503)
        assert refused.headers["retry-after"] == "1"
        first.result()
        until(client, "biatt_queue_requests", 0)
        works(client)


def test_bodies_that_are_being_sent_have_their_bound() -> None:
    with running({"toy": PARSER}, patient(queue=1)) as client, connect(client) as connection:
        connection.sendall(request(b"", "Expect: 100-continue", length=19))
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100 ")
        problem(client.post("/parse", json={"tokens": TOKENS}), 503)
        assert client.get("/health").status_code == 200
        connection.sendall(b'{"tokens": [["a"]]}')
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        works(client)


def test_a_request_that_takes_too_long_is_given_up() -> None:
    held = Held(PARSER)
    with running({"toy": held}, Limits(seconds=1)) as client:
        late = client.post("/parse", json={"tokens": TOKENS})
        held.gate.set()
        problem(late, 503)
        until(client, "biatt_queue_requests", 0)


def test_a_fault_of_ours_is_500_and_does_not_log_the_text(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Held):
        def parse(self, *_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("secret")

    with caplog.at_level(logging.INFO), running({"broken": Broken(PARSER), "toy": PARSER}) as client:
        problem(client.post("/parse", json={"tokens": [["secret"]]}), 500)
        answer = client.post("/parse", json={"tokens": TOKENS, "model": "toy"})
        assert answer.status_code == 200
    assert "ZeroDivisionError in parse" in caplog.text
    assert "secret" not in caplog.text.replace("Broken", "")
