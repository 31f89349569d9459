"""The values that options can take, each defined once, without numpy: the command line shows them."""

from __future__ import annotations

from typing import Literal

ConllFormat = Literal["conllu", "conllx"]
InputFormat = Literal["text", "tokens", "conllu", "conllx"]
OutputFormat = Literal["conllu", "conllx", "tree", "json", "svg", "png", "attention"]
SearchFormat = Literal["text", "conllu", "json", "tree", "svg"]

Decoder = Literal["mst", "argmax", "projective"]
Roots = Literal["single", "any"]  # number of words whose head is ROOT

Style = Literal["conllx", "ud"]  # of scoring: the CoNLL-X or the CoNLL 2018 shared task
Punctuation = Literal["ignore", "include"]

PresetName = Literal["paper", "best", "fast"]
