"""Attention maps as SVG: the probabilities of heads in both directions, and their agreement."""

from __future__ import annotations

from biatt.data.sentence import Sentence
from biatt.display.svg import escaped, text_width
from biatt.errors import ConfigError

_CELL = 18  # pixels
_SIZE = 12  # of the words
_TITLE = 14
_GAP = 12  # distance of words and cells
_MARGIN = 16
_FAINTEST = 0.004  # a probability below this is white

_STYLE = f"""\
text {{ font-family: "Helvetica Neue", Helvetica, Arial, "Noto Sans", sans-serif; fill: #111827 }}
.word {{ font-size: {_SIZE}px }}
.title {{ font-size: {_TITLE}px }}
.cell {{ fill: #1d4ed8 }}
.chosen {{ fill: none; stroke: #dc2626; stroke-width: 1.4px }}
.frame {{ fill: none; stroke: #9ca3af }}"""


def attention_svg(sentence: Sentence) -> str:
    """Three tables: a row a dependent, a column a head, darker if more probable; the tree is marked red."""
    tables = sentence.attention
    if tables is None:
        raise ConfigError("The sentence carries no attention: parse it with confidence=True.")
    heads = ["ROOT", *sentence.forms]
    label = max(text_width(form, _SIZE) for form in heads) + _GAP
    size = _CELL * len(sentence), _CELL * len(heads)  # high, wide
    height = 2 * _MARGIN + _TITLE + _GAP + label + size[0]
    width = _MARGIN + label + 3 * (size[1] + _MARGIN)
    top = _MARGIN + _TITLE + _GAP + label
    parts = [
        f'<text class="word" x="{_MARGIN + label - _GAP / 2:g}" y="{top + _CELL * (i + 0.7):g}" '
        f'text-anchor="end">{escaped(form)}</text>'
        for i, form in enumerate(sentence.forms)
    ]
    titles = ("left to right", "right to left", "agreement")
    for k, (title, table) in enumerate(zip(titles, tables, strict=True)):
        left = _MARGIN + label + k * (size[1] + _MARGIN)
        parts.append(f'<text class="title" x="{left:g}" y="{_MARGIN + _TITLE}">{title}</text>')
        for j, form in enumerate(heads):
            x, y = left + _CELL * (j + 0.7), top - _GAP / 2
            turned = f'transform="rotate(-90 {x:g} {y:g})"'
            parts.append(f'<text class="word" x="{x:g}" y="{y:g}" {turned}>{escaped(form)}</text>')
        square = f'width="{_CELL}" height="{_CELL}"'
        parts += [
            f'<rect class="cell" x="{left + _CELL * j:g}" y="{top + _CELL * i:g}" {square} '
            f'opacity="{probability:.3f}"/>'
            for i, row in enumerate(table.tolist())
            for j, probability in enumerate(row)
            if probability >= _FAINTEST
        ]
        parts += [
            f'<rect class="chosen" x="{left + _CELL * head + 1:g}" y="{top + _CELL * i + 1:g}" '
            f'width="{_CELL - 2}" height="{_CELL - 2}"/>'
            for i, head in enumerate(sentence.heads)
        ]
        frame = f'x="{left:g}" y="{top:g}" width="{size[1]}" height="{size[0]}"'
        parts.append(f'<rect class="frame" {frame}/>')
    sizes = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {sizes}>',
            f"<title>Attention: {escaped(sentence.text or ' '.join(sentence.forms))}</title>",
            f"<style>\n{_STYLE}\n</style>",
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *parts,
            "</svg>",
        ]
    )
