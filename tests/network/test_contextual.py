"""Contextual encoders: the features are the hidden states, however sentences are batched and cut."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

import biatt
from biatt.errors import ConfigError, ModelError
from biatt.models.encoder_folder import EncoderReference, find_encoder
from biatt.network import contextual
from biatt.network.contextual import ContextualEncoder, default_layers, load_encoder
from encoders import (
    LAYERS,
    WIDTH,
    byte_level_tokenizer,
    needs_transformers,
    wordpiece_tokenizer,
    write_encoder,
)
from examples import examples

pytestmark = [pytest.mark.slow, needs_transformers]  # transformers alone takes seconds to start

SENTENCES = [["The", "dogdog", "ab"], ["dog"], [], ["\u200b", "a", "Ω", "the", "abc"], ["the"] * 7]
ALL = tuple(range(LAYERS + 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests must not change it."""
    return write_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def exact(folder: Path, layers: tuple[int, ...] = ALL) -> ContextualEncoder:
    return ContextualEncoder(folder, layers, bfloat16=False)


def one_at_a_time(
    folder: Path, forms: list[str], layers: tuple[int, ...], kind: str = "bert"
) -> NDArray[Any]:
    """The same, the slow and obvious way: word by word into subwords, one sentence at once, no windows."""
    from transformers import AutoModel

    tokenizer = wordpiece_tokenizer() if kind == "bert" else byte_level_tokenizer()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    space = "" if kind == "bert" else " "
    words = [tokenizer.encode(space + form, add_special_tokens=False).ids or [1] for form in forms]
    first, last = (2, 3) if kind == "bert" else (0, 2)
    ids = [first, *(number for word in words for number in word), last]
    with torch.inference_mode():
        states = AutoModel.from_pretrained(folder)(
            torch.tensor([ids]), output_hidden_states=True
        ).hidden_states
    ends = np.cumsum([1] + [len(word) for word in words])
    array = np.zeros((len(forms), len(layers), states[0].shape[-1]))
    for i in range(len(forms)):
        for j, layer in enumerate(layers):
            array[i, j] = states[layer][0, ends[i] : ends[i + 1]].mean(0)
    return array


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_features_are_mean_hidden_states_of_a_words_subwords(kind: str, tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / kind, kind=kind)
    features = exact(folder).features(SENTENCES)
    assert [array.dtype for array in features] == [np.float16] * len(SENTENCES)
    assert [array.shape for array in features] == [(len(s), len(ALL), WIDTH) for s in SENTENCES]
    for forms, array in zip(SENTENCES, features, strict=True):
        if forms:
            np.testing.assert_allclose(array, one_at_a_time(folder, forms, ALL, kind), atol=5e-3)


@examples(20)
@given(st.lists(st.lists(st.text("adogthexΩ\u200b", max_size=6), max_size=9), max_size=6))
def test_features_do_not_depend_on_the_other_sentences(folder: Path, sentences: list[list[str]]) -> None:
    encoder = exact(folder)
    for forms, array in zip(sentences, encoder.features(sentences), strict=True):
        np.testing.assert_allclose(array, encoder.features([forms])[0], atol=5e-3)


def test_small_batches_give_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = exact(folder)
    expected = encoder.features(SENTENCES)
    monkeypatch.setattr(contextual, "BATCH_SUBWORDS", 1)
    for array, whole in zip(encoder.features(SENTENCES), expected, strict=True):
        np.testing.assert_allclose(array, whole, atol=5e-3)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_sentence_fills_all_positions_before_it_is_cut(kind: str, tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / kind, kind=kind, positions=12)
    forms = list("abcdefghij") if kind == "bert" else ["dog"] * 10  # and the two special subwords
    (array,) = exact(folder).features([forms])
    np.testing.assert_allclose(array, one_at_a_time(folder, forms, ALL, kind), atol=5e-3)


def test_windows_of_a_long_sentence_are_read_apart(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "short", positions=12)
    forms = list("abcdefghijklmno")  # windows 0-9 and 5-14, which overlap in 5-9
    (array,) = exact(folder).features([forms])
    first, second = (one_at_a_time(folder, part, ALL) for part in (forms[:10], forms[5:]))
    np.testing.assert_allclose(array[:7], first[:7], atol=5e-3)
    np.testing.assert_allclose(array[7:], second[2:], atol=5e-3)


def test_a_word_longer_than_a_window_is_averaged_over_all_of_it(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "short", positions=8)
    features = exact(folder).features([["a", "b" * 40, "c"]])[0]
    assert features.shape == (3, len(ALL), WIDTH)
    assert np.isfinite(features).all()


def test_only_layers_up_to_the_highest_are_computed(folder: Path) -> None:
    encoder = exact(folder, (2, 1))
    assert encoder.layers == (1, 2)
    assert len(encoder.model.encoder.layer) == 2
    for array, whole in zip(encoder.features(SENTENCES), exact(folder).features(SENTENCES), strict=True):
        np.testing.assert_allclose(array, whole[:, 1:3], atol=5e-3)


def test_embeddings_alone_are_layer_0(folder: Path) -> None:
    array = exact(folder, (0,)).features([["dog", "the"]])[0]
    np.testing.assert_allclose(array, one_at_a_time(folder, ["dog", "the"], (0,)), atol=5e-3)


def test_bfloat16_changes_directions_by_less_than_one_percent(folder: Path) -> None:
    pairs = zip(
        ContextualEncoder(folder, ALL, bfloat16=True).features(SENTENCES),
        exact(folder).features(SENTENCES),
        strict=True,
    )
    for rough, array in pairs:
        a, b = rough.astype(float), array.astype(float)
        assert ((a * b).sum(-1) > 0.99 * np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)).all()


def test_gradients_reach_a_tuned_encoder(folder: Path) -> None:
    encoder = ContextualEncoder(folder, ALL, tuned=True).train()
    states = encoder(encoder.subwords.pieces([["the", "dog"], ["ab"]]))
    assert states.shape == (3, len(ALL), WIDTH)
    states.square().sum().backward()
    assert all(parameter.grad is not None for parameter in encoder.parameters())


def test_a_tuned_encoder_is_written_and_read(folder: Path, tmp_path: Path) -> None:
    encoder = ContextualEncoder(folder, (1, 2), tuned=True, bfloat16=False)
    doubled = {name: 2 * value for name, value in encoder.model.state_dict().items()}
    encoder.write(tmp_path / "new", doubled)
    again = exact(tmp_path / "new", (1, 2))
    assert again.reference.checksum != encoder.reference.checksum
    for name, value in again.model.state_dict().items():
        assert torch.equal(value, doubled[name]), name


def test_another_encoder_than_that_of_training_is_refused(folder: Path, copied: Path) -> None:
    reference = EncoderReference(find_encoder(folder).checksum(), copied, bundled=True)
    assert load_encoder(reference, ALL, width=WIDTH).reference == reference
    (copied / "config.json").write_text((copied / "config.json").read_text() + " ")
    with pytest.raises(
        ModelError, match=r"copy is not the one that the model was trained with: its checksum"
    ):
        load_encoder(reference, ALL, width=WIDTH)


def test_so_many_threads_compute_as_were_given(folder: Path) -> None:
    """In each thread, and without an effect on what comes after; in a process with torch's own settings."""
    code = """
import sys, threading, torch
from biatt.network.contextual import ContextualEncoder
from biatt.machine.threads import one_matrix_thread
encoder = ContextualEncoder(sys.argv[1])
before, seen = torch.get_num_threads(), []
encoder.model.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
for threads in (1, 2, 3):
    encoder.features([["dog"]], threads=threads)
    thread = threading.Thread(target=lambda: encoder.features([["dog"]], threads=threads))
    thread.start(), thread.join()
after = torch.get_num_threads()
with one_matrix_thread:
    print(seen, before == after, torch.get_num_threads())
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(biatt.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code, folder], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "[1, 1, 2, 2, 3, 3] True 1\n", done.stderr


def test_default_layers_are_from_the_middle_to_the_last_but_one() -> None:
    assert [default_layers(depth) for depth in (12, 6, 2, 1)] == [(5, 7, 9, 11), (2, 3, 4, 5), (1,), (1,)]


def test_half_precision_weights_of_any_name_are_read(copied: Path, folder: Path) -> None:
    weights = load_file(copied / "model.safetensors")
    (copied / "model.safetensors").unlink()
    halves = {name: value.half() for name, value in weights.items()}
    save_file(halves, copied / "model.fp16.safetensors")
    np.testing.assert_allclose(
        exact(copied).features([["dog", "ab"]])[0], exact(folder).features([["dog", "ab"]])[0], atol=2e-2
    )


def test_weights_of_a_network_with_a_head_are_read(copied: Path, folder: Path) -> None:
    weights = load_file(copied / "model.safetensors")
    headed = {f"bert.{name}": value for name, value in weights.items() if not name.startswith("pooler.")}
    save_file({**headed, "cls.predictions.bias": torch.zeros(3)}, copied / "model.safetensors")
    np.testing.assert_array_equal(exact(copied).features([["dog"]])[0], exact(folder).features([["dog"]])[0])


def test_nothing_is_fetched_and_no_code_is_run(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    config = json.loads((copied / "config.json").read_text())
    config |= {"auto_map": {"AutoModel": "evil.Evil"}, "_attn_implementation": "somebody/kernel"}
    (copied / "config.json").write_text(json.dumps(config))
    (copied / "evil.py").write_text("raise AssertionError('executed')")
    assert exact(copied).features([["dog"]])[0].shape == (1, len(ALL), WIDTH)


def test_loading_prints_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    exact(folder, (1,))
    assert capfd.readouterr() == ("", "")


def test_an_unknown_layer_is_refused(folder: Path) -> None:
    for layers in ((1, LAYERS + 1), (-1,)):
        with pytest.raises(ConfigError, match=rf"has the layers 0 to {LAYERS}, not all of "):
            exact(folder, layers)


@pytest.mark.parametrize("name", ["transformers", "tokenizers"])
def test_missing_packages_are_named(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contextual, "find_spec", lambda package: None if package == name else "")
    with pytest.raises(ConfigError, match=rf"needs {name}: pip install 'biatt\[encoder\]'\.$"):
        exact(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_a_file_cut_short_is_one_sentence(name: str, part: float, copied: Path) -> None:
    data = (copied / name).read_bytes()
    (copied / name).write_bytes(data[: int(part * len(data))])
    with pytest.raises(ModelError, match=rf"^[^\n]*{name}[^\n]*damaged[^\n]*\.$"):
        exact(copied)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"model_type": "abacus"}, "knows no network of the type 'abacus'"),
        ({"model_type": None}, "knows no network of the type None"),
        ({"is_encoder_decoder": True}, "its network of the type 'bert' is not an encoder alone"),
        ({"hidden_size": 16}, "model.safetensors is damaged, or not of a BERT-like encoder"),
        ({"hidden_size": "wide"}, "config.json is damaged, or not of a BERT-like encoder"),
        ({"num_hidden_layers": LAYERS + 1}, r"has no weights encoder\.layer\.3.*which config.json describes"),
    ],
)
def test_a_description_that_does_not_fit_is_one_sentence(
    changes: dict[str, Any], fault: str, copied: Path
) -> None:
    config = json.loads((copied / "config.json").read_text()) | changes
    (copied / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=f"^[^\n]*{fault}[^\n]*$"):
        exact(copied, (LAYERS + ("num_hidden_layers" in changes),))


def test_more_subwords_than_embeddings_are_refused(copied: Path) -> None:
    tokenizer = wordpiece_tokenizer()
    tokenizer.add_tokens(["zebra"])
    (copied / "tokenizer.json").write_text(tokenizer.to_str())
    with pytest.raises(ModelError, match=r"has more subwords than .* has embeddings"):
        exact(copied)
