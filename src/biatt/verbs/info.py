"""info: what a model is."""

from __future__ import annotations

from typing import Annotated

import typer

import biatt
from biatt.data.visible import visible
from biatt.verbs.options import MODEL_HELP
from biatt.verbs.printing import print_text


def info(model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)] = "en") -> None:
    """Describe a model: its size, its settings and its card."""
    parser = biatt.load(model)
    for name, value in parser.describe().items():
        print_text(f"{name:26} {visible(value)}")
    if parser.card is not None:
        print_text("\n" + parser.card.rstrip("\n"))
