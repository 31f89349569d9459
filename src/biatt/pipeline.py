"""From a treebank to everything that raw text needs before a parser: tokeniser and tagger, in its folder.

A parser must learn from what it will see: tags as the tagger gives them, not as the treebank has them. A tagger
knows its own training sentences too well, so they are tagged by others, each trained without the sentences
that it tags (jack-knifing).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from biatt.config import TAGGER, TOKENISER, Config
from biatt.conll import FORM, Sentence
from biatt.errors import TrainingError
from biatt.fused import in_threads
from biatt.labeller import Labels
from biatt.labelling import Data, LabellerRun
from biatt.multiword import Multiword
from biatt.runs import METRICS, Listener, fingerprint_of
from biatt.tagger import Tagger, gold_columns, labels_of
from biatt.tokeniser import LABELS, NO_SPACE, Characters, Tokeniser, cut, paragraphs
from biatt.vocabulary import Vocabulary

TOKENISER_FOLDER, TAGGER_FOLDER, FOLDS_FOLDER = "tokeniser", "tagger", "folds"  # inside the parser's folder
FOLDS = 4


class TextModels:
    """Trains what comes before a parser, in its folder."""

    def __init__(
        self,
        train: list[Sentence],
        dev: list[Sentence],
        *,
        out: Path,
        seed: int,
        threads: int,
        resume: bool,
        listener: Listener,
        tokeniser: Config = TOKENISER,
        tagger: Config = TAGGER,
        folds: int = FOLDS,
    ) -> None:
        if any(sentence.format != "conllu" for sentence in (train[0], dev[0])):
            raise TrainingError("A pipeline learns from CoNLL-U files, which say where spaces are.")
        self.train, self.dev, self.out = train, dev, out
        self.seed, self.threads, self.resume, self.listener = seed, threads, resume, listener
        self.tokeniser, self.tagger, self.folds = tokeniser, tagger, min(folds, len(train))

    def train_tokeniser(self) -> Tokeniser:
        config, parts = self.tokeniser, [list(paragraphs(part)) for part in (self.train, self.dev)]
        characters = Characters.build(
            (chunk for paragraph in parts[0] for chunk in paragraph.chunks), min_count=config.model.min_count
        )
        tokens = [(sentence, token) for sentence in self.train for token in sentence.tokens]
        multiword = Multiword.learned(
            (token.form, [row[FORM] for row in sentence.rows[token.start : token.end]])
            for sentence, token in tokens
            if token.multiword
        )
        spaces = any(" " in token.form for _, token in tokens)
        if not any(NO_SPACE in token.misc for _, token in tokens):
            self.listener.message(f"No token says {NO_SPACE}: the tokeniser will only split at spaces.")
        data = [
            Data([window.encoded for window in windows], [window.labels for window in windows])
            for part in parts
            for windows in [[window for paragraph in part for window in cut(paragraph, characters)]]
        ]

        def save(weights: dict[str, NDArray[Any]]) -> None:
            Tokeniser(config, characters, multiword, weights, spaces=spaces).save(folder)

        folder = self.out / TOKENISER_FOLDER
        self._run(folder, config, LABELS, *data, characters.size, characters.dropped(), save, self.train)
        return Tokeniser.load(folder)

    def train_tagger(self, folder: Path, train: Sequence[Sentence], labels: Labels) -> Tagger:
        config = self.tagger
        vocabulary = Vocabulary.build(
            train,
            columns=config.model.columns,
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

        self._run(
            folder,
            config,
            labels,
            data(train),
            data(self.dev),
            vocabulary.size,
            vocabulary.dropped()[0],
            save,
            train,
        )
        return Tagger.load(folder)

    def tagged(self) -> tuple[list[Sentence], list[Sentence]]:
        """The training and the dev sentences with tags that a tagger gave them."""
        labels = labels_of(self.train)
        if not labels.kinds:
            self.listener.message("The treebank has neither tags nor lemmas: there is no tagger.")
            return self.train, self.dev
        self.listener.message("== the tagger")
        tagger = self.train_tagger(self.out / TAGGER_FOLDER, self.train, labels)
        found: dict[int, Sentence] = {}
        for fold in range(self.folds):
            self.listener.message(f"== tagger {fold + 1} of {self.folds} that tag each other's sentences")
            own = range(fold, len(self.train), self.folds)
            rest = [sentence for i, sentence in enumerate(self.train) if i % self.folds != fold]
            folder = self.out / FOLDS_FOLDER / str(fold + 1)
            other = self.train_tagger(folder, rest or self.train, labels)
            found.update(zip(own, other.tag([self.train[i] for i in own]), strict=True))
        return [found[i] for i in range(len(self.train))], tagger.tag(self.dev)

    def clean(self) -> None:
        """Remove what only training needed."""
        shutil.rmtree(self.out / FOLDS_FOLDER, ignore_errors=True)

    def scores(self) -> dict[str, dict[str, float]]:
        """The dev scores of the best epoch of tokeniser and tagger, by kind of label."""
        found = {}
        for name in (TOKENISER_FOLDER, TAGGER_FOLDER):
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
        self,
        folder: Path,
        config: Config,
        labels: Labels,
        train: Data,
        dev: Data,
        rows: int,
        dropped: Any,
        save: Any,
        sentences: Sequence[Sentence],
    ) -> None:
        run = LabellerRun(
            config,
            labels,
            train,
            dev,
            rows=rows,
            dropped=dropped,
            save=save,
            seed=self.seed,
            threads=self.threads,
            listener=self.listener,
        )
        run.open(
            folder,
            fingerprint_of([config, self.seed, self.threads], [], sentences, self.dev),
            resume=self.resume,
        )
        with in_threads(self.threads):
            run.finish_epochs()
