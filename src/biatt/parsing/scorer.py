"""The network and all that it needs to score sentences: vocabulary, labels, encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from biatt.annotate.known_lemmas import KnownLemmas
from biatt.annotate.tags import Tags, Words
from biatt.config import Config
from biatt.data.columns import FEATS
from biatt.data.curves import Curves
from biatt.data.doubts import Choices
from biatt.data.scores import DeferredColumns, Floats, Scores, mean, split_scores
from biatt.data.sentence import Sentence
from biatt.encoding.batches import Batch, in_batches
from biatt.encoding.features import FeatureEncoder
from biatt.encoding.labels import Labels
from biatt.encoding.vocabulary import Indices, Vocabulary
from biatt.errors import ModelError
from biatt.kernels.forward import FusedEncoder, FusedNetwork
from biatt.models.weights import StoredWeights

BATCH_WORDS = 250  # words that are scored at once; the fastest of the sizes that benchmarks/run.py tries


class Network(Protocol):
    def score(self, batch: Batch) -> Scores: ...


class Ensemble:
    """Several networks, whose probabilities are averaged."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self.networks = list(networks)

    def score(self, batch: Batch) -> Scores:
        return mean([network.score(batch) for network in self.networks])


class Scorer:
    """Sentences become scores of heads, relations and tags.

    On the CPU it runs without torch; on another device, or with `fused=False`, torch runs it. With labels
    it also chooses tags and lemmas. A model with a contextual encoder runs that in torch.
    """

    encoder: FeatureEncoder | None = None  # whose features the network reads

    def __init__(
        self,
        config: Config,
        vocabulary: Vocabulary,
        weights: Mapping[str, NDArray[Any]],
        *,
        labels: Labels | None = None,
        known_lemmas: KnownLemmas | None = None,
        device: str = "cpu",
        fused: bool | None = None,
    ) -> None:
        self.config, self.vocabulary, self.weights = config, vocabulary, StoredWeights.of(weights)
        self.tags = Tags(labels, known_lemmas) if labels else None
        size: dict[str, Any] = {"rows": vocabulary.size, "relations": len(vocabulary.relations)}
        if labels:
            size["labels"] = labels.sizes
        self.network: Network
        if device == "cpu" and fused is not False:
            self.network = FusedNetwork(config.model, self.weights, **size)
        else:
            from biatt.network.scoring import TorchNetwork

            self.network = TorchNetwork(config.model, self.weights, device=device, **size)

    def pack(self) -> None:
        """Make the packed weights of all networks, which other processes can then share."""
        networks = self.network.networks if isinstance(self.network, Ensemble) else [self.network]
        for network in networks:
            if isinstance(network, FusedEncoder):
                network.pack()

    @property
    def chooses_tags(self) -> bool:
        """Whether the network chooses tags and lemmas."""
        return self.tags is not None

    def scores(
        self, sentences: Sequence[Sentence], *, batch_words: int = BATCH_WORDS, retag: bool = False
    ) -> list[Scores]:
        """The scores of each sentence, in batches of about `batch_words`; no sentence may be empty.

        With `retag`, a network that chooses tags does not look at those that the sentences have.
        """
        untagged = [self._untagged(sentence, retag=retag) for sentence in sentences]
        return [scores for scores, _ in self._scores(sentences, untagged, batch_words=batch_words)]

    def _untagged(self, sentence: Sentence, *, retag: bool) -> Words:
        """The words whose tags and lemmas the network chooses, for each kind of label."""
        if self.tags is None:
            return []
        return self.tags.all_words(sentence) if retag else self.tags.missing(sentence)

    def _scores(
        self, sentences: Sequence[Sentence], untagged: Sequence[Words], *, batch_words: int = BATCH_WORDS
    ) -> list[tuple[Scores, Indices | None]]:
        """The scores of each sentence, and the best label of each kind of its words, (n, kinds)."""
        encoded = [self.vocabulary.encode_words(sentence) for sentence in sentences]
        if self.tags:
            given = map(self.tags.given, sentences, untagged)
            encoded = [part._replace(labels=labels) for part, labels in zip(encoded, given, strict=True)]
        if self.encoder:
            features = self.encoder.features([sentence.forms for sentence in sentences])
            encoded = [part._replace(features=array) for part, array in zip(encoded, features, strict=True)]

        def score(batch: Batch, _: list[int]) -> list[tuple[Scores, Indices | None]]:
            scores = self._with_constrained_tags(self.network.score(batch), batch.labels)
            of_sentences = split_scores(scores, batch.words)
            if self.tags is None or scores.label_scores is None:
                return [(part, None) for part in of_sentences]
            best = np.split(self.tags.labels.best(scores.label_scores), np.cumsum(batch.words)[:-1])
            return list(zip(of_sentences, best, strict=True))

        return in_batches(encoded, score, batch_words=batch_words)

    def _with_constrained_tags(self, scores: Scores, given: Indices | None) -> Scores:
        """The scores, without tags that no word of the treebank has together with those given."""
        if self.tags is None or scores.label_scores is None or given is None:
            return scores
        return scores._replace(label_scores=self.tags.labels.constrained(scores.label_scores, given))

    def _scored(
        self, sentences: list[Sentence], *, retag: bool
    ) -> Iterator[tuple[Sentence, Scores | None, Words]]:
        """Each sentence, tagged, its scores if it has words, and the words that the network has tagged."""
        if retag and not self.chooses_tags:
            raise ModelError("This model does not choose tags.")
        untagged = [self._untagged(sentence, retag=retag) for sentence in sentences]
        with_words = [i for i, sentence in enumerate(sentences) if len(sentence)]
        scores = self._scores([sentences[i] for i in with_words], [untagged[i] for i in with_words])
        score_of = dict(zip(with_words, scores, strict=True))
        for i, given in enumerate(sentences):
            of_sentence, best = score_of.get(i, (None, None))
            if not (self.tags and of_sentence and best is not None):
                yield given, of_sentence, untagged[i]
                continue
            tagged = self.tags.write(given, best, untagged[i], of_sentence.label_scores)
            result = tagged if retag else _without_new_features(given, tagged)
            yield result, of_sentence, untagged[i] if result is tagged else []

    def _tag_choices(self, scores: Scores, words: Words) -> dict[str, Choices]:
        if self.tags is None or scores.label_scores is None or not any(words):
            return {}
        return self.tags.choices(scores.label_scores, words)

    def _tag_confidence(
        self, sentence: Sentence, scores: Scores, words: Words, curves: Curves
    ) -> Mapping[str, Floats]:
        """The confidence in tags and lemmas, which is not always asked for."""
        if self.tags is None or scores.label_scores is None or not any(words):
            return {}
        return DeferredColumns(partial(self.tags.confidence, sentence, scores.label_scores, words, curves))


def _without_new_features(given: Sentence, tagged: Sentence) -> Sentence:
    """The given sentence if the network added nothing but features to it, else the tagged one.

    A fully tagged sentence can be without features, and is to be written as it was read.
    """
    added = any(a[:FEATS] != b[:FEATS] for a, b in zip(given.rows, tagged.rows, strict=True))
    return tagged if added else given
