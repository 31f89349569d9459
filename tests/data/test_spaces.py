"""Space in MISC, by UDPipe's convention."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.spaces import escaped, item_for, space_after, space_before, text_in, unescaped


@given(st.text() | st.text(" \t\r\n|\\stnrp"))
def test_escaped_space_comes_back_and_fits_into_an_item(text: str) -> None:
    assert unescaped(escaped(text)) == text
    assert not set(escaped(text)) & set("|\t\n\r ")


@given(st.text(" \t\r\n\u00a0", max_size=4))
def test_space_after_a_token_comes_back(space: str) -> None:
    item = item_for(space)
    assert (space_after(f"X=1|{item}" if item else "X=1") or "") == ("" if space == " " else space)


@pytest.mark.parametrize(
    ("misc", "after"),
    [
        ("_", None),
        ("SpaceAfter=No", ""),
        ("X=SpaceAfter=No", None),
        ("SpacesAfter=\\s\\n|SpaceAfter=Yes", " \n"),
        ("SpacesBefore=\\t", None),
    ],
)
def test_space_is_read_from_misc(misc: str, after: str | None) -> None:
    assert space_after(misc) == after


def test_other_space_is_read_from_misc() -> None:
    assert (space_before("A=1|SpacesBefore=\\t"), space_before("_")) == ("\t", "")
    assert text_in("10 000", "SpacesInToken=10\\s\\s000") == "10  000"
    assert text_in("10 000", "_") == "10 000"


@pytest.mark.parametrize(
    ("misc", "space"),
    [
        (r"SpacesAfter=\u00A0", "\u00a0"),
        (r"SpacesAfter=\s\u2003", " \u2003"),
        ("SpacesAfter=No", ""),
        (r"SpacesAfter=\ud800", r"\ud800"),  # half of a character stays as it is
    ],
)
def test_space_that_treebanks_write_otherwise(misc: str, space: str | None) -> None:
    assert space_after(misc) == space
    assert space_before(misc.replace("After", "Before")) == (space or "")
