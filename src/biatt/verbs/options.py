"""Options that several verbs have, each defined once."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from biatt.options import Engine, Punctuation, ReportFormat, Style

# The options of a verb are grouped in its help.
input_option = partial(typer.Option, rich_help_panel="Input")
output_option = partial(typer.Option, rich_help_panel="Output")
running_option = partial(typer.Option, rich_help_panel="Running")

MODEL_HELP = "Name of a model (see biatt models), or a model folder."

Model = Annotated[str, input_option("--model", "-m", metavar="MODEL", help=MODEL_HELP)]
Output = Annotated[
    str, output_option("--output", "-o", metavar="FILE", help="File to write; - is standard output.")
]
Threads = Annotated[int, running_option(min=1, metavar="N", help="Number of cores to use.")]
Workers = Annotated[
    int,
    running_option(min=0, metavar="N", help="Processes that parse, each on a core; 0: one on each core."),
]
EngineOption = Annotated[
    Engine,
    running_option(
        "--engine", help="Processes of this machine, or Ray, on this machine or the cluster of RAY_ADDRESS."
    ),
]
Device = Annotated[str, running_option(metavar="DEVICE", help="cpu, or cuda for a GPU.")]
Seed = Annotated[int, running_option(min=0, metavar="N", help="Same seed, same output.")]

Treebank = Annotated[
    str, typer.Argument(metavar="FILE", help="CoNLL-U file, plain or compressed; - is standard input.")
]
Gold = Annotated[str, typer.Argument(metavar="GOLD", help="File with the gold trees.")]
Scoring = Annotated[
    Style | None,
    typer.Option(
        "--style", help="Rules of CoNLL-X or of CoNLL 2018 (ud); default: by the gold file's format."
    ),
]
Punct = Annotated[Punctuation | None, typer.Option(help="Default: ignore for conllx, include for ud.")]
Report = Annotated[
    ReportFormat | None,
    output_option(
        "--format",
        "-f",
        help="Tables, or the whole result as JSON; default: by the suffix of the output (.txt, .json), else "
        "tables.",
    ),
]
