"""Pictures of an experiment's results: learning curves, and accuracy by arc length and by relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from statistics import mean
from typing import Any

from biatt.data.files import replacing

Results = Mapping[str, Sequence[Mapping[str, Any]]]  # by run, one for each seed

MOST_RELATIONS = 20  # that a picture has room for


def draw(results: Results, folder: Path) -> list[Path]:
    """Write the pictures into the folder; none where matplotlib, which biatt[bench] has, is not installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        return []
    matplotlib.use("Agg")  # draws to files only: no display is needed
    tested = {name: found for name, found in results.items() if found and found[0]["test"]}
    pictures = {"curves.png": curves(results) if results else None}
    if tested:
        pictures |= {"arcs.png": _arcs(tested), "relations.png": _relations(tested)}
    paths = []
    for name, figure in pictures.items():
        if figure is not None:
            drawn = BytesIO()
            figure.savefig(drawn, dpi=110, metadata={"Software": None})
            with replacing(folder / name) as file:
                file.write(drawn.getvalue())
            paths.append(folder / name)
    return paths


def curves(results: Results) -> Any:
    """Dev LAS after each epoch, a line for each run: the mean over the seeds that got so far."""
    figure, axes = _axes(len(results))
    for name, found in results.items():
        seeds = [[record["dev_las"] for record in one["history"] if "epoch" in record] for one in found]
        epochs = range(1, max(map(len, seeds)) + 1)
        heights = [100 * mean(one[i - 1] for one in seeds if len(one) >= i) for i in epochs]
        axes.plot(epochs, heights, label=name)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("epoch")
    axes.set_ylabel("dev LAS, %")
    return _finished(figure, axes)


def _arcs(results: Results) -> Any:
    """Recall of test arcs by their length."""
    figure, axes = _axes(len(results))
    for name, found in results.items():
        bins = list(found[0]["test"]["mst"]["breakdown"]["arc_lengths"])
        recall = [
            100 * mean(one["test"]["mst"]["breakdown"]["arc_lengths"][length]["recall"] for one in found)
            for length in bins
        ]
        axes.plot(bins, recall, marker="o", label=name)
    axes.set_xlabel("length of the arc")
    axes.set_ylabel("recall of heads, %")
    return _finished(figure, axes)


def _relations(results: Results) -> Any:
    """F1 of the most frequent relations, a row of the picture for each test file and manner of scoring."""
    from matplotlib.figure import Figure

    files: dict[str, list[str]] = {}
    for name, found in results.items():
        score = found[0]["test"]["mst"]
        manner = f"{list(found[0]['data'])[-1]}, {score['style']}, punctuation: {score['punctuation']}"
        files.setdefault(manner, []).append(name)
    figure = Figure(figsize=(9, 3.2 * len(files)), layout="constrained")
    for axes, (file, names) in zip(
        figure.subplots(len(files), squeeze=False)[:, 0], files.items(), strict=True
    ):
        first = results[names[0]][0]["test"]["mst"]["breakdown"]["relations"]
        relations = [relation for relation, score in first.items() if score["gold"]][:MOST_RELATIONS]
        for name in names:
            tables = [one["test"]["mst"]["breakdown"]["relations"] for one in results[name]]
            heights = [100 * mean(table[relation]["f1"] for table in tables) for relation in relations]
            axes.plot(relations, heights, marker="o", linestyle="none", label=name)
        axes.set_title(file, fontsize="small")
        axes.tick_params(axis="x", rotation=60)
        axes.set_ylabel("F1, %")
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize="x-small")
    return figure


def _axes(runs: int) -> tuple[Any, Any]:
    """A picture with room for the names of so many runs; after ten colours, lines are broken."""
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
