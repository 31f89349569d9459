"""From a treebank to a parser's model folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from biatt.config import Config
from biatt.data.conll import read
from biatt.data.files import replacing
from biatt.data.scores import split_scores
from biatt.data.sentence import Sentence, check_length
from biatt.decode.apply import with_best_tree
from biatt.decode.temperature import fitted
from biatt.encoding.batches import Batch, collate, in_batches, with_dropout
from biatt.encoding.vocabulary import Vocabulary
from biatt.encoding.word_vectors import read_vectors
from biatt.errors import ConfigError, TrainingError
from biatt.evaluation import metrics
from biatt.model_folder import CARD, FINGERPRINT, TOKENISER, is_begun, is_finished, member_folder
from biatt.network.autograd import in_threads
from biatt.network.losses import log_likelihood
from biatt.network.model import BiAtt, Noise, scores, torch_device
from biatt.parser import BATCH_WORDS, Parser
from biatt.presets import PipelineConfig
from biatt.training.card import model_card
from biatt.training.run import Listener, Run, Silent, fingerprint_of, make_folder


def train(
    train: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    dev: str | Path | None = None,
    dev_fraction: float = 0.05,
    config: Config | None = None,
    embeddings: str | Path | None = None,
    seed: int = 1,
    threads: int = 1,
    search_rate: bool = False,
    pipeline: PipelineConfig | None = None,
    ensemble: int = 1,
    resume: bool = False,
    device: str = "cpu",
    licence: str = "not stated",
    command: str = "",
    listener: Listener | None = None,
) -> Parser:
    """Train a model on CoNLL files and leave it in the folder `out`; returns its parser.

    Without `dev`, a random `dev_fraction` of the training sentences is held out, as in the paper. With
    `resume`, an interrupted run goes on from its last epoch; a finished one is just loaded. With `pipeline`,
    a tokeniser and a tagger come first, and the parser learns from tags that a tagger gave. With
    `ensemble` above 1, as many parsers are trained, with seeds in a row, and their probabilities averaged.
    """
    config, listener, out = config or Config(), listener or Silent(), Path(out)
    if ensemble < 1:
        raise ConfigError("ensemble must be at least 1.")
    if threads < 1:
        raise ConfigError("threads must be at least 1.")
    if not 0 <= seed < 2**63:
        raise ConfigError(f"The seed must be from 0 to 2^63 - 1, not {seed}.")
    files = [train] if isinstance(train, (str, Path)) else list(train)
    train_sentences, dev_sentences = split_treebank(files, dev, dev_fraction, seed)
    begun = is_begun(out)
    if begun and not resume:
        raise ConfigError(f"{out} already holds a model or a run: resume it, or name another folder.")
    if pipeline and is_finished(out) and not (out / TOKENISER).exists():
        raise ConfigError(f"{out} holds a parser that was trained without a pipeline: name another folder.")
    vectors = read_vectors(embeddings) if embeddings else None
    if vectors is not None:
        width = vectors.vectors.shape[1]
        if config.model.embedding not in (0, width):
            raise ConfigError(
                f"embedding={config.model.embedding}, but the vectors of {embeddings} are {width} wide."
            )
        config = replace(config, model=replace(config.model, embedding=width))
    torch_device(device)  # what is wrong is said now, not after hours
    everything = [config, ensemble, pipeline, seed, threads, search_rate, vectors and vectors.words]
    arrays = [vectors.vectors] if vectors else []
    _claim(out, fingerprint_of(everything, arrays, train_sentences, dev_sentences), begun=begun)
    text_models = None
    if pipeline:
        from biatt.training.pipeline import TextModels

        text_models = TextModels(
            train_sentences,
            dev_sentences,
            pipeline,
            out=out,
            seed=seed,
            threads=threads,
            resume=resume,
            listener=listener,
        )
        members = [out, *(member_folder(out, number) for number in range(2, ensemble + 1))]
        if resume and all(map(is_finished, members)) and text_models.is_clean():
            listener.message(f"{out} is already trained.")
            return Parser.load(out, device=device)
        train_sentences, dev_sentences = text_models.prepare()
    vocabulary = Vocabulary.build(
        train_sentences,
        columns=config.model.columns,
        min_count=config.model.min_count,
        affixes=config.model.affixes,
    )
    if not vocabulary.symbols:
        raise TrainingError(
            f"Every column to embed ({', '.join(config.model.columns)}) is empty in the training data."
        )
    about = {
        "text_models": text_models.scores() if text_models else {},
        "train": [str(file) for file in files],
        "dev": str(dev) if dev else f"{dev_fraction:.0%} of train, held out at random",
        "embeddings": str(embeddings) if embeddings else None,
        "seed": seed,
        "threads": threads,
        "licence": licence,
        "command": command,
    }
    initial_forms: dict[int | None, NDArray[np.float32]] = {}
    if vectors is not None:
        forms = vocabulary.symbols.get("form", [])
        found = {form: vector for form in forms if (vector := vectors.get(form)) is not None}
        initial_forms = {vocabulary.row("form", form): vector for form, vector in found.items()}
        listener.message(f"{len(found)} of {len(forms)} forms have a vector in {embeddings}.")
    for number in range(1, ensemble + 1):
        if ensemble > 1:
            listener.message(f"== member {number} of {ensemble} of the ensemble")
        run = ParserRun(
            config,
            vocabulary,
            train_sentences,
            dev_sentences,
            seed=seed + number - 1,
            device=device,
            threads=threads,
            listener=listener,
        )
        run.about, run.initial_forms = {**about, "seed": run.seed}, initial_forms
        options = [config, run.seed, threads, search_rate, *initial_forms]
        arrays = [*initial_forms.values()]
        fingerprint = fingerprint_of(options, arrays, train_sentences, dev_sentences)
        run.open(out if number == 1 else member_folder(out, number), fingerprint, resume=resume)
        listener.message(
            f"{len(train_sentences)} sentences to train on, {len(dev_sentences)} to choose by; "
            f"{', '.join(vocabulary.symbols)}; {len(vocabulary.relations)} relations; "
            f"{sum(p.numel() for p in run.network.parameters()):,} parameters."
        )
        with in_threads(threads if device == "cpu" else 1):
            if search_rate:
                run.search_rate()
            run.finish_epochs()
    parser = Parser.load(out, device=device)
    if ensemble > 1:
        _finish_ensemble(parser, out, dev_sentences, {**about, "members": ensemble})
    if text_models:
        text_models.clean()
    return parser


def _claim(out: Path, fingerprint: str, *, begun: bool) -> None:
    """Say in the folder what its models are trained from; what is begun goes on from the same only."""
    path = out / FINGERPRINT
    if begun:
        if path.exists() and path.read_text(encoding="utf-8").strip() != fingerprint:
            raise ConfigError(
                f"{out} was begun with other data, settings, seed or threads: repeat that run's options, "
                "or name another folder."
            )
    else:
        make_folder(out)
        with replacing(path) as file:
            file.write(f"{fingerprint}\n".encode())


def _finish_ensemble(parser: Parser, out: Path, dev: list[Sentence], about: dict[str, Any]) -> None:
    """What is known only when all members are there: temperature, and scores for the card."""
    gold = [parser.vocabulary.encode(sentence) for sentence in dev]
    parser.temperature = fitted(parser.scores(dev), [(item.heads, item.relations) for item in gold])
    parser.write(out)
    found = metrics.evaluate(dev, parser.parse(dev))
    best = {"dev_uas": found.uas, "dev_las": found.las, "epoch": "each member's own"}
    with replacing(out / CARD) as file:
        file.write(model_card(parser.config, parser.vocabulary, about, best).encode())


class ParserRun(Run):
    """Trains a parser: its data in numbers, and what it is told about itself for the model's card."""

    goal = "dev_las"
    network: BiAtt

    def __init__(
        self,
        config: Config,
        vocabulary: Vocabulary,
        train_sentences: list[Sentence],
        dev_sentences: list[Sentence],
        *,
        seed: int,
        device: str,
        threads: int,
        listener: Listener,
    ) -> None:
        self.config, self.vocabulary = config, vocabulary
        self.data = [vocabulary.encode(sentence) for sentence in train_sentences]
        self.dev_sentences = dev_sentences
        self.dev = [vocabulary.encode(sentence) for sentence in dev_sentences]
        self.becomes, is_tag = vocabulary.dropped()
        shares = np.where(is_tag, config.training.tag_dropout, config.training.word_dropout)
        self.shares = shares.astype(np.float32)
        self.initial_forms: dict[int | None, NDArray[np.float32]] = {}
        self.about: dict[str, Any] = {}
        network = BiAtt(
            config.model, rows=vocabulary.size, relations=len(vocabulary.relations), fused=device == "cpu"
        )
        super().__init__(
            config.training,
            network.to(torch_device(device)),
            [item.words for item in self.data],
            seed=seed,
            threads=threads,
            listener=listener,
        )

    def restart(self) -> None:
        super().restart()
        with torch.no_grad():
            for row, vector in self.initial_forms.items():
                self.network.E.weight[row] = torch.from_numpy(vector)

    def loss(
        self, indices: list[int], noise: Noise | None, generator: np.random.Generator
    ) -> tuple[Tensor, int]:
        config, batch = self.config.training, collate([self.data[i] for i in indices])
        if config.word_dropout or config.tag_dropout:
            batch = with_dropout(batch, self.becomes, self.shares, generator)
        words = int(batch.words.sum())
        output = self.network(batch, noise)
        return -log_likelihood(output, batch, smoothing=config.smoothing) / words, words

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Log-likelihood, UAS and LAS of the dev sentences with MST decoding."""
        self.network.eval()
        values: list[float] = []

        def score(batch: Batch, indices: list[int]) -> list[Sentence]:
            output = self.network(batch)
            values.append(float(log_likelihood(output, batch)))
            self.check_finite("dev log-likelihood", values[-1])
            return [
                with_best_tree(self.dev_sentences[i], sentence_scores, self.vocabulary.relations)
                for i, sentence_scores in zip(indices, split_scores(scores(output), batch.words), strict=True)
            ]

        parsed = in_batches(self.dev, score, batch_words=BATCH_WORDS)
        result = metrics.evaluate(self.dev_sentences, parsed)
        return {"dev_log_likelihood": sum(values), "dev_uas": result.uas, "dev_las": result.las}

    def save_model(self, weights: dict[str, NDArray[Any]], best: dict[str, Any], *, last: bool) -> None:
        with replacing(self.out / CARD) as file:
            file.write(model_card(self.config, self.vocabulary, self.about, best).encode())
        parser = Parser(self.config, self.vocabulary, weights)
        if last:
            gold = [(item.heads, item.relations) for item in self.dev]
            parser.temperature = fitted(parser.scores(self.dev_sentences), gold)
        parser.write(self.out)


def split_treebank(
    files: Sequence[str | Path], dev: str | Path | None, dev_fraction: float, seed: int
) -> tuple[list[Sentence], list[Sentence]]:
    """Training and dev sentences; the dev part is held out of the training files if no file is given."""
    sentences = [sentence for file in files for sentence in read(file, trees=True) if len(sentence)]
    if dev is not None:
        held_out = [sentence for sentence in read(dev, trees=True) if len(sentence)]
    else:
        if not 0 < dev_fraction < 1:
            raise ConfigError(f"The dev fraction must be between 0 and 1, not {dev_fraction:g}.")
        order = np.random.default_rng([seed, 0]).permutation(len(sentences))
        size = max(1, round(dev_fraction * len(sentences)))
        chosen = set(order[:size].tolist())
        held_out = [sentence for i, sentence in enumerate(sentences) if i in chosen]
        sentences = [sentence for i, sentence in enumerate(sentences) if i not in chosen]
    for sentence in (*sentences, *held_out):
        check_length(sentence)
    names = " ".join(map(str, files))
    if not sentences:
        raise TrainingError(f"{names}: there is no sentence to train on.")
    if not held_out:
        raise TrainingError(f"{dev}: there is no sentence to choose the model by.")
    return sentences, held_out
