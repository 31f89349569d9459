"""Wheels: pip can install them, and the same files give the same bytes."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import zipfile
from pathlib import Path

from biatt.models.wheel import write_wheel


def wheel(folder: Path, files: dict[str, bytes]) -> Path:
    return write_wheel(
        folder,
        name="biatt-x",
        version="1.0",
        files=files,
        metadata="Metadata-Version: 2.4\nName: biatt-x\nVersion: 1.0\n",
        entry_points="[group]\nx = biatt_x\n",
        licences={"LICENSE.txt": b"Free.\n"},
    )


def test_order_and_time_do_not_change_the_bytes(tmp_path: Path) -> None:
    files = {"biatt_x/b": b"1", "biatt_x/a": b"2" * 999}
    first = wheel(tmp_path / "1", files)
    os.utime(first, (0, 0))
    second = wheel(tmp_path / "2", dict(reversed(files.items())))
    assert first.name == "biatt_x-1.0-py3-none-any.whl"
    assert first.read_bytes() == second.read_bytes()


def test_record_has_the_checksum_and_the_size_of_every_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel(tmp_path, {"biatt_x/ä": b"content"})) as archive:
        record = archive.read("biatt_x-1.0.dist-info/RECORD").decode()
        rows = {path: (digest, size) for path, digest, size in csv.reader(io.StringIO(record))}
        assert set(rows) == set(archive.namelist())
        for path, (digest, size) in rows.items():
            if path.endswith("/RECORD"):
                assert (digest, size) == ("", "")
                continue
            kind, _, value = digest.partition("=")
            data = archive.read(path)
            assert (kind, int(size)) == ("sha256", len(data))
            assert base64.urlsafe_b64decode(value + "=") == hashlib.sha256(data).digest()
