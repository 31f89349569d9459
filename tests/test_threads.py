"""Work in threads: all of it, in order, errors included; settings of the process while anyone needs them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from biatt.errors import ModelError
from biatt.threads import fewer_collections, in_order, one_matrix_thread, run, short_turns

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
    together = Barrier(threads, timeout=30)
    run(lambda _: together.wait(), range(threads), threads)  # one at a time would break the barrier


@given(st.lists(st.integers(), max_size=30), thread_counts)
def test_work_in_threads_keeps_the_order(items: list[int], threads: int) -> None:
    assert list(in_order(lambda item: item * 2, items, threads=threads)) == [item * 2 for item in items]


@given(st.integers(1, 12), st.data(), thread_counts)
def test_results_come_before_the_error_of_a_later_item(size: int, data: st.DataObject, threads: int) -> None:
    bad = data.draw(st.integers(0, size - 1))
    results = in_order(failing_at({bad}, []), range(size), threads=threads)
    assert [next(results) for _ in range(bad)] == [item * 2 for item in range(bad)]
    with pytest.raises(ValueError, match=f"item {bad}$"):
        next(results)


@given(st.integers(0, 12), thread_counts)
def test_results_come_before_the_error_of_the_items_themselves(size: int, threads: int) -> None:
    def items() -> Iterator[int]:
        yield from range(size)
        raise ModelError("Stop.")

    results = in_order(lambda item: item * 2, items(), threads=threads)
    assert [next(results) for _ in range(size)] == [item * 2 for item in range(size)]
    with pytest.raises(ModelError, match="Stop"):
        next(results)


def matrix_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info()]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (one_matrix_thread, matrix_threads),
        (short_turns, sys.getswitchinterval),
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
