"""The sentences to train on and those to choose the model by, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from biatt.config import ParserConfig
from biatt.data.conll import Trees, read
from biatt.data.detokeniser import lacks_spaces, with_spaces
from biatt.data.length import check_length
from biatt.data.sentence import NO_HEAD, Sentence
from biatt.encoding.vocabulary import Vocabulary
from biatt.errors import ConfigError, TrainingError

DEV_FRACTION = 0.05  # of the training sentences, as in the paper


class Treebank(NamedTuple):
    train: list[Sentence]
    dev: list[Sentence]
    train_files: str  # as error messages and model cards name them
    dev_file: str
    respaced: tuple[str, ...] = ()  # the files that do not say where spaces are: they are those of rules

    def sampled(self, words: int, *, seed: int) -> Treebank:
        """Random sentences of about `words` words to train on, and of an eighth of that to choose by."""
        train, dev = _sampled(self.train, words, seed), _sampled(self.dev, words // 8, seed)
        train_files, dev_file = (
            f"{name}, {len(part):,} sentences chosen at random" if len(part) < len(whole) else name
            for name, part, whole in (
                (self.train_files, train, self.train),
                (self.dev_file, dev, self.dev),
            )
        )
        return Treebank(train, dev, train_files, dev_file, self.respaced)


def _sampled(sentences: list[Sentence], words: int, seed: int) -> list[Sentence]:
    """Sentences in their order, at least one, that have as many words as there may be."""
    order = np.random.default_rng([seed, 0]).permutation(len(sentences))
    sizes = np.cumsum([len(sentences[i]) for i in order])
    count = max(1, int(np.searchsorted(sizes, words, side="right")))
    return [sentences[i] for i in sorted(order[:count].tolist())]


def read_treebank(
    files: Sequence[str | Path],
    dev: str | Path | None,
    *,
    dev_fraction: float | None = None,
    seed: int,
    spaces: bool = False,
) -> Treebank:
    """Read training and dev sentences; without a dev file, a random part of the training files is dev.

    Training sentences may lack heads; dev sentences have whole trees. With `spaces`, all say where spaces
    are, which a tokeniser learns from: in files that do not, CoNLL-X for example, rules restore them.
    """
    if dev is not None and dev_fraction is not None:
        raise ConfigError("A dev fraction is held out of the training files only where there is no dev file.")
    if not files:
        raise ConfigError("There is no file to train on.")
    names = ", ".join(map(str, files))
    respaced: list[str] = []

    def content(file: str | Path, *, trees: Trees) -> list[Sentence]:
        sentences_of_file = _sentences(file, trees=trees)
        if spaces and sentences_of_file and lacks_spaces(sentences_of_file):
            respaced.append(str(file))
            return list(map(with_spaces, sentences_of_file))
        return sentences_of_file

    sentences = [sentence for file in files for sentence in content(file, trees="partial")]
    if dev is not None:
        dev_name, dev_sentences = str(dev), content(dev, trees=True)
    else:
        fraction = DEV_FRACTION if dev_fraction is None else dev_fraction
        dev_name = f"{fraction:.0%} of train, held out at random"
        sentences, dev_sentences = _split(sentences, fraction, seed)
    if not sentences:
        raise TrainingError(f"{names}: there is no sentence to train on.")
    if all(head == NO_HEAD for sentence in sentences for head in sentence.heads):
        raise TrainingError(f"{names}: no word to train on has a head.")
    if not dev_sentences:
        raise TrainingError(f"{dev_name}: there is no sentence with a whole tree to choose the model by.")
    return Treebank(sentences, dev_sentences, names, dev_name, tuple(respaced))


def _sentences(file: str | Path, *, trees: Trees) -> list[Sentence]:
    """The sentences of a file that have words; each must be short enough to parse."""
    sentences = [sentence for sentence in read(file, trees=trees) if len(sentence)]
    for sentence in sentences:
        check_length(sentence)
    return sentences


def _split(
    sentences: list[Sentence], dev_fraction: float, seed: int
) -> tuple[list[Sentence], list[Sentence]]:
    if not 0 < dev_fraction < 1:
        raise ConfigError(f"The dev fraction must be between 0 and 1, not {dev_fraction:g}.")
    whole = [i for i, sentence in enumerate(sentences) if NO_HEAD not in sentence.heads]
    order = np.random.default_rng([seed, 0]).permutation(len(whole))
    size = max(1, round(dev_fraction * len(sentences)))
    chosen = {whole[i] for i in order[:size].tolist()}
    train = [sentence for i, sentence in enumerate(sentences) if i not in chosen]
    return train, [sentence for i, sentence in enumerate(sentences) if i in chosen]


def vocabulary_of(treebank: Treebank, config: ParserConfig) -> Vocabulary:
    """The symbols and relations of the training sentences."""
    vocabulary = Vocabulary.build(
        treebank.train, columns=config.columns, min_count=config.min_count, affixes=config.affixes
    )
    if not vocabulary.symbols:
        columns = ", ".join(config.columns)
        raise TrainingError(f"{treebank.train_files}: every column to embed ({columns}) is empty.")
    return vocabulary
