"""Direction and fonts of the writing systems."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class Fonts(NamedTuple):
    """Fonts of a writing system; the first is that of Noto, in a package of Debian."""

    families: tuple[str, ...]
    package: str


ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"  # FSI and PDI of Unicode

_CORE = "fonts-noto-core"
_CJK = "fonts-noto-cjk"
_FONTS = {
    "JAPANESE": Fonts(("Noto Sans CJK JP", "Noto Sans JP", "Hiragino Sans", "Yu Gothic", "Meiryo"), _CJK),
    "HANGUL": Fonts(("Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic"), _CJK),
    "CJK": Fonts(("Noto Sans CJK SC", "Noto Sans SC", "PingFang SC", "Microsoft YaHei"), _CJK),
    "EMOJI": Fonts(("Noto Color Emoji",), "fonts-noto-color-emoji"),
    **{
        name.upper(): Fonts((f"Noto Sans {name}",), _CORE)
        for name in (
            *("Adlam", "Arabic", "Armenian", "Bengali", "Cherokee", "Coptic", "Devanagari", "Ethiopic"),
            *("Georgian", "Gothic", "Gujarati", "Gurmukhi", "Hebrew", "Kannada", "Khmer", "Lao", "Malayalam"),
            *("Mongolian", "Myanmar", "Runic", "Sinhala", "Syriac", "Tamil", "Telugu", "Thaana", "Thai"),
        )
    },
    "TIBETAN": Fonts(("Noto Serif Tibetan",), _CORE),
}
# Punctuation of Japanese and Chinese, such as 。 and ！
_CJK_SIGNS = (("\u3001", "\u303f"), ("\uff01", "\uffef"))
_KANA = ("HIRAGANA", "KATAKANA")


def runs_from_right(words: Iterable[str]) -> bool:
    """Whether most words that have a direction are written from right to left."""
    rightward = leftward = 0
    for word in words:
        for character in word:
            direction = unicodedata.bidirectional(character)
            if direction in ("L", "R", "AL"):  # the first letter of the word
                rightward += direction == "L"
                leftward += direction != "L"
                break
    return leftward > rightward


def isolated(text: str) -> str:
    """A text inside marks that keep its direction from reordering what stands around it, if it needs them."""
    needs = any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
    return f"{ISOLATE}{text}{END_OF_ISOLATE}" if needs else text


def font_families(text: str) -> tuple[str, ...]:
    """Fonts for the writing system that most letters of a text belong to, if it needs special ones."""
    counts = Counter(map(_writing_system, text))
    if any(name in counts for name in ("JAPANESE", "HANGUL")):  # both are also written with Han characters
        del counts["CJK"]
    ((name, _),) = counts.most_common(1) or [("", 0)]
    return _FONTS[name].families if name in _FONTS else ()


def fonts_to_install(characters: str) -> list[Fonts | None]:
    """The fonts that have these characters, each once; None for characters of which we do not know it."""
    names = {_writing_system(character) for character in characters}
    if names & {"JAPANESE", "HANGUL"}:
        names.discard("CJK")
    return sorted({_FONTS.get(name) for name in names}, key=lambda fonts: (fonts is None, fonts or ()))


def _writing_system(character: str) -> str:
    """The writing system of a letter by its name in Unicode, or an empty string."""
    if unicodedata.category(character) == "So" and ord(character) >= 0x2600:
        return "EMOJI"
    if any(first <= character <= last for first, last in _CJK_SIGNS):
        return "CJK"
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "").split()[0:1]
    return "JAPANESE" if name and name[0].startswith(_KANA) else (name[0] if name else "")
