"""Direction and fonts of the writing systems."""

from __future__ import annotations

import pytest

from biatt.display.writing_systems import font_families, fonts_to_install, runs_from_right


@pytest.mark.parametrize(
    ("text", "from_right"),
    [
        ("the cat sleeps", False),
        ("نامت القطة .", True),
        ("החתול ישן", True),
        ("猫 が 眠る", False),
        ("קראתי את NumPy היום", True),
        ("the word سلام means peace", False),
        ("1 2 3 !", False),
        ("", False),
    ],
)
def test_direction_of_most_words(text: str, from_right: bool) -> None:
    assert runs_from_right(text.split()) == from_right


def test_fonts_of_the_writing_system_that_most_letters_have() -> None:
    assert font_families("a plain sentence, Ελλάδα") == ()
    assert font_families("猫が眠る")[0] == "Noto Sans CJK JP"
    assert font_families("猫在睡觉")[0] == "Noto Sans CJK SC"
    assert font_families("고양이가 잔다")[0] == "Noto Sans CJK KR"
    assert font_families("قطة NumPy كتاب") == ("Noto Sans Arabic",)
    assert font_families("") == font_families("123") == ()


def test_the_punctuation_of_japanese_is_in_the_same_font() -> None:
    (fonts,) = fonts_to_install("。（猫が）！")
    assert fonts is not None
    assert fonts.families[0] == "Noto Sans CJK JP"


def test_each_font_to_install_is_named_once() -> None:
    fonts = fonts_to_install("猫がは😀ก\ue000ข")
    assert [item and item.families[0] for item in fonts] == [
        "Noto Color Emoji",
        "Noto Sans CJK JP",
        "Noto Sans Thai",
        None,
    ]
