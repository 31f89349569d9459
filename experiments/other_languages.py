#!/usr/bin/env python3
"""`biatt train --pipeline` with its defaults beside UDPipe 1 with its own, in languages without a model here.

    experiments/other_languages.py --treebanks FOLDER --environment FOLDER [LANGUAGE]...

No setting was chosen by these treebanks, so they stand for a language that a user brings. Some may be used
for measuring only. Files are prepared as in `languages.py`, whose notes on them hold here too, and both
programs get the same. A language that has a result is not repeated, and a training that was interrupted goes
on. `other_languages/results.jsonl` gets a line for each, and `other_languages/RESULTS.md` a row.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "other_languages"
sys.path[:0] = [str(HERE)]

from language_tables import METRICS  # noqa: E402
from languages import conditions, measured, prepared, trained, udpipe  # noqa: E402
from result_lines import read_results, write_results  # noqa: E402

TREEBANKS = {
    "Arabic": "arabic-padt",
    "Bulgarian": "bulgarian-btb",
    "Chinese": "chinese-gsd",
    "Czech": "czech-cltt",
    "German": "german-gsd-small",
    "Slovene": "slovenian-ssj-small",
    "Spanish": "spanish-ancora-small",
    "Turkish": "turkish-imst",
}
HEAD = (
    *("language", "treebank", "training words", *METRICS, "words/s", "MB", "minutes"),
    *("UDPipe 1: UPOS", "UAS", "LAS", "words/s", "MB", "minutes"),
)
INTRODUCTION = """\
# Other languages

Made by `experiments/other_languages.py`: `biatt train --pipeline` and UDPipe 1, both with their default
settings, on the same files. F1 on test from raw text by the CoNLL 2018 evaluation, words/s of processor
time on one thread, MB of the model, minutes of processor time of the training.
"""


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    for language in options.languages or TREEBANKS:
        results = {item["language"]: item for item in read_results(options.results)}
        folder = options.runs / TREEBANKS[language]
        files = prepared(options.treebanks / TREEBANKS[language], folder)
        if language not in results:
            results[language] = {"language": language, **ours(files, folder / "model")}
            _keep(results, options.results)
        if options.environment and "udpipe" not in results[language]:
            results[language]["udpipe"] = udpipe(files, folder, options.environment)
            _keep(results, options.results)


def ours(files: dict[str, Path], model: Path) -> dict[str, Any]:
    seconds = trained(files, model, None, ())
    size = sum(path.stat().st_size for path in model.rglob("*") if path.suffix != ".jsonl")
    return {**measured(model, files), "training seconds": seconds, "bytes": size, **conditions(())}


def _keep(results: dict[str, dict[str, Any]], folder: Path) -> None:
    write_results(folder, [results[language] for language in sorted(results)], table)


def table(results: list[dict[str, Any]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (HEAD, *map(_row, results))]
    return "\n".join([INTRODUCTION, lines[0], "|---" * len(HEAD) + "|", *lines[1:], ""])


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    other = result.get("udpipe")
    return (
        *(result["language"], TREEBANKS[result["language"]], f"{result['training words']:,}"),
        *(f"{result['test'][metric]:.2f}" for metric in METRICS),
        *_costs(result, result["training seconds"]),
        *(f"{other['test'][metric]:.2f}" if other else "" for metric in ("UPOS", "UAS", "LAS")),
        *(_costs(other, other["training_cpu_seconds"]) if other else ("", "", "")),
    )


def _costs(result: dict[str, Any], seconds: float | None) -> tuple[str, str, str]:
    """Words/s, MB and minutes of training."""
    minutes = "" if seconds is None else f"{seconds / 60:.0f}"
    return f"{result['words/s']:,.0f}", f"{result['bytes'] / 1e6:.1f}", minutes


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "languages", nargs="*", choices=[[], *TREEBANKS], metavar="LANGUAGE", help="default: all"
    )
    parser.add_argument("--treebanks", type=Path, required=True, help="folder of treebank folders")
    parser.add_argument("--environment", type=Path, help="folder of the peers' environment, for UDPipe 1")
    runs = ROOT.parent / "runs" / "other_languages"
    parser.add_argument("--runs", type=Path, default=runs, help="for models; default: beside the clone")
    parser.add_argument("--results", type=Path, default=RESULTS, help="for the results and the table")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
