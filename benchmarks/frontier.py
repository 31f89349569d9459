"""Draw speed against accuracy on English EWT, ours and the rivals', from measured results: docs/frontier.png.

Speeds come from results.json (`presets` and `peers`, one thread), our accuracy from the results of recipes
(those in experiments/ with style `ud`), that of the rivals from rivals.json. What lacks one of the two is
left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from io import BytesIO
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import matplotlib

from biatt.data.files import replacing
from biatt.recipes.records import RESULTS, read_records

matplotlib.use("Agg")  # draws to files only: no display is needed
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

HERE = Path(__file__).parent
TREEBANK = "english-ewt"
# The peer whose speed belongs to a rival's accuracy; SuPar's without MST, which it seldom needs once trained.
RIVALS = {"udpipe_beam_5": "ufal.udpipe", "supar_argmax": "supar"}


class Point(NamedTuple):
    name: str
    words_per_second: float
    las: float  # percent
    ours: bool


def main() -> int:
    options = _options()
    points = found(options.results, options.experiments, options.rivals)
    if not points:
        print("Nothing has both a speed and an accuracy yet.", file=sys.stderr)
        return 2
    drawn = BytesIO()
    draw(points).savefig(drawn, dpi=120, metadata={"Software": None})
    with replacing(options.out) as file:
        file.write(drawn.getvalue())
    return 0


def found(results: Path, experiments: Path, rivals: Path) -> list[Point]:
    measured = _load(results)
    ours: dict[str, list[float]] = {}
    for path in sorted(experiments.glob(f"*/{RESULTS}")):
        for record in read_records(path.parent):
            test = record.test
            if test and test.style == "ud" and any(name.startswith(TREEBANK) for name in record.data):
                ours.setdefault(record.preset, []).append(100 * test.scores["mst"]["LAS"].f1)
    speeds = measured.get("presets", {})
    points = [
        Point(name, speeds[name]["words_per_second"], mean(scores), True)
        for name, scores in ours.items()
        if name in speeds
    ]
    accuracy = _load(rivals)
    for peer, rival in RIVALS.items():
        speed = measured.get("peers", {}).get(peer, {})
        runs = [run for key, run in accuracy.items() if key.partition(",")[0] == f"{rival} {TREEBANK}"]
        scores = [run["las"] for run in runs if "las" in run]
        if "words_per_second" in speed and scores:
            points.append(Point(peer, speed["words_per_second"], 100 * max(scores), False))
    return points


def draw(points: list[Point]) -> Any:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for point in points:
        axes.plot(point.words_per_second, point.las, "o" if point.ours else "s",
                  color="tab:blue" if point.ours else "tab:gray")  # fmt: skip
        label = f"biatt {point.name}" if point.ours else point.name.replace("_", " ").removesuffix(" argmax")
        axes.annotate(label, (point.words_per_second, point.las), textcoords="offset points", xytext=(6, 4))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.25, y=0.15)
    axes.set_xlabel("words/s, one thread")
    axes.set_ylabel("LAS on EWT test, gold columns, %")
    axes.grid(True, which="both", alpha=0.3)
    return figure


def _load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return loaded


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--experiments", type=Path, default=HERE.parent / "experiments")
    parser.add_argument("--rivals", type=Path, default=HERE / "rivals.json")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "frontier.png")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
