"""Pictures of results: drawn when the results change, and no two runs look the same."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="plots need the extra `bench`")

from biatt.recipes.plots import curves, draw
from builders import experiment_record


def test_no_two_runs_have_the_same_line() -> None:
    figure = curves({f"run {i}": [experiment_record("best", 1)] for i in range(40)})
    lines = figure.axes[0].get_lines()
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 40
    assert [list(line.get_ydata()) for line in lines] == 40 * [[50, 60]]


def test_curve_is_the_mean_of_the_seeds_that_have_the_epoch() -> None:
    history = {"dev_log_likelihood": [-1.0], "dev_uas": [0.5], "dev_las": [0.3]}
    records = [experiment_record("best", 1), experiment_record("best", 2, history=history)]
    (line,) = curves({"run": records}).axes[0].get_lines()
    assert list(line.get_ydata()) == pytest.approx([40, 60])


def test_pictures_are_drawn_when_results_change_or_they_are_missing(tmp_path: Path) -> None:
    dev, tested = [experiment_record("best", 1)], [experiment_record("best", 1, las=90)]
    assert [path.name for path in draw({"dev": dev}, tmp_path, changed=True)] == ["curves.png"]
    names = ["curves.png", "arcs.png", "relations.png"]
    results = {"dev": dev, "tested": tested}
    assert [path.name for path in draw(results, tmp_path, changed=False)] == names[1:]
    assert draw(results, tmp_path, changed=False) == []
    before = {name: (tmp_path / name).read_bytes() for name in names}
    assert [path.name for path in draw(results, tmp_path, changed=True)] == names
    after = {name: (tmp_path / name).read_bytes() for name in names}
    assert after["curves.png"] != before["curves.png"]  # it has a second run now
    assert [after[name] for name in names[1:]] == [before[name] for name in names[1:]]
    assert all(content.startswith(b"\x89PNG") for content in after.values())
