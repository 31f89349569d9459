"""Tiny encoders with random weights, in the usual folder form."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest

LAYERS, WIDTH = 3, 8
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDPIECES = [
    *SPECIAL,
    *ascii_lowercase,
    *(f"##{letter}" for letter in ascii_lowercase),
    "the",
    "dog",
    "##dog",
]

REASON = "an encoder needs the extra biatt[encoder]"
# Without importing transformers, which takes a second.
needs_transformers = pytest.mark.skipif(find_spec("transformers") is None, reason=REASON)


def wordpiece_tokenizer() -> Any:
    """In lower case; letters that the vocabulary lacks make a word unknown."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {piece: number for number, piece in enumerate(WORDPIECES)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    tokenizer.enable_truncation(4)  # as files of sentence encoders have it
    tokenizer.enable_padding(length=4)
    return tokenizer


def byte_level_tokenizer() -> Any:
    """A space before a word is part of its first subword, as RoBERTa has it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *alphabet, "Ġd", "Ġdo", "Ġdog"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    merges = [("Ġ", "d"), ("Ġd", "o"), ("Ġdo", "g")]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def write_encoder(folder: Path, *, positions: int = 64, kind: str = "bert") -> Path:
    """An encoder of the kind "bert" or "roberta" with as many positions."""
    pytest.importorskip("transformers", reason=REASON)
    import torch
    from safetensors.torch import save_file
    from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

    tokenizer = wordpiece_tokenizer() if kind == "bert" else byte_level_tokenizer()
    sizes: dict[str, Any] = {
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "initializer_range": 0.5,
    }
    torch.manual_seed(1)
    model: Any
    if kind == "bert":
        model = BertModel(BertConfig(max_position_embeddings=positions, **sizes))
    else:  # the first two positions are those before and of padding
        model = RobertaModel(RobertaConfig(max_position_embeddings=positions + 2, pad_token_id=1, **sizes))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(model.config.to_dict()))
    (folder / "tokenizer.json").write_text(tokenizer.to_str())
    save_file(
        {name: value.contiguous() for name, value in model.state_dict().items()}, folder / "model.safetensors"
    )
    return folder
