"""A trained model: from its folder and back into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from biatt.annotate.known_lemmas import KnownLemmas
from biatt.annotate.tokeniser import Tokeniser
from biatt.config import Config
from biatt.data.curves import NO_CURVES, Curve, Curves
from biatt.data.scores import Temperature
from biatt.encoding.labels import Labels
from biatt.encoding.vocabulary import Vocabulary
from biatt.errors import ModelError
from biatt.models.encoder_folder import EncoderReference
from biatt.models.language_profile import LanguageProfile
from biatt.models.model_check import Kind
from biatt.models.model_folder import Model, read_model, save_model, write_model, write_settings
from biatt.models.weights import EMBEDDINGS, row_scale
from biatt.parsing.scorer import Ensemble, Scorer

if TYPE_CHECKING:
    from typing_extensions import Self


class TrainedModel(Scorer):
    """A scorer with all else that a model folder holds: confidence, card, tokeniser, ensemble."""

    tokeniser: Tokeniser | None = None
    profile: LanguageProfile | None = None  # of the training text

    def __init__(
        self,
        config: Config,
        vocabulary: Vocabulary,
        weights: Mapping[str, NDArray[Any]],
        *,
        temperature: Temperature = Temperature(),  # noqa: B008 (it cannot change)
        curves: Curves = NO_CURVES,
        scale: NDArray[Any] | None = None,  # of packed embeddings: the model is saved packed
        card: str | None = None,
        labels: Labels | None = None,
        known_lemmas: KnownLemmas | None = None,
        device: str = "cpu",
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            config, vocabulary, weights, labels=labels, known_lemmas=known_lemmas, device=device, fused=fused
        )
        self.temperature, self.curves, self.scale, self.card = temperature, curves, scale, card
        self.members: list[TrainedModel] = []  # the other members of an ensemble

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu", fused: bool | None = None) -> Self:
        return cls._from_stored(read_model(folder), device=device, fused=fused)

    @classmethod
    def _from_stored(cls, model: Model, **options: Any) -> Self:
        parser = cls(
            model.config,
            Vocabulary.from_json(model.symbols),
            model.weights,
            temperature=Temperature(**model.temperature),
            curves={kind: Curve(*map(tuple, points)) for kind, points in model.curves.items()},
            scale=model.scale,
            card=model.card,
            labels=Labels(model.symbols["labels"], model.symbols.get("combinations", ()))
            if "labels" in model.symbols
            else None,
            known_lemmas=KnownLemmas(model.symbols["lemmas"]) if "lemmas" in model.symbols else None,
            **options,
        )
        for member in model.members:
            parser.add(cls._from_stored(member, **options))
        parser.tokeniser = Tokeniser.from_stored(model.tokeniser) if model.tokeniser else None
        parser.profile = model.profile
        if model.encoder:
            from biatt.network.contextual import load_encoder

            parser.encoder = load_encoder(
                model.encoder,
                parser.config.model.feature_layers,
                width=parser.config.model.feature_width,
                device=options.get("device", "cpu"),
            )
        return parser

    def pack(self) -> None:
        super().pack()
        if self.tokeniser:
            self.tokeniser.network.pack()

    def add(self, other: Self) -> None:
        """Make another parser, trained on the same data, a member of this one's ensemble."""
        if other._symbols() != self._symbols():
            raise ModelError("The members of an ensemble must have the same vocabulary.")
        networks = self.network.networks if isinstance(self.network, Ensemble) else [self.network]
        self.members.append(other)
        self.network = Ensemble([*networks, other.network])

    def quantise(self) -> None:
        """Store the weights in a third of their space from now on (`weights.pack`)."""
        parts: list[TrainedModel | Tokeniser | None] = [self, *self.members, self.tokeniser]
        for part in parts:
            if part is not None and part.scale is None:
                part.scale = row_scale(part.weights[EMBEDDINGS])

    def save(self, folder: str | Path) -> None:
        """Write the model folder, whole or not at all.

        A model that is there is replaced; a folder with anything else in it is refused.
        """
        save_model(folder, self._stored())

    def write(self, folder: str | Path) -> None:
        """Write the parser without tokeniser and members into a folder of its training."""
        write_model(folder, self._stored())

    def write_confidence(self, folder: str | Path) -> None:
        """Write the temperature and the curves into the folder of the model; nothing else in it changes."""
        write_settings(folder, self._stored())

    def _stored(self) -> Model:
        return Model(
            Kind.PARSER,
            self.config,
            self._symbols(),
            self.weights,
            self.scale,
            {name: float(value) for name, value in self.temperature._asdict().items()},
            {kind: (list(curve.probabilities), list(curve.shares)) for kind, curve in self.curves.items()},
            self.card,
            self.tokeniser.stored() if self.tokeniser else None,
            [member._stored() for member in self.members],
            self.encoder.reference if self.encoder else None,
            self.profile,
        )

    def _symbols(self) -> dict[str, Any]:
        symbols = self.vocabulary.to_json()
        if self.tags:
            symbols["labels"] = self.tags.labels.kinds
            if len(self.tags.labels.combinations):
                symbols["combinations"] = self.tags.labels.combinations.tolist()
            if self.tags.known_lemmas:
                symbols["lemmas"] = self.tags.known_lemmas.table
        return symbols

    def describe(self) -> dict[str, str]:
        """What the model is, by name: its size, its columns and its settings."""
        settings = {name: value for part in self.config.to_json().values() for name, value in part.items()}
        return {
            "parameters": f"{sum(weight.size for weight in self.weights.values()):,}",
            "columns": _counts(self.vocabulary.symbols),
            "relations": f"{len(self.vocabulary.relations):,}",
            **({"chooses": _counts(self.tags.labels.kinds)} if self.tags else {}),
            **({"encoder": _described(self.encoder.reference)} if self.encoder else {}),
            **{name: str(value) for name, value in settings.items() if name != "columns"},
        }


def _counts(lists: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{name} ({len(items):,})" for name, items in lists.items())


def _described(encoder: EncoderReference) -> str:
    place = "in the model folder" if encoder.bundled else str(encoder.folder)
    return f"{place}, checksum {encoder.checksum[:12]}…"
