"""Folders that are made, and folders that are replaced whole or not at all.

A new folder is written beside the old one, then renamed. Two folders exist beside it for a while; the number
is random, so that two processes do not meet:

    .NAME.NUMBER.new    the new folder, until it gets the name
    .NAME.NUMBER.old    the folder that had the name, until it is removed

A process that is killed can leave them behind. If that happens between the two renames, no folder has the
name; then the new one is whole, and `present_folder` finds it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from biatt.errors import ConfigError


def make_folder(folder: Path, content: str) -> None:
    """Make a folder for this content, unless it is there; ConfigError if it cannot be, or be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"{folder} cannot be a folder for {content}: {reason}.") from error
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{folder} is a folder that cannot be written to.")


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to write into. After the block it replaces `folder`; after an error it is removed."""
    folder = Path(os.path.realpath(folder))  # of a symbolic link, the folder behind it is replaced
    _finish_interrupted(folder)
    if folder.is_dir() and not any(folder.iterdir()):
        with _filling(folder):
            yield folder
    else:
        with _swapping(folder) as new:
            yield new


def present_folder(folder: Path) -> Path:
    """The folder, or the one that an interrupted replacement left in its place."""
    if not folder.exists():
        for new, old in _leftovers(Path(os.path.realpath(folder))):
            return new if new.exists() else old
    return folder


@contextmanager
def _filling(folder: Path) -> Iterator[None]:
    """An empty folder has nothing to protect, and may be a mounted volume, which cannot be renamed."""
    try:
        yield
        _sync_all(folder)
    except BaseException:
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise


@contextmanager
def _swapping(folder: Path) -> Iterator[Path]:
    beside = f".{folder.name}.{secrets.token_hex(8)}"
    new, old = folder.with_name(f"{beside}.new"), folder.with_name(f"{beside}.old")
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        new.mkdir()
        yield new
        _copy_modes(folder, new)
        _sync_all(new)
        if folder.exists():
            os.rename(folder, old)
        os.rename(new, folder)
        _sync(folder.parent)
    except BaseException:
        if old.exists() and not folder.exists():
            os.rename(old, folder)
        raise
    finally:
        if folder.exists() or not old.exists():  # else the old one could not get its name back: keep both
            shutil.rmtree(new, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)


def _finish_interrupted(folder: Path) -> None:
    for new, old in _leftovers(folder):
        if not folder.exists():
            os.rename(new if new.exists() else old, folder)
        shutil.rmtree(old, ignore_errors=True)


def _leftovers(folder: Path) -> Iterator[tuple[Path, Path]]:
    """The new and the old folder of each replacement of this folder that got as far as the first rename."""
    name = re.compile(rf"(\.{re.escape(folder.name)}\.[0-9a-f]{{16}})\.old")
    if folder.parent.is_dir():
        for old in sorted(folder.parent.iterdir()):
            if match := name.fullmatch(old.name):
                yield folder.with_name(f"{match[1]}.new"), old


def _copy_modes(source: Path, target: Path) -> None:
    """Give files and folders the permissions of those that they replace."""
    for path in (target, *target.rglob("*")):
        if (before := source / path.relative_to(target)).exists():
            shutil.copymode(before, path)


def _sync_all(folder: Path) -> None:
    """Have all folders of a tree on the disk."""
    for path, _, _ in os.walk(folder):
        _sync(Path(path))


def _sync(folder: Path) -> None:
    if os.name != "nt":  # Windows does not open folders
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
