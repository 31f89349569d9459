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
import sys
from collections.abc import Callable
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

from biatt.errors import ConfigError
from biatt.machine.kernel_files import (
    SUFFIX,
    cache_folder,
    digest_of_sources,
    read,
    remove_least_recently_used,
    write,
)

T = TypeVar("T")

config: Any = numba.config  # has no types

used_files: set[str] = set()  # names of the files that this process has loaded or written

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


# Python's check for division by zero is a branch in every loop that divides; numpy's rules need none.
# Each kernel takes in all that it calls: where several kernels had a copy of a function, calls could be
# linked to any of the copies, which round differently, depending on what a process loads first.
INLINED: Any = {"nogil": True, "error_model": "numpy", "forceinline": True}


def compiled(function: Callable[..., T], **options: Any) -> Callable[..., T]:
    """The function as machine code, made at its first call; it runs without Python's global lock."""
    dispatcher: Any = numba.njit(**{**INLINED, **options})(function)
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
        content = read(path) if path else None
        if path is not None and content is not None:
            try:
                used_files.add(path.name)
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
            remove_least_recently_used(path.parent)
            write(path, dumps(result._reduce()))
            used_files.add(path.name)
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


@cache
def _announce_compilation() -> None:
    """Say once in a process why its first call takes long."""
    log.info("Compiling for this processor, once; this takes up to a minute.")
