"""Work in order by one process or several: all of it, errors included, with one copy of what is shared."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.errors import BiattError, ConfigError, FormatError, ModelError, PatternError
from biatt.machine import workers as module
from biatt.machine.threads import Arriving, with_pauses
from biatt.machine.workers import Workers, in_order, number_of_workers
from commands import ENVIRONMENT
from worker_functions import described, doubled, ended, failing_at, masked

WAIT = 120  # seconds until something that does not come is a failure


def results_of(items: Any, function: Any = doubled, shared: object = None, *, workers: int = 1) -> list[int]:
    return [result for _, result in in_order(function, shared, items, workers=workers)]


def pairs(count: int) -> list[tuple[str, int]]:
    return [(f"context {i}", i) for i in range(count)]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_waits_until_a_process_is_started() -> None:
    def end(number: int, _: object) -> None:
        raise SystemExit(number)

    masks = []

    def work() -> None:
        with module.starting():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)  # signals are handled between two instructions
            masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, []))

    before = signal.signal(signal.SIGTERM, end)
    try:
        with pytest.raises(SystemExit, match=f"^{int(signal.SIGTERM)}$"):
            work()
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)
    assert [signal.SIGINT in mask for mask in masks] == [True]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_workers_ignore_interrupts_only() -> None:
    """Ctrl-C goes to all processes; the first one ends the others."""
    assert results_of(pairs(2), masked, workers=2) == [(True, [])] * 2


@given(st.lists(st.tuples(st.text(), st.integers()), max_size=30))
def test_work_keeps_the_order_and_the_contexts(items: list[tuple[str, int]]) -> None:
    expected = [(context, 2 * item) for context, item in items]
    assert list(in_order(doubled, None, items, workers=1)) == expected


@given(st.integers(1, 12), st.data())
def test_results_come_before_the_error_of_a_later_item(size: int, data: st.DataObject) -> None:
    bad = data.draw(st.integers(0, size - 1))
    results = in_order(failing_at, bad, pairs(size), workers=1)
    assert [next(results)[1] for _ in range(bad)] == [2 * item for item in range(bad)]
    with pytest.raises(ValueError, match=f"item {bad}$"):
        next(results)


@given(st.lists(st.integers() | st.none(), max_size=20))
def test_nothing_that_has_arrived_waits_for_more(items: list[int | None]) -> None:
    received: list[int] = []

    def source() -> Iterator[tuple[None, int] | None]:
        for i, item in enumerate(items):
            yield None if item is None else (None, item)
            if item is None:  # whoever asks for more has given out everything before it
                assert received == [2 * before for before in items[:i] if before is not None]

    for _, result in in_order(doubled, None, Arriving(source()), workers=1):
        received.append(result)
    assert received == [2 * item for item in items if item is not None]


@pytest.mark.slow
def test_processes_do_what_one_process_does() -> None:
    """All in one test: processes take a second to start."""
    assert list(in_order(doubled, None, pairs(20), workers=2)) == [(c, 2 * i) for c, i in pairs(20)]

    results = in_order(failing_at, 3, pairs(9), workers=2)
    assert [next(results)[1] for _ in range(3)] == [0, 2, 4]
    with pytest.raises(ValueError, match=r"item 3$"):
        next(results)

    received: list[int] = []

    def source() -> Iterator[tuple[None, int] | None]:
        yield from ((None, i) for i in range(5))
        yield None
        assert received == [0, 2, 4, 6, 8]  # they did not wait for more
        yield None, 5
        raise ModelError("Stop.")

    def receive() -> None:
        for _, result in in_order(doubled, None, Arriving(source()), workers=3):
            received.append(result)

    with pytest.raises(ModelError, match="Stop"):
        receive()
    assert received == [0, 2, 4, 6, 8, 10]


@pytest.mark.slow
def test_an_endless_source_is_read_as_far_as_needed() -> None:
    taken: list[int] = []

    def endless() -> Iterator[tuple[None, int]]:
        while True:
            taken.append(len(taken))
            yield None, len(taken)

    results = in_order(doubled, None, endless(), workers=2)
    assert not taken
    assert [next(results)[1] for _ in range(3)] == [2, 4, 6]
    results.close()
    assert len(taken) <= 8


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="each process has a copy")
def test_arrays_are_mapped_aligned_and_safe_from_other_processes() -> None:
    array = np.arange(100_003, dtype=np.float64)
    with Workers(array, 2) as workers:
        futures = [workers.submit(described, i) for i in range(4)]
        seen = [workers.result(future) for future in futures]
    first = {}
    for found in seen:
        first.setdefault(found["process"], found)
    for found in first.values():  # a process sees its own changes only
        assert (found["mapped"], found["place"], found["sum"]) == ("mmap", 0, array.sum())
    assert array[5] == 5


@pytest.mark.slow
def test_a_worker_that_dies_is_one_sentence() -> None:
    with pytest.raises(BiattError, match=r"^A worker process has ended before its work was done"):
        results_of(pairs(8), ended, workers=2)


@pytest.mark.slow
def test_a_worker_that_dies_before_it_has_read_the_object_is_one_sentence(tmp_path: Path) -> None:
    """As in a script without `if __name__ == "__main__":`, however large the object is."""
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import os, sys
if __name__ != "__main__":
    os._exit(1)
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from biatt.machine.workers import in_order
from worker_functions import doubled
list(in_order(doubled, {{"text": "x" * 1_000_000}}, [(None, 1), (None, 2)], workers=2))
"""
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert "BiattError: A worker process has ended before its work was done" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
def test_workers_end_when_the_first_process_is_killed(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from biatt.machine.workers import Workers
from worker_functions import waiting
if __name__ == "__main__":
    with Workers({str(tmp_path)!r}, 2) as workers:
        items = [workers.submit(waiting, i) for i in range(2)]
        [item.result() for item in items]  # else the end of the block cancels what has not begun
"""
    script = tmp_path / "script.py"
    script.write_text(program)
    process = subprocess.Popen([sys.executable, str(script)], env=ENVIRONMENT)
    wait_until(lambda: len(numbers(tmp_path)) == 2 or process.poll() is not None)
    assert process.poll() is None
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(alive, numbers(tmp_path))))


def numbers(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]


def alive(number: int) -> bool:
    try:
        os.kill(number, 0)
        status = Path(f"/proc/{number}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Any) -> None:
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert number_of_workers(3) == 3
    assert number_of_workers(0) >= 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 7}, raising=False)
    assert number_of_workers(0) == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert number_of_workers(0) == 4
    with pytest.raises(ConfigError, match="at least 1, or 0 for all cores, not -1"):
        number_of_workers(-1)
    with pytest.raises(TypeError, match=r"must be a whole number, not str\.$"):
        number_of_workers("2")  # type: ignore[arg-type]


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.tempfile, "TemporaryFile", full)
    if sys.platform != "win32":
        with pytest.raises(BiattError, match=r"cannot be shared by workers in .*: no space left on device"):
            Workers(np.ones(3), 2)


@pytest.mark.parametrize(
    "error",
    [
        FormatError("bad.", source="a.conllu", line=3),
        FormatError("bad.", source="a.conllu"),
        PatternError("no node", pattern="{", place=1),
        ModelError("damaged."),
    ],
    ids=str,
)
def test_errors_come_whole_from_other_processes(error: BiattError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_pauses_are_kept() -> None:
    assert list(with_pauses(Arriving(iter([None, 1])))) == [None, 1]
