"""The folder of a training: no foreign folder, no two trainings at once, no two kinds of training."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from biatt.data.files import is_temporary, replacing
from biatt.errors import ConfigError
from biatt.model_folder import FINGERPRINT, LOCK, is_begun


@contextmanager
def claimed(out: Path, fingerprint: str, *, resume: bool) -> Iterator[None]:
    """Make `out` the folder of the training with this fingerprint; with `resume`, it may have begun there.

    One process at a time holds a folder. The claim ends with the process, however that ends.
    """
    _check(out, fingerprint, resume=resume)  # before locking, which writes into the folder
    make_folder(out)
    with _locked(out / LOCK):
        _check(out, fingerprint, resume=resume)  # another process may have begun in the meantime
        for path in filter(is_temporary, out.rglob(".*")):  # left by a process that was killed
            path.unlink(missing_ok=True)
        with replacing(out / FINGERPRINT) as file:
            file.write(f"{fingerprint}\n".encode())
        yield


def make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{out} cannot be a folder for the model: {error.strerror}.") from error
    if not os.access(out, os.W_OK):
        raise ConfigError(f"{out} is a folder that cannot be written to.")


def _check(out: Path, fingerprint: str, *, resume: bool) -> None:
    """Refuse a folder that contains anything but the training with this fingerprint."""
    if not out.is_dir():
        return  # making it raises the error, if there is one
    names = {path.name for path in out.iterdir() if not is_temporary(path)} - {LOCK}
    if FINGERPRINT not in names or not is_begun(out):
        if names - {FINGERPRINT}:
            raise ConfigError(
                f"{out} is not empty, and was not made by training (without {FINGERPRINT}): "
                "name another folder."
            )
    elif not resume:
        raise ConfigError(f"{out} already contains a model or a run: resume it, or name another folder.")
    elif (out / FINGERPRINT).read_bytes().strip() != fingerprint.encode():
        raise ConfigError(
            f"{out} contains a run with other data, settings, seed or threads: repeat its options, or name "
            "another folder."
        )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is removed at the end."""
    descriptor = _open_locked(path)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file
            path.unlink()
        os.close(descriptor)


def _open_locked(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _try_lock(descriptor):
            os.close(descriptor)
            raise ConfigError(f"Another process is training in {path.parent}: wait for it, or stop it.")
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        os.close(descriptor)  # the process that held the lock removed the file after we opened it


def _try_lock(descriptor: int) -> bool:
    """Lock a file until it is closed or the process ends; False if another process holds the lock.

    On a file system without locks, nothing is locked.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True
