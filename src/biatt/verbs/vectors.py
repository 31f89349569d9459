"""vectors: skip-gram word vectors."""

from __future__ import annotations

from typing import Annotated

import typer

from biatt.options import InputFormat
from biatt.verbs.options import Threads, input_option, output_option, running_option


def vectors(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Text or CoNLL files, plain or compressed; - is standard input."),
    ],
    output: Annotated[
        str,
        output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write, in word2vec's text format; - is standard output.",
        ),
    ],
    size: Annotated[int, typer.Option(min=1, metavar="N", help="Length of a vector.")] = 100,
    window: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of neighbours on each side of a word.")
    ] = 5,
    min_count: Annotated[int, typer.Option(min=1, metavar="N", help="Rarer words get no vector.")] = 2,
    epochs: Annotated[int, typer.Option(min=1, metavar="N", help="Passes over the text.")] = 5,
    negative: Annotated[int, typer.Option(min=1, metavar="N", help="Number of negative samples.")] = 5,
    seed: Annotated[
        int,
        running_option(min=0, max=2**32 - 1, metavar="N", help="Same seed, one thread: same vectors."),
    ] = 1,
    threads: Threads = 1,
    input_format: Annotated[
        InputFormat | None,
        input_option(
            "--input",
            help="What the input is: text (a sentence a line), tokens (with spaces around punctuation), or "
            "CoNLL; default: text or CoNLL, told by its content.",
        ),
    ] = None,
) -> None:
    """Train skip-gram word vectors on raw or parsed text, for train --embeddings."""
    from biatt.training.progress import Display
    from biatt.training.word_vectors import train_vectors

    with Display() as display:
        done = train_vectors(
            files,
            output,
            size=size,
            window=window,
            min_count=min_count,
            epochs=epochs,
            negative=negative,
            seed=seed,
            threads=threads,
            input=input_format,
            listener=display,
        )
        display.message(
            f"{done.sentences:,} sentences, {done.words:,} words, {done.vocabulary:,} vectors in {output}."
        )
