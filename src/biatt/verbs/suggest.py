"""suggest: the sentences to annotate next."""

from __future__ import annotations

from typing import Annotated

import typer

import biatt
from biatt.verbs.options import Device, Model, Output, Workers
from biatt.verbs.parse import ContentFormat, Format, Retag
from biatt.verbs.printing import parse_progress

Pool = Annotated[
    list[str],
    typer.Argument(metavar="POOL", help="Text or CoNLL files, plain or compressed; - is standard input."),
]
Count = Annotated[int, typer.Option(min=1, metavar="N", help="Number of sentences to choose.")]


def suggest(
    pool: Pool,
    count: Count = 100,
    model: Model = "en",
    input_format: ContentFormat = None,
    output: Output = "-",
    format: Format = None,
    retag: Retag = False,
    workers: Workers = 1,
    device: Device = "cpu",
) -> None:
    """Choose the sentences of a pool whose annotation would teach the model most.

    These are sentences of whose trees the model is least certain, by the entropy of all trees for each word,
    and that differ from each other in words and constructions. They are written with the tree of the model as
    a first proposal, the most useful first; comments give the rank (suggestion) and the entropy in nats
    (tree_entropy). The same pool and model give the same sentences.
    """
    from biatt.parsing.suggest import suggest_from_files

    with parse_progress(output) as progress:
        suggest_from_files(
            biatt.load(model, device=device),
            pool,
            output,
            count=count,
            input=input_format,
            format=format,
            retag=retag,
            workers=workers,
            progress=progress,
        )
