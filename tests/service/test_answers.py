from __future__ import annotations

from contextlib import suppress

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

from hypothesis import given
from hypothesis import strategies as st

from biatt.service.answers import MEDIA_TYPES, Format, accepted
from biatt.service.problems import Problem


@pytest.mark.parametrize(
    ("header", "format"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("application/*", "json"),
        ("text/x-conllu", "conllu"),
        ("Text/X-CoNLLU; charset=utf-8", "conllu"),
        ("image/*, text/html", "svg"),
        ("image/svg+xml;q=0.2, text/x-conllu;q=0.9", "conllu"),
        ("application/json;q=0, */*", "conllu"),
        ("text/html, */*;q=0.1", "json"),
    ],
)
def test_the_client_chooses_the_format(header: str, format: Format) -> None:
    assert accepted(header) == format


@pytest.mark.parametrize("header", ["text/html", "application/json;q=0", "nonsense"])
def test_other_formats_are_not_acceptable(header: str) -> None:
    with pytest.raises(Problem) as refused:
        accepted(header)
    assert refused.value.status == 406


@given(st.text() | st.text("*/;q=0.1, jsontex"))
def test_any_header_is_a_format_or_a_problem(header: str) -> None:
    with suppress(Problem):
        assert accepted(header) in MEDIA_TYPES.values()
