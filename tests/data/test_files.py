"""Files: whole or not at all, compressed or not, and every refusal one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import signal
import stat
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data import files
from biatt.data.files import BUFFER_BYTES, blocks, name_of, reading, replacing, with_head, writing
from biatt.errors import BiattError, FormatError

COMPRESS = {"plain": bytes, "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}
SOURCE = Path(__file__).parents[2] / "src"


class Drip:
    """A pipe whose writer is slow: a few bytes a read, no seeking, no peeking."""

    def __init__(self, data: bytes, step: int) -> None:
        self.data, self.step = data, step

    def read(self, size: int) -> bytes:
        part, self.data = self.data[: min(size, self.step)], self.data[min(size, self.step) :]
        return part


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".tmp"))


@pytest.mark.parametrize("kind", COMPRESS)
def test_compression_is_told_by_content_not_by_name(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "misleading.gz"
    path.write_bytes(COMPRESS[kind](b"one\ntwo\n" * 1000))
    with reading(path) as stream:
        assert stream.read() == b"one\ntwo\n" * 1000


@given(
    data=st.binary(max_size=40) | st.binary(min_size=100, max_size=300),
    step=st.integers(1, 12),
    kind=st.sampled_from(sorted(COMPRESS)),
)
def test_slow_stream_gives_the_same_bytes(data: bytes, step: int, kind: str) -> None:
    stream: Any = Drip(COMPRESS[kind](b"text" + data), step)
    with reading(stream) as opened:
        assert opened.read() == b"text" + data


@pytest.mark.parametrize("text", [b"", b"B", b"BZh", b"BZh9 is no archive\n", b"\xfd7z"])
def test_text_that_begins_like_an_archive_is_text(text: bytes) -> None:
    with reading(io.BytesIO(text)) as stream:
        assert stream.read() == text


def test_members_of_a_concatenated_archive_are_all_read() -> None:
    for compress in (gzip.compress, lzma.compress, bz2.compress):
        with reading(io.BytesIO(compress(b"first ") + compress(b"second"))) as stream:
            assert stream.read() == b"first second"


def test_stream_stays_open_after_reading() -> None:
    given_stream = io.BytesIO(gzip.compress(b"text"))
    with reading(given_stream) as stream:
        stream.read()
    del stream
    assert not given_stream.closed


@pytest.mark.slow
def test_standard_input_is_decompressed() -> None:
    program = "import sys; from biatt.data.files import reading\nwith reading('-') as s: print(len(s.read()))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=lzma.compress(b"x" * 12345),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=True,
    )
    assert int(done.stdout) == 12345


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2"])
@pytest.mark.parametrize("damage", ["truncated", "corrupt"])
def test_damaged_archive_is_one_clear_error(tmp_path: Path, kind: str, damage: str) -> None:
    noise = bytes(i * i * 7919 // 13 % 251 for i in range(50_000))
    data = bytearray(COMPRESS[kind](noise))
    if damage == "truncated":
        del data[len(data) // 2 :]
    else:
        middle = len(data) // 2
        data[middle : middle + 200] = bytes(200)
    path = tmp_path / "damaged"
    path.write_bytes(data)
    with (
        pytest.raises(FormatError, match="damaged: the compressed data is damaged or cut short"),
        reading(path) as stream,
    ):
        stream.read()


def test_missing_file_and_folder_are_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BiattError, match=r"nowhere\.conllu: cannot be read: no such file or directory\.$"):
        reading(tmp_path / "nowhere.conllu").__enter__()
    with pytest.raises(BiattError, match=r"cannot be read: is a directory\.$"):
        reading(tmp_path).__enter__()
    with pytest.raises(BiattError, match=r"cannot be written: is a directory\.$"):
        replacing(tmp_path).__enter__()
    with pytest.raises(BiattError, match=r"cannot be written: no such file or directory\.$"):
        replacing(tmp_path / "missing" / "file").__enter__()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read and write everything")
def test_forbidden_file_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "locked"
    path.write_bytes(b"old")
    path.chmod(0)
    with pytest.raises(BiattError, match="cannot be read: permission denied"):
        reading(path).__enter__()
    with pytest.raises(BiattError, match="cannot be written: permission denied"):
        replacing(path).__enter__()


def test_file_is_replaced_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replacing(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2"])
@pytest.mark.parametrize("interruption", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_exception_keeps_the_old_file(tmp_path: Path, suffix: str, interruption: type[BaseException]) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(b"old")

    def interrupted(stream: BinaryIO) -> None:
        stream.write(b"half of the new")
        raise interruption

    with pytest.raises(interruption), writing(path) as stream:
        interrupted(stream)
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == []


def test_exception_leaves_no_new_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), replacing(tmp_path / "file"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_kill_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    program = (
        "import sys, time\nfrom biatt.data.files import replacing\n"
        "with replacing(sys.argv[1]) as s:\n"
        "    s.write(b'new' * 100000); s.flush(); print('ready', flush=True); time.sleep(3600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    assert path.read_bytes() == b"old"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_full_disk_is_one_clear_error() -> None:
    with (
        pytest.raises(BiattError, match=r"/dev/full: cannot be written: no space left on device\."),
        writing("/dev/full") as stream,
    ):
        stream.write(b"x" * 100_000)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from biatt.data.files import writing\nwith writing('-') as s: s.write(b'x')",
            ],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            check=False,
        )
    assert b"BiattError: <stdout>: cannot be written: no space left on device." in done.stderr


def test_error_that_names_another_file_is_not_explained_as_this_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "file"):
        (tmp_path / "other").read_bytes()


def test_closed_pipe_is_left_to_the_caller(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), replacing(tmp_path / "file"):
        raise BrokenPipeError(32, "Broken pipe")


def test_permissions_follow_the_old_file_or_the_umask(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"")
    old.chmod(0o640)
    ordinary = tmp_path / "ordinary"
    ordinary.write_bytes(b"")
    for path in (old, new):
        with replacing(path) as stream:
            stream.write(b"text")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == ordinary.stat().st_mode


def test_symbolic_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    with replacing(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_device_is_written_and_not_replaced() -> None:
    with replacing(os.devnull) as stream:
        stream.write(b"text")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(("suffix", "decompress"), [
    ("", bytes), (".gz", gzip.decompress), (".xz", lzma.decompress), (".bz2", bz2.decompress)
])  # fmt: skip
def test_output_is_compressed_by_suffix_and_reproducible(
    tmp_path: Path, suffix: str, decompress: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = count(1_000_000_000, 3600)
    monkeypatch.setattr(time, "time", lambda: next(clock))
    written = []
    for name in ("a", "b"):
        path = tmp_path / (name + suffix)
        with writing(path) as stream:
            stream.write(b"text" * 100)
        written.append(path.read_bytes())
    assert decompress(written[0]) == b"text" * 100
    assert written[0] == written[1]


def test_stream_stays_open_after_writing() -> None:
    target = io.BytesIO()
    with writing(target) as stream:
        stream.write(b"text")
    assert target.getvalue() == b"text"


# Waiting and sizes


@pytest.mark.skipif(os.name != "posix", reason="only POSIX tells whether a pipe holds anything")
def test_only_an_empty_pipe_may_wait() -> None:
    out, into = os.pipe()
    with open(into, "wb", buffering=0) as sender, open(out, "rb") as pipe:
        sender.write(b"first")
        with reading(pipe) as stream:
            assert not stream.may_wait()  # what was read to tell the compression
            assert stream.read1(100) == b"first"
            assert stream.may_wait()
            sender.write(b"second")
            assert not stream.may_wait()
            assert stream.read1(100) == b"second"
            again = with_head(b"second", stream, name="again")
            assert not again.may_wait()
            assert again.read1(100) == b"second"
            assert again.may_wait()
            sender.close()
            assert not stream.may_wait()
            assert stream.read1(100) == b""


@pytest.mark.parametrize("kind", COMPRESS)
def test_file_never_waits_and_its_blocks_have_no_pauses(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(COMPRESS[kind](b"text" * 100_000))
    for source in (path, io.BytesIO(path.read_bytes())):
        with reading(source) as stream:
            assert not stream.may_wait()
            arrived = list(blocks(stream))
            assert None not in arrived
            assert b"".join(arrived) == b"text" * 100_000  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", COMPRESS)
def test_every_block_of_another_stream_may_have_to_be_waited_for(kind: str) -> None:
    stream: Any = Drip(COMPRESS[kind](b"text" * 10), 7)
    with reading(stream) as opened:
        arrived = list(blocks(opened))
    assert b"".join(filter(None, arrived)) == b"text" * 10
    after = [arrived[i] for i in range(1, len(arrived)) if arrived[i - 1] is not None]
    assert set(after) <= {None}


@pytest.mark.parametrize("size", range(1, 10))
def test_short_text_in_a_pipe_is_not_kept_waiting(size: int) -> None:
    """What tells the compression of a file are its first bytes, but a text can have fewer."""
    data = b"dog barks"[:size]
    asked: list[int] = []

    class Pipe(io.RawIOBase):
        def read(self, most: int = -1) -> bytes:
            asked.append(most)
            assert len(asked) == 1, "the sender waits for an answer"
            return data

    with reading(Pipe()) as stream:  # type: ignore[arg-type]
        assert stream.read1(100) == data


@pytest.mark.parametrize("kind", COMPRESS)
def test_size_can_be_limited(kind: str) -> None:
    data = COMPRESS[kind](b"text" * 1000)
    with reading(io.BytesIO(data), max_size=4000) as stream:
        assert len(stream.read()) == 4000
    with (
        pytest.raises(FormatError, match=r"^<stream>: the input is larger than the limit of 3,999 bytes\.$"),
        reading(io.BytesIO(data), max_size=3999) as stream,
    ):
        stream.read()


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2"])
def test_bomb_is_refused_unless_a_size_is_allowed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "EXPANDED_BYTES", 1 << 18)
    zeros = bytes(1 << 20)
    bomb = COMPRESS[kind](zeros)
    with (
        pytest.raises(FormatError, match=r"compressed bytes expand to more than [\d,]+, as no text does"),
        reading(io.BytesIO(bomb)) as stream,
    ):
        stream.read()
    with reading(io.BytesIO(bomb), max_size=1 << 20) as stream:
        assert stream.read() == zeros
    noise = os.urandom(1 << 19)
    with reading(io.BytesIO(COMPRESS[kind](noise))) as stream:
        assert stream.read() == noise


def test_what_is_written_to_a_pipe_is_sent_at_once(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as out, writing(path) as stream:
        stream.write(b"text")
        assert out.read(10) == b"text"


def test_closed_standard_streams_are_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(BiattError, match="<stdin>: cannot be read: standard input is closed"):
        reading("-").__enter__()
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(BiattError, match="<stdout>: cannot be written: standard output is closed"):
        writing("-").__enter__()


def test_sources_have_names() -> None:
    assert name_of("-") == "<stdin>"
    assert name_of(Path("a/b")) == str(Path("a/b"))
    assert name_of(io.BytesIO()) == "<stream>"


def test_large_file_is_read_in_blocks(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes(3 * BUFFER_BYTES + 1))
    with reading(path) as stream:
        sizes = [len(block) for block in iter(lambda: stream.read1(BUFFER_BYTES), b"")]
    assert sum(sizes) == 3 * BUFFER_BYTES + 1
    assert max(sizes) <= BUFFER_BYTES
