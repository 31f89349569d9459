"""Training of parsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from biatt.annotate.known_lemmas import KnownLemmas
from biatt.annotate.tags import gold_labels, labels_of, with_combinations
from biatt.config import Config
from biatt.data.folders import replacing_folder
from biatt.data.scores import split_scores
from biatt.data.sentence import Sentence
from biatt.decode.apply import default_roots
from biatt.decode.arc_scores import Heads
from biatt.decode.decoders import mst
from biatt.encoding.batches import Batch, collate, in_batches, with_dropout
from biatt.encoding.labels import NO_LABEL, Labels
from biatt.encoding.vocabulary import Encoded, Indices, Vocabulary
from biatt.encoding.word_vectors import WordVectors
from biatt.evaluation.trees import compared_relations, scored_trees, scoring_options
from biatt.models.model_folder import ENCODER, member_folder, write_reference
from biatt.models.weights import FROZEN, NO_LABELS
from biatt.network.autograd import FUSED
from biatt.network.contextual import ContextualEncoder
from biatt.network.losses import label_losses, log_likelihood
from biatt.network.model import TUNED_ENCODER, BiAtt, Dropout
from biatt.network.operations import PLAIN
from biatt.network.scoring import scores, torch_device
from biatt.parser import Parser
from biatt.parsing.fit_confidence import ConfidenceFit
from biatt.parsing.scorer import BATCH_WORDS
from biatt.training.card import SILVER, Origin, model_card, silver_summary
from biatt.training.encoder import EncoderInput
from biatt.training.labeller_run import label_accuracies
from biatt.training.noise import OF_WORDS, with_noise
from biatt.training.optimiser import Adam
from biatt.training.plan import Stage
from biatt.training.records import Record
from biatt.training.run import NO_ROWS, Job, Run
from biatt.training.silver import SilverEpoch, SilverSentences, SilverText
from biatt.training.start import Start
from biatt.training.treebank import Treebank, vocabulary_of

NO_FROZEN: Mapping[str, NDArray[Any]] = MappingProxyType({})


class ParserInputs(NamedTuple):
    """What parsers are trained with, beside the treebank; the members of an ensemble share it."""

    vocabulary: Vocabulary
    labels: Labels | None = None
    silver: SilverText | None = None
    initial_rows: Mapping[int, NDArray[np.float32]] = NO_ROWS
    frozen: Mapping[str, NDArray[Any]] = NO_FROZEN  # weights that neither training nor checkpoints change
    encoder: EncoderInput | None = None
    start: Start | None = None


def parser_stages(
    job: Job,
    config: Config,
    treebank: Treebank,
    vectors: WordVectors | None,
    origin: Origin,
    encoder: EncoderInput | None,
    start: Start | None = None,
    *,
    search_rate: bool,
) -> list[Stage]:
    """The training of the parser, or of all members of an ensemble, which have consecutive seeds."""
    vocabulary = start.vocabulary if start else vocabulary_of(treebank, config.model)
    labels = labels_of(treebank.train) if config.model.tags else None
    if start:
        labels = start.labels and with_combinations(start.labels, treebank.train)
    if labels and not labels.kinds:
        job.listener.message("The treebank has neither tags nor lemmas: the parser chooses none.")
        labels, config = None, replace(config, model=replace(config.model, tags=False))
    silver = origin.silver and origin.silver.read(treebank.dev, relations=vocabulary.relations, labels=labels)
    if silver and not start:
        least, most = config.training.silver_min_count, config.training.silver_symbols
        vocabulary = vocabulary.extended(silver.form_counts(), min_count=least, most=most)
    initial_rows, frozen = NO_ROWS, NO_FROZEN
    if start:
        frozen = {name: weight for name, weight in start.weights.items() if name in FROZEN}
    if vectors is not None and config.model.vector_width:
        words, frozen = vectors.frozen(config.model.vector_rows)
        vocabulary = vocabulary.with_vectors(words)
        job.listener.message(f"{len(words):,} words have a vector of {origin.embeddings}.")
    elif vectors is not None:
        initial_rows = vectors_by_row(vocabulary, vectors)
        forms = len(vocabulary.symbols.get("form", []))
        job.listener.message(f"{len(initial_rows)} of {forms} forms have a vector in {origin.embeddings}.")
    if encoder:
        encoder.begin(job.out)

    inputs = ParserInputs(vocabulary, labels, silver, initial_rows, frozen, encoder, start)

    def opened(number: int) -> ParserRun:
        seed = job.seed + number - 1
        return ParserRun(
            replace(job, seed=seed),
            config,
            treebank,
            inputs,
            origin=replace(origin, seed=seed, members=1),
            stage="" if number == 1 else str(member_folder("", number)),
        )

    return [
        Stage(
            "parser" if origin.members == 1 else f"member {number} of {origin.members} of the ensemble",
            job.out if number == 1 else member_folder(job.out, number),
            partial(opened, number),
            like_the_last=number > 1,
            search_rate=search_rate,
        )
        for number in range(1, origin.members + 1)
    ]


class ParserRun(Run):
    """Trains one parser."""

    goal = "dev_las"
    network: BiAtt
    silver_epoch: SilverEpoch

    def __init__(
        self,
        job: Job,
        config: Config,
        treebank: Treebank,
        inputs: ParserInputs,
        *,
        origin: Origin,
        stage: str = "",
    ) -> None:
        self.job, self.config, self.origin = job, config, origin
        vocabulary, labels = inputs.vocabulary, inputs.labels
        self.vocabulary, self.labels = vocabulary, labels
        self.frozen, self.encoder = inputs.frozen, inputs.encoder
        self.silver = self._opened(inputs.silver, job)
        self.start = inputs.start
        self.known_lemmas = KnownLemmas.of(treebank.train) if labels and "lemma" in labels.kinds else None
        if inputs.start:
            self.known_lemmas = inputs.start.lemmas(treebank.train)
        self.train_sentences = treebank.train
        self.train = self._encoded(treebank.train, cached=True)
        self.without_noise = self.train
        self.dev_sentences = treebank.dev
        self.dev = self._encoded(treebank.dev, cached=True)
        self.dev_words = sum(sentence.words for sentence in self.dev)
        self.dev_trees = DevTrees(treebank.dev, vocabulary)
        self.dropped_rows, is_tag = vocabulary.dropped()
        drop_rates = np.where(is_tag, config.training.tag_dropout, config.training.word_dropout)
        self.drop_rates = drop_rates.astype(np.float32)
        network = self._new_network(job.device)
        super().__init__(
            job,
            config.training,
            network,
            [sentence.words for sentence in self.train],
            stage=stage,
            initial_rows=inputs.initial_rows,
        )
        self.listener.message(
            f"{len(self.train)} sentences to train on, {len(self.dev)} to choose by; "
            f"{', '.join(vocabulary.symbols)}; {len(vocabulary.relations)} relations; "
            f"{sum(parameter.numel() for parameter in network.parameters()):,} parameters."
        )

    def _opened(self, text: SilverText | None, job: Job) -> SilverSentences | None:
        """The sentences of the silver text that are confident enough, in random order."""
        if text is None:
            return None
        confidence = self.config.training.silver_confidence
        generator = np.random.default_rng([job.seed, 0, 1])
        silver = SilverSentences(
            text, self.vocabulary, self.labels, least_confidence=confidence, generator=generator
        )
        self.facts = {SILVER: silver.facts()}
        job.listener.message(f"Silver text: {silver_summary(self.origin, self.facts[SILVER])}.")
        return silver

    def _new_network(self, device: str) -> BiAtt:
        network = BiAtt(
            self.config.model,
            rows=self.vocabulary.size,
            relations=len(self.vocabulary.relations),
            labels=self.labels.sizes if self.labels else NO_LABELS,
            operations=FUSED if device == "cpu" else PLAIN,
        )
        if self.encoder and self.encoder.tuned:
            network.encoder = self.encoder.encoder
        network.set_frozen(self.frozen)
        return network.to(torch_device(device))

    def epoch_lengths(self, epoch: int) -> Sequence[int]:
        generator = self.noise_generator(epoch)
        if self.training.noise:
            noisy = {
                int(i): with_noise(self.train_sentences[i], OF_WORDS[generator.integers(len(OF_WORDS))])
                for i in np.flatnonzero(generator.random(len(self.without_noise)) < self.training.noise)
            }
            self.train = self.without_noise[:]
            for i, encoded in zip(noisy, self._encoded(list(noisy.values())), strict=True):
                self.train[i] = encoded
        lengths = [sentence.words for sentence in self.train]
        if self.silver:
            part, noise = self._silver_part(epoch), self.training.noise
            self.silver_epoch = SilverEpoch(self.silver, part, noise=noise, generator=generator)
            lengths += self.silver_epoch.lengths
        return lengths

    def words_of(self, epoch: int) -> int:
        return self.words + (self.silver.words_in(self._silver_part(epoch)) if self.silver else 0)

    def _silver_part(self, epoch: int) -> range:
        """The next part of the silver text; none in the last epochs."""
        if self.silver is None or epoch > self.epochs - self.config.training.gold_epochs:
            return range(0)
        words = round(self.config.training.silver_ratio * self.words)
        return self.silver.part((epoch - 1) * words, words)

    def _sentence(self, index: int) -> Encoded:
        """A gold sentence of the epoch or, after the last of them, a silver one."""
        gold = len(self.train)
        return self.train[index] if index < gold else self.silver_epoch.encoded(index - gold)

    def _encoded(self, sentences: Sequence[Sentence], *, cached: bool = False) -> list[Encoded]:
        """Sentences as the network reads them, with their gold labels."""
        encoded = [self.vocabulary.encode(sentence) for sentence in sentences]
        if self.labels:
            labels = [gold_labels(sentence, self.labels) for sentence in sentences]
            encoded = [part._replace(labels=gold) for part, gold in zip(encoded, labels, strict=True)]
        if self.encoder:
            encoded = self.encoder.complete(encoded, sentences, self.job, cached=cached)
        return encoded

    @torch.no_grad()
    def _initialise(self) -> Adam:
        if self.encoder:
            self.encoder.initialise(self.network.features, self.train)
        adam = super()._initialise()
        if self.start:
            self.network.load(self.start.weights)
        return adam

    def encoder_rate(self, rate: float, epoch: int, done: float) -> float:
        """It rises over the first epoch, in which the parser's gradients still say little."""
        return rate / self.training.rate * self.config.training.encoder_rate * min(1.0, epoch - 1 + done)

    def loss(
        self, indices: list[int], dropout: Dropout | None, generator: np.random.Generator
    ) -> tuple[Tensor, int]:
        batch = collate([self._sentence(i) for i in indices])
        if self.drop_rates.any():
            batch = with_dropout(batch, self.dropped_rows, self.drop_rates, generator)
        words, smoothing = int(batch.words.sum()), self.training.smoothing
        shown = batch
        if batch.labels is not None:  # the network sees the tags of some sentences
            hidden = generator.random(len(batch.words)) < self.config.training.tag_dropout
            shown = batch._replace(
                labels=np.where(np.repeat(hidden, batch.words)[:, None], NO_LABEL, batch.labels)
            )
        dropout = self.processes.dropout(dropout, batch)
        shown, batch = self.processes.part(shown), self.processes.part(batch)
        output = self.network(shown, dropout)
        loss = -log_likelihood(output, batch, smoothing=smoothing)
        if self.labels and batch.labels is not None and output.label_scores is not None:
            losses = label_losses(
                output.label_scores, batch.labels, self.labels, doubts=batch.doubts, smoothing=smoothing
            )
            loss = loss + self.config.training.tag_weight * losses.sum()
        return loss / words, words

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Log-likelihood, UAS and LAS of the dev sentences with MST decoding, and accuracies of labels."""
        self.network.eval()
        log_likelihoods: list[float] = []
        labels: dict[int, Indices] = {}

        def best_trees(batch: Batch, indices: list[int]) -> list[tuple[Heads, Indices]]:
            output = self.network(batch._replace(labels=None))
            log_likelihoods.append(float(log_likelihood(output, batch)))
            self.check_finite("dev log-likelihood", log_likelihoods[-1])
            trees = []
            for i, sentence in zip(indices, split_scores(scores(output), batch.words), strict=True):
                if self.labels and sentence.label_scores is not None:
                    labels[i] = self.labels.best(sentence.label_scores)
                tree = mst(sentence.agreement, roots=default_roots(self.dev_sentences[i]))
                trees.append((tree, np.argmax(sentence.relation_scores(tree), -1)))
            return trees

        trees = in_batches(self.dev, best_trees, batch_words=BATCH_WORDS)
        uas, las = self.dev_trees.attachment_scores(trees)
        figures = {"dev_log_likelihood": sum(log_likelihoods), "dev_uas": uas, "dev_las": las}
        if self.labels:
            gold = [sentence.labels for sentence in self.dev if sentence.labels is not None]
            figures |= label_accuracies([labels[i] for i in range(len(gold))], gold, self.labels)
        return figures

    def save_model(self, weights: dict[str, NDArray[Any]], best: Record, *, last: bool) -> None:
        card = model_card(self.config, self.vocabulary, self.origin, best)
        of_parser = {name: value for name, value in weights.items() if not name.startswith(TUNED_ENCODER)}
        of_parser.update(self.frozen)
        parser = Parser(
            self.config,
            self.vocabulary,
            of_parser,
            card=card,
            labels=self.labels,
            known_lemmas=self.known_lemmas,
        )
        if self.encoder:
            encoder = self.encoder.encoder
            if self.encoder.tuned:
                encoder = self._written_encoder(encoder, weights)
            write_reference(self.folder, encoder.reference)
            parser.encoder = encoder
        if last:
            ConfidenceFit(parser, self.dev_sentences).apply(parser)
        parser.write(self.folder)

    def _written_encoder(
        self, encoder: ContextualEncoder, weights: Mapping[str, NDArray[Any]]
    ) -> ContextualEncoder:
        """The encoder with these weights, which is in the model folder now."""
        prefix = f"{TUNED_ENCODER}model."
        tensors = {
            name.removeprefix(prefix): torch.from_numpy(value)
            for name, value in weights.items()
            if name.startswith(prefix)
        }
        with replacing_folder(self.folder / ENCODER) as new:
            encoder.write(new, tensors)
        tuned = ContextualEncoder(self.folder / ENCODER, encoder.layers)
        tuned.reference = replace(tuned.reference, bundled=True)
        return tuned


class DevTrees:
    """The gold trees of the dev sentences as numbers; they are scored as `evaluate` does by default."""

    def __init__(self, sentences: Sequence[Sentence], vocabulary: Vocabulary) -> None:
        style, punctuation = scoring_options(sentences, None, None)
        trees = scored_trees(sentences, style, punctuation, allow_cycles=False)
        names: dict[str, int] = {}  # relations, as they are compared
        self.heads = np.array([head for tree in trees for head in tree.heads])
        self.relations = np.array(
            [names.setdefault(name, len(names)) for tree in trees for name in tree.relations]
        )
        self.counted = np.array([counted for tree in trees for counted in tree.counted])
        self.number_of = np.array(  # in `self.relations`, of each relation of the vocabulary
            [names.setdefault(name, len(names)) for name in compared_relations(vocabulary.relations, style)]
        )

    def attachment_scores(self, trees: Sequence[tuple[Heads, Indices]]) -> tuple[float, float]:
        """UAS and LAS of a tree for each sentence: heads, and relations by their numbers."""
        heads = np.concatenate([heads for heads, _ in trees])
        relations = self.number_of[np.concatenate([relations for _, relations in trees])]
        attached = (heads == self.heads) & self.counted
        labelled = attached & (relations == self.relations)
        total = max(int(self.counted.sum()), 1)
        return int(attached.sum()) / total, int(labelled.sum()) / total


def vectors_by_row(vocabulary: Vocabulary, vectors: WordVectors) -> dict[int, NDArray[np.float32]]:
    """The vectors of the vocabulary's forms, by the rows of **E** that they initialise."""
    rows = {}
    for form in vocabulary.symbols.get("form", []):
        row, vector = vocabulary.row("form", form), vectors.get(form)
        if row is not None and vector is not None:
            rows[row] = vector
    return rows
