"""Dependency trees as SVG pictures: labelled arcs from heads to dependents above the words.

Arcs that cross others are orange; arcs that the parser doubts are dashed and pale and show their probability.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from biatt.data.arcs import crossing_arcs
from biatt.data.sentence import NO_HEAD, Sentence
from biatt.data.words import Token
from biatt.display.doubt import percentages
from biatt.display.layout import CORNER, GAP, MARGIN, Arc, Layout, Piece, lay_out
from biatt.display.picture import Picture, escaped
from biatt.display.style import LABEL_SIZE, TAG_SIZE, WORD_SIZE
from biatt.display.text_width import text_width
from biatt.display.word_lines import word_lines
from biatt.display.writing_systems import font_families, isolated, runs_from_right
from biatt.options import WORD_LINES, WRAP, WordLine

# Lengths in pixels.
_LEVEL = 23  # height of a level of arcs
_ARROW = 7  # length of an arrowhead
_LINE = 15  # height of a line below the words
_BRACKET = 22  # height of a bracket and the form of a multiword token
_TOP = MARGIN + 2  # above the highest level
_BETWEEN = 6  # more than that between two rows


def tree_picture(
    sentence: Sentence,
    *,
    wrap: float | None = WRAP,
    show: Sequence[WordLine] = WORD_LINES,
    marked: Collection[int] = (),
) -> Picture:
    """The tree as a picture.

    A sentence that is wider than `wrap` pixels has several rows; None keeps it in one. `show` is what stands
    below the words; below that, brackets join the words of a multiword token. The words with the numbers in
    `marked` stand out; if it is a mapping, with these names. Words without a head have no arc.
    """
    relations = ["" if relation == "_" else relation for relation in sentence.deprels]
    labels = list(zip(relations, percentages(sentence), strict=True))
    arcs = [
        Arc(head, dependent, _label_width(label))
        for dependent, (head, label) in enumerate(zip(sentence.heads, labels, strict=True), 1)
        if 0 <= head <= len(sentence) and head != dependent
    ]
    lines = _lines(sentence, show, marked)
    widths = [text_width(form, WORD_SIZE) for form in sentence.forms]
    for _, texts in lines:
        widths = [max(w, text_width(text, TAG_SIZE + 1)) for w, text in zip(widths, texts, strict=True)]
    from_right = runs_from_right(sentence.forms)
    layout = lay_out(widths, arcs, wrap=wrap, from_right=from_right)
    tokens = [token for token in sentence.tokens if token.is_multiword]
    below = WORD_SIZE + 4 + _LINE * len(lines)
    bases, height = _bases(layout, below + _BRACKET * bool(tokens))
    drawn = _drawn_arcs(sentence.forms, layout, bases, labels)
    places = _places(layout, bases)
    words = _drawn_words(sentence, places, lines, marked)
    brackets = _drawn_tokens(sentence, tokens, places, below + 5)
    return Picture(
        layout.width,
        height,
        sentence.text,
        _description(sentence),
        [*drawn, *words, *brackets],
        caption=sentence.sent_id or "",
        from_right=from_right,
    )


def _label_width(label: tuple[str, str]) -> float:
    name, percent = label
    return text_width(name, LABEL_SIZE) + (3 + text_width(percent, LABEL_SIZE - 2) if percent else 0)


def _lines(
    sentence: Sentence, show: Sequence[WordLine], marked: Collection[int]
) -> list[tuple[str, list[str]]]:
    """What stands below the words: the class of each line, and its text for each word."""
    kinds = ("biatt-lemmas" if name == "lemma" else "biatt-tags" for name in show)
    lines = list(zip(kinds, word_lines(sentence, show), strict=True))
    if isinstance(marked, Mapping):
        names = [" ".join(marked.get(word, ())) for word in range(1, len(sentence) + 1)]
        lines.append(("biatt-names", names))
    shown = [(kind, ["" if text == "_" else text for text in line]) for kind, line in lines]
    return [(kind, line) for kind, line in shown if any(line)]


def _bases(layout: Layout, below: int) -> tuple[list[int], int]:
    """For each row the y where arrows end, above `below` pixels of text; and the height of the picture."""
    bases, y = [], 0
    for row in layout.rows:
        base = y + _TOP + _LEVEL * row.levels
        bases.append(base)
        y = base + below + _BETWEEN
    return bases, y - _BETWEEN + MARGIN


def _drawn_arcs(
    forms: Sequence[str],
    layout: Layout,
    bases: Sequence[int],
    labels: Sequence[tuple[str, str]],
) -> list[str]:
    heads = [NO_HEAD] * len(forms)
    for piece in layout.pieces:
        heads[piece.arc.dependent - 1] = piece.arc.head
    crossing = crossing_arcs(heads)
    names = ["ROOT", *forms]
    result = []
    for piece in layout.pieces:
        word = piece.arc.dependent
        name, percent = labels[word - 1]
        classes = ["biatt-crossing"] * crossing[word - 1]
        classes += ["biatt-doubtful"] * bool(percent)
        kind = f' class="{" ".join(classes)}"' if classes else ""
        head, dependent = (isolated(escaped(names[number])) for number in (piece.arc.head, word))
        relation = escaped(f"{name or '_'}{percent and ', '}{percent}")
        told = f"{head} → {dependent}: {relation}"
        parts = [_path(piece, bases[piece.row], cased=crossing[word - 1])]
        if piece.label is not None and name + percent:
            y = bases[piece.row] - _LEVEL * piece.level + 4
            more = f'<tspan class="biatt-percent" dx="3">{percent}</tspan>' if percent else ""
            parts.append(f'<text x="{piece.label:g}" y="{y}">{escaped(name)}{more}</text>')
        result.append(f"<g{kind}><title>{told}</title>{''.join(parts)}</g>")
    return ['<g class="biatt-arcs">', *result, "</g>"] if result else []


def _path(piece: Piece, base: int, *, cased: bool) -> str:
    """The line of a piece and its arrowhead; the line stays clear of what it crosses if it is cased."""
    y, tip = base - _LEVEL * piece.level, base - 1
    if not piece.arc.head:
        line = f"M{piece.end:g} {y + 7} V{tip - _ARROW}"
    else:
        step = CORNER if piece.start < piece.end else -CORNER
        rise = f"{piece.start:g} {y}"
        line = f"M{piece.start:g} {tip} V{y + CORNER} Q{rise} {piece.start + step:g} {y}"
        if not piece.has_start:
            line = f"M{rise}"
        line += f" H{piece.end - step:g} Q{piece.end:g} {y} {piece.end:g} {y + CORNER} V{tip - _ARROW}"
        if not piece.has_end:
            line = line[: line.rindex(" H")] + f" H{piece.end:g}"
    casing = f'<path class="biatt-casing" d="{line}"/>' if cased else ""
    drawn = f'{casing}<path class="biatt-line" d="{line}"/>'
    if not piece.has_end:
        return drawn
    arrow = f"M{piece.end - 3.5:g} {tip - _ARROW} h7 L{piece.end:g} {tip} Z"
    return f'{drawn}<path class="biatt-arrow" d="{arrow}"/>'


def _places(layout: Layout, bases: Sequence[int]) -> list[tuple[float, int]]:
    """For each word its centre and the base of its row; entry 0 is unused."""
    places = [(0.0, 0)]
    for row, base in zip(layout.rows, bases, strict=True):
        places += [(layout.centres[word], base) for word in range(row.first, row.last + 1)]
    return places


def _drawn_words(
    sentence: Sentence,
    places: Sequence[tuple[float, int]],
    lines: Sequence[tuple[str, Sequence[str]]],
    marked: Collection[int],
) -> list[str]:
    highlights = []
    for word in sorted(marked):
        x, base = places[word]
        width = text_width(sentence.forms[word - 1], WORD_SIZE) + GAP / 2
        box = f'x="{x - width / 2:g}" y="{base + 1}" width="{width:g}" height="{WORD_SIZE + 6}" rx="4"'
        highlights.append(f'<rect class="biatt-highlight" {box}/>')
    special = _special_fonts(sentence)
    y = WORD_SIZE + 1
    result = [*highlights, *_text_group(f'class="biatt-words"{special}', sentence.forms, places, y)]
    for i, (kind, texts) in enumerate(lines, 1):
        attributes = f'class="{kind}"'
        if kind == "biatt-lemmas":
            attributes = f'class="{kind}"{special}' if special else f'class="{kind} biatt-italic"'
        result += _text_group(attributes, texts, places, y + 2 + _LINE * i)
    return result


def _drawn_tokens(
    sentence: Sentence, tokens: Sequence[Token], places: Sequence[tuple[float, int]], below: int
) -> list[str]:
    """A bracket below the words of each multiword token, with its form, in each row that has such words."""
    forms, result = sentence.forms, []
    for token in tokens:
        rows: dict[int, list[float]] = {}  # the edges of its words in each row
        for word in range(token.start + 1, token.end + 1):
            x, base = places[word]
            half = text_width(forms[word - 1], WORD_SIZE) / 2
            rows.setdefault(base, []).extend((x - half, x + half))
        for base, edges in rows.items():
            left, right, y = round(min(edges), 1), round(max(edges), 1), base + below
            result.append(f'<path d="M{left:g} {y} v4 H{right:g} v-4"/>')
            middle = round((left + right) / 2, 1)
            result.append(f'<text x="{middle:g}" y="{y + 15}">{escaped(token.form)}</text>')
    return [f'<g class="biatt-tokens"{_special_fonts(sentence)}>', *result, "</g>"] if result else []


def _special_fonts(sentence: Sentence) -> str:
    """An attribute with the fonts of the sentence's writing system, if it needs special ones."""
    families = ", ".join(f"'{family}'" for family in font_families("".join(sentence.forms)))
    return f' font-family="{families}, sans-serif"' if families else ""


def _text_group(
    attributes: str, texts: Sequence[str], places: Sequence[tuple[float, int]], below: int
) -> list[str]:
    elements = [
        f'<text x="{x:g}" y="{base + below}">{escaped(text)}</text>'
        for text, (x, base) in zip(texts, places[1:], strict=True)
        if text
    ]
    return [f"<g {attributes}>", *elements, "</g>"] if elements else []


def _description(sentence: Sentence) -> str:
    """The arcs in words, for readers who cannot see the picture."""
    names = ["the root", *(f"{form} ({i})" for i, form in enumerate(sentence.forms, 1))]
    triples = zip(names[1:], sentence.deprels, sentence.heads, strict=True)
    told = [
        f"{name} is {relation} of {names[head]}" for name, relation, head in triples if 0 <= head < len(names)
    ]
    return "; ".join(told) + "." if told else ""
