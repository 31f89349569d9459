"""From a treebank to a model folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, get_args

from biatt.config import Config, ParserTrainingConfig
from biatt.data.raw_text import raw_text
from biatt.encoding.word_vectors import WordVectors, read_vectors
from biatt.errors import ConfigError
from biatt.evaluation.metrics import evaluate
from biatt.models.language_profile import LanguageProfile
from biatt.models.model_folder import TOKENISER, is_finished, member_folder
from biatt.options import DEFAULT_PRESET, PresetName
from biatt.parser import Parser
from biatt.parsing.fit_confidence import ConfidenceFit
from biatt.presets import PipelineConfig, of_pipeline, preset, trained_further
from biatt.training.card import SILVER, Origin, model_card, recorded_accuracies
from biatt.training.claim import claimed
from biatt.training.fingerprint import digest_of_files, fingerprint_of
from biatt.training.listener import Listener, Silent
from biatt.training.records import best_record
from biatt.training.silver import SilverFiles
from biatt.training.treebank import Treebank, read_treebank

if TYPE_CHECKING:
    from biatt.training.encoder import EncoderInput
    from biatt.training.run import Job
    from biatt.training.start import Start

SILVER_SETTINGS = {"silver_ratio", "gold_epochs", "silver_min_count", "silver_symbols", "silver_confidence"}


def train(
    train: str | Path | Sequence[str | Path], *, out: str | Path, dev: str | Path | None = None,
    dev_fraction: float | None = None, sample_words: int | None = None, config: Config | None = None,
    embeddings: str | Path | None = None, encoder: str | Path | None = None, bundle_encoder: bool = False,
    features: str | Path | None = None, silver: Sequence[str | Path] = (), exclude: Sequence[str | Path] = (),
    start: str | Path | None = None,
    pipeline: PipelineConfig | None = None, ensemble: int = 1, search_rate: bool = False, seed: int = 1,
    threads: int = 1, device: str = "cpu", resume: bool = False, licence: str = "not stated",
    command: str = "", listener: Listener | None = None,
) -> Parser:  # fmt: skip
    """Train a model on CoNLL files and write it to the folder `out`; returns its parser.

    Without `config`, the preset is best. Without `dev`, a random `dev_fraction` of the training sentences is
    held out; default: 0.05, as in the paper. `sample_words` is about the number of words of the random
    sentences to train on; default: all. `encoder` is the folder of a contextual encoder, which
    `bundle_encoder` copies into the model, and `features` one for its features. `silver` are files that
    another model has annotated, without the sentences of dev and of the files to `exclude`. `start` is a
    model that is trained further: its network, vocabulary and tokeniser stay, and `config` must have the same
    network. With `pipeline`, the parser chooses tags and lemmas too, and a tokeniser is trained. `ensemble`
    is a number of parsers with consecutive seeds, whose probabilities are averaged. `resume` continues an
    interrupted training. `licence` and `command` are for the card.
    """
    from biatt.network.scoring import torch_device  # says what to install if there is no torch
    from biatt.training.encoder import checksum, description, open_encoder
    from biatt.training.processes import joined
    from biatt.training.run import Job
    from biatt.training.start import Start

    _check_types(config, pipeline, seed=seed, threads=threads, ensemble=ensemble)
    _check_numbers(seed=seed, threads=threads, ensemble=ensemble)
    torch_device(device)  # an error now is better than one after hours of training
    with joined(device=device, encoder=encoder is not None) as processes:
        listener = listener if listener and processes.first else Silent()
        treebank = _treebank(train, dev, dev_fraction, sample_words, seed, listener, spaces=bool(pipeline))
        vectors = read_vectors(embeddings) if embeddings else None
        begun = Start.load(start) if start else None
        _check_start(begun, embeddings, encoder, ensemble)
        config, out = _with_vectors(_completed(config, pipeline, begun), vectors, embeddings), Path(out)
        config, contextual = open_encoder(encoder, config, bundle_encoder, features, out, device, ensemble)
        texts = _silver_files(config, silver, exclude)
        _check_effects(config, vectors, texts, begun)
        digests = [checksum(contextual), begun and begun.digest(), *map(digest_of_files, texts or ())]
        options = [config, ensemble, pipeline, seed, threads, search_rate, *digests, *processes.described]
        fingerprint = fingerprint_of(options, vectors, treebank.train, treebank.dev)
        sources = treebank.train_files, treebank.dev_file, str(embeddings) if embeddings else None
        origin = Origin(*sources, seed, threads, licence, command, ensemble, description(contextual), texts)
        origin = replace(origin, start=begun and begun.name)
        job = Job(out, fingerprint, seed, threads, listener, device, processes)
        with claimed(out, fingerprint, resume=resume) if processes.first else nullcontext():
            processes.wait()  # the others for the claim
            _train_networks(job, config, pipeline, treebank, vectors, origin, contextual, begun, search_rate)
            return _finished(job, treebank, origin, contextual)


def _treebank(
    train: str | Path | Sequence[str | Path],
    dev: str | Path | None,
    dev_fraction: float | None,
    sample_words: int | None,
    seed: int,
    listener: Listener,
    *,
    spaces: bool,
) -> Treebank:
    """The sentences to train on and to choose by; says which files get their spaces by rules."""
    files = [train] if isinstance(train, (str, Path)) else list(train)
    treebank = read_treebank(files, dev, dev_fraction=dev_fraction, seed=seed, spaces=spaces)
    for file in treebank.respaced:
        listener.message(f"{file} does not say where spaces are (SpaceAfter=No): rules restore them.")
    return treebank.sampled(sample_words, seed=seed) if sample_words else treebank


def _check_types(config: object, pipeline: object, **numbers: object) -> None:
    if not isinstance(config, (Config, NoneType)):
        raise TypeError(f"config is a biatt.Config, such as preset('best') gives, not {config!r:.40}.")
    if not isinstance(pipeline, (PipelineConfig, NoneType)):
        raise TypeError(f"pipeline is a biatt.PipelineConfig, not {pipeline!r:.40}.")
    for name, number in numbers.items():
        if not isinstance(number, Integral):
            raise TypeError(f"{name} is a whole number, not {number!r:.40}.")


def _check_numbers(*, seed: int, threads: int, ensemble: int) -> None:
    if not 0 <= seed < 2**63:
        raise ConfigError(f"The seed must be from 0 to 2^63 - 1, not {seed}.")
    if threads < 1:
        raise ConfigError("threads must be at least 1.")
    if ensemble < 1:
        raise ConfigError("ensemble must be at least 1.")


def _check_start(
    start: Start | None, embeddings: str | Path | None, encoder: str | Path | None, ensemble: int
) -> None:
    if start and (embeddings or encoder or ensemble > 1):
        raise ConfigError("A model that is trained further takes neither vectors, encoder nor ensemble.")


def _completed(config: Config | None, pipeline: PipelineConfig | None, start: Start | None) -> Config:
    if start:
        config = config or trained_further(preset(DEFAULT_PRESET), start.network)
        start.check_network(config)
        return config
    config = config or preset(DEFAULT_PRESET)
    return config if pipeline is None or config.model.tags else of_pipeline(config)


def _silver_files(
    config: Config, silver: Sequence[str | Path], exclude: Sequence[str | Path]
) -> SilverFiles | None:
    if not silver:
        if exclude:
            raise ConfigError("--exclude is about --silver, which is not given.")
        return None
    training = config.training
    if training.schedule != "linear":
        raise ConfigError(
            "Silver text needs a schedule that ends on gold: schedule=linear, as preset best has."
        )
    if training.gold_epochs >= training.epochs:
        raise ConfigError(
            f"gold_epochs={training.gold_epochs} of epochs={training.epochs} leave none for silver text."
        )
    if config.model.feature_layers:
        raise ConfigError("A parser with a contextual encoder cannot be trained on silver text.")
    return SilverFiles(silver, exclude)


def _check_effects(
    config: Config, vectors: WordVectors | None, silver: SilverFiles | None, start: Start | None
) -> None:
    """Refuse settings that would have no effect on this training."""
    default, given = ParserTrainingConfig(), config.training
    changed = {name for name in vars(default) if getattr(given, name) != getattr(default, name)}
    if not silver and (names := changed & SILVER_SETTINGS):
        raise ConfigError(f"{min(names)} is about silver text, and there is none.")
    if not config.model.tags and "tag_weight" in changed:
        raise ConfigError("tag_weight is about a network that chooses tags, and this one does not.")
    if config.model.vector_width and not vectors and not start:
        raise ConfigError("vector_width is about word vectors, and there are none.")
    of_presets = {preset(name).model.vector_rows for name in get_args(PresetName)}
    if config.model.vector_rows not in of_presets and not vectors and not start:
        raise ConfigError("vector_rows is about word vectors, and there are none.")


def _with_vectors(config: Config, vectors: WordVectors | None, name: str | Path | None) -> Config:
    """The configuration with a table of frozen word vectors, or with embeddings as wide as these."""
    if vectors is None:
        return config
    width = vectors.vectors.shape[1]
    if config.model.vector_rows:
        rows = min(config.model.vector_rows, len(vectors.words))
        return replace(config, model=replace(config.model, vector_rows=rows, vector_width=width))
    if config.model.embedding not in (0, width):
        raise ConfigError(f"embedding={config.model.embedding}, but the vectors of {name} are {width} wide.")
    return replace(config, model=replace(config.model, embedding=width))


def _train_networks(
    job: Job,
    config: Config,
    pipeline: PipelineConfig | None,
    treebank: Treebank,
    vectors: WordVectors | None,
    origin: Origin,
    encoder: EncoderInput | None,
    start: Start | None,
    search_rate: bool,
) -> None:
    """Train those networks that are not finished."""
    from biatt.training.parser_run import parser_stages
    from biatt.training.pipeline import tokeniser_run
    from biatt.training.plan import Stage, train_in_order

    if start and start.tokeniser:
        pipeline = None
        if job.processes.first and not is_finished(job.out / TOKENISER):
            start.tokeniser.save(job.out / TOKENISER)
    parts = [job.out, *(member_folder(job.out, number) for number in range(2, origin.members + 1))]
    parts += [job.out / TOKENISER] if pipeline else []
    if job.processes.from_first(lambda: all(map(is_finished, parts))):
        job.listener.message(f"{job.out} is already trained.")
        return
    stages = parser_stages(job, config, treebank, vectors, origin, encoder, start, search_rate=search_rate)
    if pipeline:
        make_run = partial(tokeniser_run, job, pipeline.tokeniser, treebank)
        stages.insert(0, Stage("tokeniser", job.out / TOKENISER, make_run))
    train_in_order(stages, job.listener, job.processes)


def _finished(job: Job, treebank: Treebank, origin: Origin, encoder: EncoderInput | None) -> Parser:
    """The trained parser; the temperature of an ensemble, which its members do not know, and the card."""
    if not job.processes.first:
        job.processes.wait()
        return Parser.load(job.out, device=job.device)
    parser = Parser.load(job.out, device=job.device)
    origin = replace(origin, label_accuracies=recorded_accuracies(job.out))
    if origin.members == 1:
        best = best_record(job.out)
    else:
        dev, retag = treebank.dev, parser.tags is not None
        ConfidenceFit(parser, dev).apply(parser)
        result = evaluate(dev, parser.parse(dev, retag=retag))
        best = {"dev_uas": result.uas, "dev_las": result.las, "epoch": "each member's own"}
        best[SILVER] = best_record(job.out).get(SILVER)
    parser.card = model_card(parser.config, parser.vocabulary, origin, best)
    if parser.tokeniser:
        parser.profile = LanguageProfile.of_text(raw_text(treebank.train))
    parser.write(job.out)
    if encoder:
        encoder.finish()
    job.processes.wait()
    return parser
