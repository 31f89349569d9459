"""parse: raw text, tokens or CoNLL files."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import biatt
from biatt.errors import ConfigError
from biatt.options import Decoder, Doubtful, InputFormat, OutputFormat, Roots
from biatt.verbs.options import MODEL_HELP, Device, EngineOption, Output, Workers, input_option, output_option
from biatt.verbs.printing import parse_progress

if TYPE_CHECKING:
    from biatt.parser import Parser
    from biatt.parsing.choose_model import ChosenParsers
    from biatt.parsing.parsed_sources import Source

tree_option = partial(typer.Option, rich_help_panel="Trees")

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE", help="Text or CoNLL files, plain or compressed; default or -: standard input."
    ),
]
ModelOrAuto = Annotated[
    str,
    input_option(
        "--model",
        "-m",
        metavar="MODEL",
        help=f"{MODEL_HELP} auto: of each file, the installed model of its language.",
    ),
]
Text = Annotated[str | None, input_option(metavar="TEXT", help="Text to parse instead of a file.")]
ContentFormat = Annotated[
    InputFormat | None,
    input_option(
        "--input",
        help="What the input is: raw text, tokens (a sentence a line, spaces between them), or CoNLL; "
        "default: text or CoNLL, told by its content.",
    ),
]
MaxSize = Annotated[
    int | None,
    input_option(
        min=1,
        metavar="BYTES",
        help="Refuse larger input, after decompression; default: no limit, but compressed input may not "
        "expand more than a hundredfold beyond 64 MiB.",
    ),
]
OutputDir = Annotated[
    Path | None,
    output_option(
        metavar="FOLDER",
        help="Folder to write a file for each input file into, with its name and the suffix of the format.",
    ),
]
Format = Annotated[
    OutputFormat | None,
    output_option(
        "--format",
        "-f",
        help="CoNLL, drawn trees, JSON (a sentence a line, in .json one array), pictures of trees or of "
        "attention, or a page of them; default: by the suffix of the output; on a terminal drawn trees; else "
        "the CoNLL format that was read.",
    ),
]
Confidence = Annotated[
    bool,
    output_option(
        "--confidence",
        help="Write probabilities: HeadProb, ArcProb, Agree, RelProb and WordProb to MISC, and the "
        "log-probability of the tree to a comment.",
    ),
]
Probabilities = Annotated[
    bool,
    output_option(
        "--probabilities",
        help="Write the most probable heads, relations and tags of words that are not certain to MISC, "
        "for training on them.",
    ),
]
Offsets = Annotated[
    bool,
    output_option(
        "--offsets", help="Write the place of each token in the text to MISC: TokenRange=start:end."
    ),
]
MinConfidence = Annotated[
    float | None,
    output_option(
        min=0,
        max=1,
        metavar="P",
        help="Mark words with Doubtful=Yes in MISC whose head and relation have a lower probability; see "
        "--doubtful.",
    ),
]
DoubtfulWords = Annotated[
    Doubtful,
    output_option(
        "--doubtful", help="With --min-confidence: mark doubtful words, or leave out their head and relation."
    ),
]
FillDeps = Annotated[
    bool,
    output_option(
        "--fill-deps",
        help="Write the tree to DEPS (CoNLL-U) or PHEAD and PDEPREL (CoNLL-X) as well.",
    ),
]
KBest = Annotated[
    int, output_option(min=1, metavar="N", help="Write the N most probable trees of each sentence.")
]
Decode = Annotated[Decoder, tree_option(help="How to find a tree from the scores of its arcs.")]
NumberOfRoots = Annotated[
    Roots | None,
    tree_option(help="Number of words whose head is ROOT; default: single for CoNLL-U, any for CoNLL-X."),
]
Retag = Annotated[bool, tree_option("--retag", help="Replace the tags of a CoNLL file by new ones.")]
KeepHeads = Annotated[
    bool,
    tree_option(
        "--keep-heads",
        help="Keep the values of HEAD and DEPREL that a CoNLL file has, and parse the rest around them.",
    ),
]


def parse(
    files: Files = None,
    text: Text = None,
    model: ModelOrAuto = "en",
    input_format: ContentFormat = None,
    max_size: MaxSize = None,
    output: Output = "-",
    output_dir: OutputDir = None,
    format: Format = None,
    confidence: Confidence = False,
    probabilities: Probabilities = False,
    k_best: KBest = 1,
    offsets: Offsets = False,
    min_confidence: MinConfidence = None,
    doubtful: DoubtfulWords = "mark",
    fill_deps: FillDeps = False,
    decode: Decode = "mst",
    roots: NumberOfRoots = None,
    retag: Retag = False,
    keep_heads: KeepHeads = False,
    workers: Workers = 1,
    engine: EngineOption = "processes",
    device: Device = "cpu",
) -> None:
    """Parse raw text, tokens or CoNLL files.

    Tokens and tags that are given are kept, unless --retag asks for new tags; missing tags are added. In a
    fully tagged CoNLL file, HEAD and DEPREL change (with --keep-heads where they are missing) and all else
    stays, byte for byte. From a pipe, each sentence is written as soon as it has been read. Files are written
    one after the other to the output, or each to its own file in --output-dir. Folders, JSON lines, Parquet
    and runs that can be resumed are for biatt corpus.
    """
    from biatt.parsing.parse_file import parse_files

    if (workers != 1 or engine == "ray") and device != "cpu":
        raise ConfigError("Several workers are for the CPU; on a GPU, one process parses.")
    tasks = _tasks(files or [], text, output, output_dir, format)
    with nullcontext() if text is not None else parse_progress(str(tasks[0][1])) as progress:
        parse_files(
            _parser(model, device),
            tasks,
            input=input_format or ("text" if text is not None else None),
            format=format,
            decoder=decode,
            roots=roots,
            confidence=confidence,
            probabilities=probabilities,
            k_best=k_best,
            offsets=offsets,
            min_confidence=min_confidence,
            doubtful=doubtful,
            fill_deps=fill_deps,
            retag=retag,
            keep_heads=keep_heads,
            workers=workers,
            engine=engine,
            max_size=max_size,
            name="--text" if text is not None else None,
            progress=progress,
        )


def _parser(model: str, device: str) -> Parser | ChosenParsers:
    from biatt.models.named_models import is_auto

    if not is_auto(model):
        return biatt.load(model, device=device)
    from biatt.data.visible import visible
    from biatt.parsing.choose_model import ChosenParsers

    return ChosenParsers(device=device, tell=lambda said: print(f"biatt: {visible(said)}", file=sys.stderr))


def _tasks(
    files: list[str], text: str | None, output: str, output_dir: Path | None, format: OutputFormat | None
) -> list[tuple[Sequence[Source], str | Path]]:
    """Sources, and the target of each."""
    if text is not None:
        if files:
            raise ConfigError("Give files or --text, not both.")
        if output_dir is not None:
            raise ConfigError("--output-dir is for files; the trees of --text go to --output.")
        return [([io.BytesIO(text.encode(errors="surrogateescape"))], output)]
    if output_dir is not None:
        from biatt.parsing.parse_file import targets_in

        if output != "-":
            raise ConfigError("Give --output or --output-dir, not both.")
        if not files:
            raise ConfigError("--output-dir is for files, and none is given.")
        targets = targets_in(output_dir, files, format=format)
        return [([file], target) for file, target in zip(files, targets, strict=True)]
    if "-" in (files or ["-"]) and sys.stdin is not None and sys.stdin.isatty():
        print("Reading from the terminal: a blank line ends a paragraph, Ctrl-D the input.", file=sys.stderr)
    return [(files or ["-"], output)]
