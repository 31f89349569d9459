"""Wheels: archives of files that pip installs, the same bytes for the same files.

The format is that of the Python packaging specifications: the files, and a folder NAME-VERSION.dist-info with
METADATA, WHEEL, entry_points.txt, licenses/ and RECORD, which has a checksum of each file.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from biatt.data.files import replacing

TIME = (1980, 1, 1, 0, 0, 0)  # of every file: the earliest that the archive format has
MODE = 0o100644  # a regular file that all may read
UNIX = 3  # the system whose file modes these are

WHEEL = "Wheel-Version: 1.0\nGenerator: biatt\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_wheel(
    folder: Path,
    *,
    name: str,
    version: str,
    files: Mapping[str, bytes],
    metadata: str,
    entry_points: str,
    licences: Mapping[str, bytes],
) -> Path:
    """Write NAME-VERSION-py3-none-any.whl into a folder; `files` and `licences` are contents by path."""
    stem = f"{name.replace('-', '_')}-{version}"
    about = f"{stem}.dist-info"
    contents = {
        **dict(sorted(files.items())),
        **{f"{about}/licenses/{path}": data for path, data in sorted(licences.items())},
        f"{about}/METADATA": metadata.encode(),
        f"{about}/WHEEL": WHEEL.encode(),
        f"{about}/entry_points.txt": entry_points.encode(),
    }
    record = f"{about}/RECORD"
    lines = [f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in contents.items()]
    contents[record] = "".join([*lines, f"{record},,\n"]).encode()
    target = folder / f"{stem}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(target) as stream, zipfile.ZipFile(stream, "w") as archive:
        for path, data in contents.items():
            item = zipfile.ZipInfo(path, TIME)
            item.external_attr, item.create_system = MODE << 16, UNIX
            archive.writestr(item, data, zipfile.ZIP_DEFLATED, compresslevel=9)
    return target


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
