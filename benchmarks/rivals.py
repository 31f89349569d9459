"""Train other parsers on the same files and score them on test: rivals.json, rivals.md.

The rivals run in the peers' environment (see README.md). Where a treebank has no dev file, they choose by the
same held-out sentences as `biatt train --seed 1`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from run import commit, save

from biatt.conll import read, write
from biatt.errors import BiattError
from biatt.files import replacing
from biatt.metrics import evaluate
from biatt.sentence import Sentence
from biatt.training import split_treebank

HERE = Path(__file__).parent
RIVALS = ("ufal.udpipe", "supar")
ITERATIONS = 10  # UDPipe's default
SCORES = ("uas", "las")


def main() -> int:
    options = _options()
    path = options.out / "rivals.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for name in options.treebanks:
        key = f"{options.rival} {name.name}"
        if options.rival == "ufal.udpipe" and options.iterations != ITERATIONS:
            key += f", {options.iterations} iterations"
        if key in results:
            continue
        try:
            effort = options.iterations if options.rival == "ufal.udpipe" else options.seconds
            results[key] = measured(options.rival, name, options.environment / "bin" / "python", effort)
        except BiattError as error:
            print(error, file=sys.stderr)
            return 2
        except subprocess.CalledProcessError as error:
            lines = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
            results[key] = {"failed": lines[-1]}
        save(results, path)
        with replacing(path.with_suffix(".md")) as file:
            file.write(table(results, options.experiments).encode())
        print(key, json.dumps(results[key]), file=sys.stderr, flush=True)
    return 0


def measured(rival: str, treebank: Path, python: Path, effort: float) -> dict[str, Any]:
    (train,), (test,) = treebank.glob("*train.conll*"), treebank.glob("*test.conll*")
    dev = next(treebank.glob("*dev.conll*"), None)
    train_sentences, dev_sentences = split_treebank([train], dev, 0.05, 1)
    gold = list(read(test, trees=True))
    parts = {"train": train_sentences, "dev": dev_sentences, "test": gold}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.conllu" for name in (*parts, "parsed")}
        for name, sentences in parts.items():
            write(map(_words_only, sentences), files[name])
        started = time.perf_counter()
        command = [python, HERE / "rival_training.py", rival, *files.values(), effort]
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        done = subprocess.run(
            list(map(str, command)), check=True, capture_output=True, text=True, env={**os.environ, **one}
        )
        found = evaluate(map(_words_only, gold), files["parsed"], style="ud")
        paper = evaluate(map(_words_only, gold), files["parsed"], style="conllx", punctuation="ignore")
    return {
        "uas": found.uas,
        "las": found.las,
        "style": found.style,
        "without_punctuation": {"uas": paper.uas, "las": paper.las, "style": paper.style},
        "seconds": time.perf_counter() - started,
        "commit": commit(),
        **json.loads(done.stdout.splitlines()[-1]),
    }


def table(results: dict[str, Any], experiments: Path) -> str:
    """The rivals' test scores in Markdown, beside those of `best` in recipes' results, mean over seeds."""
    ours: dict[tuple[str, str], list[dict[str, float]]] = {}
    for path in sorted(experiments.glob("*/*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        if run["preset"] == "best" and "mst" in run["test"]:
            score = run["test"]["mst"]
            ours.setdefault((next(iter(run["data"])).partition("/")[0], score["style"]), []).append(score)

    def cell(scores: Sequence[dict[str, float]]) -> str:
        return " / ".join(f"{100 * mean(one[name] for one in scores):.2f}" for name in SCORES if scores)

    lines = [
        "# Other parsers, trained on the same files",
        "",
        "Written by `benchmarks/rivals.py`: UAS / LAS on test in percent, by CoNLL 2018 scoring, and",
        "as in the paper, punctuation ignored; `best` is ours, where a recipe has measured it that way.",
        "",
        "| parser, treebank | minutes of CPU | CoNLL 2018 | `best` | punctuation ignored | `best` |",
        "|---|---|---|---|---|---|",
    ]
    for key, found in results.items():
        treebank = key.split()[1].rstrip(",")
        styles = {"ud": found, "conllx": found.get("without_punctuation")}
        cells = [
            cell(scores)
            for style, own in styles.items()
            for scores in ([own] if own and "las" in own else [], ours.get((treebank, style), []))
        ]
        cpu = f"{found['cpu_seconds'] / 60:.1f}" if "cpu_seconds" in found else found.get("failed", "")
        lines.append("| " + " | ".join([key, cpu, *cells]) + " |")
    return "\n".join(lines) + "\n"


def _words_only(sentence: Sentence) -> Sentence:
    """Without comments, multiword tokens and empty nodes, which the rivals need not see."""
    return Sentence([row[:] for row in sentence.rows], [], sentence.format, sentence.source, sentence.line)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rival", choices=RIVALS)
    parser.add_argument(
        "treebanks", type=Path, nargs="+", help="folders with train, test and perhaps dev files"
    )
    parser.add_argument("--environment", type=Path, required=True, help="folder of the peers' environment")
    parser.add_argument("--seconds", type=float, default=1500, help="processor time of SuPar's training")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="passes of UDPipe's training")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of rivals.json")
    parser.add_argument(
        "--experiments", type=Path, default=HERE.parent / "experiments", help="folder of recipes' results"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
