"""corpus: many documents into shards, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biatt.options import CorpusFormat, CorpusInput, OnError
from biatt.verbs.options import EngineOption, Model, Workers, input_option, output_option, running_option
from biatt.verbs.parse import (
    Confidence,
    Decode,
    FillDeps,
    KeepHeads,
    NumberOfRoots,
    Offsets,
    Probabilities,
    Retag,
)
from biatt.verbs.printing import parse_progress, print_text

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT", help="Files, plain or compressed, folders, or patterns such as 'data/**/*.jsonl'."
    ),
]
Folder = Annotated[
    Path, output_option("--output-dir", metavar="FOLDER", help="Folder for the shards and the manifest.")
]
DocumentFormat = Annotated[
    CorpusInput | None,
    input_option(
        "--input",
        help="What the inputs are; default: by the suffix (.jsonl, .parquet), else text or CoNLL, told by "
        "the content.",
    ),
]
Field = Annotated[
    str, input_option(metavar="NAME", help="Field or column of the text, in JSON lines and Parquet.")
]
IdField = Annotated[str, input_option(metavar="NAME", help="Field or column of the document's id.")]
Format = Annotated[
    CorpusFormat, output_option("--format", "-f", help="CoNLL-U, JSON lines (a document a line) or Parquet.")
]
ShardCharacters = Annotated[
    int, output_option(min=1, metavar="N", help="Characters of text in a shard, about.")
]
Resume = Annotated[
    bool, running_option("--resume", help="Go on with a run that has ended early; what is finished stays.")
]
OnErrorOption = Annotated[
    OnError,
    running_option(
        "--on-error", help="When a document cannot be parsed: stop, or note it in the manifest and go on."
    ),
]


def corpus(
    inputs: Inputs,
    output_dir: Folder,
    model: Model = "en",
    input_format: DocumentFormat = None,
    field: Field = "text",
    id_field: IdField = "id",
    format: Format = "conllu",
    shard_characters: ShardCharacters = 1_000_000,
    confidence: Confidence = False,
    probabilities: Probabilities = False,
    offsets: Offsets = False,
    fill_deps: FillDeps = False,
    decode: Decode = "mst",
    roots: NumberOfRoots = None,
    retag: Retag = False,
    keep_heads: KeepHeads = False,
    workers: Workers = 1,
    engine: EngineOption = "processes",
    resume: Resume = False,
    on_error: OnErrorOption = "stop",
) -> None:
    """Parse the documents of many files into shards, with a manifest.

    A shard is a file that is written whole or not at all. The manifest, _manifest.jsonl, has the inputs and
    the finished shards with their checksums, and the documents that could not be parsed with the reason. A
    run that was interrupted, by whatever, goes on with --resume. The shards do not depend on the workers.
    """
    from biatt.corpus.records import Fields
    from biatt.corpus.run import parse_corpus

    with parse_progress(str(output_dir)) as progress:
        totals = parse_corpus(
            inputs,
            output_dir,
            model=model,
            input=input_format,
            fields=Fields(field, id_field),
            format=format,
            shard_characters=shard_characters,
            workers=workers,
            engine=engine,
            resume=resume,
            on_error=on_error,
            offsets=offsets,
            progress=progress,
            decoder=decode,
            roots=roots,
            confidence=confidence,
            probabilities=probabilities,
            fill_deps=fill_deps,
            retag=retag,
            keep_heads=keep_heads,
        )
    failures = f", {len(totals.failures):,} documents not parsed" if totals.failures else ""
    print_text(f"{totals.documents:,} documents, {totals.words:,} words, {totals.shards:,} shards{failures}")
