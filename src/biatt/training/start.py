"""A trained model as the start of another training, e.g. on text of another kind.

The network, its words, tags and relations, and the tokeniser stay as they are; only the weights are trained
further. What the new treebank has beside them is unknown to the model, and ignored by the loss.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from biatt.annotate.known_lemmas import KnownLemmas
from biatt.annotate.tokeniser import Tokeniser
from biatt.config import Config, ParserConfig
from biatt.data.sentence import Sentence
from biatt.encoding.labels import Labels
from biatt.encoding.vocabulary import Vocabulary
from biatt.errors import ConfigError
from biatt.parser import Parser, load


class Start(NamedTuple):
    """What a training takes from a model."""

    name: str
    network: ParserConfig
    vocabulary: Vocabulary
    weights: Mapping[str, NDArray[Any]]
    labels: Labels | None
    known_lemmas: KnownLemmas | None
    tokeniser: Tokeniser | None

    @classmethod
    def load(cls, model: str | Path) -> Start:
        """The start that a model folder, or an installed model with this name, gives."""
        return cls.of(load(model), str(model))

    @classmethod
    def of(cls, parser: Parser, name: str) -> Start:
        if parser.members:
            raise ConfigError(f"{name} cannot be trained further: it is an ensemble.")
        if parser.encoder:
            raise ConfigError(f"{name} cannot be trained further: it has a contextual encoder.")
        tags = parser.tags
        return cls(
            name,
            parser.config.model,
            parser.vocabulary,
            parser.weights,
            tags.labels if tags else None,
            tags.known_lemmas if tags else None,
            parser.tokeniser,
        )

    def digest(self) -> str:
        """A digest of all that determines what a training makes of it."""
        labels = self.labels.kinds if self.labels else None
        lemmas = self.known_lemmas.table if self.known_lemmas else None
        tokeniser = self.tokeniser.stored() if self.tokeniser else None
        described = self.network, self.vocabulary.to_json(), labels, lemmas, tokeniser and tokeniser.symbols
        digest = hashlib.sha256(repr(described).encode())
        for weights in (self.weights, tokeniser.weights if tokeniser else {}):
            for name in sorted(weights):
                digest.update(name.encode() + weights[name].tobytes())
        return digest.hexdigest()

    def check_network(self, config: Config) -> None:
        """Refuse settings of another network."""
        wanted, kept = asdict(config.model), asdict(self.network)
        others = [name for name, value in wanted.items() if value != kept[name]]
        if others:
            given = ", ".join(f"{name}={wanted[name]}" for name in others)
            raise ConfigError(f"The network of {self.name} stays as it is, so {given} cannot be set.")

    def lemmas(self, treebank: list[Sentence]) -> KnownLemmas | None:
        """The lemmas of the treebank's forms, and the model's own of other forms."""
        if self.labels is None or "lemma" not in self.labels.kinds:
            return None
        lemmas = KnownLemmas.of(treebank)
        return lemmas.joined(self.known_lemmas) if self.known_lemmas else lemmas
