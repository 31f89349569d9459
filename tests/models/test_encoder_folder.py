"""Folders of encoders: their files, their checksum, their copies."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from biatt.errors import ModelError
from biatt.models.encoder_folder import FILES, copy_encoder, find_encoder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "encoder"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text(f"the {name}")
    return folder


def test_the_checksum_is_of_the_content_of_the_three_files(folder: Path) -> None:
    content = b"".join((folder / name).read_bytes() for name in FILES)
    checksum = find_encoder(folder).checksum()
    assert checksum == hashlib.sha256(content).hexdigest()
    (folder / "README.md").write_text("another file")
    (folder / "model.safetensors").rename(folder / "model.fp16.safetensors")
    assert find_encoder(folder).checksum() == checksum


@pytest.mark.parametrize("name", FILES)
def test_every_byte_changes_the_checksum(name: str, folder: Path) -> None:
    before = find_encoder(folder).checksum()
    (folder / name).write_text(f"The {name}")
    assert find_encoder(folder).checksum() != before


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelError, match=rf"encoder is not an encoder: it has no {name}\.$"):
        find_encoder(folder)


def test_a_missing_folder_and_several_weights_are_one_sentence(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"^There is no encoder folder .*none\.$"):
        find_encoder(folder / "none")
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    (folder / "b.safetensors").write_text("")
    with pytest.raises(ModelError, match=r"it has 2 files with weights and none is model\.safetensors\.$"):
        find_encoder(folder)


def test_a_copy_has_the_usual_names_and_the_same_checksum(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    (folder / "README.md").write_text("not copied")
    copy_encoder(folder, tmp_path / "new" / "copy")
    assert sorted(path.name for path in (tmp_path / "new" / "copy").iterdir()) == sorted(FILES)
    assert find_encoder(tmp_path / "new" / "copy").checksum() == find_encoder(folder).checksum()
