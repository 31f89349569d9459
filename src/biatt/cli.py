"""The command line: the table of its verbs, which `verbs/` defines.

`process.py` has the exit codes and what else all verbs have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import biatt
from biatt.process import Service, SeveralValues, Verb, Verbs, run
from biatt.verbs.corpus import corpus
from biatt.verbs.info import info
from biatt.verbs.package import models, package
from biatt.verbs.parse import parse
from biatt.verbs.printing import print_text
from biatt.verbs.reproduce import reproduce
from biatt.verbs.score import calibrate, compare, evaluate
from biatt.verbs.search import search
from biatt.verbs.serve import serve
from biatt.verbs.suggest import suggest
from biatt.verbs.train import train
from biatt.verbs.treebanks import detokenise, generate, noise, raw
from biatt.verbs.vectors import vectors
from biatt.verbs.view import view
from biatt.verbs.warmup import warmup

VERBS: dict[str, list[Callable[..., None]]] = {
    "Use a model": [parse, corpus, serve, suggest, info, models, warmup],
    "Work with trees": [view, search, evaluate, compare, calibrate],
    "Make a model": [train, vectors, package, reproduce],
    "Make data": [generate, raw, detokenise, noise],
}

app = typer.Typer(
    cls=Verbs,
    help="Dependency parsing by bi-directional attention with agreement.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group, verbs in VERBS.items():
    for verb in verbs:
        app.command(cls={train: SeveralValues, serve: Service}.get(verb, Verb), rich_help_panel=group)(verb)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_text(f"biatt {biatt.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    run(app)
