"""What the command line's options can be: typer wants them as enumerations."""

from __future__ import annotations

from enum import Enum


class Decoding(str, Enum):
    mst = "mst"
    argmax = "argmax"
    projective = "projective"


class Root(str, Enum):
    single = "single"
    any = "any"


class InputFormat(str, Enum):
    text = "text"
    tokens = "tokens"
    conllu = "conllu"
    conllx = "conllx"


class OutputFormat(str, Enum):
    conllu = "conllu"
    conllx = "conllx"
    tree = "tree"
    json = "json"
    svg = "svg"
    png = "png"
    attention = "attention"


class Style(str, Enum):
    conllx = "conllx"
    ud = "ud"


class Punctuation(str, Enum):
    ignore = "ignore"
    include = "include"
