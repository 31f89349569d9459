"""Attention maps: the probabilities of heads in both directions, where these differ, and their agreement."""

from __future__ import annotations

from typing import NamedTuple

from biatt.data.scores import Floats
from biatt.data.sentence import Sentence
from biatt.display.picture import Picture, escaped
from biatt.display.style import TAG_SIZE
from biatt.display.text_width import text_width
from biatt.display.writing_systems import font_families
from biatt.errors import ConfigError

# Lengths in pixels.
_CELL = 22
_MARGIN = 16
_GAP = 6  # between words and cells
_TITLE = 26  # height of a title and the name of the axis below it
_AXIS = 20
_BETWEEN = 34  # panels
_SCALE_WIDTH, _SCALE_HEIGHT = 180, 10
_SHADES = 30  # steps of the scale

_FAINTEST = 0.004  # probabilities below this are not shown
_NUMBERED = 0.05  # at least this has its percentage in the cell, unless it is nearly 1
_NUMBERED_DIFFERENCE = 0.005
_CERTAIN = 0.95
_STRONG = 0.45  # opacity from which on a number is written in the colour of the background
_TICKS = (0.0, 0.05, 0.2, 0.5, 1.0)  # of the scale


class _Panel(NamedTuple):
    title: str
    values: Floats  # (n, n + 1)  a row a dependent, a column a head
    numbered: float = _NUMBERED  # the smallest value that is written in its cell


def attention_picture(sentence: Sentence) -> Picture:
    """Tables with a row for each dependent and a column for each head: the more probable, the stronger.

    There are four: the two directions, the first minus the second, and both together. A model with one
    direction has one. The heads of the tree are framed.
    """
    panels = _panels(sentence)
    heads = ["ROOT", *sentence.forms]
    label = max(text_width(form, TAG_SIZE + 1) for form in heads) + _GAP
    wide, high = _CELL * len(heads), _CELL * len(sentence)
    step_x = _AXIS + label + wide + _BETWEEN
    step_y = _TITLE + _AXIS + label + high + _BETWEEN
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    content = []
    for k, panel in enumerate(panels):
        left = _MARGIN + _AXIS + label + step_x * (k % columns)
        top = _MARGIN + _TITLE + _AXIS + label + step_y * (k // columns)
        content += _drawn_panel(panel, sentence, left, top, label)
    bottom = _MARGIN + step_y * rows - _BETWEEN / 2
    content += _scale(_MARGIN, bottom, signed=len(panels) > 1)
    scales = min(2, len(panels)) * (_SCALE_WIDTH + _BETWEEN)
    width = 2 * _MARGIN + max(step_x * columns, scales) - _BETWEEN
    families = ", ".join(f"'{family}'" for family in font_families("".join(sentence.forms)))
    fonts = f' font-family="{families}, sans-serif"' if families else ""
    text = sentence.text
    return Picture(
        round(width, 1),
        round(bottom + 46, 1),
        f"Attention: {text}",
        "",
        [f'<g class="biatt-map"{fonts}>', *content, "</g>"],
        sentence.sent_id or "",
    )


def _panels(sentence: Sentence) -> list[_Panel]:
    tables = sentence.attention
    if tables is None or sentence.scores is None:
        raise ConfigError("The sentence carries no attention: parse it with confidence=True.")
    if sentence.scores.left is sentence.scores.right:
        return [_Panel("Probability of each head", tables.agreement)]
    return [
        _Panel("Left to right", tables.left_to_right),
        _Panel("Right to left", tables.right_to_left),
        _Panel(
            "Left to right minus right to left",
            tables.left_to_right - tables.right_to_left,
            _NUMBERED_DIFFERENCE,
        ),
        _Panel("Agreement of both", tables.agreement),
    ]


def _drawn_panel(panel: _Panel, sentence: Sentence, left: float, top: float, label: float) -> list[str]:
    heads = ["ROOT", *sentence.forms]
    wide, high = _CELL * len(heads), _CELL * len(sentence)
    edge, above = left - label - _AXIS, top - label
    turned = f"rotate(-90 {edge + 12:g} {top + high / 2:g})"
    parts = [
        _text("biatt-title", left, above - _AXIS - 8, panel.title, "start"),
        _text("biatt-axis", left + wide / 2, above - 8, "head"),
        _text("biatt-axis", edge + 12, top + high / 2, "dependent", transform=turned),
        f'<rect class="biatt-frame" x="{left:g}" y="{top:g}" width="{wide}" height="{high}"/>',
    ]
    for i, form in enumerate(sentence.forms):
        parts.append(_text("", left - _GAP, top + _CELL * (i + 0.69), form, "end"))
    for j, form in enumerate(heads):
        x, y = left + _CELL * (j + 0.69), top - _GAP
        parts.append(_text("", x, y, form, "start", transform=f"rotate(-90 {x:g} {y:g})"))
    for i, row in enumerate(panel.values.tolist()):
        for j, value in enumerate(row):
            if abs(value) >= _FAINTEST:
                number = f"{100 * value:.0f}".replace("-", "−")
                written = panel.numbered <= abs(value) < _CERTAIN
                parts += _drawn_cell(left + _CELL * j, top + _CELL * i, value, number if written else "")
    parts += [
        f'<rect class="biatt-chosen" x="{left + _CELL * head + 1:g}" y="{top + _CELL * i + 1:g}" '
        f'width="{_CELL - 2}" height="{_CELL - 2}"/>'
        for i, head in enumerate(sentence.heads)
    ]
    return parts


def _drawn_cell(x: float, y: float, value: float, number: str) -> list[str]:
    kind = "biatt-cell" if value > 0 else "biatt-against"
    opacity = _opacity(value)
    parts = [
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{_CELL}" height="{_CELL}" opacity="{opacity:.3f}"/>'
    ]
    if number:
        colour = "biatt-number biatt-on-cell" if opacity >= _STRONG else "biatt-number"
        parts.append(_text(colour, x + _CELL / 2, y + _CELL / 2 + 3, number))
    return parts


def _opacity(value: float) -> float:
    """The root of a probability, so that 1 % can be seen beside 100 %."""
    return float(min(abs(value), 1.0) ** 0.5)


def _scale(left: float, top: float, *, signed: bool) -> list[str]:
    """What the colours mean: a bar for probabilities, and one for differences below 0 if there are any."""
    bars = [("biatt-cell", "probability, or difference above 0" if signed else "probability", "")]
    if signed:
        bars.append(("biatt-against", "difference below 0", "−"))
    parts = []
    for kind, name, sign in bars:
        step = _SCALE_WIDTH / _SHADES
        parts += [
            f'<rect class="{kind}" x="{left + step * i:g}" y="{top:g}" width="{step:g}" '
            f'height="{_SCALE_HEIGHT}" opacity="{(i + 0.5) / _SHADES:.3f}"/>'
            for i in range(_SHADES)
        ]
        for value in _TICKS:
            x = left + _SCALE_WIDTH * _opacity(value)
            parts.append(
                _text("biatt-number", x, top + _SCALE_HEIGHT + 11, f"{sign if value else ''}{value:g}")
            )
        parts.append(_text("biatt-axis", left, top + _SCALE_HEIGHT + 25, name, "start"))
        left += _SCALE_WIDTH + _BETWEEN
    return parts


def _text(kind: str, x: float, y: float, text: str, anchor: str = "middle", *, transform: str = "") -> str:
    attributes = f'x="{round(x, 1):g}" y="{round(y, 1):g}"'
    if kind:
        attributes = f'class="{kind}" {attributes}'
    if anchor != "middle":
        attributes += f' text-anchor="{anchor}"'
    if transform:
        attributes += f' transform="{transform}"'
    return f"<text {attributes}>{escaped(text)}</text>"
