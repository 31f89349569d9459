"""Opening files: compressed input told by its first bytes, output written whole or not at all.

"-" is standard input or standard output. Whatever the operating system or a decompressor refuses
becomes a BiattError; only BrokenPipeError passes, since a reader that goes away is no fault of the user's.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from biatt.errors import BiattError, FormatError

BUFFER_BYTES = 1 << 17

_CODECS: dict[str, Any] = {".gz": gzip, ".xz": lzma, ".bz2": bz2}
COMPRESSED = tuple(_CODECS)  # the suffixes of files that are written so
_MAGIC_BYTES = 10


def name_of(source: str | Path | BinaryIO) -> str:
    """What an error message calls a source."""
    if isinstance(source, (str, Path)):
        return "<stdin>" if str(source) == "-" else str(source)
    return str(getattr(source, "name", "<stream>"))


@contextmanager
def reading(source: str | Path | BinaryIO, *, name: str | None = None) -> Iterator[io.BufferedReader]:
    """Open a path, "-" or a binary stream, decompressing gzip, xz and bzip2; a stream given stays open."""
    name = name or name_of(source)
    if not isinstance(source, (str, Path)):
        yield _decompressed(source, name)
    elif str(source) == "-":
        yield _decompressed(sys.stdin.buffer, name)
    else:
        try:
            file = open(source, "rb")  # noqa: SIM115 - errors of the caller's block are not for this try
        except OSError as error:
            raise _refused(name, "read", error) from error
        with file:
            yield _decompressed(file, name)


@contextmanager
def writing(target: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """Open a path (compressed if it ends in .gz, .xz or .bz2), "-" or a binary stream, which stays open."""
    if not isinstance(target, (str, Path)):
        yield target
    elif str(target) == "-":
        with _explained("<stdout>"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
    else:
        with replacing(target) as file, _compressed(file, Path(target).suffix) as stream:
            yield stream


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Write a file whole or not at all: the old one stays until the new one is complete on the disk."""
    path = Path(path)
    with _explained(str(path)):
        if path.exists() and not path.is_file():  # a device or a pipe: nothing to protect, nothing to replace
            with open(path, "wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))  # of a symbolic link, the file behind it is replaced
        if target.exists() and not os.access(target, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            with _explained(str(path), also=temporary), open(temporary, "xb") as stream:
                if target.exists():
                    os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def _explained(name: str, *, also: Path | None = None) -> Iterator[None]:
    """Turn what the system says about writing this file, by its name or another, into a BiattError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # A failed write carries no file name; an error that names some other file is not about this one.
        if error.filename is not None and str(error.filename) not in (name, str(also)):
            raise
        raise _refused(name, "written", error) from error


@contextmanager
def _compressed(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix not in _CODECS:
        yield file
        return
    if suffix == ".gz":  # without name and time, equal content gives equal bytes
        stream = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    else:
        stream = _CODECS[suffix].open(file, "wb")
    with stream:
        yield stream


def _decompressed(stream: BinaryIO, name: str) -> io.BufferedReader:
    raw = _Checked(stream, name=name)
    magic = b""
    while len(magic) < _MAGIC_BYTES and (more := raw.read(_MAGIC_BYTES - len(magic))):  # a pipe may give one
        magic += more
    joined = with_head(magic, stream, name=name)
    suffix = _compression(magic)
    if suffix is None:
        return joined
    return io.BufferedReader(_Checked(_CODECS[suffix].open(joined), name=name), BUFFER_BYTES)


def with_head(head: bytes, stream: BinaryIO, *, name: str) -> io.BufferedReader:
    """The stream with its first bytes, which were read already, put back."""
    return io.BufferedReader(_Checked(stream, name=name, head=head), BUFFER_BYTES)


def _compression(magic: bytes) -> str | None:
    if magic.startswith(b"\x1f\x8b"):
        return ".gz"
    if magic.startswith(b"\xfd7zXZ\x00"):
        return ".xz"
    # "BZh" could begin a text; after it and a digit comes the mark of a block, or of the end.
    if magic.startswith(b"BZh") and magic[4:] in (b"1AY&SY", b"\x17rE8P\x90"):
        return ".bz2"
    return None


class _Checked(io.RawIOBase):
    """A stream with its first bytes put back, whose failures are BiattErrors; closing it leaves it open."""

    def __init__(self, stream: BinaryIO, *, name: str, head: bytes = b"") -> None:
        self._read = getattr(stream, "read1", stream.read)  # read1 returns what a pipe has, without waiting
        self._name, self._head = name, head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._head[: len(buffer)] or self._read(len(buffer))
        except (EOFError, zlib.error, lzma.LZMAError) as error:
            raise _damaged(self._name, error) from error
        except OSError as error:
            if error.errno is None:  # gzip and bz2 report bad data in this way
                raise _damaged(self._name, error) from error
            raise _refused(self._name, "read", error) from error
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _damaged(name: str, error: Exception) -> FormatError:
    return FormatError(f"the compressed data is damaged or cut short ({error}).", source=name)


def _refused(name: str, verb: str, error: OSError) -> BiattError:
    return BiattError(f"{name}: cannot be {verb}: {(error.strerror or str(error)).lower()}.")
