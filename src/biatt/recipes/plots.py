"""Pictures of a recipe's results: learning curves, and accuracy by arc length and by relation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from statistics import mean
from typing import Any

from biatt.data.files import replacing
from biatt.recipes.records import Record

Results = Mapping[str, Sequence[Record]]  # by run: a record for each seed


def can_draw() -> bool:
    """Whether matplotlib, which biatt[bench] has, is installed."""
    return find_spec("matplotlib") is not None


def draw(results: Results, folder: Path, *, changed: bool) -> list[Path]:
    """Write the pictures into the folder: all if the results have changed, else those that are missing.

    Other versions of matplotlib draw other bytes: pictures of unchanged results are not drawn again.
    """
    import matplotlib

    matplotlib.use("Agg")  # draws to files only: no display is needed
    tested = {name: records for name, records in results.items() if records[0].test is not None}
    pictures: dict[str, tuple[Callable[[Results], Any], Results]] = {
        "curves.png": (curves, results),
        "arcs.png": (_arc_lengths, tested),
        "relations.png": (_relations, tested),
    }
    paths = []
    for name, (figure, shown) in pictures.items():
        path = folder / name
        if shown and (changed or not path.exists()):
            drawn = BytesIO()
            figure(shown).savefig(drawn, dpi=110, metadata={"Software": None})
            with replacing(path) as file:
                file.write(drawn.getvalue())
            paths.append(path)
    return paths


def curves(results: Results) -> Any:
    """Dev LAS after each epoch, a line for each run: the mean over the seeds that have this epoch."""
    figure, axes = _axes(len(results))
    for name, records in results.items():
        seeds = [record.history["dev_las"] for record in records]
        epochs = range(1, max(map(len, seeds)) + 1)
        heights = [
            100 * mean(las for seed in seeds if len(seed) >= epoch and (las := seed[epoch - 1]) is not None)
            for epoch in epochs
        ]
        axes.plot(epochs, heights, label=name)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("epoch")
    axes.set_ylabel("dev LAS, %")
    return _finished(figure, axes)


def _arc_lengths(results: Results) -> Any:
    """Recall of test arcs by their length."""
    figure, axes = _axes(len(results))
    for name, records in results.items():
        tables = [record.test.arc_lengths for record in records if record.test is not None]
        bins = list(tables[0])
        recall = [100 * mean(table[length].recall for table in tables) for length in bins]
        axes.plot(bins, recall, marker="o", label=name)
    axes.set_xlabel("length of the arc")
    axes.set_ylabel("recall of heads, %")
    return _finished(figure, axes)


def _relations(results: Results) -> Any:
    """F1 of the most frequent relations, a row of the picture for each test file and style of scoring."""
    from matplotlib.figure import Figure

    groups: dict[str, list[str]] = {}  # the runs that are scored in the same way on the same file
    for name, records in results.items():
        test, file = records[0].test, list(records[0].data)[-1]
        assert test is not None
        groups.setdefault(f"{file}, {test.style}, punctuation: {test.punctuation}", []).append(name)
    figure = Figure(figsize=(9, 3.2 * len(groups)), layout="constrained")
    rows = figure.subplots(len(groups), squeeze=False)[:, 0]
    for axes, (title, names) in zip(rows, groups.items(), strict=True):
        tables = {
            name: [record.test.relations for record in results[name] if record.test is not None]
            for name in names
        }
        relations = list(tables[names[0]][0])
        for name in names:
            heights = [100 * mean(table[relation].f1 for table in tables[name]) for relation in relations]
            axes.plot(relations, heights, marker="o", linestyle="none", label=name)
        axes.set_title(title, fontsize="small")
        axes.tick_params(axis="x", rotation=60)
        axes.set_ylabel("F1, %")
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize="x-small")
    return figure


def _axes(runs: int) -> tuple[Any, Any]:
    """A picture with room for the names of the runs; after ten colours, lines are dashed."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure
    from matplotlib.rcsetup import cycler

    figure = Figure(figsize=(8, 4.5 + 0.1 * runs), layout="constrained")
    axes = figure.subplots()
    axes.set_prop_cycle(cycler(linestyle=["-", "--", ":", "-."]) * rcParams["axes.prop_cycle"])
    return figure, axes


def _finished(figure: Any, axes: Any) -> Any:
    axes.grid(True, alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="x-small")
    return figure
