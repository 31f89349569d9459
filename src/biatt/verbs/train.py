"""train: from a treebank to a model folder."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import biatt
from biatt.options import DEFAULT_PRESET, PresetName
from biatt.verbs.options import Device, Threads, input_option, output_option, running_option
from biatt.verbs.printing import print_text

settings_option = partial(typer.Option, rich_help_panel="Settings")
silver_option = partial(typer.Option, rich_help_panel="Vectors, encoders and silver text")


def _print_settings(wanted: bool) -> None:
    if wanted:
        from biatt.training.settings import described_settings

        for name, default, text, other_values in described_settings():
            others = "".join(f", {other} {value}" for other, value in other_values.items())
            print_text(f"{name}={default}{others}\n    {text}")
        raise typer.Exit


Train = Annotated[
    list[Path], input_option(metavar="FILE...", help="CoNLL-U or CoNLL-X files, plain or compressed.")
]
ModelFolder = Annotated[Path, output_option("--output", "-o", metavar="FOLDER", help="Folder for the model.")]
Dev = Annotated[Path | None, input_option(metavar="FILE", help="File to choose the model by.")]
DevFraction = Annotated[
    float | None,
    input_option(
        metavar="SHARE",
        help="Share of the training sentences to hold out where there is no --dev; default: 0.05.",
    ),
]
Preset = Annotated[
    PresetName | None,
    settings_option(help=f"Where the settings start; paper has the paper's; default: {DEFAULT_PRESET}."),
]
Hidden = Annotated[
    str | None, settings_option(metavar="N", help="Hidden size, or a language of the paper for its size.")
]
Embeddings = Annotated[
    Path | None,
    silver_option(
        metavar="FILE",
        help="Word vectors: word2vec text or binary, GloVe, fastText .vec. The setting vector_rows says "
        "how many the model keeps beside its own.",
    ),
]
Encoder = Annotated[
    Path | None,
    silver_option(
        metavar="FOLDER",
        help="Folder of a BERT-like contextual encoder (config.json, tokenizer.json, model.safetensors), "
        "whose layers are further input.",
    ),
]
BundleEncoder = Annotated[
    bool,
    silver_option(
        "--bundle-encoder",
        help="Copy the encoder into the model; default: the model points to it.",
    ),
]
Features = Annotated[
    Path | None,
    silver_option(
        metavar="FOLDER",
        help="Folder for the features of a frozen encoder, to be used by other trainings too; default: "
        "beside --output, until the training is finished.",
    ),
]
Silver = Annotated[
    list[Path] | None,
    silver_option(
        metavar="FILE...",
        help="CoNLL-U files that another model has annotated, to train on before the gold ones.",
    ),
]
Exclude = Annotated[
    list[Path] | None,
    silver_option(
        metavar="FILE...",
        help="Files whose sentences must not be among the silver ones, such as test data.",
    ),
]
Start = Annotated[
    str | None,
    input_option(
        metavar="MODEL",
        help="Train this model further, e.g. on text of another kind: its network, words, tags, relations "
        "and tokeniser stay.",
    ),
]
Seed = Annotated[
    int, running_option(min=0, metavar="N", help="Same seed, same machine, same threads: same weights.")
]
SearchRate = Annotated[
    bool,
    settings_option(
        "--search-rate",
        help="First find the initial rate by one epoch of each candidate.",
    ),
]
Resume = Annotated[bool, running_option("--resume", help="Go on with an interrupted run in --output.")]
Pipeline = Annotated[
    bool,
    settings_option(
        "--pipeline",
        help="Choose tags and lemmas too, and train a tokeniser: the model takes raw text.",
    ),
]
Draft = Annotated[
    bool,
    settings_option(
        "--draft",
        help="Train a usable pipeline in about two minutes: a small network, and a sample of the treebank.",
    ),
]
Ensemble = Annotated[
    int,
    settings_option(min=1, metavar="N", help="Train an ensemble of N seeds and average their probabilities."),
]
Set = Annotated[
    list[str] | None,
    settings_option(
        metavar="KEY=VALUE...", help="Change settings; see --settings. Of a pipeline also tokeniser.KEY."
    ),
]
Licence = Annotated[str, output_option(metavar="TEXT", help="Licence to state in the model card.")]
ListSettings = Annotated[
    bool,
    settings_option(
        "--settings",
        callback=_print_settings,
        is_eager=True,
        help="List the settings and exit.",
    ),
]


def train(
    train: Train,
    output: ModelFolder,
    dev: Dev = None,
    dev_fraction: DevFraction = None,
    start: Start = None,
    preset: Preset = None,
    hidden: Hidden = None,
    pipeline: Pipeline = False,
    draft: Draft = False,
    ensemble: Ensemble = 1,
    search_rate: SearchRate = False,
    set: Set = None,
    list_settings: ListSettings = False,
    embeddings: Embeddings = None,
    encoder: Encoder = None,
    bundle_encoder: BundleEncoder = False,
    features: Features = None,
    silver: Silver = None,
    exclude: Exclude = None,
    licence: Licence = "not stated",
    seed: Seed = 1,
    threads: Threads = 1,
    device: Device = "cpu",
    resume: Resume = False,
) -> None:
    """Train a parser on a treebank.

    The folder holds a loadable model, the best so far, from the parser's first epoch on. Interrupt it at any
    time and go on with --resume.
    """
    from biatt.presets import DRAFT_WORDS
    from biatt.training.progress import Display
    from biatt.training.settings import configurations

    begun = None
    if start:
        from biatt.training.start import Start as Begun

        begun = Begun.load(start)
    config, pipeline_config = configurations(
        set or [], preset_name=preset, hidden=hidden, pipeline=pipeline, draft=draft, start=begun
    )
    with Display() as display:
        biatt.train(
            train, out=output, dev=dev, dev_fraction=dev_fraction,
            sample_words=DRAFT_WORDS if draft else None, config=config,
            pipeline=pipeline_config, ensemble=ensemble, search_rate=search_rate,
            embeddings=embeddings, encoder=encoder, bundle_encoder=bundle_encoder, features=features,
            silver=silver or [], exclude=exclude or [], start=start, seed=seed, threads=threads,
            device=device, resume=resume, licence=licence, listener=display,
            command=shlex.join(["biatt", *sys.argv[1:]]),
        )  # fmt: skip
        from biatt.training.processes import is_first  # needs torch, which biatt.train has asked for

        if is_first():
            display.message(f"The model is in {output}.")
