"""Training of the tokeniser of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biatt.annotate.multiword import Multiword
from biatt.annotate.tokeniser import LABELS, Characters, Tokeniser, cut
from biatt.config import TokeniserSettings
from biatt.data.columns import FORM, MISC
from biatt.data.raw_text import Paragraph, paragraphs
from biatt.data.spaces import NO_SPACE
from biatt.models.model_folder import TOKENISER
from biatt.training.labeller_run import LabelledSentences, LabellerData, LabellerRun
from biatt.training.noise import noisy
from biatt.training.run import Job
from biatt.training.treebank import Treebank


def tokeniser_run(job: Job, config: TokeniserSettings, treebank: Treebank) -> LabellerRun:
    rate, train = config.training.noise, list(paragraphs(treebank.train))

    def with_noise(generator: np.random.Generator) -> list[Paragraph]:
        return list(paragraphs(noisy(treebank.train, rate=rate, generator=generator)))

    seen = [*train, *with_noise(np.random.default_rng(job.seed))] if rate else train
    characters = Characters.build(seen, min_count=config.model.min_count)
    tokens = [(sentence, token) for sentence in treebank.train for token in sentence.tokens]
    multiword = Multiword.learned(
        (token.form, [row[FORM] for row in sentence.rows[token.start : token.end]])
        for sentence, token in tokens
        if token.is_multiword
    )
    spaces = any(len(token.form.split()) > 1 for _, token in tokens)
    if not any(NO_SPACE in token.row[MISC] for _, token in tokens):
        job.listener.message(f"No token has {NO_SPACE}: the tokeniser will only split at spaces.")

    def labelled(paragraphs: Sequence[Paragraph]) -> LabelledSentences:
        windows = [window for paragraph in paragraphs for window in cut(paragraph, characters)]
        return LabelledSentences(
            [window.encoded for window in windows], [window.labels for window in windows]
        )

    def save(weights: dict[str, NDArray[Any]]) -> None:
        Tokeniser(config, characters, multiword, weights, spaces=spaces).save(job.out / TOKENISER)

    make_noisy = (lambda generator: labelled(with_noise(generator))) if rate else None
    data = LabellerData(labelled(train), labelled(list(paragraphs(treebank.dev))), make_noisy)
    dropped_rows = characters.dropped()
    return LabellerRun(job, config, LABELS, data, stage=TOKENISER, dropped_rows=dropped_rows, save=save)
