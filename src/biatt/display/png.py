"""SVG pictures, several in one document, and as PNG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from biatt.errors import ConfigError

_SIZE = re.compile(r'^<svg [^>]*?width="([0-9.]+)" height="([0-9.]+)"')
LONGEST_SIDE = 30_000  # pixels of a PNG; few programs open larger ones
SCALE = 2.0  # PNG pixels for each pixel of the SVG, for sharp screens


def stacked(pictures: Sequence[str]) -> str:
    """One SVG picture that contains all of them, one below the other."""
    if len(pictures) == 1:
        return pictures[0]
    width, height, parts = 0.0, 0.0, []
    for picture in pictures:
        w, h = _size(picture)
        parts.append(picture.replace("<svg ", f'<svg y="{height:g}" ', 1))
        width, height = max(width, w), height + h
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *parts,
            "</svg>",
        ]
    )


def to_png(picture: str) -> bytes:
    """An SVG picture as PNG."""
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError:
        raise ConfigError("PNG pictures need another package: pip install 'biatt[png]'.") from None
    sides = _size(picture)
    if SCALE * max(sides) > LONGEST_SIDE:
        wide, high = (round(SCALE * side) for side in sides)
        raise ConfigError(f"A PNG of {wide:,} by {high:,} pixels is too large: draw SVG, or fewer sentences.")
    fonts = _font_folders()
    return bytes(
        svg_to_bytes(svg_string=picture, zoom=SCALE, font_dirs=fonts, sans_serif_family="DejaVu Sans")
    )


def _size(picture: str) -> tuple[float, float]:
    match = _SIZE.match(picture)
    if match is None:
        raise ConfigError("The SVG has no width and height.")
    return float(match[1]), float(match[2])


def _font_folders() -> list[str] | None:
    """The font folder of matplotlib, for machines without fonts, without importing it."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf"
    return [str(folder)] if folder.is_dir() else None
