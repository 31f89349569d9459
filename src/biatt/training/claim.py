"""The folder of a training: no foreign folder, no two trainings at once, no two kinds of training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from biatt.data.files import is_temporary, replacing
from biatt.data.folders import make_folder
from biatt.data.locks import locked
from biatt.errors import ConfigError
from biatt.models.model_folder import FINGERPRINT, LOCK, is_begun


@contextmanager
def claimed(out: Path, fingerprint: str, *, resume: bool) -> Iterator[None]:
    """Make `out` the folder of the training with this fingerprint; with `resume`, it may have begun there.

    One process at a time holds a folder. The claim ends with the process, however that ends.
    """
    _check(out, fingerprint, resume=resume)  # before locking, which writes into the folder
    make_folder(out, "the model")
    busy = f"Another process is training in {out}: wait for it, or stop it."
    with locked(out / LOCK, busy=busy):
        _check(out, fingerprint, resume=resume)  # another process may have begun in the meantime
        for path in filter(is_temporary, out.rglob(".*")):  # left by a process that was killed
            path.unlink(missing_ok=True)
        with replacing(out / FINGERPRINT) as file:
            file.write(f"{fingerprint}\n".encode())
        yield


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
            f"{out} contains a run with other data, settings, seed or threads, or on another number of "
            "processes: repeat its options, or name another folder."
        )
