"""The command line: reads options, calls one function for each verb, and prints.

`process.py` has the exit codes and what else all verbs have in common.
"""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

import biatt
from biatt.data.files import writing
from biatt.data.visible import json_text, visible
from biatt.errors import ConfigError
from biatt.options import (
    Decoder,
    InputFormat,
    OutputFormat,
    PresetName,
    Punctuation,
    Roots,
    SearchFormat,
    Style,
)
from biatt.process import SeveralValues, Verbs, run

app = typer.Typer(
    cls=Verbs,
    help="Dependency parsing by bi-directional attention with agreement.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Options that several verbs have.
MODEL_HELP = "Name of a bundled model, or a model folder."
THREADS_HELP = "Number of cores to use."
Model = Annotated[str, typer.Option(help=MODEL_HELP)]
Threads = Annotated[int, typer.Option(min=1, help=THREADS_HELP)]
Device = Annotated[str, typer.Option(help="cpu, or cuda for a GPU.")]
Output = Annotated[str, typer.Option("--output", "-o", help="File to write; - is standard output.")]
Gold = Annotated[str, typer.Argument(help="File with the gold trees.")]
Scoring = Annotated[
    Style | None,
    typer.Option(
        "--style", help="Rules of CoNLL-X or of CoNLL 2018 (ud); default: by the gold file's format."
    ),
]
Punct = Annotated[Punctuation | None, typer.Option(help="Default: ignore for conllx, include for ud.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]


def _version(wanted: bool) -> None:
    if wanted:
        _print(f"biatt {biatt.__version__}")
        raise typer.Exit


def _settings(wanted: bool) -> None:
    if wanted:
        from biatt.training.settings import described_settings

        for name, default, text, other_values in described_settings():
            others = "".join(f", {other} {value}" for other, value in other_values.items())
            _print(f"{name}={default}{others}\n    {text}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(cls=SeveralValues)
def train(
    train: Annotated[list[Path], typer.Option(help="CoNLL-U or CoNLL-X files, plain or compressed.")],
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
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
        Path | None,
        typer.Option(
            help="Word vectors: word2vec text or binary, GloVe, fastText .vec. The setting vector_rows says "
            "how many the model keeps beside its own."
        ),
    ] = None,
    encoder: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a BERT-like contextual encoder (config.json, tokenizer.json, model.safetensors), "
            "whose layers are further input."
        ),
    ] = None,
    bundle_encoder: Annotated[
        bool,
        typer.Option(
            "--bundle-encoder", help="Copy the encoder into the model; default: the model points to it."
        ),
    ] = False,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the features of a frozen encoder, to be used by other trainings too; default: "
            "beside --out, until the training is finished."
        ),
    ] = None,
    silver: Annotated[
        list[Path] | None,
        typer.Option(
            help="CoNLL-U files that another model has annotated, to train on before the gold ones."
        ),
    ] = None,
    exclude: Annotated[
        list[Path] | None,
        typer.Option(help="Files whose sentences must not be among the silver ones, such as test data."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Same seed, same machine, same threads: same weights.")
    ] = 1,
    threads: Threads = 1,
    search_rate: Annotated[
        bool,
        typer.Option("--search-rate", help="First find the initial rate by one epoch of each candidate."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run in --out.")] = False,
    pipeline: Annotated[
        bool,
        typer.Option(
            "--pipeline", help="Choose tags and lemmas too, and train a tokeniser: the model takes raw text."
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
            help="Change a setting; see --settings. Of a pipeline also tokeniser.KEY.",
        ),
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence to state in the model card.")] = "not stated",
    device: Device = "cpu",
    list_settings: Annotated[
        bool,
        typer.Option("--settings", callback=_settings, is_eager=True, help="List the settings and exit."),
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
            train,
            out=out,
            dev=dev,
            dev_fraction=dev_fraction,
            config=config,
            embeddings=embeddings,
            encoder=encoder,
            bundle_encoder=bundle_encoder,
            features=features,
            silver=silver or [],
            exclude=exclude or [],
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
    text: Annotated[str | None, typer.Option(help="Text to parse instead of a file.")] = None,
    model: Model = "en",
    output: Output = "-",
    input_format: Annotated[
        InputFormat | None,
        typer.Option(
            "--input",
            help="What the input is: raw text, tokens (a sentence a line, spaces between them), or CoNLL; "
            "default: text or CoNLL, told by its content.",
        ),
    ] = None,
    format: Annotated[
        OutputFormat | None,
        typer.Option(
            help="CoNLL, drawn trees, JSON (a sentence a line), pictures of trees or of attention; default: "
            "by the suffix of the output; on a terminal drawn trees; else the CoNLL format that was read."
        ),
    ] = None,
    decode: Annotated[Decoder, typer.Option(help="How to find a tree from the scores of its arcs.")] = "mst",
    roots: Annotated[
        Roots | None,
        typer.Option(
            help="Number of words whose head is ROOT; default: single for CoNLL-U, any for CoNLL-X."
        ),
    ] = None,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Write probabilities: HeadProb, ArcProb, Agree and RelProb to MISC, and the log-probability "
            "of the tree to a comment.",
        ),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Write the most probable heads, relations and tags of words that are not certain to MISC, "
            "for training on them.",
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
        bool, typer.Option("--retag", help="Replace the tags of a CoNLL file by new ones.")
    ] = False,
    keep_heads: Annotated[
        bool,
        typer.Option(
            "--keep-heads",
            help="Keep the values of HEAD and DEPREL that a CoNLL file has, and parse the rest around them.",
        ),
    ] = False,
    threads: Threads = 1,
    max_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="BYTES",
            help="Refuse larger input, after decompression; default: no limit, but compressed input may not "
            "expand more than a hundredfold beyond 64 MiB.",
        ),
    ] = None,
    device: Device = "cpu",
) -> None:
    """Parse raw text, tokens or a CoNLL file.

    Tokens and tags that are given are kept, unless --retag asks for new tags; missing tags are added. In a
    fully tagged CoNLL file, HEAD and DEPREL change (with --keep-heads where they are missing) and everything
    else stays as it was, byte for byte. From a pipe, each sentence is written as soon as it has been read.
    """
    if text is not None and file is not None:
        raise ConfigError("Give a file or --text, not both.")
    from biatt.parse_file import parse_file

    source: str | io.BytesIO = "-" if file is None else file
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
        probabilities=probabilities,
        k_best=k_best,
        fill_deps=fill_deps,
        retag=retag,
        keep_heads=keep_heads,
        threads=threads,
        max_size=max_size,
        name="--text" if text is not None else None,
    )


@app.command()
def evaluate(
    gold: Gold,
    system: Annotated[str, typer.Argument(help="File with the trees of a parser.")],
    style: Scoring = None,
    punctuation: Punct = None,
    as_json: AsJson = False,
) -> None:
    """Score parsed sentences against gold ones."""
    from biatt.evaluation.tables import print_tables

    result = biatt.evaluate(
        gold,
        system,
        style=style,
        punctuation=punctuation,
    )
    if as_json:
        _print(json_text(result.as_dict(), indent=1))
    else:
        print_tables(result.tables())


@app.command()
def compare(
    gold: Gold,
    a: Annotated[str, typer.Argument(help="File with the trees of one parser.")],
    b: Annotated[str, typer.Argument(help="File with the trees of another.")],
    style: Scoring = None,
    punctuation: Punct = None,
    samples: Annotated[int, typer.Option(min=1, help="Number of samples that the bootstrap draws.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same samples.")] = 1,
    show: Annotated[int, typer.Option(min=0, help="Number of differing sentences to print.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Compare two parsers: is B better than A, on what, and could the difference be chance?

    The bootstrap draws sentences with replacement. The interval has 95 % of the differences that it finds; p
    estimates how often the choice of sentences alone makes a difference this large. The sign test counts the
    sentences on which each parser is better; its p is the probability of counts so unequal by chance.
    """
    from biatt.evaluation.tables import print_tables

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
        _print(json_text(result.as_dict(), indent=1))
    else:
        print_tables(result.tables(show=show))


@app.command()
def calibrate(
    gold: Gold,
    model: Model = "en",
    plot: Annotated[Path | None, typer.Option(help="PNG file for a reliability diagram.")] = None,
    threads: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Measure calibration: accuracy at each level of confidence.

    A model with a tagger parses with its tags, not with those of the file.
    """
    from biatt.decode.apply import default_roots
    from biatt.decode.confidence import without_temperature
    from biatt.evaluation.calibration import draw
    from biatt.evaluation.tables import print_tables

    parser, sentences = biatt.load(model), list(biatt.read(gold, trees=True))
    retag = parser.tagger is not None
    parsed = list(parser.parse(sentences, confidence=True, threads=threads, retag=retag))
    unfitted = [without_temperature(s, roots=default_roots(s)) for s in parsed if len(s)]
    result = biatt.calibrate(sentences, parsed, unfitted=unfitted)
    if plot:
        draw(result, plot)
    if as_json:
        _print(json_text(result.as_dict(), indent=1))
    else:
        print_tables(result.tables())


@app.command()
def search(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="CoNLL file with trees, plain or compressed; - is standard input."
        ),
    ],
    pattern: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN", help="Dependency pattern in Semgrex's notation: {upos:VERB}=verb >obj {}"
        ),
    ],
    output: Output = "-",
    format: Annotated[
        SearchFormat | None,
        typer.Option(
            help="Text (a match a line), sentences with a comment for each match, JSON (a match a line), "
            "drawn trees or one picture; default: by the suffix of the output, else text."
        ),
    ] = None,
    count: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ATTRIBUTE",
            help="Print how often each value occurs instead: lemma, feats.Tense, or verb.lemma of the node "
            "named verb; repeated: combinations of values.",
        ),
    ] = None,
) -> None:
    """Find dependency patterns in the trees of a file.

    {} is a word, {upos:NOUN;lemma:/a.*/} one with these attributes, {}=name one with a name. > leads to a
    dependent, < to the head, >> and << over any number of arcs, >nsubj over an arc with this label; . leads
    to the next word, .. to any later word, $++ to a later sibling. ! is not, ? is optional, | is or, with
    brackets [ ] around it. Parentheses give a word relations of its own.
    """
    from biatt.search_file import count_file, search_file

    if not count:
        search_file(file, pattern, output, format=format)
        return
    if format or output != "-":
        raise ConfigError("--count prints a table; it goes without --format and --output.")
    from biatt.evaluation.results import Table
    from biatt.evaluation.tables import print_tables

    counts = count_file(file, pattern, count)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    title = f"{counts.total():,} matches"
    print_tables([Table(title, (*count, "count"), [(*values, number) for values, number in ordered])])


@app.command()
def raw(
    file: Annotated[
        str, typer.Argument(help="CoNLL-U file, plain or compressed; - is standard input.")
    ] = "-",
    output: Output = "-",
) -> None:
    """Write the raw text of a treebank, a paragraph a line, for example to test a pipeline on it."""
    from biatt.data.raw_text import raw_text

    with writing(output) as target:
        target.write(raw_text(biatt.read(file)).encode())


@app.command()
def noise(
    file: Annotated[
        str, typer.Argument(help="CoNLL-U file, plain or compressed; - is standard input.")
    ] = "-",
    output: Output = "-",
    kinds: Annotated[
        str | None, typer.Option(help="Kinds of noise, comma-separated; default: all of them.")
    ] = None,
    rate: Annotated[float, typer.Option(min=0, max=1, help="Share of the paragraphs to change.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same noise.")] = 1,
) -> None:
    """Write a noisy copy of a treebank, to test a pipeline on text as it is found in the wild.

    Words: lower and upper (case), unended (lines without final punctuation), headline (these with capitals),
    bare (lower case without punctuation). Spaces: wrapped (broken lines), joined (paragraphs that only a line
    break separates). A paragraph gets one kind of each. Trees, numbers and texts stay right.
    """
    from biatt.training.noise import KINDS, noise_kinds, write_noisy

    write_noisy(file, output, rate=rate, seed=seed, kinds=KINDS if kinds is None else noise_kinds(kinds))


@app.command()
def vectors(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Text or CoNLL files, plain or compressed; - is standard input."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="File to write, in word2vec's text format; - is standard output."
        ),
    ],
    size: Annotated[int, typer.Option(min=1, help="Length of a vector.")] = 100,
    window: Annotated[int, typer.Option(min=1, help="Number of neighbours on each side of a word.")] = 5,
    min_count: Annotated[int, typer.Option(min=1, help="Rarer words get no vector.")] = 2,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the text.")] = 5,
    negative: Annotated[int, typer.Option(min=1, help="Number of negative samples.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, one thread: same vectors.")] = 1,
    threads: Threads = 1,
    input_format: Annotated[
        InputFormat | None,
        typer.Option(
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


@app.command()
def info(model: Annotated[str, typer.Argument(help=MODEL_HELP)] = "en") -> None:
    """Describe a model: its size, its settings and its card."""
    parser = biatt.load(model)
    for name, value in parser.describe().items():
        _print(f"{name:26} {visible(value)}")
    if parser.card is not None:
        _print("\n" + visible(parser.card.rstrip("\n"), keep="\n\t"))


@app.command()
def reproduce(
    recipe: Annotated[Path, typer.Argument(help="TOML file that lists the runs.")],
    treebanks: Annotated[Path, typer.Option(help="Folder with the treebanks of the recipe.")],
    models: Annotated[Path, typer.Option(help="Folder for the models, finished or not.")] = Path("runs"),
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run only this one; can be repeated.")
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


@app.command()
def generate(
    count: Annotated[int, typer.Argument(min=1, help="Number of sentences.")] = 1000,
    output: Output = "-",
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same sentences.")] = 1,
) -> None:
    """Write a toy treebank of generated English sentences, for first steps and tests."""
    from biatt.data.toy_treebank import generate

    biatt.write(generate(count, seed=seed), output)


def _print(text: str) -> None:
    """Print a text and the end of its line; what the terminal's encoding does not have becomes an escape."""
    with writing("-") as stream:
        stream.write(f"{text}\n".encode(sys.stdout.encoding, errors="backslashreplace"))


def main() -> None:
    run(app)
