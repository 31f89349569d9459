"""RESULTS.md, computed from records."""

from __future__ import annotations

from pathlib import Path

import pytest

from biatt.evaluation.comparison import PairedScore
from biatt.evaluation.results import Ratio
from biatt.recipes.recipe import Experiment, read_recipe
from biatt.recipes.records import Record, read_records
from biatt.recipes.report import results_table
from builders import experiment_record

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def rows(*experiments: Experiment, records: list[Record]) -> list[list[str]]:
    lines = results_table("r", experiments, records).splitlines()
    assert lines[2].startswith("Written by `biatt reproduce r.toml`.")
    return [line[2:-2].split(" | ") for line in lines[5:] if "---" not in line]


def test_dev_scores_are_those_of_the_epoch_that_was_kept() -> None:
    experiment = Experiment("english", ("t",), (1, 2))
    history = {"dev_log_likelihood": [-1.0] * 3, "dev_uas": [0.5, 0.9, 0.7], "dev_las": [0.4, 0.6, 0.8]}
    first = experiment_record("best", 1, history=history, best_epoch=2)
    header, row = rows(experiment, records=[first])
    assert header == ["run", "seeds", "epochs", "dev UAS", "dev LAS"]
    assert row == ["english", "1", "3", "90.00", "60.00"]
    second = experiment_record("best", 2)
    assert rows(experiment, records=[second, first])[1] == [
        *("english", "1, 2", "3, 2", "85.00 ± 7.07", "60.00 ± 0.00"),
    ]


def test_test_scores_gains_and_figures_beside_them() -> None:
    first = Experiment("english", ("t",), (1,), test="u")
    second = Experiment("other", ("t",), (1,), test="u", against="english", beside="paper 1 | 2")
    third = Experiment("dev-only", ("t",), (1,))
    missing = Experiment("not-yet-run", ("t",), (1,))
    gain = {m: PairedScore(Ratio(70, 80), Ratio(75, 80), 0, 0, 0.02, 3, 8, 0.2) for m in ("UAS", "LAS")}
    records = [
        experiment_record("best", 1, las=90),
        experiment_record("best", 1, las=80, run="other", gain=gain),
        experiment_record("best", 1, run="dev-only"),
        experiment_record("best", 1, run="no-longer-in-the-recipe"),
    ]
    header, *body = rows(first, second, third, missing, records=records)
    assert header[5:] == [
        *("UAS mst", "LAS mst", "UAS argmax", "LAS argmax", "crossed", "uncrossed", "% crossed"),
        *("gain in UAS, p", "gain in LAS, p", "beside it"),
    ]
    scores = ["90.00", "90.00", "90.00", "90.00", "–", "90.00", "0.00"]
    assert body[0] == ["english", "1", "2", "80.00", "60.00", *scores, "", "", ""]
    assert body[1][-3:] == ["+6.25 (0.0200)", "+6.25 (0.0200)", r"paper 1 \| 2"]
    assert body[2] == ["dev-only", "1", "2", "80.00", "60.00", *[""] * 10]
    assert len(body) == 3


@pytest.mark.parametrize("recipe", sorted(path.stem for path in EXPERIMENTS.glob("*.toml")))
def test_tables_of_the_experiments_are_those_of_their_results(recipe: str) -> None:
    experiments = read_recipe(EXPERIMENTS / f"{recipe}.toml")
    records = read_records(EXPERIMENTS / recipe)
    models = {(e.name, seed) for e in experiments for seed in e.seeds}
    assert {(record.run, record.seed) for record in records} == models
    table = (EXPERIMENTS / recipe / "RESULTS.md").read_text(encoding="utf-8")
    assert results_table(recipe, experiments, records) == table
