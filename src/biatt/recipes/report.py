"""RESULTS.md: a table of a recipe's results, computed from its records."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

from biatt.data.visible import visible
from biatt.options import Decoder
from biatt.recipes.recipe import Experiment
from biatt.recipes.records import Record

_DECODERS: tuple[Decoder, ...] = ("mst", "argmax")
_TEST_COLUMNS = ["UAS mst", "LAS mst", "UAS argmax", "LAS argmax", "crossed", "uncrossed", "% crossed"]


def results_table(recipe: str, experiments: Sequence[Experiment], records: Sequence[Record]) -> str:
    """The Markdown of RESULTS.md: for each run, mean and standard deviation over seeds, in percent."""
    tested = any(experiment.test for experiment in experiments)
    compared = any(experiment.against for experiment in experiments)
    beside = any(experiment.beside for experiment in experiments)
    columns = [
        *("run", "seeds", "epochs", "dev UAS", "dev LAS"),
        *(_TEST_COLUMNS if tested else []),
        *(["gain in UAS, p", "gain in LAS, p"] if compared else []),
        *(["beside it"] if beside else []),
    ]
    lines = [
        "# Results",
        "",
        f"Written by `biatt reproduce {recipe}.toml`. Scores are in percent, mean ± standard deviation",
        "over seeds; dev is what the epoch was chosen by, with MST decoding.",
        "",
        _row(columns),
        "|" + len(columns) * "---|",
    ]
    for experiment in experiments:
        results = records_of(experiment, records)
        if results:
            cells = [
                experiment.name,
                ", ".join(str(record.seed) for record in results),
                ", ".join(str(record.epochs) for record in results),
                *(_spread([record.dev(column) for record in results]) for column in ("dev_uas", "dev_las")),
                *(_test_cells(results) if tested else []),
                *([_gains(results, "UAS"), _gains(results, "LAS")] if compared else []),
                *([experiment.beside] if beside else []),
            ]
            lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def records_of(experiment: Experiment, records: Sequence[Record]) -> list[Record]:
    """The records of an experiment, by seed in the order of the recipe."""
    by_seed = {record.seed: record for record in records if record.run == experiment.name}
    return [by_seed[seed] for seed in experiment.seeds if seed in by_seed]


def _test_cells(results: Sequence[Record]) -> list[str]:
    tests = [record.test for record in results if record.test is not None]
    if not tests:
        return [""] * len(_TEST_COLUMNS)
    return [
        *(
            _spread([test.scores[decoder][metric].f1 for test in tests])
            for decoder in _DECODERS
            for metric in ("UAS", "LAS")
        ),
        _spread([test.crossed.value for test in tests]),
        _spread([test.uncrossed.value for test in tests]),
        _spread([test.crossed_share.value for test in tests]),
    ]


def _gains(results: Sequence[Record], metric: str) -> str:
    """The gain of each seed over the run compared with, and the p of its bootstrap."""
    pairs = [record.gain[metric] for record in results if record.gain is not None]
    return ", ".join(f"{100 * (pair.difference or 0):+.2f} ({pair.bootstrap_p:.4f})" for pair in pairs)


def _spread(values: Sequence[float | None]) -> str:
    numbers = [value for value in values if value is not None]
    if not numbers:
        return "–"
    return f"{100 * mean(numbers):.2f}" + (f" ± {100 * stdev(numbers):.2f}" if len(numbers) > 1 else "")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(visible(cell).replace("|", "\\|") for cell in cells) + " |"
