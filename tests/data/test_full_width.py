"""Full-width characters and their half-width forms."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from biatt.data.full_width import half_width


def test_full_width_forms_of_ascii_become_ascii() -> None:
    assert half_width("！？（ＡＢＣ）～") == "!?(ABC)~"
    assert half_width("猫。「」ｱé!") == "猫。「」ｱé!"
    assert half_width("Ａ！", but="！".__eq__) == "A！"


@given(st.text())
def test_each_character_stays_or_is_what_unicode_calls_its_equivalent(text: str) -> None:
    result = half_width(text)
    assert len(result) == len(text)
    for before, after in zip(text, result, strict=True):
        assert after == (unicodedata.normalize("NFKC", before) if "！" <= before <= "～" else before)
