"""results.jsonl: nothing is lost, whoever writes, and what is read is what was written."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from biatt.errors import FormatError
from biatt.evaluation.comparison import PairedScore
from biatt.evaluation.results import Ratio
from biatt.recipes.records import (
    RESULTS,
    Record,
    add_record,
    history_columns,
    locked,
    read_records,
)
from builders import experiment_record

GAIN = {"UAS": PairedScore(Ratio(70, 100), Ratio(75, 100), 0.01, 0.09, 0.02, 3, 8, 0.2266)}


@pytest.mark.parametrize(
    "record",
    [experiment_record("best", 1), experiment_record("best", 1, las=90, gain=GAIN)],
    ids=["dev only", "test and comparison"],
)
def test_what_is_read_is_what_was_written(record: Record) -> None:
    line = record.to_line()
    assert "\n" not in line
    assert Record.from_line(line) == record


def test_line_has_no_nan() -> None:
    history = history_columns(
        [
            {"dev_log_likelihood": float("nan"), "dev_uas": 0.123456789, "dev_las": 0.5, "rate": 1},
            {"dev_log_likelihood": -12.34, "dev_uas": 0.5, "dev_las": float("inf"), "rate": 1},
        ]
    )
    assert history == {
        "dev_log_likelihood": [None, -12.3],
        "dev_uas": [0.1234568, 0.5],
        "dev_las": [0.5, None],
    }
    line = experiment_record("best", 1, history=history).to_line()
    assert json.loads(line, parse_constant=pytest.fail)["history"] == history


def test_lines_follow_the_recipe_whichever_run_is_first(tmp_path: Path) -> None:
    records = {name: experiment_record("best", 1, run=name) for name in "abc"}
    order = ["a-seed1", "b-seed1"]  # c is no longer in the recipe
    for name in "cba":
        add_record(tmp_path, records[name], order=order)
    assert [record.run for record in read_records(tmp_path)] == ["a", "b", "c"]
    changed = replace(records["b"], seconds=9)
    assert add_record(tmp_path, changed, order=order) == [records["a"], changed, records["c"]]
    assert read_records(tmp_path)[1].seconds == 9


def test_writers_at_once_keep_each_others_lines(tmp_path: Path) -> None:
    def add(number: int) -> None:
        with locked(tmp_path):
            add_record(tmp_path, experiment_record("best", number), order=[])

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(add, range(24)))
    assert sorted(record.seed for record in read_records(tmp_path)) == list(range(24))
    assert [path.name for path in tmp_path.iterdir()] == [RESULTS]


def test_locked_folder_lets_no_other_in(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="locks of a POSIX system")
    with locked(tmp_path):
        descriptor = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
    with locked(tmp_path):  # released
        pass


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"run": "x"}', '{"run": "x", "other": 1}', '"text"', ""])
def test_line_that_is_no_result_is_named(tmp_path: Path, line: str) -> None:
    good = experiment_record("best", 1).to_line()
    (tmp_path / RESULTS).write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(FormatError, match=r"results\.jsonl, line 2: the line is not a result \("):
        read_records(tmp_path)


def test_folder_without_results_has_no_record(tmp_path: Path) -> None:
    assert read_records(tmp_path) == []
