"""The command line: the table of its verbs, which `verbs/` defines.

`process.py` has the exit codes and what else all verbs have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

import biatt
from biatt.process import Service, SeveralValues, Verb, Verbs, run
from biatt.verbs.printing import print_text

# Verbs by group, each with its module in `verbs/`, where a function has the verb's name. A verb is imported
# when it is called or its help is shown, so that a start does not wait for the others.
VERBS: dict[str, dict[str, str]] = {
    "Use a model": {
        "parse": "parse",
        "corpus": "corpus",
        "serve": "serve",
        "suggest": "suggest",
        "info": "info",
        "models": "package",
        "warmup": "warmup",
    },
    "Work with trees": {
        "view": "view",
        "search": "search",
        "evaluate": "score",
        "compare": "score",
        "calibrate": "score",
    },
    "Make a model": {
        "train": "train",
        "vectors": "vectors",
        "package": "package",
        "reproduce": "reproduce",
    },
    "Make data": {
        "generate": "treebanks",
        "raw": "treebanks",
        "detokenise": "treebanks",
        "noise": "treebanks",
    },
}
KINDS: dict[str, type[Verb]] = {"train": SeveralValues, "serve": Service}


class LazyVerbs(Verbs):
    """The verbs of the table; which one is asked for is known when the command line has been read."""

    def __init__(self, **options: Any) -> None:
        names = [verb for verbs in VERBS.values() for verb in verbs]
        super().__init__(**{**options, "commands": dict.fromkeys(names)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _command(cmd_name) if cmd_name in self.commands else None


@cache
def _command(verb: str) -> Any:
    group, module = next((group, verbs[verb]) for group, verbs in VERBS.items() if verb in verbs)
    function: Callable[..., None] = getattr(import_module(f"biatt.verbs.{module}"), verb)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(cls=KINDS.get(verb, Verb), rich_help_panel=group)(function)
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=LazyVerbs,
    help="Dependency parsing by bi-directional attention with agreement.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
