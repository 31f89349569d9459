"""What is measured on: a treebank's sentences, a model, and sentences of any length made of both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from biatt.config import Config
from biatt.data.columns import DEPREL, FEATS, FORM, LEMMA, UPOS, XPOS
from biatt.data.conll import read, write
from biatt.data.sentence import Sentence
from biatt.encoding.vocabulary import Vocabulary
from biatt.errors import BiattError
from biatt.machine.kernel_choice import require_compiled
from biatt.network.model import BiAtt
from biatt.parser import Parser
from biatt.presets import preset


@dataclass(frozen=True)
class Sizes:
    """How much of everything is measured."""

    dev_sentences: int | None  # None: all
    training_words: int
    words: int  # of each set of sentences of one length
    lengths: tuple[int, ...]
    latency_calls: int
    long_sentence: int
    decoded_lengths: tuple[int, ...] = (25, 100, 400, 2000)
    parsing_budgets: tuple[int, ...] = (100, 250, 500, 1000)  # words a batch
    training_budgets: tuple[int, ...] = (50, 100, 200, 400)


FULL = Sizes(None, 4000, 4000, (10, 20, 50, 100, 200, 500, 1000), 300, 2000)
QUICK = Sizes(100, 200, 200, (10, 20, 50), 20, 200, (10, 50), (100,), (50,))


@dataclass(frozen=True)
class Workload:
    sizes: Sizes
    repeats: int
    seed: int
    folder: Path  # for files that last as long as the run
    model: Path
    fused: Parser
    torch: Parser
    dev: Path  # CoNLL-U, not compressed
    sentences: list[Sentence]  # of dev
    train: list[Sentence]

    @property
    def words(self) -> int:
        return sum(map(len, self.sentences))

    def random_sentences(self, length: int, words: int) -> list[Sentence]:
        """Sentences of one length, of about so many words in all: dev words and heads drawn at random."""
        generator = np.random.default_rng([self.seed, length])
        tokens = [row for sentence in self.sentences for row in sentence.rows]
        sentences = []
        for _ in range(max(1, words // length)):
            rows = [tokens[i] for i in generator.integers(len(tokens), size=length)]
            forms, lemmas, upos, xpos, feats, deprels = (
                [row[column] for row in rows] for column in (FORM, LEMMA, UPOS, XPOS, FEATS, DEPREL)
            )
            heads = [(t + int(step)) % (length + 1) for t, step in
                     enumerate(generator.integers(1, length + 1, size=length), 1)]  # fmt: skip
            sentences.append(
                Sentence.from_words(
                    forms, lemmas=lemmas, upos=upos, xpos=xpos, feats=feats, heads=heads, deprels=deprels
                )
            )
        return sentences


def prepare(
    treebank: Path, model: Path | None, folder: Path, *, sizes: Sizes, repeats: int, seed: int
) -> Workload:
    require_compiled()  # else the first second of work would be numpy's
    train = list(read(_file(treebank, "train")))
    sentences = list(read(_file(treebank, "dev")))[: sizes.dev_sentences]
    sentences = [sentence for sentence in sentences if len(sentence)]
    dev = folder / "dev.conllu"
    write(sentences, dev)
    if model is None:
        model = folder / "model"
        untrained(preset("paper"), train, seed=seed).save(model)
    parsers = Parser.load(model), Parser.load(model, fused=False)
    return Workload(sizes, repeats, seed, folder, model, *parsers, dev, sentences, train)


def untrained(config: Config, sentences: list[Sentence], *, seed: int) -> Parser:
    """A parser of random weights, of the size that training on these sentences would give."""
    model = config.model
    vocabulary = Vocabulary.build(
        sentences, columns=model.columns, min_count=model.min_count, affixes=model.affixes
    )
    network = BiAtt(config.model, rows=vocabulary.size, relations=len(vocabulary.relations))
    network.initialise(torch.Generator().manual_seed(seed))
    return Parser(config, vocabulary, {name: value.numpy() for name, value in network.state_dict().items()})


def _file(treebank: Path, part: str) -> Path:
    found = sorted(treebank.glob(f"*{part}.conllu*"))
    if len(found) != 1:
        raise BiattError(f"{treebank} has {len(found)} files *{part}.conllu*, but must have one.")
    return found[0]
