"""Training of the tokeniser and the tagger of a pipeline.

A parser must learn from sentences as it will see them: with the tagger's tags, not the treebank's. A tagger
makes fewer errors in its own training sentences than in others, so the parser's training sentences are tagged
by further taggers, each trained without the sentences that it tags (jack-knifing).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from biatt.annotate.labeller import Labels
from biatt.annotate.multiword import Multiword
from biatt.annotate.tagger import Tagger, gold_columns, labels_of
from biatt.annotate.tokeniser import LABELS, Characters, Tokeniser, character_labels, cut
from biatt.config import TaggerSettings, TokeniserSettings
from biatt.data.raw_text import NO_SPACE, Paragraph, paragraphs
from biatt.data.sentence import FORM, Sentence
from biatt.encoding.vocabulary import Vocabulary
from biatt.errors import TrainingError
from biatt.model_folder import FOLDS, TAGGER, TOKENISER
from biatt.presets import PipelineConfig
from biatt.training.labeller_run import LabelledSentences, LabellerRun
from biatt.training.run import Job
from biatt.training.treebank import Treebank


def train_pipeline(job: Job, config: PipelineConfig, treebank: Treebank) -> Treebank:
    """Train tokeniser and tagger; returns the treebank with the tags of taggers, to train the parser on."""
    for sentence in (*treebank.train, *treebank.dev):
        if sentence.format != "conllu":
            raise TrainingError(
                f"{sentence.source} is a CoNLL-X file: a pipeline needs CoNLL-U, which says where spaces are."
            )
    job.listener.message("== tokeniser")
    train_tokeniser(job, config.tokeniser, treebank)
    labels = labels_of(treebank.train)
    if not labels.kinds:
        job.listener.message("The treebank has neither tags nor lemmas: there is no tagger.")
        return treebank
    job.listener.message("== tagger")
    tagger = train_tagger(job, config.tagger, labels, treebank.train, treebank.dev, stage=TAGGER)
    train = jack_knifed(job, config, labels, treebank)
    return treebank._replace(train=train, dev=tagger.tag(treebank.dev))


def train_tokeniser(job: Job, config: TokeniserSettings, treebank: Treebank) -> Tokeniser:
    train = list(paragraphs(treebank.train))
    characters = Characters.build(
        (chunk for paragraph in train for chunk in paragraph.chunks), min_count=config.model.min_count
    )
    tokens = [(sentence, token) for sentence in treebank.train for token in sentence.tokens]
    multiword = Multiword.learned(
        (token.form, [row[FORM] for row in sentence.rows[token.start : token.end]])
        for sentence, token in tokens
        if token.multiword
    )
    spaces = any(len(token.form.split()) > 1 for _, token in tokens)
    if not any(NO_SPACE in token.misc for _, token in tokens):
        job.listener.message(f"No token has {NO_SPACE}: the tokeniser will only split at spaces.")

    def labelled(paragraphs: Sequence[Paragraph]) -> LabelledSentences:
        windows = [
            window
            for paragraph in paragraphs
            for window in cut(paragraph.chunks, characters, character_labels(paragraph))
        ]
        return LabelledSentences(
            [window.encoded for window in windows], [window.labels for window in windows]
        )

    def save(weights: dict[str, NDArray[Any]]) -> None:
        Tokeniser(config, characters, multiword, weights, spaces=spaces).save(job.out / TOKENISER)

    dev = labelled(list(paragraphs(treebank.dev)))
    dropped_rows = characters.dropped()
    LabellerRun(
        job, config, LABELS, labelled(train), dev, stage=TOKENISER, dropped_rows=dropped_rows, save=save
    ).finish()
    return Tokeniser.load(job.out / TOKENISER)


def train_tagger(
    job: Job,
    config: TaggerSettings,
    labels: Labels,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    *,
    stage: str,
) -> Tagger:
    vocabulary = Vocabulary.build(
        train, columns=("form",), min_count=config.model.min_count, affixes=config.model.affixes
    )

    def labelled(sentences: Sequence[Sentence]) -> LabelledSentences:
        columns = map(gold_columns, sentences)
        return LabelledSentences(
            [vocabulary.encode(sentence) for sentence in sentences],
            [labels.encode(*(column[kind] for kind in labels.kinds)) for column in columns],
        )

    def save(weights: dict[str, NDArray[Any]]) -> None:
        Tagger(config, vocabulary, labels, weights).save(job.out / stage)

    dropped_rows, _ = vocabulary.dropped()
    LabellerRun(
        job, config, labels, labelled(train), labelled(dev), stage=stage, dropped_rows=dropped_rows, save=save
    ).finish()
    return Tagger.load(job.out / stage)


def jack_knifed(job: Job, config: PipelineConfig, labels: Labels, treebank: Treebank) -> list[Sentence]:
    """The training sentences, each tagged by a tagger that was trained without it."""
    tagged = list(treebank.train)
    folds = min(config.folds, len(tagged))
    for fold in range(folds):
        job.listener.message(f"== jack-knife tagger {fold + 1} of {folds}")
        rest = [sentence for i, sentence in enumerate(treebank.train) if i % folds != fold]
        stage = f"{FOLDS}/{fold + 1}"
        tagger = train_tagger(job, config.tagger, labels, rest or treebank.train, treebank.dev, stage=stage)
        tagged[fold::folds] = tagger.tag(treebank.train[fold::folds])
    return tagged
