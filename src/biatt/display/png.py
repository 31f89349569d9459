"""Pictures as PNG, and which characters the installed fonts lack."""

from __future__ import annotations

import io
import logging
import re
import unicodedata
from collections.abc import Iterable
from html import unescape
from importlib.util import find_spec
from pathlib import Path

from biatt.display.picture import Picture
from biatt.display.style import FONTS
from biatt.display.writing_systems import fonts_to_install
from biatt.errors import ConfigError
from biatt.options import Theme

LONGEST_SIDE = 30_000  # pixels of a PNG; few programs open larger ones
SCALE = 2.0  # PNG pixels for each pixel of the SVG, for sharp screens

_LATIN = 0x250  # the font of matplotlib has all characters below this
_UNASSIGNED = "\u0378"  # Unicode has no such character, so that its picture is that of a missing one
_CELL = 32  # pixels for a character that is tried
_KNOWN: dict[str, bool] = {}  # characters that were tried, and whether a font has them

log = logging.getLogger(__name__)  # WARNING: which fonts are missing


def to_png(picture: Picture, *, theme: Theme = "light") -> bytes:
    """The picture as PNG. PNG does not know its reader's colour scheme: the theme "auto" is light.

    Characters that no font has are boxes; a warning says which font to install.
    """
    sides = picture.width, picture.height
    if SCALE * max(sides) > LONGEST_SIDE:
        wide, high = (round(SCALE * side) for side in sides)
        raise ConfigError(
            f"A PNG of {wide:,} by {high:,} pixels is too large: draw SVG or HTML, or wrap the sentence."
        )
    data = _rendered(picture.svg(theme="dark" if theme == "dark" else "light"), SCALE)
    missing = missing_characters(unescape(re.sub(r"<[^>]*>", "", picture.text)))
    if missing:
        log.warning("%s", _advice(missing))
    return data


def missing_characters(text: Iterable[str]) -> str:
    """The characters that no installed font has, each once. They are found by drawing them."""
    wanted = {character for character in text if ord(character) >= _LATIN and _has_shape(character)}
    unknown = sorted(wanted - _KNOWN.keys())
    if unknown:
        shapes = _shapes([_UNASSIGNED, *unknown])
        _KNOWN.update({c: shape != shapes[0] for c, shape in zip(unknown, shapes[1:], strict=True)})
    return "".join(sorted(character for character in wanted if not _KNOWN[character]))


def _has_shape(character: str) -> bool:
    """Whether a character has a shape by itself: marks, spaces and control characters do not.

    One that Python's Unicode does not know yet may have one.
    """
    category = unicodedata.category(character)
    return category[0] not in "MZ" and category not in ("Cc", "Cf", "Cs")


def _shapes(characters: list[str]) -> list[bytes]:
    """A small picture of each character, as bytes to compare."""
    from PIL import Image

    height = _CELL * len(characters)
    texts = [
        f'<text x="4" y="{_CELL * i + 24}">&#{ord(character)};</text>'
        for i, character in enumerate(characters)
    ]
    style = f"<style>text {{ font-family: {FONTS}; font-size: 20px }}</style>"
    size = f'width="{_CELL}" height="{height}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{style}{"".join(texts)}</svg>'
    with Image.open(io.BytesIO(_rendered(svg, 1.0))) as image:
        rows = image.convert("RGBA").tobytes()
    step = len(rows) // len(characters)
    return [rows[i : i + step] for i in range(0, len(rows), step)]


def _advice(missing: str) -> str:
    """What to install, in one sentence."""
    shown = " ".join(f"{character} (U+{ord(character):04X})" for character in missing[:3])
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    wanted = [
        f"{fonts.families[0]} (on Debian and Ubuntu, apt install {fonts.package})"
        if fonts
        else "a font that has them"
        for fonts in fonts_to_install(missing)
    ]
    return (
        f"No installed font has the characters {shown}{more}, so that the PNG shows boxes: install "
        f"{' and '.join(wanted)}, or draw SVG."
    )


def _rendered(svg: str, zoom: float) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError:
        raise ConfigError("PNG pictures need another package: pip install 'biatt[png]'.") from None
    fonts = _font_folders()
    return bytes(svg_to_bytes(svg_string=svg, zoom=zoom, font_dirs=fonts, sans_serif_family="DejaVu Sans"))


def _font_folders() -> list[str] | None:
    """The font folder of matplotlib, for machines without fonts, without importing it."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf"
    return [str(folder)] if folder.is_dir() else None
