"""Widths of text, estimated: an SVG picture is laid out before any font is known."""

from __future__ import annotations

import unicodedata

from biatt.data.visible import visible

# Advance widths of Helvetica, and so of Arial and Liberation Sans, in thousandths of the font size.
_ADVANCES = {
    character: width
    for width, characters in {
        191: "'",
        222: "ijl",
        260: "|",
        278: " !,./:;I[\\]ft",
        333: "()-`r{}",
        355: '"',
        389: "*",
        469: "^",
        500: "Jcksvxyz",
        556: "#$0123456789?L_abdeghnopqu",
        584: "+<=>~",
        611: "FTZ",
        667: "&ABEKPSVXY",
        722: "CDHNRUw",
        778: "GOQ",
        833: "Mm",
        889: "%",
        944: "W",
        1015: "@",
    }.items()
    for character in characters
}
_WIDE, _OTHER = 1000, 620  # East Asian wide characters and emoji; letters of other scripts on average
_RESERVE = 1.04  # most other fonts are a little wider than Helvetica


def text_width(text: str, font_size: float) -> float:
    """An estimate of the width of a text in pixels."""
    return _RESERVE * font_size * sum(map(_advance, visible(text))) / 1000


def _advance(character: str) -> int:
    if character in _ADVANCES:
        return _ADVANCES[character]
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return _WIDE
    letter = unicodedata.normalize("NFD", character)[0]  # é is as wide as e
    return _ADVANCES.get(letter, _OTHER)
