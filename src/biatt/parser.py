"""The one object that a user holds: load a model, parse sentences, save."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from biatt import decode
from biatt import model as networks
from biatt.batches import by_length, collate
from biatt.config import Config
from biatt.conll import Sentence
from biatt.decode import Decoder, Roots, Scores
from biatt.errors import ConfigError, ModelError
from biatt.files import replacing
from biatt.model import BiAtt
from biatt.vocabulary import Vocabulary

FORMAT_VERSION = 1  # of the model folder; a folder of a later version is refused, not guessed at

WINDOW_SENTENCES = 512  # read ahead and sorted by length; bounds the memory of a stream
BATCH_WORDS = 800  # scored at once: larger batches leave the cache and are slower


class Parser:
    """A trained model: its configuration, its vocabulary and its weights."""

    def __init__(
        self,
        config: Config,
        vocabulary: Vocabulary,
        weights: Mapping[str, NDArray[Any]],
        *,
        device: str = "cpu",
    ) -> None:
        self.config, self.vocabulary, self.weights = config, vocabulary, dict(weights)
        self.network = BiAtt(config.model, rows=vocabulary.size, relations=len(vocabulary.relations))
        try:
            self.network.load_state_dict(
                {name: torch.from_numpy(value) for name, value in self.weights.items()}
            )
        except RuntimeError as error:
            raise ModelError("The weights do not fit the model's configuration and vocabulary.") from error
        self.network.to(torch_device(device)).eval()

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu") -> Parser:
        folder = Path(folder)
        if not folder.is_dir():
            raise ModelError(f"There is no model folder {folder}.")
        description = _read_json(folder / "config.json")
        version = description.get("version") if isinstance(description, dict) else None
        if not isinstance(version, int) or description.get("format") != "biatt":
            raise ModelError(f"{folder / 'config.json'} does not describe a biatt model.")
        if version > FORMAT_VERSION:
            raise ModelError(
                f"{folder} holds a model of version {version}, but this biatt reads up to {FORMAT_VERSION}: upgrade it."
            )
        try:
            config = Config.from_json(description)
        except (KeyError, TypeError, AttributeError, ConfigError) as error:
            raise ModelError(
                f"{folder / 'config.json'} holds settings that this biatt does not know."
            ) from error
        vocabulary = Vocabulary.from_json(_read_json(folder / "vocabulary.json"))
        path = folder / "model.safetensors"
        if not path.is_file():
            raise ModelError(f"{folder} has no model.safetensors: its training has not finished an epoch.")
        try:
            return cls(config, vocabulary, load_file(path), device=device)
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{path} is damaged or cut short ({error}).") from error
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from error

    def save(self, folder: str | Path) -> None:
        """Write the model folder; the weights come last, so that a folder with weights is whole."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        description = {"format": "biatt", "version": FORMAT_VERSION, **self.config.to_json()}
        for name, data in (("config.json", description), ("vocabulary.json", self.vocabulary.to_json())):
            with replacing(folder / name) as file:
                file.write(json.dumps(data, ensure_ascii=False, indent=1).encode() + b"\n")
        with replacing(folder / "model.safetensors") as file:
            file.write(save(self.weights))

    def scores(self, sentences: Sequence[Sentence]) -> list[Scores]:
        """The network's scores of each sentence; a sentence must have a word."""
        encoded = [self.vocabulary.encode(sentence) for sentence in sentences]
        results: dict[int, Scores] = {}
        for indices in by_length([item.words for item in encoded], batch_words=BATCH_WORDS):
            batch = collate([encoded[i] for i in indices])
            with torch.inference_mode():
                results.update(zip(indices, networks.scores(self.network(batch), batch), strict=True))
        return [results[i] for i in range(len(sentences))]

    def parse(
        self,
        sentences: Iterable[Sentence],
        *,
        decoder: Decoder = "mst",
        roots: Roots | None = None,
        threads: int = 1,
        also: bool = False,
    ) -> Iterator[Sentence]:
        """Copies of the sentences with HEAD and DEPREL set, in order, streamed.

        `roots` None means one root for CoNLL-U sentences and any number for CoNLL-X ones. With `also`, DEPS or
        PHEAD and PDEPREL hold the tree as well.
        """
        torch.set_num_threads(threads)
        stream = iter(sentences)
        while window := list(islice(stream, WINDOW_SENTENCES)):
            found = iter(self.scores([sentence for sentence in window if len(sentence)]))
            for sentence in window:
                if len(sentence):
                    yield with_best_tree(
                        sentence, next(found), self.vocabulary, decoder=decoder, roots=roots, also=also
                    )
                else:
                    yield sentence


def with_best_tree(
    sentence: Sentence,
    scores: Scores,
    vocabulary: Vocabulary,
    *,
    decoder: Decoder = "mst",
    roots: Roots | None = None,
    also: bool = False,
) -> Sentence:
    """The sentence with the tree that a decoder reads off the scores."""
    default: Roots = "single" if sentence.format == "conllu" else "any"
    heads = decode.heads(scores.agreement, decoder=decoder, roots=roots or default)
    relations = [vocabulary.relations[i] for i in np.argmax(scores.relations, -1)]
    return sentence.with_tree(heads.tolist(), relations, also=also)


def load(folder: str | Path, *, device: str = "cpu") -> Parser:
    """Load a model folder; nothing in it is ever executed."""
    return Parser.load(folder, device=device)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path.parent} is not a model folder: it has no {path.name}.") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} is damaged or cut short ({error}).") from error


def torch_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"There is no device '{name}' here.") from error
    return device
