"""Colours and fonts of pictures, as CSS that holds for one kind of picture only."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from biatt.options import Theme

WORD_SIZE, TAG_SIZE, LABEL_SIZE, CAPTION_SIZE = 17, 11, 11.5, 11  # of fonts, in pixels
FONTS = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", "Noto Sans", sans-serif'

_LIGHT = {
    "paper": "#ffffff",
    "word": "#0f172a",
    "tag": "#64748b",
    "line": "#7f8ea3",
    "label": "#1d4ed8",
    "crossing": "#c2410c",
    "highlight": "#fde68a",
    "name": "#a16207",
    "cell": "#1d4ed8",
    "against": "#c2410c",
    "on-cell": "#ffffff",
    "grid": "#e2e8f0",
}
_DARK = {
    "paper": "#0f1522",
    "word": "#e8edf5",
    "tag": "#94a3b8",
    "line": "#71809a",
    "label": "#93c5fd",
    "crossing": "#fdba74",
    "highlight": "#713f12",
    "name": "#fcd34d",
    "cell": "#60a5fa",
    "against": "#fb923c",
    "on-cell": "#0f1522",
    "grid": "#263042",
}

# The parts that are the same in every colour scheme: (selector, declarations).
_SHAPES = (
    ("", f"font-family: {FONTS}; text-anchor: middle"),
    (".biatt-arcs path", "fill: none; stroke-width: 1.3px"),
    (".biatt-arcs .biatt-casing", "stroke-width: 5px"),
    (".biatt-arcs text", f"font-size: {LABEL_SIZE}px; stroke-width: 6px; paint-order: stroke"),
    (".biatt-arcs .biatt-percent", f"font-size: {LABEL_SIZE - 2}px"),
    (".biatt-doubtful .biatt-line", "stroke-dasharray: 5 3.5; stroke-opacity: 0.65"),
    (".biatt-doubtful .biatt-arrow", "fill-opacity: 0.65"),
    (".biatt-words text", f"font-size: {WORD_SIZE}px"),
    (".biatt-tags text", f"font-size: {TAG_SIZE}px; letter-spacing: 0.3px"),
    (".biatt-lemmas text", f"font-size: {TAG_SIZE + 1}px"),
    (".biatt-italic text", "font-style: italic"),
    (".biatt-names text", f"font-size: {TAG_SIZE}px; font-weight: bold"),
    (".biatt-tokens text", f"font-size: {TAG_SIZE + 1}px"),
    (".biatt-tokens path", "fill: none; stroke-width: 1.3px"),
    (".biatt-caption", f"font-size: {CAPTION_SIZE}px"),
    (".biatt-map text", f"font-size: {TAG_SIZE + 1}px"),
    (".biatt-map .biatt-title", f"font-size: {TAG_SIZE + 3}px; font-weight: bold"),
    (".biatt-map .biatt-axis", f"font-size: {TAG_SIZE}px; font-style: italic"),
    (".biatt-map .biatt-number", "font-size: 9px"),
    (".biatt-chosen", "fill: none; stroke-width: 1.6px"),
    (".biatt-frame", "fill: none; stroke-width: 1px"),
)

# What each colour is for: (selector, property, colour).
_COLOURS = (
    (".biatt-paper", "fill", "paper"),
    (".biatt-arcs .biatt-line", "stroke", "line"),
    (".biatt-arcs .biatt-arrow", "fill", "line"),
    (".biatt-arcs .biatt-casing", "stroke", "paper"),
    (".biatt-arcs text", "stroke", "paper"),
    (".biatt-arcs text", "fill", "label"),
    (".biatt-arcs .biatt-percent", "fill", "tag"),
    (".biatt-crossing .biatt-line", "stroke", "crossing"),
    (".biatt-crossing .biatt-arrow", "fill", "crossing"),
    (".biatt-crossing text", "fill", "crossing"),
    (".biatt-arcs g:hover .biatt-line", "stroke", "word"),
    (".biatt-arcs g:hover .biatt-arrow", "fill", "word"),
    (".biatt-words text", "fill", "word"),
    (".biatt-highlight", "fill", "highlight"),
    (".biatt-tags text", "fill", "tag"),
    (".biatt-lemmas text", "fill", "tag"),
    (".biatt-names text", "fill", "name"),
    (".biatt-tokens text", "fill", "word"),
    (".biatt-tokens path", "stroke", "line"),
    (".biatt-caption", "fill", "tag"),
    (".biatt-map text", "fill", "word"),
    (".biatt-map .biatt-axis", "fill", "tag"),
    (".biatt-cell", "fill", "cell"),
    (".biatt-against", "fill", "against"),
    (".biatt-map .biatt-on-cell", "fill", "on-cell"),
    (".biatt-chosen", "stroke", "word"),
    (".biatt-frame", "stroke", "grid"),
    (".biatt-grid", "fill", "grid"),
)


@lru_cache
def scoped_style(theme: Theme) -> tuple[str, str]:
    """The class of pictures in this theme, and the style sheet that holds for elements of this class only.

    The class has a checksum of the style sheet: pictures in one page that are styled differently, because
    their theme or the version of this package differs, have different classes.
    """
    blocks = [[f"SCOPE {selector} {{ {declarations} }}" for selector, declarations in _SHAPES]]
    for condition, palette in palettes(theme):
        rules = [f"SCOPE {selector} {{ {name}: {palette[key]} }}" for selector, name, key in _COLOURS]
        blocks.append([f"{condition} {{", *rules, "}"] if condition else rules)
    sheet = "\n".join(line for block in blocks for line in block).replace("SCOPE  ", "SCOPE ")
    scope = f"biatt-{sha256(sheet.encode()).hexdigest()[:6]}"
    return scope, sheet.replace("SCOPE", f".{scope}")


def palettes(theme: Theme) -> list[tuple[str, dict[str, str]]]:
    """The colours of a theme by name, each set after the condition of CSS under which it holds, if any."""
    if theme == "dark":
        return [("", _DARK)]
    return [("", _LIGHT), *([("@media (prefers-color-scheme: dark)", _DARK)] if theme == "auto" else [])]
