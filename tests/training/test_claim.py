"""Folders of trainings: a foreign folder is never touched, and one process trains in a folder at a time."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from biatt.data import locks
from biatt.errors import ConfigError
from biatt.models.model_folder import CHECKPOINT, FINGERPRINT, LOCK, WEIGHTS
from biatt.training.claim import claimed

SOURCE = Path(__file__).parents[2] / "src"
# Claims a folder, says so, and holds it until its input ends.
HOLDER = """
import sys
from pathlib import Path
from biatt.training.claim import claimed
with claimed(Path(sys.argv[1]), "a", resume=True):
    print("held", flush=True)
    sys.stdin.read()
"""


def claim_and_leave(out: Path, fingerprint: str, *, resume: bool) -> None:
    with claimed(out, fingerprint, resume=resume):
        pass


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("resume", [False, True])
def test_new_or_empty_folder_is_claimed(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "empty", tmp_path / "not" / "yet" / "there"):
        with claimed(out, "a", resume=resume):
            assert sorted(files(out)) == [FINGERPRINT, LOCK]
        assert files(out) == {FINGERPRINT: b"a\n"}


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["README.md", "config.json", "metrics.jsonl", "notes.txt", WEIGHTS])
def test_folder_with_other_files_is_refused_and_left_as_it_was(
    tmp_path: Path, name: str, resume: bool
) -> None:
    (tmp_path / name).write_text("mine")
    (tmp_path / "folds").mkdir()
    with pytest.raises(ConfigError, match="is not empty, and was not made by training"):
        claim_and_leave(tmp_path, "a", resume=resume)
    assert files(tmp_path) == {name: b"mine"}
    assert (tmp_path / "folds").is_dir()


def test_other_files_beside_a_claim_without_a_run_are_refused(tmp_path: Path) -> None:
    claim_and_leave(tmp_path, "a", resume=False)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty"):
        claim_and_leave(tmp_path, "a", resume=True)


def test_begun_run_is_resumed_with_the_same_fingerprint_only(tmp_path: Path) -> None:
    with claimed(tmp_path, "a", resume=False):
        (tmp_path / CHECKPOINT).write_bytes(b"state")
    with pytest.raises(ConfigError, match="already contains a model or a run"):
        claim_and_leave(tmp_path, "a", resume=False)
    with pytest.raises(ConfigError, match="other data, settings, seed or threads"):
        claim_and_leave(tmp_path, "b", resume=True)
    claim_and_leave(tmp_path, "a", resume=True)
    assert files(tmp_path) == {FINGERPRINT: b"a\n", CHECKPOINT: b"state"}


def test_claim_without_a_run_can_be_taken_over(tmp_path: Path) -> None:
    claim_and_leave(tmp_path, "a", resume=False)
    claim_and_leave(tmp_path, "b", resume=False)
    assert files(tmp_path) == {FINGERPRINT: b"b\n"}


def test_second_claim_is_refused_while_the_first_is_held(tmp_path: Path) -> None:
    with claimed(tmp_path, "a", resume=True), pytest.raises(ConfigError, match="Another process is training"):
        claim_and_leave(tmp_path, "a", resume=True)
    with pytest.raises(ZeroDivisionError), claimed(tmp_path, "a", resume=True):
        raise ZeroDivisionError
    claim_and_leave(tmp_path, "a", resume=True)


@pytest.mark.slow
def test_killed_process_frees_the_folder(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "m")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"held"
        with pytest.raises(ConfigError, match="Another process"):
            claim_and_leave(tmp_path / "m", "a", resume=True)
        process.kill()
    assert (tmp_path / "m" / LOCK).exists()  # which locks nothing without its process
    claim_and_leave(tmp_path / "m", "a", resume=False)
    assert files(tmp_path / "m") == {FINGERPRINT: b"a\n"}


def test_lock_file_that_its_holder_has_removed_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = locks._try_lock, []

    def removing(descriptor: int) -> bool:
        """The holder ends, and removes the file, after we have opened it."""
        if not removed:
            (tmp_path / LOCK).unlink()
            removed.append(True)
        return lock(descriptor)

    monkeypatch.setattr(locks, "_try_lock", removing)
    with claimed(tmp_path, "a", resume=False):
        assert (tmp_path / LOCK).exists()
        with pytest.raises(ConfigError, match="Another process"):
            claim_and_leave(tmp_path, "a", resume=True)


@pytest.mark.skipif(sys.platform == "win32", reason="locks by fcntl")
def test_file_system_without_locks_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def unsupported(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    claim_and_leave(tmp_path, "a", resume=False)
    assert files(tmp_path) == {FINGERPRINT: b"a\n"}


def test_files_that_a_killed_process_left_half_written_are_removed(tmp_path: Path) -> None:
    with claimed(tmp_path, "a", resume=False):
        (tmp_path / "tokeniser").mkdir()
    for folder in (tmp_path, tmp_path / "tokeniser"):
        (folder / ".0123456789abcdef.tmp").write_bytes(b"half")
        (folder / ".notes.tmp").write_bytes(b"not ours")
    with claimed(tmp_path, "a", resume=True):
        left = sorted(path.name for path in tmp_path.rglob("*.tmp"))
    assert left == [".notes.tmp", ".notes.tmp"]
