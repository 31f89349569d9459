"""package, models: models as packages that are installed by name."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

import biatt
from biatt.verbs.options import MODEL_HELP, Output, Report, output_option
from biatt.verbs.printing import print_text, write_report

LARGEST_TEXT = 1 << 20  # bytes of a licence, or of the beginning of a card
TELLING = ("UPOS", "UAS", "LAS")
SHOWN_SCORES = ("Tokens", "Sentences", "UPOS", "Lemmas", "UAS", "LAS")

Name = Annotated[
    str,
    output_option(metavar="NAME", help="Name of the model, like da; the package is biatt-NAME."),
]
Version = Annotated[str, output_option(metavar="VERSION", help="Version of the package, like 1.0.")]
Folder = Annotated[
    Path, output_option("--output", "--out", "-o", metavar="FOLDER", help="Folder to write the wheel into.")
]
Sources = Annotated[
    bool,
    output_option(
        "--sources", help="Write the folder biatt-NAME, which pip makes the package of, instead of the wheel."
    ),
]
fact = output_option
Language = Annotated[
    str | None, fact(metavar="TEXT", help="Language; default: that of the name, if it is a code of ISO 639.")
]
Treebank = Annotated[str | None, fact(metavar="TEXT", help="Treebank and its release.")]
Licence = Annotated[str | None, fact(metavar="TEXT", help="Licence; default: that of the model's card.")]
LicenceFile = Annotated[
    Path | None, fact(metavar="FILE", help="Text of the licence; default: a statement of it, and the card.")
]
Card = Annotated[
    Path | None,
    fact(metavar="FILE", help="Markdown with source, authors and citation, which the card begins with."),
]
Test = Annotated[
    str | None,
    fact(metavar="FILE", help="CoNLL-U file to score the model on, from raw text, for the card."),
]
Sample = Annotated[
    str | None,
    fact(
        metavar="FILE",
        help="Text or CoNLL file by whose language --model auto finds the model; default: as its training "
        "text.",
    ),
]


def package(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    name: Name,
    version: Version,
    output: Folder,
    sources: Sources = False,
    language: Language = None,
    treebank: Treebank = None,
    licence: Licence = None,
    licence_file: LicenceFile = None,
    card: Card = None,
    test: Test = None,
    sample: Sample = None,
) -> None:
    """Make a package of a model, which pip installs: then its name is enough to load it.

    The package holds the model, packed into a third of its space, its card and its licence, and no program.
    The same model and options give the same file, byte for byte.
    """
    from biatt.parsing.package_model import UNSTATED, Package, profile_of, write_package, write_sources

    parser = biatt.load(model)
    if sample is not None:
        parser.profile = profile_of(sample)
    made = Package(
        name,
        version,
        language=language,
        treebank=treebank,
        licence=licence,
        licence_text=None if licence_file is None else _text(licence_file),
        introduction="" if card is None else _text(card),
        scores={} if test is None else _scores(parser, test),
    )
    if made.facts(parser.card or "")["licence"] == UNSTATED:
        print("biatt: the card states no licence; --licence states it.", file=sys.stderr)
    target = (write_sources if sources else write_package)(parser, made, output)
    files = target.rglob("*") if target.is_dir() else [target]
    print_text(f"{target}: {sum(path.stat().st_size for path in files if path.is_file()) / 1e6:.1f} MB")


def _text(path: Path) -> str:
    from biatt.data.files import reading
    from biatt.errors import FormatError

    with reading(path, max_size=LARGEST_TEXT) as stream:
        try:
            return stream.read().decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"bad UTF-8 ({error.reason}).", source=str(path)) from None


def _scores(parser: biatt.Parser, test: str) -> dict[str, float]:
    """F1 by the CoNLL 2018 evaluation, in percent, from the raw text of a treebank."""
    from biatt.data.raw_text import raw_text

    gold = list(biatt.read(test, trees=True))
    scores = biatt.evaluate(gold, parser.parse(parser.sentences([raw_text(gold)])), style="ud").scores
    return {name: 100 * scores[name].f1 for name in SHOWN_SCORES if name in scores}


def models(output: Output = "-", format: Report = None) -> None:
    """List the models that can be loaded by name: those inside biatt, and those of installed packages."""
    from biatt.evaluation.results import Table
    from biatt.models.model_facts import model_facts
    from biatt.models.named_models import named_models

    described = [model_facts(model) for model in named_models()]
    columns = ("name", "language", "treebank", "licence", "scores", "MB", "place")
    rows = [
        (
            *(facts[column] or "–" for column in columns[:4]),
            facts["problem"] or _most_telling(facts["scores"] or "–"),
            None if facts["bytes"] is None else facts["bytes"] / 1e6,
            facts["folder"] or facts["package"],
        )
        for facts in described
    ]
    write_report({"models": described}, [Table("Models", columns, rows)], output, format=format)


def _most_telling(scores: str) -> str:
    """UPOS, UAS and LAS of the scores of a card; all of them would make a row a dozen lines high."""
    telling = [part for part in re.split(r"[:,] ", scores) if part.split(" ")[0] in TELLING]
    return ", ".join(telling) or scores
