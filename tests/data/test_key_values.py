"""FEATS and MISC as mappings: what is not changed is kept, letter by letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.key_values import KeyValues, joined

COLUMNS = st.text("aBc=|_1", min_size=1, max_size=12)


def view(column: str, *, ordered: bool = True) -> tuple[KeyValues, list[str]]:
    """A mapping and the list of all columns that it writes."""
    written: list[str] = []
    return KeyValues(column, written.append, ordered=ordered), written


@given(COLUMNS)
def test_any_column_prints_unchanged_and_its_values_are_found(column: str) -> None:
    values, written = view(column)
    assert str(values) == column
    assert len(values) == len(list(values)) == len(dict(values))
    for name, value in dict(values).items():
        if not name:
            continue
        assert f"{name}={value}" in f"|{column}|=" or name in column.split("|")
        values[name] = value or "x"
        assert values[name] == (value or "x")
    assert len(written) == len(set(values) - {""})


def test_new_feature_goes_to_its_place_in_the_alphabet() -> None:
    values, written = view("Aspect=Imp|Mood=Ind|voice=Act")
    values["Number"] = "Sing"
    values["aa"] = "1"
    values["Zz"] = "1"
    assert written[-1] == "aa=1|Aspect=Imp|Mood=Ind|Number=Sing|voice=Act|Zz=1"
    values, written = view("Z=1", ordered=False)
    values["A"] = ""
    assert written == ["Z=1|A"]


def test_of_several_items_of_a_name_the_first_counts_until_one_is_set() -> None:
    values, written = view("A=1|B=2|A=3")
    assert (values["A"], len(values)) == ("1", 2)
    values["A"] = "4"
    assert written == ["A=4|B=2"]
    del values["A"], values["B"]
    assert (written[-1], dict(values)) == ("_", {})


def test_names_that_are_not_there_are_key_errors() -> None:
    values, written = view("_")
    with pytest.raises(KeyError, match="Number"):
        values["Number"]
    with pytest.raises(KeyError, match="Number"):
        del values["Number"]
    assert (written, repr(values), bool(values)) == ([], "{}", False)


@pytest.mark.parametrize(
    ("name", "value"), [("A|B", "1"), ("A=B", "1"), ("", "1"), ("A", "1|B=2"), ("A", "\t")]
)
def test_what_would_be_read_as_something_else_is_refused(name: str, value: str) -> None:
    values, written = view("_")
    with pytest.raises(ValueError, match=r"cannot be an item of FEATS or MISC: .* line ends\."):
        values[name] = value
    assert written == []


def test_mapping_becomes_a_column() -> None:
    assert joined({}) == "_"
    assert joined({"B": "1", "A": ""}) == "B=1|A"
