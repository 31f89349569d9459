"""evaluate, compare, calibrate: how good trees and their probabilities are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import biatt
from biatt.data.files import check_not_input
from biatt.verbs.options import Gold, Model, Output, Punct, Report, Scoring, Seed, output_option
from biatt.verbs.printing import write_report


def evaluate(
    gold: Gold,
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="File with the trees of a parser.")],
    style: Scoring = None,
    punctuation: Punct = None,
    output: Output = "-",
    format: Report = None,
) -> None:
    """Score parsed sentences against gold ones."""
    check_not_input(output, [gold, system])
    result = biatt.evaluate(gold, system, style=style, punctuation=punctuation)
    write_report(result.as_dict(), result.tables(), output, format=format)


def compare(
    gold: Gold,
    a: Annotated[str, typer.Argument(metavar="A", help="File with the trees of one parser.")],
    b: Annotated[str, typer.Argument(metavar="B", help="File with the trees of another.")],
    style: Scoring = None,
    punctuation: Punct = None,
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of samples that the bootstrap draws.")
    ] = 10_000,
    seed: Seed = 1,
    show: Annotated[
        int, output_option(min=0, metavar="N", help="Number of differing sentences to print.")
    ] = 10,
    output: Output = "-",
    format: Report = None,
) -> None:
    """Compare two parsers: is B better than A, on what, and could the difference be chance?

    The bootstrap draws sentences with replacement. The interval has 95 % of the differences that it finds; p
    estimates how often the choice of sentences alone makes a difference this large. The sign test counts the
    sentences on which each parser is better; its p is the probability of counts so unequal by chance.
    """
    check_not_input(output, [gold, a, b])
    result = biatt.compare(gold, a, b, style=style, punctuation=punctuation, samples=samples, seed=seed)
    write_report(result.as_dict(), result.tables(show=show), output, format=format)


def calibrate(
    gold: Gold,
    model: Model = "en",
    plot: Annotated[
        Path | None, output_option(metavar="FILE", help="PNG file for a reliability diagram.")
    ] = None,
    fit: Annotated[
        bool,
        typer.Option(
            "--fit",
            help="Fit the confidence of the model to GOLD first, and store it in the model folder. The "
            "figures are then cross-validated: each sentence's are those of a fit without it.",
        ),
    ] = False,
    output: Output = "-",
    format: Report = None,
) -> None:
    """Measure calibration: accuracy at each level of confidence.

    A model that chooses tags parses with its tags, not with those of the file.
    """
    from biatt.evaluation.calibration import draw, require_matplotlib
    from biatt.training.calibrate import calibrate_model

    check_not_input(output, [gold])
    if plot:
        require_matplotlib()
    result = calibrate_model(model, gold, fit=fit)
    if plot:
        draw(result, plot)
    write_report(result.as_dict(), result.tables(), output, format=format)
