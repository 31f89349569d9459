"""Work in threads: all of it, in order, errors included; settings of the process while anyone needs them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from threading import Barrier, Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from biatt.machine.threads import (
    Arriving,
    fewer_collections,
    look_ahead,
    mapped,
    one_matrix_thread,
    run,
    short_switch_interval,
    windows,
    with_pauses,
)

thread_counts = st.integers(1, 4)


def failing_at(bad: set[int], done: list[int]) -> Callable[[int], int]:
    """Doubles a number, and keeps it, unless it is a bad one."""

    def task(item: int) -> int:
        if item in bad:
            raise ValueError(f"item {item}")
        done.append(item)
        return item * 2

    return task


@given(st.lists(st.integers(), min_size=1, max_size=30), thread_counts)
def test_run_does_the_task_once_for_every_item(items: list[int], threads: int) -> None:
    done: list[int] = []
    run(done.append, iter(items), threads)
    assert sorted(done) == sorted(items)


@given(st.integers(1, 12), st.data(), thread_counts)
def test_run_raises_the_error_of_a_task_wherever_it_is(size: int, data: st.DataObject, threads: int) -> None:
    bad = data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=2))
    done: list[int] = []
    with pytest.raises(ValueError, match=f"item {min(bad)}$"):
        run(failing_at(bad, done), range(size), threads)
    others = [item for item in range(size) if item not in bad]
    if threads == 1:
        assert done == list(range(min(bad)))
    else:  # nothing is left running behind the caller's back
        assert sorted(done) == others


@pytest.mark.parametrize("threads", [2, 3])
def test_run_works_side_by_side(threads: int) -> None:
    together = Barrier(threads, timeout=600)
    run(lambda _: together.wait(), range(threads), threads)  # one at a time would break the barrier


# Windows and pauses


@given(st.lists(st.text(max_size=9), max_size=40), st.integers(1, 7), st.integers(1, 30))
def test_windows_are_as_full_as_they_may_be(items: list[str], most: int, largest: int) -> None:
    cut = list(windows(items, most=most, size=len, largest=largest))
    assert [item for window in cut for item in window] == items
    for window in cut:
        assert 1 <= len(window) <= most
        assert sum(map(len, window[:-1])) < largest
    for window in cut[:-1]:
        assert len(window) == most or sum(map(len, window)) >= largest


def test_iterating_skips_pauses() -> None:
    assert list(Arriving(iter([None, 1, None, None, 2, None]))) == [1, 2]
    assert list(Arriving(iter([None]))) == []


@given(st.lists(st.integers() | st.none(), max_size=20), st.integers(1, 4))
def test_nothing_that_has_arrived_waits_for_more(items: list[int | None], most: int) -> None:
    received: list[int] = []

    def source() -> Iterator[int | None]:
        for i, item in enumerate(items):
            yield item
            if item is None:  # whoever asks for more has given out everything before it
                assert received == [before for before in items[:i] if before is not None]

    cut = windows(Arriving(source()), most=most)
    for window in mapped(lambda window: window, cut):
        received.extend(window)
    assert received == [item for item in items if item is not None]


def test_items_before_an_exception_are_in_a_window() -> None:
    def source() -> Iterator[int]:
        yield from range(5)
        raise OSError("Stop.")

    cut = windows(source(), most=3)
    assert [next(cut), next(cut)] == [[0, 1, 2], [3, 4]]
    with pytest.raises(OSError, match="Stop"):
        next(cut)


@given(st.lists(st.integers() | st.none(), max_size=5))
def test_looking_ahead_stops_at_the_second_item_or_the_first_pause(items: list[int | None]) -> None:
    asked = 0

    def source() -> Iterator[int | None]:
        nonlocal asked
        for item in items:
            asked += 1
            yield item

    several, again = look_ahead(Arriving(source()))
    assert several == (len(items) >= 2 and None not in items[:2])
    assert asked == min(len(items), 1 if items[:1] == [None] else 2)
    assert list(with_pauses(again)) == items


@pytest.mark.parametrize("size", [0, 1, 2])
def test_looking_ahead_keeps_the_items_before_an_exception(size: int) -> None:
    def source() -> Iterator[int]:
        yield from range(size)
        raise OSError("Stop.")

    several, again = look_ahead(source())
    assert several == (size == 2)
    assert [next(again) for _ in range(size)] == list(range(size))
    with pytest.raises(OSError, match="Stop"):
        next(again)


# Settings of the process


def matrix_threads() -> list[int]:
    """The threads of each matrix library. Those of OpenMP, which torch uses, are a setting of each thread."""
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (one_matrix_thread, matrix_threads),
        (short_switch_interval, sys.getswitchinterval),
        (fewer_collections, gc.get_threshold),
    ],
    ids=["matrix threads", "turns", "collections"],
)
def test_setting_of_the_process_holds_until_its_last_user_leaves(
    setting: object, value: Callable[[], object]
) -> None:
    before = value()
    setting.__enter__()  # type: ignore[attr-defined]
    during = value()
    setting.__enter__()  # type: ignore[attr-defined]
    setting.__exit__()  # type: ignore[attr-defined]
    assert value() == during
    setting.__exit__()  # type: ignore[attr-defined]
    assert value() == before
    if value is not matrix_threads:  # those may be one to begin with
        assert during != before


def test_every_thread_can_limit_matrix_threads_and_the_last_one_restores_them() -> None:
    """Whichever thread was the first to do so: here the main one, which goes on to live."""
    _ = np.ones((2, 2)) @ np.ones((2, 2))  # which loads the library
    before = matrix_threads()
    with one_matrix_thread:
        pass
    inside, left = Barrier(2), Barrier(2)
    seen: list[object] = []

    def first_to_enter() -> None:
        with one_matrix_thread:
            seen.append(matrix_threads())
            inside.wait()
            left.wait()

    def last_to_leave() -> None:
        inside.wait()
        with one_matrix_thread:
            left.wait()
            first.join()
            seen.append(matrix_threads())
        seen.append(matrix_threads())

    first, last = Thread(target=first_to_enter), Thread(target=last_to_leave)
    first.start()
    last.start()
    last.join()
    assert seen == [[1] * len(before), [1] * len(before), before]
