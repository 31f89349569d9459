"""Compiling on purpose and in the background."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

from biatt.errors import ConfigError
from biatt.machine import kernel_choice, kernel_files
from biatt.machine.kernel_choice import Kernel
from biatt.machine.kernel_files import is_complete, list_path, write
from biatt.parser import load
from biatt.parsing import warm_up
from builders import LARGER, TREEBANK, random_parser, random_tokeniser
from commands import SOURCE, invoke
from ways import on_the


def signatures() -> set[tuple[str, Any]]:
    """All types of arguments that each kernel is compiled for in this process."""
    kernels: dict[str, Any] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("biatt."):
            for value in vars(module).values():
                if isinstance(value, Kernel) and "dispatcher" in vars(value):
                    kernels[value.py_func.__qualname__] = value.dispatcher
                elif isinstance(value, Dispatcher):
                    kernels[value.py_func.__qualname__] = value
    return {(name, signature) for name, kernel in kernels.items() for signature in kernel.signatures}


@pytest.mark.slow
def test_nothing_is_left_to_compile_for_parsing() -> None:
    """Bundled models and random ones, every decoder, confidence and the k best trees."""
    program = """
import os, sys
sys.path[:0] = {tests!r}
import test_warm_up
test_warm_up.parse_everything()
"""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            program.format(tests=[str(Path(__file__).parent), str(Path(__file__).parents[1])]),
        ],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "BIATT_KERNELS": "compiled"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def parse_everything() -> None:
    warm_up.call_kernels()
    known = signatures()
    assert len(known) > 15
    english = load("en")
    parsers = [random_parser(), random_parser(LARGER), random_parser({"tags": True, "layers": 2})]
    parsers += [random_parser({"feedback": False}), random_parser({"directions": "left-to-right"})]
    parsers += [random_parser({"attention": "single", "feedback": False})]
    for parser in (english, *parsers):
        for decoder in ("mst", "projective", "argmax"):
            list(parser.parse(TREEBANK[:5], decoder=decoder, confidence=True, roots="any"))
        parser.k_best(TREEBANK[0], 3)
    english("It works. So does this.")
    random_tokeniser().split(["It works."])
    assert sorted(signatures() - known, key=str) == []


@pytest.fixture
def compiled_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, in which calling the kernels writes one file, at once."""

    def call_kernels() -> None:
        from biatt.machine import compiled

        compiled.used_files.add("a.kernel")
        write(tmp_path / "cache" / "a.kernel", b"machine code")

    monkeypatch.setenv("BIATT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(warm_up, "call_kernels", call_kernels)
    monkeypatch.setattr("biatt.machine.compiled.used_files", set())
    monkeypatch.setattr(os, "nice", lambda by: 0, raising=False)  # `main` would slow all later tests
    return tmp_path / "cache"


def test_all_that_was_compiled_is_listed(compiled_for_nothing: Path) -> None:
    warm_up.warm_up()
    assert is_complete()
    path = list_path()
    assert path is not None
    assert kernel_files.read(path) == b"a.kernel"


def test_verb_says_where_the_code_is(compiled_for_nothing: Path) -> None:
    assert invoke("warmup") == f"The compiled code is in {compiled_for_nothing}.\n"


def test_what_is_on_disk_is_not_compiled_again(
    compiled_for_nothing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm_up.warm_up()
    monkeypatch.setattr(warm_up, "call_kernels", lambda: pytest.fail("it compiles"))
    warm_up.warm_up()
    warm_up.main()


def test_process_in_the_background_leaves_the_work_to_one_that_has_begun(compiled_for_nothing: Path) -> None:
    path = list_path()
    assert path is not None
    with warm_up._locked(path.with_suffix(".lock"), wait=False):
        warm_up.main()
        assert not is_complete()
    warm_up.main()
    assert is_complete()


def test_folder_that_cannot_be_written_is_one_sentence(
    compiled_for_nothing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BIATT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(ConfigError, match=r"cannot be kept in .*cache .*: name another folder"):
        warm_up.warm_up()
    folder = tmp_path / "cache"
    monkeypatch.setenv("BIATT_CACHE_DIR", str(folder))
    path = list_path()
    assert path is not None
    path.with_suffix(".lock").mkdir(parents=True)  # cannot be opened, as in a folder that is read-only
    with pytest.raises(ConfigError, match=r"cannot be kept in .*cache .*: name another folder"):
        warm_up.warm_up()
    with on_the("plain"), pytest.raises(ConfigError, match="BIATT_KERNELS=plain turns"):
        warm_up.warm_up()


def test_process_in_the_background_notes_that_its_code_cannot_be_kept(
    compiled_for_nothing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk, where an empty file can be made and renamed, but nothing can be written."""
    monkeypatch.setattr(kernel_choice, "_start", lambda command: None)
    monkeypatch.setattr("biatt.machine.compiled.KernelCache.writable", False)
    assert kernel_choice.start_in_background()
    warm_up.main()
    assert not is_complete()
    assert kernel_choice.has_failed()
    assert not kernel_choice.start_in_background()


@pytest.mark.slow
def test_first_command_gives_a_tree_and_starts_one_process_that_compiles(
    tmp_path: Path,
) -> None:
    """With an empty cache folder, and an empty program in the place of the one that compiles."""
    environment = {
        **os.environ, "PYTHONPATH": str(SOURCE), "BIATT_KERNELS": "auto", "BIATT_CACHE_DIR": str(tmp_path)
    }  # fmt: skip
    code = "import sys; sys.executable = '/bin/true'; from biatt.cli import main; main()"
    command = [sys.executable, "-c", code, "parse", "--text", "It works.", "--format", "conllu"]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True) for _ in range(2)
    )
    assert "2\tworks\t" in first.stdout
    assert first.stdout == second.stdout
    assert first.stderr == (
        "biatt: Compiling for this processor in the background, once; until then, parsing is slower.\n"
    )
    assert second.stderr == ""
    assert [path.suffix for path in tmp_path.iterdir()] == [".attempt"]
