"""Files of machine code, and the list that says that all that parsing needs is on disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from biatt.machine import kernel_files
from biatt.machine.kernel_files import cache_folder, is_complete, list_path, read, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("BIATT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def listed() -> Path:
    path = list_path()
    assert path is not None
    return path


def complete(folder: Path) -> None:
    """Write two files of machine code, and the list of them."""
    for name in ("a.kernel", "b.kernel"):
        write(folder / name, b"machine code")
    write(listed(), b"a.kernel\nb.kernel")


def test_list_is_complete_if_all_its_files_are_there(folder: Path) -> None:
    assert not is_complete()
    complete(folder)
    assert is_complete()
    (folder / "b.kernel").unlink()
    assert not is_complete()


def test_damaged_list_is_not_complete(folder: Path) -> None:
    complete(folder)
    listed().write_bytes(listed().read_bytes()[:-1])
    assert not is_complete()


def test_another_processor_has_a_list_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete(folder)
    monkeypatch.setattr(kernel_files, "_processor", lambda: ("another",))
    assert not is_complete()


def test_other_versions_have_a_list_of_their_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete(folder)
    monkeypatch.setattr(kernel_files, "_versions", lambda: ("1.0",))
    assert not is_complete()


@pytest.mark.parametrize("name", ["NUMBA_CPU_NAME", "BIATT_LANES", "NUMBA_OPT"])
def test_other_settings_have_a_list_of_their_own(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name, raising=False)
    complete(folder)
    monkeypatch.setenv(name, "1")
    assert not is_complete()


def test_without_numba_nothing_is_complete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete(folder)
    monkeypatch.setattr(kernel_files, "_versions", lambda: None)
    assert list_path() is None
    assert not is_complete()


def test_versions_are_those_of_the_packages() -> None:
    import llvmlite
    import numba

    versions = kernel_files._versions()
    assert versions is not None
    assert numba.__version__ in versions[-2]
    assert llvmlite.__version__ in versions[-1]


@pytest.mark.parametrize("damaged", [b"", b"short", bytes(100)], ids=["empty", "short", "zeros"])
def test_damaged_content_is_not_read(damaged: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.kernel").write_bytes(damaged)
    assert read(tmp_path / "a.kernel") is None


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other cache folders")
def test_default_cache_folder_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BIATT_CACHE_DIR", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/biatt")


def test_least_recently_used_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_files, "CACHE_LIMIT", 250)
    for age, name in enumerate(["a.kernel", "b.tmp", "c.kernel", "d.list", "notes.txt"]):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    kernel_files.remove_least_recently_used(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.kernel", "b.tmp", "notes.txt"]


def test_reading_marks_a_file_as_used(tmp_path: Path) -> None:
    path = tmp_path / "a.kernel"
    write(path, b"content")
    os.utime(path, (1e9, 1e9))
    assert read(path) == b"content"
    assert path.stat().st_mtime > 1e9
