from __future__ import annotations

from contextlib import suppress

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

from hypothesis import given
from hypothesis import strategies as st

from biatt.service.forms import _multipart
from biatt.service.problems import Problem


def test_line_ends_of_a_file_are_kept_and_those_of_a_field_are_the_texts_own() -> None:
    content = (
        b'--x\r\nContent-Disposition: form-data; name="data"; filename="a"\r\n\r\na\r\nb\r\n\r\n'
        b"--x\r\ncontent-disposition: form-data; name=model\r\n\r\na\r\nb\r\n--x--\r\n"
    )
    assert _multipart(content, "multipart/form-data; boundary=x") == {"data": "a\r\nb\r\n", "model": "a\nb"}


@given(st.binary() | st.text("-x\r\n:;=", max_size=40).map(str.encode))
def test_any_body_is_a_form_or_a_problem(content: bytes) -> None:
    with suppress(Problem):
        _multipart(content, "multipart/form-data; boundary=x")
