"""search: dependency patterns in the trees of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from biatt.errors import ConfigError
from biatt.options import SearchFormat
from biatt.verbs.options import Output, output_option

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="CoNLL file with trees, plain or compressed; - is standard input."),
]
Pattern = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN", help="Dependency pattern in Semgrex's notation: {upos:VERB}=verb >obj {}"
    ),
]
Format = Annotated[
    SearchFormat | None,
    output_option(
        "--format",
        "-f",
        help="Text (a match a line), sentences with a comment for each match, JSON (a match a line, in .json "
        "one array), drawn trees, pictures, a page of them; default: by the suffix of the output, else text.",
    ),
]
Count = Annotated[
    list[str] | None,
    output_option(
        metavar="ATTRIBUTE",
        help="Print how often each value occurs instead: lemma, feats.Tense, or verb.lemma of the node "
        "named verb; repeated: combinations of values.",
    ),
]


def search(
    file: File, pattern: Pattern, output: Output = "-", format: Format = None, count: Count = None
) -> None:
    """Find dependency patterns in the trees of a file.

    {} is a word, {upos:NOUN;lemma:/a.*/} one with these attributes, {}=name one with a name. > leads to a
    dependent, < to the head, >> and << over any number of arcs, >nsubj over an arc with this label; . leads
    to the next word, .. to any later word, $++ to a later sibling. ! is not, ? is optional, | is or, with
    brackets [ ] around it. Parentheses give a word relations of its own.
    """
    from biatt.parsing.search_file import count_file, search_file

    if not count:
        search_file(file, pattern, output, format=format)
        return
    if format or output != "-":
        raise ConfigError("--count prints a table; it goes without --format and --output.")
    from biatt.evaluation.results import Table
    from biatt.evaluation.tables import write_tables

    counts = count_file(file, pattern, count)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    title = f"{counts.total():,} matches"
    write_tables([Table(title, (*count, "count"), [(*values, number) for values, number in ordered])])
