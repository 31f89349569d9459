"""Machine code on disk: where it is kept, how its files are written, and the list that says that it is whole.

`compiled.py` makes and loads it with numba, which takes a third of a second to import. This module does
without, so that a process can tell whether there is machine code for it before it imports anything.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

PACKAGE = Path(__file__).parents[1]
SUFFIX, LIST_SUFFIX, TEMPORARY_SUFFIX = ".kernel", ".list", ".tmp"
CACHE_LIMIT = 256 * 2**20  # bytes; all kernels for one processor take about 7 MB
USED_RECENTLY = 24 * 3600  # seconds; an older file that is read again gets a new date


def cache_folder() -> Path | None:
    """`$BIATT_CACHE_DIR`, or `biatt` inside `$NUMBA_CACHE_DIR` or the user's cache folder."""
    if chosen := os.environ.get("BIATT_CACHE_DIR"):
        return Path(chosen).absolute()
    if shared := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(shared).absolute() / "biatt"
    folder = _user_cache_folder()
    return folder if folder.is_absolute() else None  # a user without a home folder


def _user_cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", ""), "biatt", "Cache")
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches"), "biatt")
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "biatt")


@cache
def digest_of_sources(*files: Path) -> str:
    """A digest of files and, transitively, of what they import from this package.

    A compiled function can inline only functions and constants that its module defines or imports.
    """
    contents: dict[str, bytes] = {}
    waiting = list(files)
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


# The list of the files that parsing needs


def is_complete() -> bool:
    """Whether all machine code that parsing needs is on disk, for this processor and these versions."""
    path = list_path()
    content = None if path is None else read(path)
    if path is None or content is None:
        return False
    return all((path.parent / name).exists() for name in content.decode().split())


def list_path() -> Path | None:
    """The file with the names of all files that parsing needs, or None where nothing can be kept."""
    folder, versions = cache_folder(), _versions()
    if folder is None or versions is None:
        return None
    rooms = [PACKAGE / "kernels", PACKAGE / "decode"]
    try:
        key = (digest_of_sources(*(file for room in rooms for file in sorted(room.glob("*.py")))), versions)
    except OSError:  # not from files: an archive
        return None
    digest = hashlib.sha256(repr((key, _processor(), _settings())).encode()).hexdigest()
    return folder / f"parsing-{digest[:32]}{LIST_SUFFIX}"


@cache
def _versions() -> tuple[str, ...] | None:
    """Those of all that makes machine code, read from files; None if numba cannot be found."""
    versions = [sys.version, np.__version__]
    for package in ("numba", "llvmlite"):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            return None
        with suppress(OSError):
            versions.append(Path(spec.origin).with_name("_version.py").read_text())
    return tuple(versions)


def _settings() -> tuple[tuple[str, str], ...]:
    """Environment variables that change the machine code."""
    names = sorted(name for name in os.environ if name.startswith("NUMBA_") or name == "BIATT_LANES")
    return tuple((name, os.environ[name]) for name in names if name != "NUMBA_CACHE_DIR")


@cache
def _processor() -> tuple[str, ...]:
    """What tells processors apart: a cache folder may be shared by machines, or be copied to another."""
    described = [platform.machine(), platform.system()]
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(1 << 14).partition("\n\n")[0]
        wanted = ("model name", "flags", "Features", "CPU implementer", "CPU part", "isa")
        described += [line for line in first.splitlines() if line.startswith(wanted)]
    except OSError:  # not Linux
        described.append(platform.processor())
    return tuple(described)


# Files


def read(path: Path) -> bytes | None:
    """What `write` wrote, or None if there is no such file or it is damaged."""
    try:
        content = path.read_bytes()
        checksum, content = content[:32], content[32:]
        if hashlib.sha256(content).digest() != checksum:
            return None
        if path.stat().st_mtime < time.time() - USED_RECENTLY:
            with suppress(OSError):  # a read-only cache can be read
                os.utime(path)
    except OSError:
        return None
    return content


def write(path: Path, content: bytes) -> None:
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
def remove_least_recently_used(folder: Path) -> None:
    """Keep CACHE_LIMIT bytes of machine code: each version of the sources leaves its files behind."""
    files = []
    for path in folder.glob("*"):
        with suppress(OSError):  # another process removes files, too
            if path.suffix in (SUFFIX, LIST_SUFFIX, TEMPORARY_SUFFIX):
                files.append((path.stat().st_mtime, path.stat().st_size, path))
    total = 0
    for _, size, path in sorted(files, reverse=True):
        total += size
        if total > CACHE_LIMIT:
            with suppress(OSError):
                path.unlink()
