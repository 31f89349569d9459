"""Folders that are made; folders that are replaced whole or not at all, whatever happens on the way."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from biatt.data.folders import make_folder, present_folder, replacing_folder
from biatt.errors import ConfigError
from failing_disk import FailingDisk, Killed

OLD, NEW = {"a": "old", "part/b": "old"}, {"a": "new", "part/c": "new"}


def fill(folder: Path, content: dict[str, str]) -> None:
    for name, text in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def content(folder: Path) -> dict[str, str]:
    files = [path for path in present_folder(folder).rglob("*") if path.is_file()]
    return {path.relative_to(present_folder(folder)).as_posix(): path.read_text() for path in files}


def replace(folder: Path, *, error: Exception | None = None) -> None:
    with replacing_folder(folder) as new:
        fill(new, NEW)
        if error:
            raise error


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path / "one" / "folder", OLD)
    return tmp_path / "one" / "folder"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FailingDisk]:
    with FailingDisk(tmp_path) as disk:
        yield disk


def test_new_content_replaces_the_old_and_nothing_else_stays(folder: Path) -> None:
    replace(folder)
    assert content(folder) == NEW
    assert [path.name for path in folder.parent.iterdir()] == ["folder"]


@pytest.mark.parametrize("make", ["parents", "empty"])
def test_folder_that_is_missing_or_empty_is_filled(tmp_path: Path, make: str) -> None:
    folder = tmp_path / "a" / "b" / "folder"
    if make == "empty":
        folder.mkdir(parents=True)
        number = folder.stat().st_ino
    replace(folder)
    assert content(folder) == NEW
    assert make == "parents" or folder.stat().st_ino == number  # it can be a mounted volume


def test_error_in_the_block_changes_nothing(folder: Path) -> None:
    with pytest.raises(KeyError):
        replace(folder, error=KeyError())
    assert content(folder) == OLD
    assert [path.name for path in folder.parent.iterdir()] == ["folder"]


def test_error_in_the_block_leaves_an_empty_folder_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(KeyError):
        replace(tmp_path / "empty", error=KeyError())
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]
    assert content(tmp_path / "empty") == {}


def test_folder_behind_a_link_is_replaced(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    replace(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert content(folder) == NEW


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of Unix")
def test_permissions_stay(folder: Path) -> None:
    folder.chmod(0o750)
    (folder / "a").chmod(0o640)
    replace(folder)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "a")]
    assert modes == [0o750, 0o640]


def test_failure_at_any_step_leaves_the_old_or_the_new_content(folder: Path, disk: FailingDisk) -> None:
    failures = 0
    for step in count():
        disk.fail_at(step, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        failed = False
        try:
            replace(folder)
        except OSError:
            failed = True
        if not disk.repair():
            break
        assert content(folder) == (OLD if failed else NEW)
        assert not failed or [path.name for path in folder.parent.iterdir()] == ["folder"]
        failures += failed
        shutil.rmtree(folder.parent)
        fill(folder, OLD)
    assert failures > 5


def test_process_killed_at_any_step_leaves_the_old_or_the_new_content(
    folder: Path, disk: FailingDisk
) -> None:
    seen = []
    for step in count():
        disk.kill_at(step)
        with suppress(Killed):
            replace(folder)
        if not disk.repair():
            break
        seen.append(content(folder))
        assert seen[-1] in (OLD, NEW)
        replace(folder)  # finishes the interrupted replacement first
        assert content(folder) == NEW
        assert not list(folder.parent.glob(".*.old"))
        shutil.rmtree(folder.parent)
        fill(folder, OLD)
    assert OLD in seen
    assert NEW in seen


def test_leftovers_of_a_folder_with_a_similar_name_are_not_touched(folder: Path) -> None:
    other = folder.parent / ".folder.x.0123456789abcdef.old"
    other.mkdir()
    replace(folder)
    assert other.is_dir()
    assert present_folder(folder.parent / "fold") == folder.parent / "fold"


# Folders that are made


def test_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match=f"^{folder} cannot be a folder for the model: .*\\.$"):
            make_folder(folder, "the model")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot be written to"):
        make_folder(tmp_path, "the model")
