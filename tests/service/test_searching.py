"""Search over HTTP: what it finds, and that no pattern can keep the service busy."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

import httpx

import biatt
from biatt.data.toy_treebank import generate
from biatt.service.problems import Problem
from biatt.service.search_process import matches
from biatt.service.searching import MOST_SEARCHES, SearchRequest, _places, find
from services import PATIENCE, running, toy_parser

TREEBANK = generate(20, seed=3)
PATTERN = "{upos:VERB}=verb >nsubj {}=subject"
BACKTRACKING = r"{form:/(a|a)*b/}"  # takes 2ⁿ steps on n times the letter a


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with running({"toy": toy_parser()}) as client:
        yield client


@pytest.mark.slow
def test_matches_are_those_of_the_sentences(client: httpx.Client) -> None:
    answer = client.post("/search", json={"conllu": biatt.dumps(TREEBANK), "pattern": PATTERN})
    expected = [
        {"sentence": number, "words": match.numbers, "names": match.names}
        for number, sentence in enumerate(TREEBANK, 1)
        for match in sentence.find(PATTERN)
    ]
    assert expected
    assert answer.json() == {"matches": expected, "complete": True}


def test_an_answer_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biatt.service.search_process.MOST_MATCHES", 3)
    found = matches({"conllu": biatt.dumps(TREEBANK), "pattern": "{}"})
    assert (len(found["matches"]), found["complete"]) == (3, False)


@pytest.mark.parametrize(
    ("field", "request_body"),
    [
        ("pattern", {"conllu": biatt.dumps(TREEBANK), "pattern": "{upos:VERB} >"}),
        ("conllu", {"conllu": "1\tno\tcolumns\n\n", "pattern": "{}"}),
        ("pattern", {"conllu": ""}),
        ("text", {"conllu": "", "pattern": "{}", "text": "a"}),
    ],
)
def test_faults_name_the_field(client: httpx.Client, field: str, request_body: dict[str, str]) -> None:
    answer = client.post("/search", json=request_body)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.slow
def test_a_search_that_takes_too_long_is_stopped() -> None:
    conllu = biatt.dumps([biatt.Sentence.from_words(["a" * 200])])
    with pytest.raises(Problem, match="took longer than") as problem:
        asyncio.run(find(SearchRequest(conllu=conllu, pattern=BACKTRACKING), seconds=0.5))
    assert problem.value.status == 413


@pytest.mark.slow
def test_a_search_that_needs_too_much_memory_is_stopped() -> None:
    conllu = biatt.dumps([biatt.Sentence.from_words(["a"] * 500)])
    request = SearchRequest(conllu=conllu, pattern="{} .. {} .. {} .. {} .. {}")
    with pytest.raises(Problem, match="too much memory") as problem:
        asyncio.run(find(request, seconds=PATIENCE, memory=1 << 27))
    assert problem.value.status == 413


@pytest.mark.slow
def test_searches_at_once_have_a_bound(client: httpx.Client) -> None:
    for _ in range(MOST_SEARCHES):
        _places.acquire()
    try:
        answer = client.post("/search", json={"conllu": "", "pattern": "{}"})
    finally:
        for _ in range(MOST_SEARCHES):
            _places.release()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert client.post("/search", json={"conllu": "", "pattern": "{}"}).json()["matches"] == []
