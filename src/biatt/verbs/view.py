"""view: the trees of a file as drawings, pictures or a page for a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast

from biatt.options import WRAP, Theme, ViewFormat, WordLine
from biatt.verbs.options import Output, Treebank, output_option

Format = Annotated[
    ViewFormat | None,
    output_option(
        "--format",
        "-f",
        help="Drawn trees, pictures, or a page with a table of contents; default: by the suffix of the "
        "output (.txt, .svg, .png, .html), else drawn trees.",
    ),
]
Show = Annotated[
    str,
    output_option(
        metavar="COLUMNS", help="What to show with the words: lemma, upos, xpos, comma-separated; or none."
    ),
]
Wrap = Annotated[
    int,
    output_option(
        min=0, metavar="PIXELS", help="Width at which a picture begins a new row; 0: everything in one row."
    ),
]
Colours = Annotated[
    Theme, output_option("--theme", help="Colours of pictures; auto follows the reader's colour scheme.")
]


def view(
    file: Treebank = "-",
    output: Output = "-",
    format: Format = None,
    show: Show = "upos",
    wrap: Wrap = WRAP,
    theme: Colours = "auto",
) -> None:
    """Draw the trees of a CoNLL file as they are, without parsing.

    Arcs that cross are orange. Arcs that the parser doubts, in a file of parse --confidence, are dashed and
    show their probability. Many sentences are pages: a.svg, a-2.svg, …
    """
    from biatt.display.view import view_file

    columns = [] if show == "none" else show.split(",")
    view_file(
        file,
        output,
        format=format,
        show=cast(Sequence[WordLine], columns),  # checked when drawn
        wrap=wrap or None,
        theme=theme,
    )
