"""The manifest of a run: what it reads and how, which shards are finished, and what could not be parsed.

It is a file of JSON lines in the folder of the shards. The first line describes the run. A line is added
when a shard is finished, so that a run that dies loses no more than the shards that it works on. At the end,
the lines are sorted and a last one has the totals.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from biatt.corpus.records import Failure
from biatt.corpus.shards import Shard
from biatt.data.files import checksum_of, is_temporary, reading, replacing
from biatt.data.folders import make_folder
from biatt.data.locks import locked
from biatt.data.visible import json_text, visible
from biatt.errors import BiattError, ConfigError

MANIFEST, LOCK = "_manifest.jsonl", "_manifest.lock"  # readers of datasets ignore names that begin with _


def described_inputs(files: Sequence[Path]) -> list[dict[str, Any]]:
    return [{"path": str(file), "bytes": file.stat().st_size, "sha256": checksum_of(file)} for file in files]


class Manifest:
    """The manifest of a run, open for new shards; `finished` has those that are whole."""

    def __init__(self, folder: Path, run: dict[str, Any]) -> None:
        self.path, self.run = folder / MANIFEST, run
        self.finished: dict[int, Shard] = {}

    def add(self, shard: Shard) -> None:
        """Note that a shard is finished; it is on the disk already."""
        self._append(_line(shard))
        self.finished[shard.number] = shard

    def close(self) -> None:
        """Sort the shards and add the totals: the run is complete."""
        shards = [self.finished[number] for number in sorted(self.finished)]
        names = ("documents", "sentences", "words", "bytes")
        totals = {name: sum(getattr(shard, name) for shard in shards) for name in names}
        totals |= {"shards": len(shards), "failures": sum(len(shard.failures) for shard in shards)}
        lines = [self.run, *map(_line, shards), {"finished": totals}]
        with replacing(self.path) as file:
            for line in lines:
                file.write(f"{json_text(line)}\n".encode())

    def _append(self, line: dict[str, Any]) -> None:
        try:
            with open(self.path, "ab") as file:
                file.write(f"{json_text(line)}\n".encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise BiattError(f"{self.path}: cannot be written: {reason}.") from error


@contextmanager
def open_manifest(folder: Path, run: dict[str, Any], *, resume: bool) -> Iterator[Manifest]:
    """The manifest of a new run in this folder or, with `resume`, of one that has begun there.

    One process at a time holds a folder. A run is resumed with the same inputs, model, options and version of
    biatt. Shards whose file is gone or damaged are not finished.
    """
    make_folder(folder, "output")
    with locked(folder / LOCK, busy=f"Another process is writing into {folder}: wait for it, or stop it."):
        manifest = Manifest(folder, run)
        begun = manifest.path.exists()
        others = {path.name for path in folder.iterdir() if not is_temporary(path)} - {LOCK, MANIFEST}
        if others and not begun:
            raise ConfigError(f"{folder} is not empty, and has no {MANIFEST}: name another folder.")
        if begun and not resume:
            raise ConfigError(f"{folder} already contains a run: resume it, or name another folder.")
        for path in filter(is_temporary, folder.iterdir()):  # left by a process that was killed
            path.unlink(missing_ok=True)
        shards = list(_read(manifest.path, run)) if begun else []
        manifest.finished = {shard.number: shard for shard in shards if _is_whole(folder, shard)}
        with replacing(manifest.path) as file:  # without a line that was cut short
            for line in (run, *map(_line, manifest.finished.values())):
                file.write(f"{json_text(line)}\n".encode())
        yield manifest


def _line(shard: Shard) -> dict[str, Any]:
    return {"shard": shard._asdict() | {"failures": [failure._asdict() for failure in shard.failures]}}


def _read(path: Path, run: dict[str, Any]) -> Iterator[Shard]:
    """The finished shards; the manifest must be of this run. The last line can be cut short."""
    with reading(path) as stream:
        lines = stream.read().split(b"\n")
    if not lines[0] or len(lines) == 1:
        return  # the run was killed before it began
    before = _skipping(_parsed(lines[0], path), run)
    if before.get("biatt") != run["biatt"]:
        raise ConfigError(
            f"{path.parent} contains a run of biatt {visible(str(before.get('biatt')))}, and this is "
            f"{run['biatt']}: resume it with that version, or name another folder."
        )
    for name, what in (("inputs", "inputs"), ("model", "a model"), ("options", "options")):
        if before.get(name) != run[name]:
            raise ConfigError(
                f"{path.parent} contains a run with other {what.removeprefix('a ')}: repeat its command, or "
                "name another folder."
            )
    for line in lines[1:-1]:
        value = _parsed(line, path)
        if "shard" in value:
            yield _shard(value["shard"], path)


def _skipping(before: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """The run before, as one that skips bad documents if this one does.

    A run that stopped at a bad document can go on past it: its finished shards have no failures, and those of
    a run that skips have the same bytes. The other way round, failures would be noted without a stop.
    """
    options = before.get("options")
    if not isinstance(options, dict) or options.get("on_error") != "stop":
        return before
    return {**before, "options": {**options, "on_error": run["options"]["on_error"]}}


def _shard(value: Any, path: Path) -> Shard:
    try:
        shard = Shard(**value | {"failures": [Failure(**failure) for failure in value["failures"]]})
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{path} is damaged: a shard is not described; name another folder.") from error
    if (
        type(shard.number) is not int
        or not isinstance(shard.file, str)
        or Path(shard.file).name != shard.file
    ):
        raise ConfigError(f"{path} is damaged: a shard has no number or file; name another folder.")
    return shard


def _parsed(line: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{path} is damaged ({error}): name another folder.") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{path} is damaged: name another folder.")
    return value


def _is_whole(folder: Path, shard: Shard) -> bool:
    path = folder / shard.file
    return path.is_file() and path.stat().st_size == shard.bytes and checksum_of(path) == shard.sha256
