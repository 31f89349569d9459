"""A page of trees for a browser: a table of contents, and a picture of each sentence. It needs no script."""

from __future__ import annotations

from collections.abc import Sequence

from biatt.display.picture import Picture, escaped
from biatt.display.style import palettes, scoped_style
from biatt.options import Theme

SENTENCES_PER_PAGE = 200
_CONTENTS_WORDS = 12  # of a sentence in the table of contents

_PAGE_STYLE = """\
html { color-scheme: SCHEME; scroll-padding-top: 1rem }
body { margin: 0; background: var(--paper); color: var(--word); font: 15px/1.5 system-ui, sans-serif }
a { color: var(--label); text-decoration: none }
a:hover { text-decoration: underline }
header, footer { padding: 1rem 1.5rem; color: var(--tag) }
header { border-bottom: 1px solid var(--grid) }
h1 { margin: 0; font-size: 1.3rem; color: var(--word) }
.pages { display: flex; flex-wrap: wrap; gap: 0.3rem 0.7rem; margin-top: 0.4rem }
.pages strong { color: var(--word) }
.columns { display: grid; grid-template-columns: 19rem minmax(0, 1fr) }
.contents { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; box-sizing: border-box;
  padding: 1rem; border-right: 1px solid var(--grid); font-size: 0.85rem }
.contents ol { list-style: none; margin: 0; padding: 0 }
.contents a { display: flex; gap: 0.6em; padding: 0.15rem 0.4rem; border-radius: 4px; color: inherit }
.contents a:hover { background: var(--grid); text-decoration: none }
.contents .number { color: var(--tag); min-width: 2em; text-align: right; font-variant-numeric: tabular-nums }
.contents .start { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; flex: 1 }
main { padding: 0 1.5rem 3rem }
section { padding: 1.2rem 0; border-bottom: 1px solid var(--grid); content-visibility: auto;
  contain-intrinsic-size: auto 320px }
section:target h2 { background: var(--highlight) }
h2 { display: inline-block; margin: 0; padding: 0 0.4em 0 0; border-radius: 4px; font-size: 0.85rem;
  font-weight: normal; color: var(--tag) }
.text { margin: 0.1rem 0 0.4rem; max-width: 60rem }
.scroll { overflow-x: auto }
.scroll svg { display: block }
@media (max-width: 60rem) {
  .columns { display: block }
  .contents { position: static; max-height: 14rem; border-right: 0; border-bottom: 1px solid var(--grid) }
}
@media print {
  .contents, .pages { display: none }
  .columns { display: block }
  section { break-inside: avoid }
}"""

_LEGEND = "Dashed arcs: the parser's probability is below 80 %. Orange arcs cross each other."


def html_page(
    pictures: Sequence[Picture],
    *,
    first: int,
    of: int,
    pages: Sequence[str],
    page: int,
    theme: Theme,
    title: str,
) -> str:
    """A whole page with some of the pictures, from number `first` on; `pages` are the names of all pages."""
    scope, sheet = scoped_style(theme)
    scheme = "light dark" if theme == "auto" else theme
    last = first + len(pictures) - 1
    shown = f"{of:,} sentence{'s' * (of != 1)}"
    if len(pages) > 1:
        shown = f"Sentences {first:,} to {last:,} of {of:,}"
    links = _page_links(pages, page)
    numbered = list(enumerate(pictures, first))
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escaped(title)}</title>",
            f"<style>\n{_variables(theme)}\n{_PAGE_STYLE.replace('SCHEME', scheme)}\n{sheet}\n</style>",
            "</head>",
            "<body>",
            f"<header><h1>{escaped(title)}</h1>{shown}{links}</header>",
            '<div class="columns">',
            '<nav class="contents" aria-label="Sentences"><ol>',
            *(_contents_line(number, picture) for number, picture in numbered),
            "</ol></nav>",
            f'<main class="{scope}">',
            *(_section(number, picture) for number, picture in numbered),
            "</main>",
            "</div>",
            f"<footer>{_LEGEND}{links}</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _variables(theme: Theme) -> str:
    blocks = []
    for condition, palette in palettes(theme):
        names = " ".join(f"--{name}: {colour};" for name, colour in palette.items())
        blocks.append(f"{condition} {{ :root {{ {names} }} }}" if condition else f":root {{ {names} }}")
    return "\n".join(blocks)


def _page_links(pages: Sequence[str], page: int) -> str:
    if len(pages) < 2:
        return ""
    links = [
        f"<strong>{number}</strong>" if number == page + 1 else f'<a href="{escaped(name)}">{number}</a>'
        for number, name in enumerate(pages, 1)
    ]
    return f'<nav class="pages" aria-label="Pages"><span>Page</span>{" ".join(links)}</nav>'


def _contents_line(number: int, picture: Picture) -> str:
    words = picture.title.split(" ")
    start = " ".join(words[:_CONTENTS_WORDS]) + (" …" if len(words) > _CONTENTS_WORDS else "")
    return (
        f'<li><a href="#s{number}"><span class="number">{number}</span>'
        f'<span class="start" dir="auto">{escaped(start)}</span></a></li>'
    )


def _section(number: int, picture: Picture) -> str:
    direction = "rtl" if picture.from_right else "ltr"
    name = f" {escaped(picture.caption)}" if picture.caption else ""
    return (
        f'<section id="s{number}" dir="{direction}"><h2><a href="#s{number}">{number}</a>{name}</h2>'
        f'<p class="text">{escaped(picture.title)}</p>\n'
        f'<div class="scroll" tabindex="0">{picture.part()}</div></section>'
    )
