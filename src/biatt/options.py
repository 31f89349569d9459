"""Options of parsing and the values of options, each defined once; without numpy, for the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

ConllFormat = Literal["conllu", "conllx"]
InputFormat = Literal["text", "tokens", "conllu", "conllx"]
OutputFormat = Literal["conllu", "conllx", "tree", "json", "svg", "png", "html", "attention"]
CorpusInput = Literal["text", "tokens", "conllu", "conllx", "jsonl", "parquet"]
CorpusFormat = Literal["conllu", "json", "parquet"]
Engine = Literal["processes", "ray"]  # what runs the workers
OnError = Literal["stop", "skip"]  # what becomes of a run when a document cannot be parsed
SearchFormat = Literal["text", "conllu", "json", "tree", "svg", "png", "html"]
PictureFormat = Literal["svg", "png", "html"]
ReportFormat = Literal["text", "json"]
ViewFormat = Literal["tree", "svg", "png", "html"]

Theme = Literal["auto", "light", "dark"]  # of pictures; auto follows the colour scheme of the reader's screen
WordLine = Literal["lemma", "upos", "xpos"]  # what pictures can show below the words
WORD_LINES: tuple[WordLine, ...] = ("upos",)  # what they show by default
WRAP = 1000  # pixels, the width beyond which the picture of a sentence is broken into rows

Decoder = Literal["mst", "argmax", "projective"]
Doubtful = Literal["mark", "leave-out"]  # what becomes of words below a minimum of confidence
Roots = Literal["single", "any"]  # number of words whose head is ROOT

Style = Literal["conllx", "ud"]  # of scoring: the CoNLL-X or the CoNLL 2018 shared task
Punctuation = Literal["ignore", "include"]

PresetName = Literal["paper", "best", "fast"]
DEFAULT_PRESET: PresetName = "best"


class TreeOptions(TypedDict, total=False):
    """How to find and to write the tree of a sentence; `Parser.parse` explains the options."""

    decoder: Decoder
    roots: Roots | None
    fill_deps: bool
    confidence: bool
    probabilities: bool


class ParseOptions(TreeOptions, total=False):
    """Options of all that parses sentences; `Parser.parse` explains them."""

    retag: bool
    keep_heads: bool


def check_names(options: Mapping[str, object]) -> None:
    """Refuse names that are no options of parsing at once, before the first sentence is read."""
    known = ParseOptions.__optional_keys__
    if unknown := options.keys() - known:
        raise TypeError(f"{min(unknown)!r} is no option of parsing; these are: {', '.join(sorted(known))}.")
