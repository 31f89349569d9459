"""The table of a card: what is written is read, and paths and rows can be taken out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from biatt.models.card_table import table_lines, table_rows, without_paths, without_rows

names = st.text(st.characters(categories=["L", "N"]), min_size=1).filter(str.strip)
values = st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="\\"), min_size=1)


@given(st.dictionaries(names, values, max_size=5))
def test_rows_that_are_written_are_read(rows: dict[str, str]) -> None:
    assert table_rows("\n".join(["# A model", *table_lines(rows), "", "Text."])) == rows


def test_value_with_a_line_end_stays_in_its_row() -> None:
    assert table_lines({"a": "b\nc|d"})[2:] == ["| a | b c\\|d |"]


def test_first_of_two_values_counts() -> None:
    assert table_rows("| licence | CC0 |\n\n| licence | MIT |\n") == {"licence": "CC0"}


def test_paths_are_taken_out_of_rows_about_files_only() -> None:
    card = "See a/b.\n| training data | /x/a.conllu, b/c.conllu |\n| licence | MIT/GPL |\n"
    assert without_paths(card) == "See a/b.\n| training data | a.conllu, c.conllu |\n| licence | MIT/GPL |\n"
    assert without_paths("| begun with the weights of | /x/y |\n") == "| begun with the weights of | y |\n"


def test_rows_are_removed_by_name() -> None:
    assert without_rows("| a | 1 |\n| b | 2 |\ntext\n", {"a"}) == "| b | 2 |\ntext\n"
