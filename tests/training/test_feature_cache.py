"""Features on disk: computed once, mapped into memory, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.encoding.features import Features
from biatt.errors import BiattError, ConfigError
from biatt.models.encoder_folder import EncoderReference
from biatt.training import feature_cache
from biatt.training.feature_cache import cached_features
from biatt.training.listener import Silent

SENTENCES = [["a", "bird", "sings"], ["it"], ["a", "song"], ["again", "and", "again", "."]]


class CountingEncoder:
    """Features that tell the word's length, the sentence's length and the layer; it counts its words."""

    def __init__(
        self, checksum: str = "c", layers: tuple[int, ...] = (1, 3), *, fails_after: int = 1000
    ) -> None:
        self.reference, self.layers, self.width = EncoderReference(checksum, Path()), layers, 2
        self.words, self.fails_after = 0, fails_after

    def features(self, sentences: Sequence[Sequence[str]], *, threads: int = 1) -> list[Features]:
        self.words += sum(map(len, sentences))
        if self.words > self.fails_after:
            raise KeyboardInterrupt
        return [expected(forms, self.layers) for forms in sentences]


def expected(forms: Sequence[str], layers: tuple[int, ...] = (1, 3)) -> Features:
    rows = [[[layer * len(form), len(forms)] for layer in layers] for form in forms]
    return np.array(rows, np.float16).reshape(len(forms), len(layers), 2)


@pytest.fixture
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_cache, "SHARD_WORDS", 4)


def check(features: Sequence[Features], sentences: Sequence[Sequence[str]] = SENTENCES) -> None:
    assert len(features) == len(sentences)
    for array, forms in zip(features, sentences, strict=True):
        assert array.dtype == np.float16
        np.testing.assert_array_equal(array, expected(forms))


@pytest.mark.usefixtures("_small_shards")
@given(sentences=st.lists(st.lists(st.text("ab", max_size=3), max_size=5), max_size=6))
def test_each_sentence_gets_its_features(
    sentences: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    for _ in range(2):
        check(cached_features(CountingEncoder(), sentences, folder, Silent()), sentences)


@pytest.mark.usefixtures("_small_shards")
def test_features_are_computed_once(tmp_path: Path) -> None:
    encoder = CountingEncoder()
    check(cached_features(encoder, SENTENCES, tmp_path / "new" / "cache", Silent()))
    assert encoder.words == 10
    features = cached_features(encoder, SENTENCES, tmp_path / "new" / "cache", Silent())
    check(features)
    assert encoder.words == 10
    assert all(isinstance(array, np.memmap) for array in features)


@pytest.mark.usefixtures("_small_shards")
def test_an_interrupted_computation_goes_on(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        cached_features(CountingEncoder(fails_after=5), SENTENCES, tmp_path, Silent())
    assert len(list(tmp_path.iterdir())) == 1  # the first shard, and nothing that is not whole
    encoder = CountingEncoder()
    check(cached_features(encoder, SENTENCES, tmp_path, Silent()))
    assert encoder.words == 6


def test_other_words_layers_or_encoders_have_other_features(tmp_path: Path) -> None:
    cached_features(CountingEncoder(), SENTENCES, tmp_path, Silent())
    joined = [["a", "bird", "sings", "it"], ["a", "song"], ["again", "and", "again", "."]]
    for encoder, sentences in [
        (CountingEncoder("d"), SENTENCES),
        (CountingEncoder(layers=(1, 2)), SENTENCES),
        (CountingEncoder(), joined),
    ]:
        features = cached_features(encoder, sentences, tmp_path, Silent())
        assert encoder.words == 10
        for array, forms in zip(features, sentences, strict=True):
            np.testing.assert_array_equal(array, expected(forms, encoder.layers))


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"not an array"])
def test_a_damaged_file_is_computed_again(damage: bytes, tmp_path: Path) -> None:
    cached_features(CountingEncoder(), SENTENCES, tmp_path, Silent())
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    for content in (damage, data[:-1], data[: len(data) // 2]):
        path.write_bytes(content)
        check(cached_features(CountingEncoder(), SENTENCES, tmp_path, Silent()))


@pytest.mark.usefixtures("_small_shards")
def test_the_listener_hears_of_all_words(tmp_path: Path) -> None:
    class Heard(Silent):
        started, done = 0, 0

        def start(self, title: str, words: int, **_: Any) -> None:
            assert title == "encoder"
            self.started += words

        def batch(self, words: int, loss: float | None = None) -> None:
            self.done += words

    listener = Heard()
    cached_features(CountingEncoder(), SENTENCES, tmp_path, listener)
    assert (listener.started, listener.done) == (10, 10)


def test_a_folder_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file cannot be a folder for features: file exists\.$"):
        cached_features(CountingEncoder(), SENTENCES, tmp_path / "file", Silent())


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(BiattError, match=r"\.npy: cannot be written: no space left on device\.$"):
        cached_features(CountingEncoder(), SENTENCES, tmp_path, Silent())
    assert list(tmp_path.iterdir()) == []
