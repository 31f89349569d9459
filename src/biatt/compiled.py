"""Compile functions with numba, and keep the machine code on disk for later processes.

numba's own disk cache looks only at the source file of the compiled function, but our kernels inline
functions and constants of other files. So this module has a cache of its own: one file for each function and
signature, named by a digest of everything that the machine code depends on (`KernelCache.path`). Files have a
checksum and are written whole, so processes may compile at the same time. Whatever is wrong with the cache,
the function is compiled again; no fault of the cache stops the program.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.codegen import get_host_cpu_features
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from biatt.errors import ConfigError

T = TypeVar("T")

config: Any = numba.config  # has no types

PACKAGE = Path(__file__).parent
SUFFIX, TEMPORARY_SUFFIX = ".kernel", ".tmp"
CACHE_LIMIT = 256 * 2**20  # bytes; all kernels for one processor take about 7 MB
USED_RECENTLY = 24 * 3600  # seconds; an older file that is read again gets a new date

log = logging.getLogger(__name__)  # INFO: what is compiled or not kept; the command line shows it


def _lanes() -> int:
    """How many 32-bit numbers a vector register holds: $BIATT_LANES, or the most that the processor has.

    Any width gives right results on any processor, since LLVM splits vectors that are too wide.
    """
    if chosen := os.environ.get("BIATT_LANES"):
        if chosen not in ("4", "8", "16"):
            raise ConfigError(f"The environment variable BIATT_LANES must be 4, 8 or 16, not {chosen!r}.")
        return int(chosen)
    features = config.CPU_FEATURES  # NUMBA_CPU_FEATURES, or none for NUMBA_CPU_NAME=generic
    if features is None:
        features = get_host_cpu_features()
    enabled = features.split(",")
    return 16 if "+avx512f" in enabled else 8 if "+avx" in enabled or "+avx2" in enabled else 4


LANES = _lanes()
REGISTERS = 16 if llvm.get_process_triple().startswith("x86") and LANES < 16 else 32  # that hold vectors


def compiled(function: Callable[..., T], **options: Any) -> Callable[..., T]:
    """The function as machine code, made at its first call; it runs without Python's global lock."""
    # Python's check for division by zero is a branch in every loop that divides; numpy's rules need none.
    # Each kernel takes in all that it calls: where several kernels had a copy of a function, calls could be
    # linked to any of the copies, which round differently, depending on what a process loads first.
    options = {"nogil": True, "error_model": "numpy", "forceinline": True, **options}
    dispatcher: Any = numba.njit(**options)(function)
    if hasattr(dispatcher, "_cache"):  # not with NUMBA_DISABLE_JIT
        dispatcher._cache = KernelCache(function)
    kernel: Callable[..., T] = dispatcher
    return kernel


def compiled_fast(function: Callable[..., T]) -> Callable[..., T]:
    """The same where sums may be taken in any order, which lets them use vector instructions.

    An innermost loop that sums must store nothing. Where a loop stores, LLVM compares the addresses of its
    arrays when it runs: if one begins less than a few vectors (up to 256 bytes) after another, the loop runs
    without vectors. A sum is then taken in another order, so its last digit depends on where malloc put the
    arrays, and differs from run to run. Without sums, both loops give the same bits.
    """
    return compiled(function, fastmath={"reassoc", "contract", "nsz", "arcp"})


class KernelCache(NullCache):
    """The machine code of one function on disk, a file for each signature."""

    writable = True  # false in a process that failed to write: it does not try again

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def cache_path(self) -> str | None:
        folder = cache_folder()
        return None if folder is None else str(folder)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The machine code for this signature, or None if it must be compiled."""
        target_context.refresh()
        path = self.path(signature, target_context.codegen())
        content = _read(path) if path else None
        if content is not None:
            try:
                return CompileResult._rebuild(target_context, *pickle.loads(content))
            except Exception as error:  # a pickle can fail in any way; compiling always works
                log.debug("%s cannot be used: %s", path, error)
        _announce_compilation()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the machine code, if there is a folder for it that can be written."""
        path = self.path(signature, result.codegen)
        if path is None or not KernelCache.writable or result.lifted or result.library.has_dynamic_globals:
            return
        try:
            _remove_least_recently_used(path.parent)
            _write(path, dumps(result._reduce()))
        except OSError as error:
            KernelCache.writable = False
            log.info(
                "Compiled code cannot be kept in %s (%s), so the next start compiles again. "
                "BIATT_CACHE_DIR can name another folder.",
                path.parent, error.strerror,
            )  # fmt: skip

    def path(self, signature: Any, codegen: Any) -> Path | None:
        """The file for a signature, or None where nothing can be kept.

        Its name changes with whatever can change the machine code: the sources that the function can inline,
        the versions of Python, numba, llvmlite and numpy, the processor, the vector width and
        numba's settings.
        """
        folder, source = cache_folder(), Path(self.function.__code__.co_filename)
        if folder is None or self.function.__closure__ is not None:
            return None
        try:
            sources = digest_of_sources(source)
        except OSError:  # not from a file: a prompt, a notebook, an archive
            return None
        key = (
            sources, self.function.__qualname__, self.function.__code__.co_firstlineno, str(signature),
            sys.version, numba.__version__, llvmlite.__version__, np.__version__,
            codegen.magic_tuple(), LANES, config.USING_SVML,
            str(config.OPT), config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.BOUNDSCHECK,
        )  # fmt: skip
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return folder / f"{source.stem}.{self.function.__name__}-{digest[:32]}{SUFFIX}"


def cache_folder() -> Path | None:
    """`$BIATT_CACHE_DIR`, or `biatt` inside `$NUMBA_CACHE_DIR` or the user's cache folder."""
    if chosen := os.environ.get("BIATT_CACHE_DIR"):
        return Path(chosen).absolute()
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR).absolute() / "biatt"
    folder = Path(AppDirs("biatt", appauthor=False).user_cache_dir)
    return folder if folder.is_absolute() else None  # a user without a home folder


@cache
def digest_of_sources(file: Path) -> str:
    """A digest of a file and, transitively, of what it imports from this package.

    A compiled function can inline only functions and constants that its module defines or imports.
    """
    contents: dict[str, bytes] = {}
    waiting = [file]
    while waiting:
        path = waiting.pop()
        name = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else path.name
        if name not in contents:
            contents[name] = path.read_bytes()
            waiting += imported_sources(contents[name])
    digest = hashlib.sha256()
    for name in sorted(contents):  # neither the folder of the package nor the order of imports matters
        digest.update(f"{name} {len(contents[name])}\n".encode() + contents[name])
    return digest.hexdigest()


def imported_sources(source: bytes) -> list[Path]:
    """The files of the modules of this package that a module imports; of a subpackage, all files."""
    files = []
    for name in re.findall(rb"^(?:from|import) +([\w.]+)", source, re.MULTILINE):
        package, *parts = name.decode().split(".")
        if package == PACKAGE.name:
            path = PACKAGE.joinpath(*parts)
            files += sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    return files


@cache
def _announce_compilation() -> None:
    """Say once in a process why its first call takes long."""
    log.info("Compiling for this processor, once; this takes up to a minute.")


def _read(path: Path) -> bytes | None:
    """What `_write` wrote, or None if there is no such file or it is damaged."""
    try:
        content = path.read_bytes()
        checksum, content = content[:32], content[32:]
        if hashlib.sha256(content).digest() != checksum:
            log.debug("%s is damaged", path)
            return None
        if path.stat().st_mtime < time.time() - USED_RECENTLY:
            with suppress(OSError):  # a read-only cache can be read
                os.utime(path)
    except OSError:
        return None
    return content


def _write(path: Path, content: bytes) -> None:
    """Write beside the file and rename: another process sees the whole file or none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(TEMPORARY_SUFFIX, path.stem, path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


@cache  # once in a process is enough
def _remove_least_recently_used(folder: Path) -> None:
    """Keep CACHE_LIMIT bytes of machine code: each version of the sources leaves its files behind."""
    files = []
    for path in folder.glob("*"):
        with suppress(OSError):  # another process removes files, too
            if path.suffix in (SUFFIX, TEMPORARY_SUFFIX):
                files.append((path.stat().st_mtime, path.stat().st_size, path))
    total = 0
    for _, size, path in sorted(files, reverse=True):
        total += size
        if total > CACHE_LIMIT:
            with suppress(OSError):
                path.unlink()
