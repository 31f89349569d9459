"""A lock on a file: one process at a time."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from biatt.errors import BiattError, ConfigError


@contextmanager
def locked(path: Path, *, busy: str) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is removed at the end.

    `busy` is the error where another process holds it. The lock ends with the process, however that ends.
    """
    descriptor = _open_locked(path, busy)
    try:
        yield
    finally:
        try:
            with suppress(OSError):  # Windows removes no open file
                path.unlink()
        finally:
            os.close(descriptor)


def _open_locked(path: Path, busy: str) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise BiattError(f"{path}: cannot be written: {reason}.") from error
        if not _try_lock(descriptor):
            os.close(descriptor)
            raise ConfigError(busy)
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
