"""A contextual encoder in the training of a parser: frozen, with its features on disk, or tuned."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from biatt.config import Config
from biatt.data.folders import replacing_folder
from biatt.data.sentence import Sentence
from biatt.encoding.vocabulary import Encoded
from biatt.errors import ConfigError, TrainingError
from biatt.models.encoder_folder import copy_encoder
from biatt.models.model_folder import ENCODER
from biatt.network.contextual import ContextualEncoder
from biatt.network.model import FeatureParameters
from biatt.training.feature_cache import cached_features
from biatt.training.run import Job

MEASURED_WORDS = 50_000  # whose features give means and deviations
MEASURED_SENTENCES = 300  # the same for a tuned encoder, which computes them for nothing else
LEAST_DEVIATION = 1e-4  # a number that varies less counts as constant, and is ignored


class Standardisation(NamedTuple):
    """Makes the mean of every number of the features 0 and its variance 1: (features + shift) · factor."""

    shift: NDArray[np.float32]  # (layers, width)
    factor: NDArray[np.float32]


@dataclass(frozen=True)
class EncoderInput:
    """The encoder of a training, and the folder for its features if it is frozen."""

    encoder: ContextualEncoder
    cache: Path
    tuned: bool
    temporary: bool  # the cache belongs to this training alone
    bundled: bool  # the model folder gets a copy; it always has a tuned encoder

    def begin(self, out: Path) -> None:
        """Copy the encoder into the model folder, unless it is there, if the model is to hold it."""
        if self.tuned or not self.bundled:
            return
        target = out / ENCODER
        try:
            if not target.is_dir():
                with replacing_folder(target) as new:
                    copy_encoder(self.encoder.reference.folder, new)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise TrainingError(f"The encoder cannot be copied to {target}: {reason}.") from error
        self.encoder.reference = replace(self.encoder.reference, folder=target, bundled=True)

    def complete(
        self, encoded: Sequence[Encoded], sentences: Sequence[Sentence], job: Job, *, cached: bool
    ) -> list[Encoded]:
        """Sentences with their features, or with their subwords for a tuned encoder."""
        forms = [sentence.forms for sentence in sentences]
        if self.tuned:
            pieces = self.encoder.subwords.pieces(forms)
            return [part._replace(pieces=of_part) for part, of_part in zip(encoded, pieces, strict=True)]
        if cached:
            features = cached_features(self.encoder, forms, self.cache, job.listener, threads=job.threads)
        else:
            features = self.encoder.features(forms)
        return [part._replace(features=array) for part, array in zip(encoded, features, strict=True)]

    def initialise(self, parameters: FeatureParameters, train: Sequence[Encoded]) -> None:
        """Set the weights that a training with this encoder begins with."""
        if self.tuned:
            self.encoder.restore()
            with torch.no_grad():
                pieces = [part.pieces for part in train[:MEASURED_SENTENCES] if part.pieces is not None]
                states = self.encoder(pieces).cpu().numpy()
            shift, factor = standardised([states])
        else:
            shift, factor = standardised(part.features for part in train if part.features is not None)
        parameters.shift.copy_(torch.from_numpy(shift))
        parameters.factor.copy_(torch.from_numpy(factor))

    def finish(self) -> None:
        """Remove what only this training needed."""
        if self.temporary:
            shutil.rmtree(self.cache, ignore_errors=True)


def open_encoder(
    folder: str | Path | None, config: Config, bundled: bool, cache: str | Path | None,
    out: Path, device: str, members: int,
) -> tuple[Config, EncoderInput | None]:  # fmt: skip
    """The configuration with the layers and the width of the encoder, and the encoder, if there is one.

    Without a `cache`, the features are in a folder beside `out`, where a resumed training finds them.
    """
    layers, tuned = config.model.feature_layers, config.training.encoder_rate > 0
    if folder is None:
        for given, name in (
            (layers, "feature_layers"),
            (tuned, "encoder_rate"),
            (bundled, "bundle_encoder"),
            (cache, "features"),
        ):
            if given:
                raise ConfigError(f"{name} is about an encoder, and there is none.")
        return config, None
    if tuned and members > 1:
        raise ConfigError("A tuned encoder belongs to one parser: encoder_rate does not go with an ensemble.")
    encoder = ContextualEncoder(folder, layers, tuned=tuned, device=device)
    model = replace(config.model, feature_layers=encoder.layers, feature_width=encoder.width)
    place = Path(cache) if cache else out.with_name(f"{out.name}.features")
    given_input = EncoderInput(encoder, place, tuned, temporary=cache is None, bundled=bundled)
    return replace(config, model=model), given_input


def checksum(given: EncoderInput | None) -> str | None:
    """What names the encoder among the options of a training."""
    return given.encoder.reference.checksum if given else None


def description(given: EncoderInput | None) -> str | None:
    """What names the encoder in a model card."""
    if given is None:
        return None
    layers, kind = ", ".join(map(str, given.encoder.layers)), "tuned" if given.tuned else "frozen"
    name = given.encoder.reference.folder.resolve().name
    return f"{name}, layers {layers}, {kind}, checksum {checksum(given)}"


def standardised(features: Iterable[NDArray[Any]]) -> Standardisation:
    """From the features of the first sentences."""
    count, total, squares = 0, np.zeros(()), np.zeros(())
    for array in features:
        numbers = array.astype(np.float64)
        total, squares = total + numbers.sum(0), squares + (numbers**2).sum(0)
        count += len(array)
        if count >= MEASURED_WORDS:
            break
    mean = total / count
    deviation = np.sqrt(np.maximum(squares / count - mean**2, 0))
    factor = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > LEAST_DEVIATION)
    return Standardisation((-mean).astype(np.float32), factor.astype(np.float32))
