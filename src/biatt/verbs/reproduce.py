"""reproduce: the experiments of a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biatt.verbs.options import Threads, input_option, output_option


def reproduce(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="TOML file that lists the runs.")],
    treebanks: Annotated[
        Path, input_option(metavar="FOLDER", help="Folder with the treebanks of the recipe.")
    ],
    models: Annotated[
        Path, output_option(metavar="FOLDER", help="Folder for the models, finished or not.")
    ] = Path("runs"),
    only: Annotated[
        list[str] | None, input_option(metavar="NAME", help="Run only this one; can be repeated.")
    ] = None,
    threads: Threads = 1,
) -> None:
    """Run the experiments of a recipe that have no results yet, and write their results beside it."""
    from biatt.recipes.reproduce import reproduce
    from biatt.training.progress import Display

    with Display() as display:

        def listener(name: str) -> Display:
            display.message(f"== {name}")
            return display

        reproduce(
            recipe, treebanks=treebanks, models=models, only=only or [], threads=threads, listener=listener
        )
