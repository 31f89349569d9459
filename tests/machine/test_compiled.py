"""The disk cache of compiled functions: when it is used, when it is not, and what happens when it is damaged.

Each test runs small programs in processes of their own, in a package that has `compiled.py` and two modules
with one small kernel each.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite
import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from biatt import errors
from biatt.machine import compiled, kernel_files
from biatt.machine.kernel_choice import Kernel

pytestmark = pytest.mark.slow  # each test starts processes that compile

INNER = """
from biatt.machine.compiled import compiled
FACTOR = 2

@compiled
def inner(x):
    return FACTOR * x
"""
OUTER = """
from biatt.machine.compiled import compiled
from biatt.kernels.inner import inner

@compiled
def outer(x):
    return inner(x) + 1
"""
PROGRAM = """
import logging, sys
logging.basicConfig(stream=sys.stderr, format="%(message)s")
logging.getLogger("biatt.machine.compiled").setLevel(logging.INFO)
from biatt.kernels.outer import outer
print(outer(20), sum(outer.stats.cache_hits.values()))
"""
COMPILING = "Compiling for this processor, once; this takes up to a minute."


class Package:
    """The modules that compile, two kernels, one of which inlines the other, and a cache folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        for name, text in {
            "biatt/__init__.py": "",
            "biatt/errors.py": Path(errors.__file__).read_text(),
            "biatt/machine/compiled.py": Path(compiled.__file__).read_text(),
            "biatt/machine/kernel_files.py": Path(kernel_files.__file__).read_text(),
            "biatt/kernels/__init__.py": "",
            "biatt/kernels/inner.py": INNER,
            "biatt/kernels/outer.py": OUTER,
        }.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def start(self, program: str = PROGRAM, **environment: str) -> subprocess.Popen[str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in ("NUMBA_CACHE_DIR", "BIATT_CACHE_DIR", "XDG_CACHE_HOME")
        }
        return subprocess.Popen(
            [sys.executable, "-c", program],
            env={
                **inherited,
                "BIATT_CACHE_DIR": str(self.cache),
                "PYTHONPATH": str(self.folder),
                "PYTHONDONTWRITEBYTECODE": "1",
                **environment,
            },
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str = PROGRAM, **environment: str) -> tuple[int, bool, list[str]]:
        """The kernel's result, whether its machine code came from the disk, and the messages."""
        return finish(self.start(program, **environment))

    def files(self) -> list[Path]:
        return sorted(self.cache.glob("*.kernel"))


def finish(process: subprocess.Popen[str]) -> tuple[int, bool, list[str]]:
    output, messages = process.communicate()
    assert process.returncode == 0, messages
    result, hits = output.split()
    return int(result), hits == "1", messages.splitlines()


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Package, tuple[int, bool, list[str]]]:
    package = Package(tmp_path_factory.mktemp("first"))
    return package, package.run()


@pytest.fixture
def package(tmp_path: Path) -> Package:
    """With an empty cache."""
    return Package(tmp_path)


@pytest.fixture
def warm(package: Package, first_run: tuple[Package, Any]) -> Package:
    """With the machine code that a copy of the package in another folder compiled."""
    shutil.copytree(first_run[0].cache, package.cache)
    return package


def test_first_process_says_that_it_compiles(first_run: tuple[Package, Any]) -> None:
    package, result = first_run
    assert result == (41, False, [COMPILING])
    assert {path.name.partition("-")[0] for path in package.files()} == {"outer.outer", "inner.inner"}


def test_later_process_loads_the_machine_code_and_is_silent(warm: Package) -> None:
    assert warm.run() == (41, True, [])


def test_change_in_an_inlined_file_recompiles(warm: Package) -> None:
    warm.write("biatt/kernels/inner.py", INNER.replace("FACTOR = 2", "FACTOR = 3"))
    assert warm.run() == (61, False, [COMPILING])


def test_another_processor_has_machine_code_of_its_own(warm: Package) -> None:
    another = "nehalem" if os.environ.get("NUMBA_CPU_NAME") == "generic" else "generic"
    assert warm.run(NUMBA_CPU_NAME=another) == (41, False, [COMPILING])
    assert len(warm.files()) == 4


class Codegen:
    """The part of numba's code generator that names the processor."""

    def __init__(self, *processor: str) -> None:
        self.processor = processor

    def magic_tuple(self) -> tuple[str, ...]:
        return self.processor


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (sys, "version", "4.0"),
        (numba, "__version__", "1.0"),
        (llvmlite, "__version__", "1.0"),
        (np, "__version__", "3.0"),
        (numba.config, "OPT", "0"),
        (numba.config, "BOUNDSCHECK", 1),
    ],
)
def test_file_name_changes_with_versions_and_settings(
    where: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = compiled.KernelCache(kernel_files.cache_folder)  # any function of the package
    before = kernel.path("int64", Codegen("x86", "znver4"))
    assert kernel.path("int64", Codegen("x86", "znver4")) == before
    assert kernel.path("float64", Codegen("x86", "znver4")) != before
    assert kernel.path("int64", Codegen("x86", "haswell")) != before
    monkeypatch.setattr(where, name, value)
    assert kernel.path("int64", Codegen("x86", "znver4")) != before


def test_damaged_file_is_compiled_again_and_mended(warm: Package) -> None:
    inner, outer = warm.files()
    content = outer.read_bytes()
    middle = len(content) // 2
    outer.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    inner.write_bytes(b"")
    assert warm.run() == (41, False, [COMPILING])
    assert warm.run() == (41, True, [])


def test_file_whose_content_cannot_be_loaded_is_compiled_again_and_mended(warm: Package) -> None:
    """The checksum is right, but numba cannot use the content."""
    _, outer = warm.files()
    kernel_files.write(outer, b"not a pickle")
    assert warm.run() == (41, False, [COMPILING])
    assert kernel_files.read(outer) not in (None, b"not a pickle")


def test_folder_that_cannot_be_made_is_no_error(package: Package) -> None:
    package.write("file", "")  # in the place of a folder: this stops root, too
    result, hit, messages = package.run(BIATT_CACHE_DIR=str(package.folder / "file" / "cache"))
    assert (result, hit) == (41, False)
    assert messages[0] == COMPILING
    assert len(messages) == 2
    assert f"cannot be kept in {package.folder / 'file' / 'cache'} (" in messages[1]


FULL = """
import errno, os
def no_space(*arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
os.replace = no_space
"""


def test_full_disk_is_no_error_and_leaves_no_file(package: Package) -> None:
    result, hit, messages = package.run(FULL + PROGRAM)
    assert (result, hit) == (41, False)
    assert len(messages) == 2
    assert os.strerror(errno.ENOSPC) in messages[1]
    assert not list(package.cache.iterdir())


def test_user_without_home_folder_runs_uncached(package: Package) -> None:
    program = "import os.path; os.path.expanduser = lambda path: path\n" + PROGRAM
    assert package.run(program, BIATT_CACHE_DIR="") == (41, False, [COMPILING])
    assert not list(package.folder.rglob("*.kernel"))


def test_processes_that_compile_at_once_leave_a_sound_cache(package: Package) -> None:
    program = PROGRAM.replace("outer(20)", "(outer(2.0), outer(20))[1]")  # two signatures, in this order
    processes = [package.start(PROGRAM), package.start(program)]
    assert [finish(process)[0] for process in processes] == [41, 41]
    assert package.run() == (41, True, [])
    assert not list(package.cache.glob("*.tmp"))


def test_cache_folder_is_chosen_by_the_environment(package: Package, tmp_path: Path) -> None:
    package.run(BIATT_CACHE_DIR="", NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    assert list((tmp_path / "numba" / "biatt").glob("*.kernel"))


def test_key_covers_every_file_that_a_kernel_takes_functions_from() -> None:
    """Every compiled function of the package, followed through the names that its code uses."""
    import biatt.decode.decoders
    import biatt.decode.distribution
    import biatt.kernels.packed  # noqa: F401

    kernels = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith("biatt.")
        for value in vars(module).values()
        if isinstance(value, (Dispatcher, Kernel))
    }
    assert len(kernels) > 30
    for kernel in kernels:
        covered = closure(Path(kernel.py_func.__code__.co_filename))
        assert used_files(kernel.py_func, set()) <= covered, kernel


def closure(file: Path) -> set[Path]:
    files, waiting = {file}, [file]
    while waiting:
        more = set(kernel_files.imported_sources(waiting.pop().read_bytes())) - files
        files |= more
        waiting += more
    return files


def used_files(function: FunctionType, seen: set[Any]) -> set[Path]:
    """The files of a function and of the package's functions that it uses, at any depth."""
    seen.add(function)
    files = {Path(function.__code__.co_filename)}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        value = getattr(value, "py_func", None) or getattr(value, "_defn", None) or value  # kernel, intrinsic
        if isinstance(value, FunctionType) and value.__module__.startswith("biatt.") and value not in seen:
            files |= used_files(value, seen)
    return files
