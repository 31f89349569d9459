"""What is shown to people cannot steer their terminal, and says the same as before."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.visible import json_text, visible

BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_unsafe(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(character) in BIDIRECTIONAL
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("naïve 東京 مرحبا 👩‍👧", "naïve 東京 مرحبا 👩‍👧"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("two\nlines\tand\r", r"two\nlines\tand\r"),
        ("\x9b2J\x85", r"\x9b2J\x85"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("caf\udce9", r"caf\udce9"),
    ],
)
def test_unsafe_characters_become_escapes_and_others_stay(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_no_character_that_can_steer_a_terminal_is_left() -> None:
    every = "".join(map(chr, range(0x110000)))
    assert not any(map(is_unsafe, visible(every)))
    safe = "".join(character for character in every if not is_unsafe(character) and ord(character) < 0xFFFE)
    assert visible(safe) == safe


def test_line_ends_of_a_document_can_be_kept() -> None:
    assert visible("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


@given(st.dictionaries(st.text(), st.lists(st.text(), max_size=3), max_size=3))
def test_json_is_safe_to_show_and_reads_as_the_same_value(value: object) -> None:
    for indent in (None, 1):
        text = json_text(value, indent=indent)
        assert not any(map(is_unsafe, text.replace("\n", "")))
        assert json.loads(text) == value


def test_json_has_no_nan() -> None:
    for number in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            json_text([number])
