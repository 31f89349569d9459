"""The command line: parses options, calls one function a verb, prints."""

from __future__ import annotations

import io
import logging
import os
import shlex
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

import biatt
from biatt.data.visible import json_text, visible
from biatt.errors import BiattError, ConfigError
from biatt.options import Decoder, InputFormat, OutputFormat, PresetName, Punctuation, Roots, Style


class Verbs(TyperGroup):
    """Bad input is one sentence on standard error and exit code 2, whatever the verb."""

    def invoke(self, ctx: Any) -> Any:  # typer would turn some of these into exits of its own
        try:
            return super().invoke(ctx)
        except BiattError as error:
            _leave(str(error), code=2)
        except KeyboardInterrupt:
            _leave("interrupted.", code=130)
        except BrokenPipeError:  # the reader of our output has left: nothing to say to it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(141) from None


def _leave(text: str, *, code: int) -> NoReturn:
    print(f"biatt: {visible(text)}", file=sys.stderr)
    raise SystemExit(code)


app = typer.Typer(
    cls=Verbs,
    help="Dependency parsing by bi-directional attention with agreement.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

MODEL_HELP = "Name of a bundled model, or folder of your own."
THREADS_HELP = "How many cores to use."
STYLE_HELP = "CoNLL-X or CoNLL 2018 (ud) scoring; default: by the gold file's format."
PUNCTUATION_HELP = "Default: ignore for conllx, include for ud."


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"biatt {biatt.__version__}")
        raise typer.Exit


def _settings(wanted: bool) -> None:
    if wanted:
        from biatt.training.settings import described_settings

        for name, default, text, other_values in described_settings():
            others = "".join(f", {other} {value}" for other, value in other_values.items())
            typer.echo(f"{name}={default}{others}\n    {text}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


@app.command()
def train(
    train: Annotated[list[Path], typer.Option(help="CoNLL-U or CoNLL-X files, plain or compressed.")],
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[TRAIN]...", help="Further training files.")
    ] = None,
    dev: Annotated[Path | None, typer.Option(help="File to choose the model by.")] = None,
    dev_fraction: Annotated[
        float, typer.Option(help="Share of the training sentences to hold out where there is no --dev.")
    ] = 0.05,
    preset: Annotated[
        PresetName | None,
        typer.Option(help="Where the settings start; default: paper, or best with --pipeline."),
    ] = None,
    hidden: Annotated[
        str | None, typer.Option(metavar="N", help="Hidden size, or a language of the paper for its size.")
    ] = None,
    embeddings: Annotated[
        Path | None, typer.Option(help="Word vectors: word2vec text or binary, GloVe, fastText .vec.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Same seed, same machine, same threads: same weights.")
    ] = 1,
    threads: Annotated[int, typer.Option(min=1, help=THREADS_HELP)] = 1,
    search_rate: Annotated[
        bool,
        typer.Option("--search-rate", help="First find the initial rate by one epoch of each candidate."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run in --out.")] = False,
    pipeline: Annotated[
        bool,
        typer.Option(
            "--pipeline", help="Train a tokeniser and a tagger too, so that the model takes raw text."
        ),
    ] = False,
    ensemble: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Train an ensemble of N seeds and average their probabilities."
        ),
    ] = 1,
    set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Change a setting; see --settings. Of a pipeline also tokeniser.KEY, tagger.KEY and folds.",
        ),
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence to state in the model card.")] = "not stated",
    device: Annotated[str, typer.Option(help="cpu, or cuda for a GPU.")] = "cpu",
    list_settings: Annotated[
        bool,
        typer.Option("--settings", callback=_settings, is_eager=True, help="List the settings and leave."),
    ] = False,
) -> None:
    """Train a parser on a treebank.

    The folder holds a loadable model, the best so far, from the parser's first epoch on. Interrupt it at any
    time and go on with --resume.
    """
    from biatt.training.progress import Display
    from biatt.training.settings import configurations

    config, pipeline_config = configurations(set or [], preset_name=preset, hidden=hidden, pipeline=pipeline)
    with Display() as display:
        biatt.train(
            [*train, *(more or [])],
            out=out,
            dev=dev,
            dev_fraction=dev_fraction,
            config=config,
            embeddings=embeddings,
            seed=seed,
            threads=threads,
            search_rate=search_rate,
            ensemble=ensemble,
            pipeline=pipeline_config,
            resume=resume,
            device=device,
            licence=licence,
            command=shlex.join(["biatt", *sys.argv[1:]]),
            listener=display,
        )
        display.message(f"The model is in {out}.")


@app.command()
def parse(
    file: Annotated[
        str | None,
        typer.Argument(help="Text or CoNLL file, plain or compressed; default or -: standard input."),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Text to parse, instead of a file.")] = None,
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "en",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    input_format: Annotated[
        InputFormat | None,
        typer.Option(
            "--input",
            help="text; tokens: a sentence a line, spaces between all tokens; default: told by the content.",
        ),
    ] = None,
    format: Annotated[
        OutputFormat | None,
        typer.Option(
            help="CoNLL, drawn trees, JSON (a sentence a line), pictures of trees or attention; default: as "
            "the output's suffix says; tree on a terminal; else CoNLL as read, conllu for text and tokens."
        ),
    ] = None,
    decode: Annotated[Decoder, typer.Option(help="How to find a tree from the scores of its arcs.")] = "mst",
    roots: Annotated[
        Roots | None,
        typer.Option(help="Children of ROOT; default: single for CoNLL-U, any for CoNLL-X."),
    ] = None,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Write how sure the parser is: HeadProb, ArcProb, Agree and RelProb to MISC, and the tree's "
            "log-probability to a comment.",
        ),
    ] = False,
    k_best: Annotated[
        int, typer.Option(min=1, metavar="N", help="Write the N most probable trees of each sentence.")
    ] = 1,
    fill_deps: Annotated[
        bool,
        typer.Option(
            "--fill-deps", help="Write the tree to DEPS (CoNLL-U) or PHEAD and PDEPREL (CoNLL-X) as well."
        ),
    ] = False,
    retag: Annotated[
        bool, typer.Option("--retag", help="Tag CoNLL sentences anew, even where they have tags.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help=THREADS_HELP)] = 1,
    max_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="BYTES",
            help="Refuse larger input, after decompression; default: no limit, but compressed input may not "
            "expand more than a hundredfold beyond 64 MiB.",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda for a GPU.")] = "cpu",
) -> None:
    """Parse raw text, tokens or a CoNLL file.

    Tokens and tags that are given are kept, unless --retag asks for new tags; missing tags are added. In a
    fully tagged CoNLL file, HEAD and DEPREL change and everything else stays as it was, byte for byte. From a
    pipe, each sentence is written as soon as it has been read.
    """
    if text is not None and file is not None:
        raise ConfigError("Give a file or --text, not both.")
    from biatt.parse_file import parse_file

    source: str | io.BytesIO = file or "-"
    if text is not None:
        source, input_format = io.BytesIO(text.encode(errors="surrogateescape")), input_format or "text"
    elif source == "-" and sys.stdin is not None and sys.stdin.isatty():
        print("Reading from the terminal: a blank line ends a paragraph, Ctrl-D the input.", file=sys.stderr)
    parse_file(
        biatt.load(model, device=device),
        source,
        output,
        input=input_format,
        format=format,
        decoder=decode,
        roots=roots,
        confidence=confidence,
        k_best=k_best,
        fill_deps=fill_deps,
        retag=retag,
        threads=threads,
        max_size=max_size,
        name="--text" if text is not None else None,
    )


@app.command()
def evaluate(
    gold: Annotated[str, typer.Argument(help="File with the right trees.")],
    system: Annotated[str, typer.Argument(help="File with the trees to score.")],
    style: Annotated[Style | None, typer.Option(help=STYLE_HELP)] = None,
    punctuation: Annotated[Punctuation | None, typer.Option(help=PUNCTUATION_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON.")] = False,
) -> None:
    """Score parsed sentences against gold ones."""
    result = biatt.evaluate(
        gold,
        system,
        style=style,
        punctuation=punctuation,
    )
    if as_json:
        typer.echo(json_text(result.as_dict(), indent=1))
    else:
        _print_tables(result.tables())


@app.command()
def compare(
    gold: Annotated[str, typer.Argument(help="File with the right trees.")],
    a: Annotated[str, typer.Argument(help="File with the trees of one parser.")],
    b: Annotated[str, typer.Argument(help="File with the trees of another.")],
    style: Annotated[Style | None, typer.Option(help=STYLE_HELP)] = None,
    punctuation: Annotated[Punctuation | None, typer.Option(help=PUNCTUATION_HELP)] = None,
    samples: Annotated[int, typer.Option(min=1, help="How often the bootstrap draws sentences.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same draws.")] = 1,
    show: Annotated[int, typer.Option(min=0, help="How many of the sentences that differ to show.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON, with every sentence.")] = False,
) -> None:
    """Say whether B is better than A, where, and whether it could be chance.

    The bootstrap draws sentences with replacement: 95 % of its draws have differences in the interval, and p
    estimates how often the choice of sentences alone makes a difference this large. The sign test counts the
    sentences that each wins: its p is how often coins would fall so unequally.
    """
    result = biatt.compare(
        gold,
        a,
        b,
        style=style,
        punctuation=punctuation,
        samples=samples,
        seed=seed,
    )
    if as_json:
        typer.echo(json_text(result.as_dict(), indent=1))
    else:
        _print_tables(result.tables(show=show))


@app.command()
def calibrate(
    gold: Annotated[str, typer.Argument(help="File with the right trees.")],
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "en",
    plot: Annotated[Path | None, typer.Option(help="Where to draw a reliability diagram, as PNG.")] = None,
    threads: Annotated[int, typer.Option(min=1, help=THREADS_HELP)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON.")] = False,
) -> None:
    """Measure calibration: accuracy at each level of confidence.

    A model with a tagger parses with its tags, not with those of the file.
    """
    from biatt.decode.apply import default_roots
    from biatt.decode.confidence import without_temperature
    from biatt.evaluation.calibration import draw

    parser, sentences = biatt.load(model), list(biatt.read(gold, trees=True))
    retag = parser.tagger is not None
    parsed = list(parser.parse(sentences, confidence=True, threads=threads, retag=retag))
    unfitted = [without_temperature(s, roots=default_roots(s)) for s in parsed if len(s)]
    result = biatt.calibrate(sentences, parsed, unfitted=unfitted)
    if plot:
        draw(result, plot)
    if as_json:
        typer.echo(json_text(result.as_dict(), indent=1))
    else:
        _print_tables(result.tables())


@app.command()
def raw(
    file: Annotated[
        str, typer.Argument(help="CoNLL-U file, plain or compressed; - is standard input.")
    ] = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
) -> None:
    """Write the raw text of a treebank, a paragraph a line: what a pipeline is to be tried on."""
    from biatt.data.files import writing
    from biatt.data.raw_text import raw_text

    with writing(output) as target:
        target.write(raw_text(biatt.read(file)).encode())


@app.command()
def vectors(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Text or CoNLL files, plain or compressed; - is standard input."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write, in word2vec text; - is standard output.")
    ],
    size: Annotated[int, typer.Option(min=1, help="Numbers in a vector.")] = 100,
    window: Annotated[int, typer.Option(min=1, help="Neighbours on either side of a word.")] = 5,
    min_count: Annotated[int, typer.Option(min=1, help="A word that is rarer gets no vector.")] = 2,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the text.")] = 5,
    negative: Annotated[int, typer.Option(min=1, help="Random words to tell each neighbour from.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, one thread: same vectors.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help=THREADS_HELP)] = 1,
    input_format: Annotated[
        InputFormat | None,
        typer.Option(
            "--input",
            help="text: a sentence a line; tokens: with spaces around punctuation too; "
            "default: text or CoNLL, told by its content.",
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


@app.command()
def info(model: Annotated[str, typer.Argument(help=MODEL_HELP)] = "en") -> None:
    """Say what a model is."""
    from biatt.model_folder import CARD, find_model

    parser = biatt.load(model)
    facts = {
        "parameters": f"{sum(weight.size for weight in parser.weights.values()):,}",
        "columns": ", ".join(
            f"{name} ({len(symbols):,})" for name, symbols in parser.vocabulary.symbols.items()
        ),
        "relations": f"{len(parser.vocabulary.relations)}",
        **{
            key: value
            for part in parser.config.to_json().values()
            for key, value in part.items()
            if key != "columns"
        },
    }
    for name, value in facts.items():
        typer.echo(f"{name:26} {visible(value)}")
    card = find_model(model) / CARD
    if card.is_file():
        text = card.read_text(encoding="utf-8", errors="replace")
        typer.echo("\n" + visible(text, keep="\n\t"), nl=False)


@app.command()
def reproduce(
    recipe: Annotated[Path, typer.Argument(help="TOML file that lists the runs.")],
    treebanks: Annotated[Path, typer.Option(help="Folder below which the recipe's files are.")],
    models: Annotated[Path, typer.Option(help="Folder for the models, finished or not.")] = Path("runs"),
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Just this run; may be repeated.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help=THREADS_HELP)] = 1,
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


@app.command()
def generate(
    count: Annotated[int, typer.Argument(min=1, help="Number of sentences.")] = 1000,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same sentences.")] = 1,
) -> None:
    """Write a toy treebank of made-up English, to try things on."""
    from biatt.data.toy_treebank import generate

    biatt.write(generate(count, seed=seed), output)


def _print_tables(tables: list[Any]) -> None:
    from biatt.evaluation.tables import print_tables

    print_tables(tables)


class StandardError(logging.Handler):
    """Prints the package's log messages, such as that it compiles, to what standard error is at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):  # standard error may be closed
            if sys.stderr is not None:
                print(f"biatt: {record.getMessage()}", file=sys.stderr, flush=True)


def main() -> None:
    log, handler = logging.getLogger("biatt"), StandardError()
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        app()
    finally:
        signal.signal(signal.SIGTERM, before)
        log.removeHandler(handler)


def _terminated(number: int, frame: object) -> NoReturn:
    """Leave by an exception, so that files that are being written are removed."""
    raise SystemExit(128 + number)
