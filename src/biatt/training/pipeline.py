"""From a treebank to everything that raw text needs before a parser: tokeniser and tagger, in its folder.

A parser must learn from what it will see: tags as the tagger gives them, not as the treebank has them. A
tagger knows its own training sentences too well, so they are tagged by others, each trained without the
sentences that it tags (jack-knifing).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from biatt.annotate.labeller import Labels
from biatt.annotate.multiword import Multiword
from biatt.annotate.tagger import Tagger, gold_columns, labels_of
from biatt.annotate.tokeniser import LABELS, Characters, Tokeniser, character_labels, cut
from biatt.config import Settings
from biatt.data.raw_text import NO_SPACE, Paragraph, paragraphs
from biatt.data.sentence import FORM, Sentence
from biatt.encoding.vocabulary import Indices, Vocabulary
from biatt.errors import TrainingError
from biatt.model_folder import FOLDS, METRICS, TAGGER, TOKENISER
from biatt.network.autograd import in_threads
from biatt.presets import PipelineConfig
from biatt.training.labeller_run import Data, LabellerRun, Save
from biatt.training.run import Listener, fingerprint_of


class TextModels:
    """Trains what comes before a parser, in its folder."""

    def __init__(
        self,
        train: list[Sentence],
        dev: list[Sentence],
        config: PipelineConfig,
        *,
        out: Path,
        seed: int,
        threads: int,
        resume: bool,
        listener: Listener,
    ) -> None:
        if any(sentence.format != "conllu" for sentence in (*train, *dev)):
            raise TrainingError("A pipeline learns from CoNLL-U files, which say where spaces are.")
        self.train, self.dev, self.out = train, dev, out
        self.seed, self.threads, self.resume, self.listener = seed, threads, resume, listener
        self.tokeniser, self.tagger = config.tokeniser, config.tagger
        self.folds = min(config.folds, len(train))

    def prepare(self) -> tuple[list[Sentence], list[Sentence]]:
        """Train everything; the training and the dev sentences as the parser will see such sentences."""
        self.listener.message("== the tokeniser")
        self.train_tokeniser()
        return self.tagged()

    def train_tokeniser(self) -> Tokeniser:
        config, train, dev = self.tokeniser, list(paragraphs(self.train)), list(paragraphs(self.dev))
        characters = Characters.build(
            (chunk for paragraph in train for chunk in paragraph.chunks), min_count=config.model.min_count
        )
        tokens = [(sentence, token) for sentence in self.train for token in sentence.tokens]
        multiword = Multiword.learned(
            (token.form, [row[FORM] for row in sentence.rows[token.start : token.end]])
            for sentence, token in tokens
            if token.multiword
        )
        spaces = any(len(token.form.split()) > 1 for _, token in tokens)
        if not any(NO_SPACE in token.misc for _, token in tokens):
            self.listener.message(f"No token says {NO_SPACE}: the tokeniser will only split at spaces.")

        def data(part: Sequence[Paragraph]) -> Data:
            windows = [
                window
                for paragraph in part
                for window in cut(paragraph.chunks, characters, character_labels(paragraph))
            ]
            return Data([window.encoded for window in windows], [window.labels for window in windows])

        def save(weights: dict[str, NDArray[Any]]) -> None:
            Tokeniser(config, characters, multiword, weights, spaces=spaces).save(folder)

        folder = self.out / TOKENISER
        run = self._run(config, LABELS, data(train), data(dev), characters.dropped(), save)
        self._finish(run, folder, self.train)
        return Tokeniser.load(folder)

    def train_tagger(self, folder: Path, train: Sequence[Sentence], labels: Labels) -> Tagger:
        config = self.tagger
        vocabulary = Vocabulary.build(
            train,
            columns=("form",),
            min_count=config.model.min_count,
            affixes=config.model.affixes,
        )

        def data(sentences: Sequence[Sentence]) -> Data:
            golds = map(gold_columns, sentences)
            return Data(
                [vocabulary.encode(sentence) for sentence in sentences],
                [labels.encode(*(gold[kind] for kind in labels.kinds)) for gold in golds],
            )

        def save(weights: dict[str, NDArray[Any]]) -> None:
            Tagger(config, vocabulary, labels, weights).save(folder)

        run = self._run(config, labels, data(train), data(self.dev), vocabulary.dropped()[0], save)
        self._finish(run, folder, train)
        return Tagger.load(folder)

    def tagged(self) -> tuple[list[Sentence], list[Sentence]]:
        """The training and the dev sentences with tags that a tagger gave them."""
        labels = labels_of(self.train)
        if not labels.kinds:
            self.listener.message("The treebank has neither tags nor lemmas: there is no tagger.")
            return self.train, self.dev
        self.listener.message("== the tagger")
        tagger = self.train_tagger(self.out / TAGGER, self.train, labels)
        found: dict[int, Sentence] = {}
        for fold in range(self.folds):
            self.listener.message(f"== tagger {fold + 1} of {self.folds} that tag each other's sentences")
            own = range(fold, len(self.train), self.folds)
            rest = [sentence for i, sentence in enumerate(self.train) if i % self.folds != fold]
            folder = self.out / FOLDS / str(fold + 1)
            other = self.train_tagger(folder, rest or self.train, labels)
            found.update(zip(own, other.tag([self.train[i] for i in own]), strict=True))
        return [found[i] for i in range(len(self.train))], tagger.tag(self.dev)

    def is_clean(self) -> bool:
        """Has everything that only training needed been removed, which is the last thing to happen?"""
        return not (self.out / FOLDS).exists()

    def clean(self) -> None:
        """Remove what only training needed."""
        shutil.rmtree(self.out / FOLDS, ignore_errors=True)

    def scores(self) -> dict[str, dict[str, float]]:
        """The dev scores of the best epoch of tokeniser and tagger, by kind of label."""
        found = {}
        for name in (TOKENISER, TAGGER):
            path = self.out / name / METRICS
            if path.is_file():
                records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
                best = max(records, key=lambda record: record[LabellerRun.goal])
                found[name] = {
                    key.removeprefix("dev_"): value
                    for key, value in best.items()
                    if key.startswith("dev_") and key not in ("dev_log_likelihood", LabellerRun.goal)
                }
        return found

    def _run(
        self, config: Settings, labels: Labels, train: Data, dev: Data, dropped: Indices, save: Save
    ) -> LabellerRun:
        return LabellerRun(
            config,
            labels,
            train,
            dev,
            dropped=dropped,
            save=save,
            seed=self.seed,
            threads=self.threads,
            listener=self.listener,
        )

    def _finish(self, run: LabellerRun, folder: Path, sentences: Sequence[Sentence]) -> None:
        options = [run.config, run.labels.kinds, self.seed, self.threads]
        run.open(folder, fingerprint_of(options, [], sentences, self.dev), resume=self.resume)
        with in_threads(self.threads):
            run.finish_epochs()
