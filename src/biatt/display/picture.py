"""A picture: SVG elements with a size, which become a document, a part of a page, or PNG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from biatt.data.visible import visible
from biatt.display.style import CAPTION_SIZE, scoped_style
from biatt.options import Theme

_CAPTION_HEIGHT = CAPTION_SIZE + 14


class Picture(NamedTuple):
    """The content of an SVG document in pixels; its colours come from a style sheet."""

    width: float
    height: float
    title: str
    description: str  # for readers who cannot see the picture
    content: Sequence[str]  # SVG elements
    caption: str = ""  # tells one picture of a page from the others
    from_right: bool = False  # whether it is read from right to left

    def svg(self, *, theme: Theme = "auto") -> str:
        """A standalone SVG document; with the theme "auto", it follows the reader's colour scheme."""
        scope, sheet = scoped_style(theme)
        return _element(self, f'class="{scope}"', style=sheet)

    def part(self, *, x: float = 0, y: float = 0) -> str:
        """An SVG element without style, for a document that has the style sheet."""
        return _element(self, f'x="{x:g}" y="{y:g}"')

    @property
    def text(self) -> str:
        """What the picture is made of, to see which characters it has."""
        return "".join(self.content)


def stacked(pictures: Sequence[Picture]) -> Picture:
    """One picture that contains all of them, one below the other, each below its caption.

    One that is read from right to left begins at the right, as does its caption.
    """
    if len(pictures) == 1 and not pictures[0].caption:
        return pictures[0]
    width, height, content = max(picture.width for picture in pictures), 0.0, []
    for picture in pictures:
        if picture.caption:
            baseline = height + _CAPTION_HEIGHT - 4
            x, anchor = (width - 16, "end") if picture.from_right else (16, "start")
            place = f'x="{x:g}" y="{baseline:g}" text-anchor="{anchor}"'
            content.append(f'<text class="biatt-caption" {place}>{escaped(picture.caption)}</text>')
            height += _CAPTION_HEIGHT
        content.append(picture.part(x=width - picture.width if picture.from_right else 0, y=height))
        height += picture.height
    titles = " ".join(picture.title for picture in pictures)
    return Picture(width, round(height, 1), titles, "", content)


def _element(picture: Picture, attributes: str, *, style: str = "") -> str:
    size = f'width="{picture.width:g}" height="{picture.height:g}"'
    box = f'viewBox="0 0 {picture.width:g} {picture.height:g}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {attributes} role="img" {size} {box}>',
        f"<title>{escaped(picture.title)}</title>",
        *([f"<desc>{escaped(picture.description)}</desc>"] if picture.description else []),
        *([f"<style>\n{style}\n</style>"] if style else []),
        f'<rect class="biatt-paper" {size}/>',
        *picture.content,
        "</svg>",
    ]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """The text as the content of an SVG or HTML element."""
    return escape(visible(text), quote=False)
