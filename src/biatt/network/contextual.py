"""A contextual encoder as input of the parser: hidden states of a BERT-like network for each word.

Layer 0 is the encoder's embeddings, layer i the output of its i-th layer. The encoder is read from a folder
(`encoder_folder.py`); nothing is fetched from elsewhere, and no code that comes with a model is run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn

from biatt.encoding.batches import by_length
from biatt.encoding.features import Features, Pieces
from biatt.encoding.subwords import Subwords, windows
from biatt.errors import ConfigError, ModelError
from biatt.models.encoder_folder import (
    CONFIG,
    WEIGHTS,
    EncoderFiles,
    EncoderReference,
    copy_encoder,
    find_encoder,
)

PACKAGES = ("transformers", "tokenizers")
# Settings in which a description could ask for other code, or for other weights than those of the folder.
IGNORED_SETTINGS = (
    "auto_map",
    "attn_implementation",
    "quantization_config",
    "fusion_config",
    "dtype",
    "torch_dtype",
)
BATCH_SUBWORDS = 256  # that are encoded at once, padding included; the fastest size for a base encoder
GROUP_SENTENCES = 512  # that are sorted by length; bounds the memory for their states in float32
LARGEST_WINDOW = 512  # subwords: the time of attention grows with their square
LARGEST_FLOAT16 = 65504.0


def default_layers(depth: int) -> tuple[int, ...]:
    """Four layers from the middle to the last but one, 5, 7, 9, 11 of 12: they hold most of the syntax."""
    last = max(depth - 1, 1)
    return tuple(sorted({round(layer) for layer in np.linspace(max(0.45 * last, 1), last, 4).tolist()}))


class ContextualEncoder(nn.Module):
    """Hidden states of chosen layers, each averaged over the subwords of a word.

    layers: () stands for `default_layers`; layers above the highest chosen one are not computed.
    tuned: its weights are to be trained. bfloat16: compute in half precision; None: where that is faster.
    """

    def __init__(
        self,
        folder: str | Path,
        layers: Sequence[int] = (),
        *,
        tuned: bool = False,
        bfloat16: bool | None = None,
        device: str = "cpu",
    ) -> None:
        super().__init__()
        check_packages()
        files = find_encoder(folder)
        self.reference = EncoderReference(files.checksum(), files.config.parent)
        config = _configuration(files.config)
        depth = int(config.num_hidden_layers)
        self.layers = tuple(sorted(set(layers))) or default_layers(depth)
        if not 0 <= self.layers[0] <= self.layers[-1] <= depth:
            shown = ", ".join(map(str, self.layers))
            raise ConfigError(f"The encoder {folder} has the layers 0 to {depth}, not all of {shown}.")
        with _named(files.tokenizer):
            self.subwords = Subwords(files.tokenizer.read_text(encoding="utf-8"))
        config.num_hidden_layers = max(self.layers[-1], 1)
        self.model = _network(files, config).requires_grad_(tuned).to(device)
        if self.model.get_input_embeddings().num_embeddings <= self.subwords.largest:
            raise ModelError(f"{files.tokenizer} has more subwords than {files.weights} has embeddings.")
        self.width = int(self.model.config.hidden_size)
        self._window = _positions(self.model) - len(self.subwords.before) - len(self.subwords.after)
        half = has_bfloat16(device) if bfloat16 is None else bfloat16
        self._autocast = half and tuned  # small steps need weights in float32
        if half and not tuned:
            self.model.to(torch.bfloat16)

    def train(self, mode: bool = True) -> ContextualEncoder:
        """No dropout inside, also in training: it would not be repeatable by our seed."""
        return super().train(False)

    def features(self, sentences: Sequence[Sequence[str]], *, threads: int = 1) -> list[Features]:
        """An array (n, layers, width) for each sentence, which is given by the forms of its words."""
        features: list[Features] = []
        with _torch_threads(threads), torch.inference_mode():
            for start in range(0, len(sentences), GROUP_SENTENCES):
                group = sentences[start : start + GROUP_SENTENCES]
                states = self(self.subwords.pieces(group)).clamp(-LARGEST_FLOAT16, LARGEST_FLOAT16)
                ends = np.cumsum([len(forms) for forms in group])
                features += np.split(states.half().cpu().numpy(), ends[:-1])
        return features

    def restore(self) -> None:
        """Set the weights that the encoder was read with, in float32."""
        original = _network(find_encoder(self.reference.folder), self.model.config)
        self.model.load_state_dict(original.state_dict())

    def write(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        """Write an encoder with these weights instead of its own into a folder."""
        copy_encoder(self.reference.folder, folder)
        save_file({name: value.contiguous() for name, value in weights.items()}, folder / WEIGHTS)

    def forward(self, sentences: Sequence[Pieces]) -> Tensor:
        """The hidden states (N, layers, width) of all words of some sentences, in float32."""
        counts = [int(sentence.words[-1]) + 1 if len(sentence.words) else 0 for sentence in sentences]
        starts = np.cumsum([0, *counts])
        parts = [
            (sentence.ids[window.start : window.end], sentence.words + start, window)
            for sentence, start in zip(sentences, starts[:-1], strict=True)
            for window in windows(len(sentence.ids), self._window)
            if len(sentence.ids)
        ]
        taken, targets = [], []  # vectors of subwords, and their words
        for batch in by_length([len(ids) for ids, _, _ in parts], batch_words=BATCH_SUBWORDS):
            states = self._states([parts[i][0] for i in batch])
            for row, i in zip(states, batch, strict=True):
                _, words, window = parts[i]
                taken.append(row[window.first - window.start : window.last - window.start])
                targets.append(words[window.first : window.last])
        sums = torch.zeros(int(starts[-1]), len(self.layers), self.width, device=self.model.device)
        if not taken:
            return sums
        word_of = np.concatenate(targets)
        sums = sums.index_add(0, torch.from_numpy(word_of).to(sums.device), torch.cat(taken))
        pieces = torch.from_numpy(np.bincount(word_of)).to(sums)  # subwords of each word
        return sums / pieces[:, None, None]

    def _states(self, parts: Sequence[NDArray[np.int32]]) -> Tensor:
        """The hidden states (B, S, layers, width) of B inputs of up to S subwords, without special ones."""
        before, after = self.subwords.before, self.subwords.after
        longest = max(map(len, parts)) + len(before) + len(after)
        ids = np.full((len(parts), longest), self.model.config.pad_token_id or 0)
        mask = np.zeros((len(parts), longest), np.int64)
        for i, part in enumerate(parts):
            whole = [*before, *part.tolist(), *after]
            ids[i, : len(whole)], mask[i, : len(whole)] = whole, 1
        device = self.model.device
        with torch.autocast(device.type, torch.bfloat16, enabled=self._autocast):
            output = self.model(
                input_ids=torch.from_numpy(ids).to(device),
                attention_mask=torch.from_numpy(mask).to(device),
                output_hidden_states=True,
            )
        states = torch.stack([output.hidden_states[layer].float() for layer in self.layers], 2)
        return states[:, len(before) :]


def check_packages() -> None:
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"A contextual encoder needs {' and '.join(missing)}: pip install 'biatt[encoder]'."
        )


def load_encoder(
    reference: EncoderReference, layers: Sequence[int], *, width: int, device: str = "cpu"
) -> ContextualEncoder:
    """The encoder that a parser was trained with; ModelError if it is another one."""
    checksum = find_encoder(reference.folder).checksum()
    if checksum != reference.checksum:
        raise ModelError(
            f"The encoder in {reference.folder} is not the one that the model was trained with: its checksum "
            f"is {checksum[:12]}…, not {reference.checksum[:12]}…."
        )
    encoder = ContextualEncoder(reference.folder, layers, device=device)
    if encoder.width != width:
        raise ModelError(f"The encoder in {reference.folder} is {encoder.width} wide, the model's {width}.")
    encoder.reference = reference
    return encoder


def has_bfloat16(device: str = "cpu") -> bool:
    """Whether the device has instructions for bfloat16; without them it is slower than float32."""
    if device != "cpu":
        return device.startswith("cuda") and torch.cuda.is_bf16_supported()
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(bool(capabilities.get(name)) for name in ("avx512_bf16", "amx_bf16"))


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    """Let torch compute with this number of threads in the calling one.

    torch.set_num_threads would set a limit that threadpoolctl, which sets all others, cannot undo.
    """
    torch.get_num_threads()  # torch sets its own number at the first call in each thread
    with _thread_pools().limit(limits=count, user_api="openmp"):
        yield


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Put the name of a file before what is wrong with it."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from error
    except Exception as error:  # transformers raises errors of many kinds for files that it cannot use
        reason = " ".join(str(error).split())
        raise ModelError(f"{path} is damaged, or not of a BERT-like encoder ({reason}).") from error


def _configuration(path: Path) -> Any:
    """The configuration of the network, as transformers has it."""
    from transformers import CONFIG_MAPPING

    with _named(path):
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ModelError("it is not a JSON object.")
        kind = data.get("model_type")
        if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
            raise ModelError(f"transformers knows no network of the type {kind!r}.")
        settings = {
            name: value
            for name, value in data.items()
            if name not in IGNORED_SETTINGS and not name.startswith("_")
        }
        config = CONFIG_MAPPING[kind].from_dict(settings)
        if config.is_encoder_decoder or not isinstance(getattr(config, "num_hidden_layers", None), int):
            raise ModelError(f"its network of the type {kind!r} is not an encoder alone.")
        return config


def _network(files: EncoderFiles, config: Any) -> Any:
    """The network with its weights, in float32."""
    from transformers import AutoModel

    with _named(files.weights), _quiet():
        with torch.device("meta"):
            kind = type(AutoModel.from_config(config))
        # So weights may have any file name, any float type, and the names of older versions.
        network, report = kind.from_pretrained(
            None,
            config=config,
            state_dict=load_file(files.weights),
            dtype=torch.float32,
            output_loading_info=True,
        )
        missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
        if missing:
            raise ModelError(f"it has no weights {missing[0]}, which {CONFIG} describes.")
        network.pooler = None  # it reads the first subword only
        return network.eval()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without progress bars, and without warnings that weights of the layers above are not used."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _positions(network: Any) -> int:
    """The largest number of subwords, special ones included, that the network reads at once."""
    positions = getattr(network.config, "max_position_embeddings", LARGEST_WINDOW)
    for name, module in network.named_modules():
        # RoBERTa and its kin count positions from the row after that of padding.
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            positions -= module.padding_idx + 1
    return min(int(positions), LARGEST_WINDOW)
