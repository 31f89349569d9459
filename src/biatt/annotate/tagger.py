"""A tagger: a network of its own that chooses UPOS, XPOS, FEATS and a lemma rule for every word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from biatt.annotate.labeller import FusedLabeller
from biatt.annotate.tags import Tags
from biatt.config import TaggerSettings
from biatt.data.sentence import Sentence
from biatt.encoding.labels import Labels
from biatt.encoding.vocabulary import Vocabulary
from biatt.model_check import Kind
from biatt.model_folder import Model, read_model, write_model
from biatt.weights import StoredWeights

BATCH_WORDS = 500


class Tagger:
    """A trained tagger: its configuration, its vocabulary, its labels and its weights."""

    def __init__(
        self,
        config: TaggerSettings,
        vocabulary: Vocabulary,
        labels: Labels,
        weights: Mapping[str, NDArray[Any]],
        *,
        scale: NDArray[Any] | None = None,  # of packed embeddings: the model is stored packed
    ) -> None:
        self.scale = scale
        self.config, self.vocabulary, self.labels = config, vocabulary, labels
        self.weights = StoredWeights.of(weights)
        self.network = FusedLabeller(config, labels, self.weights, rows=vocabulary.size)
        self.tags = Tags(labels)

    @classmethod
    def load(cls, folder: str | Path) -> Tagger:
        return cls.from_stored(read_model(folder, Kind.TAGGER))

    @classmethod
    def from_stored(cls, model: Model) -> Tagger:
        labels = Labels(model.symbols["labels"])
        return cls(
            model.config, Vocabulary.from_json(model.symbols), labels, model.weights, scale=model.scale
        )

    def save(self, folder: str | Path) -> None:
        """Write the tagger into a folder that belongs to it, for example that of its training."""
        write_model(folder, self.stored())

    def stored(self) -> Model:
        symbols = {**self.vocabulary.to_json(), "labels": self.labels.kinds}
        return Model(Kind.TAGGER, self.config, symbols, self.weights, self.scale)

    def tag(self, sentences: Sequence[Sentence], *, keep: bool = False) -> list[Sentence]:
        """Copies with tags and lemmas; with `keep`, values that are there stay and only missing ones are set.

        A sentence without missing values is returned as it is.
        """
        todo = [(self.tags.missing if keep else self.tags.all_words)(sentence) for sentence in sentences]
        chosen = [i for i, words in enumerate(todo) if any(words)]
        encoded = [self.vocabulary.encode(sentences[i]) for i in chosen]
        tagged = list(sentences)
        for i, numbers in zip(chosen, self.network.label(encoded, batch_words=BATCH_WORDS), strict=True):
            tagged[i] = self.tags.write(sentences[i], numbers, todo[i])
        return tagged
