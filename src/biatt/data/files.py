"""Opening files: input decompressed by its first bytes, output written whole or not at all.

"-" is standard input or standard output. Whatever the operating system or a decompressor refuses becomes a
BiattError; only BrokenPipeError passes, because it is no error if the reader of a pipe leaves.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import os
import re
import secrets
import select
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from biatt.errors import BiattError, ConfigError, FormatError

BUFFER_BYTES = 1 << 17

_CODECS: dict[str, Any] = {".gz": gzip, ".xz": lzma, ".bz2": bz2}
COMPRESSED = tuple(_CODECS)  # suffixes of files that are written compressed
# The first bytes of compressed files. "BZh" and a digit could begin a text; a mark of a block or of the end
# follows them in a bzip2 file.
_SIGNATURES = {
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ\x00": ".xz",
    **{b"BZh%d" % level + mark: ".bz2" for level in range(1, 10) for mark in (b"1AY&SY", b"\x17rE8P\x90")},
}

# Compressed input may expand to the larger of these two; treebanks expand about tenfold.
EXPANDED_BYTES = 1 << 26
EXPANSION = 100

# Seconds that the sender of a pipe has to send more before the reader works on what it has: enough for a
# program that only copies, too short for a person to notice.
PATIENCE = 0.005
CHECKSUM_BLOCK = 1 << 20  # bytes that are read at once


class InputStream(io.BufferedReader):
    """The bytes of a source, decompressed."""

    raw: _Source

    def __init__(self, source: _Source) -> None:
        super().__init__(source, BUFFER_BYTES)

    def may_wait(self) -> bool:
        """Whether the next read could wait for a sender; always False for files and for bytes in memory.

        It can be True although bytes have arrived: those in a buffer are not seen.
        """
        return self.raw.may_wait()

    def bytes_read(self) -> int:
        """How many bytes of the source have been read, before decompression."""
        return self.raw.bytes_read()


def blocks(stream: InputStream) -> Iterator[bytes | None]:
    """The bytes of a stream as they arrive, and None before each read that may wait for more."""
    while True:
        if stream.may_wait():
            yield None
        block = stream.read1(BUFFER_BYTES)
        if not block:
            return
        yield block


def name_of(source: str | Path | BinaryIO) -> str:
    """What an error message calls a source."""
    if isinstance(source, (str, Path)):
        return "<stdin>" if str(source) == "-" else str(source)
    return str(getattr(source, "name", "<stream>"))


def check_not_input(target: str | Path | BinaryIO, sources: Iterable[str | Path | BinaryIO]) -> None:
    """Refuse a target that is also a source, under whatever name: its content would be lost."""
    for source in sources:
        paths = [str(path) for path in (source, target) if isinstance(path, (str, Path)) and str(path) != "-"]
        if len(paths) == 2 and all(map(os.path.exists, paths)) and os.path.samefile(*paths):
            raise ConfigError(f"{target} is both the input and the output: choose another output.")


@contextmanager
def reading(
    source: str | Path | BinaryIO, *, name: str | None = None, max_size: int | None = None
) -> Iterator[InputStream]:
    """Open a path, "-" or a binary stream, decompressing gzip, xz and bzip2; a stream given stays open.

    More than `max_size` bytes, after decompression, are refused. Without it, only compressed input that
    expands as no text does is refused (EXPANSION).
    """
    name = name or name_of(source)
    if not isinstance(source, (str, Path)):
        if not hasattr(source, "read"):
            raise TypeError(f'A file is a path, "-" or a binary stream, not {type(source).__name__}.')
        yield _decompressed(source, name, max_size)
    elif str(source) == "-":
        if sys.stdin is None:
            raise BiattError(f"{name}: cannot be read: standard input is closed.")
        yield _decompressed(sys.stdin.buffer, name, max_size)
    else:
        try:
            file = open(source, "rb")  # noqa: SIM115 - errors of the caller's block are not for this try
        except (OSError, ValueError) as error:  # ValueError: a null character in the name
            raise _refused(name, "read", error) from error
        with file:
            yield _decompressed(file, name, max_size)


@contextmanager
def writing(target: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """Open a path (compressed if it ends in .gz, .xz or .bz2), "-" or a binary stream, which stays open.

    What is written to "-" or to a pipe is sent at once.
    """
    if not isinstance(target, (str, Path)):
        if not hasattr(target, "write"):
            raise TypeError(f'A file is a path, "-" or a binary stream, not {type(target).__name__}.')
        yield target
    elif str(target) == "-":
        if sys.stdout is None:
            raise BiattError("<stdout>: cannot be written: standard output is closed.")
        with _explained("<stdout>"):
            yield cast(BinaryIO, _Unbuffered(sys.stdout.buffer))
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
                yield cast(BinaryIO, _Unbuffered(stream))
            return
        target = Path(os.path.realpath(path))  # of a symbolic link, the file behind it is replaced
        if target.exists() and not os.access(target, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")  # see `is_temporary`
        try:
            with _explained(str(path), temporary=temporary), open(temporary, "xb") as stream:
                if target.exists():
                    os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def checksum_of(path: str | Path) -> str:
    """The SHA-256 of a file as it is on the disk."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(CHECKSUM_BLOCK):
                digest.update(block)
    except OSError as error:
        raise _refused(str(path), "read", error) from error
    return digest.hexdigest()


def is_temporary(path: Path) -> bool:
    """Whether a file is one that `replacing` writes, and leaves behind if its process is killed."""
    return re.fullmatch(r"\.[0-9a-f]{16}\.tmp", path.name) is not None


@contextmanager
def _explained(name: str, *, temporary: Path | None = None) -> Iterator[None]:
    """Turn an error of the system about writing this file, or the temporary one for it, into a BiattError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # A failed write carries no file name; an error that names another file is not about this one.
        if error.filename is not None and str(error.filename) not in (name, str(temporary)):
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


class _Unbuffered(io.RawIOBase):
    """Sends on at once what is written."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(data)
        self._stream.flush()
        return len(data)


def _decompressed(stream: BinaryIO, name: str, max_size: int | None) -> InputStream:
    source = _Source(stream, name=name)
    head = source.read(max(map(len, _SIGNATURES)))
    while any(signature.startswith(head) and signature != head for signature in _SIGNATURES):
        more = source.read(1)  # a pipe may give less than was asked for
        if not more:
            break
        head += more
    suffix = next((suffix for start, suffix in _SIGNATURES.items() if head.startswith(start)), None)
    plain = _Source(stream, name=name, head=head, max_size=None if suffix else max_size)
    if suffix is None:
        return InputStream(plain)
    file = _CODECS[suffix].open(InputStream(plain))
    return InputStream(_Source(file, name=name, compressed=plain, max_size=max_size))


def with_head(head: bytes, stream: InputStream, *, name: str) -> InputStream:
    """The stream with its first bytes, which were read already, put back."""
    return InputStream(_Source(stream, name=name, head=head))


class _Source(io.RawIOBase):
    """A stream, after `head`, whose failures are BiattErrors; closing it leaves the stream open.

    `compressed` is the source of the compressed bytes, where the stream decompresses them.
    """

    def __init__(
        self,
        stream: BinaryIO,
        *,
        name: str,
        head: bytes = b"",
        compressed: _Source | None = None,
        max_size: int | None = None,
    ) -> None:
        # read1 returns what a pipe has, without waiting for as much as was asked for.
        self._read = getattr(stream, "read1", stream.read)
        self._stream, self._name, self._head = stream, name, head
        self._compressed, self._max_size = compressed, max_size
        self._size = 0  # bytes read so far

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
        self._size += len(data)
        self._check_size()
        return len(data)

    def _check_size(self) -> None:
        if self._max_size is not None:
            if self._size > self._max_size:
                fault = f"the input is larger than the limit of {self._max_size:,} bytes."
                raise FormatError(fault, source=self._name)
        elif self._compressed is not None and self._size > max(
            EXPANDED_BYTES, EXPANSION * self._compressed._size
        ):
            fault = f"{self._compressed._size:,} compressed bytes expand to more than {self._size:,}, "
            fault += "as no text does; decompress it first to read it anyway."
            raise FormatError(fault, source=self._name)

    def may_wait(self) -> bool:
        if self._head:
            return False
        if self._compressed is not None:  # a decompressor can need several reads for the next byte
            return not self._compressed.is_local()
        if isinstance(self._stream, InputStream):
            return self._stream.may_wait()
        if self.is_local():
            return False
        try:
            readable, _, _ = select.select([self._stream], [], [], PATIENCE)
        except (OSError, ValueError, TypeError):  # it has no file descriptor, or it is a pipe on Windows
            return True
        return not readable

    def bytes_read(self) -> int:
        if self._compressed is not None:
            return self._compressed.bytes_read()
        return self._stream.bytes_read() if isinstance(self._stream, InputStream) else self._size

    def is_local(self) -> bool:
        """Whether all bytes are there, in a file or in memory."""
        if isinstance(self._stream, InputStream):
            return self._stream.raw.is_local()
        if isinstance(self._stream, io.BytesIO):
            return True
        try:
            return stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode)
        except (AttributeError, OSError, ValueError):
            return False


def _damaged(name: str, error: Exception) -> FormatError:
    return FormatError(f"the compressed data is damaged or cut short ({error}).", source=name)


def _refused(name: str, verb: str, error: OSError | ValueError) -> BiattError:
    reason = getattr(error, "strerror", None) or str(error)
    return BiattError(f"{name}: cannot be {verb}: {reason.lower()}.")
