"""raw, detokenise, noise, generate: other texts from a treebank, and a toy treebank."""

from __future__ import annotations

from typing import Annotated

import typer

import biatt
from biatt.data.files import check_not_input, writing
from biatt.verbs.options import Output, Seed, Treebank


def raw(file: Treebank = "-", output: Output = "-") -> None:
    """Write the raw text of a treebank, for example to test a pipeline on it.

    Space is that of MISC: of a text that `biatt parse` has parsed, the text comes back byte for byte. Else a
    paragraph is a line.
    """
    from biatt.data.raw_text import raw_text

    check_not_input(output, [file])
    with writing(output) as target:
        target.write(raw_text(biatt.read(file)).encode())


def detokenise(file: Treebank = "-", output: Output = "-") -> None:
    """Restore the spaces of a treebank that does not say where they are, by rules of spelling.

    Reads CoNLL-U or CoNLL-X, and writes CoNLL-U with SpaceAfter=No, and with the text of each sentence. The
    spaces of a treebank that has them are replaced too, for example to see how good the rules are.
    """
    from biatt.data.detokeniser import with_spaces

    check_not_input(output, [file])
    biatt.write(map(with_spaces, biatt.read(file)), output)


def noise(
    file: Treebank = "-",
    output: Output = "-",
    kinds: Annotated[
        str | None,
        typer.Option(metavar="KINDS", help="Kinds of noise, comma-separated; default: all of them."),
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Share of the paragraphs to change.")
    ] = 1.0,
    seed: Seed = 1,
) -> None:
    """Write a noisy copy of a treebank, to test a pipeline on text as it is found in the wild.

    Words: lower and upper (case), unended (lines without final punctuation), headline (these with capitals),
    bare (lower case without punctuation). Spaces: wrapped (broken lines), joined (paragraphs that only a line
    break separates). A paragraph gets one kind of each. Trees, numbers and texts stay right.
    """
    from biatt.training.noise import KINDS, noise_kinds, write_noisy

    write_noisy(file, output, rate=rate, seed=seed, kinds=KINDS if kinds is None else noise_kinds(kinds))


def generate(
    count: Annotated[int, typer.Argument(min=1, metavar="COUNT", help="Number of sentences.")] = 1000,
    output: Output = "-",
    seed: Seed = 1,
) -> None:
    """Write a toy treebank of generated English sentences, for first steps and tests."""
    from biatt.data.toy_treebank import generate

    biatt.write(generate(count, seed=seed), output)
