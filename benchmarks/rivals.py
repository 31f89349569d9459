"""Train other parsers on the same files, and score them and ours on test: rivals.json, rivals.md.

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
from pathlib import Path
from typing import Any

from run import commit, save

from biatt.data.conll import read, write
from biatt.data.files import replacing
from biatt.data.sentence import Sentence
from biatt.errors import BiattError
from biatt.evaluation.metrics import evaluate
from biatt.models.model_folder import METRICS
from biatt.parser import load
from biatt.training.treebank import read_treebank

HERE = Path(__file__).parent
RIVALS = ("biatt", "ufal.udpipe", "supar")
ITERATIONS = 10  # UDPipe's default
SCORES = ("uas", "las")


def main() -> int:
    options = _options()
    path = options.out / "rivals.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for treebank in options.treebanks:
        key = f"{options.rival} {treebank.name}"
        if options.rival == "ufal.udpipe" and options.iterations != ITERATIONS:
            key += f", {options.iterations} iterations"
        if key in results:
            continue
        try:
            results[key] = measured(treebank, options)
        except BiattError as error:
            print(error, file=sys.stderr)
            return 2
        except subprocess.CalledProcessError as error:
            lines = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
            results[key] = {"failed": lines[-1]}
        save(results, path)
        with replacing(path.with_suffix(".md")) as file:
            file.write(table(results).encode())
        print(key, json.dumps(results[key]), file=sys.stderr, flush=True)
    return 0


def measured(treebank: Path, options: argparse.Namespace) -> dict[str, Any]:
    """A parser's test scores, both ways, and what it took to train."""
    (test,) = treebank.glob("*test.conll*")
    gold = [_words_only(sentence) for sentence in read(test, trees=True)]
    with tempfile.TemporaryDirectory() as name:
        parsed = Path(name) / "parsed.conllu"
        if options.rival == "biatt":
            about = ours(options.model, gold, parsed)
        else:
            about = theirs(treebank, gold, parsed, options)
        found = evaluate(gold, parsed, style="ud")
        paper = evaluate(gold, parsed, style="conllx", punctuation="ignore")
    return {
        "uas": found.uas,
        "las": found.las,
        "style": found.style,
        "without_punctuation": {"uas": paper.uas, "las": paper.las, "style": paper.style},
        "commit": commit(),
        **about,
    }


def ours(model: Path, gold: list[Sentence], parsed: Path) -> dict[str, Any]:
    """Parse with a model that was trained before."""
    parser = load(model)
    write(parser.parse(gold), parsed)
    history = [json.loads(line) for line in (model / METRICS).read_text(encoding="utf-8").splitlines()]
    return {
        "model": model.name,
        "config": parser.config.to_json(),
        "seconds": sum(record["seconds"] for record in history if "epoch" in record),
    }


def theirs(treebank: Path, gold: list[Sentence], parsed: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Train in the peers' environment, with one thread, and parse."""
    (train,), dev = treebank.glob("*train.conll*"), next(treebank.glob("*dev.conll*"), None)
    treebank_files = read_treebank([train], dev, dev_fraction=0.05, seed=1)
    files = {name: parsed.with_name(f"{name}.conllu") for name in ("train", "dev", "test")}
    for path, sentences in zip(files.values(), (treebank_files.train, treebank_files.dev, gold), strict=True):
        write(map(_words_only, sentences), path)
    started = time.perf_counter()
    effort = options.iterations if options.rival == "ufal.udpipe" else options.seconds
    python = options.environment / "bin" / "python"
    command = [python, HERE / "rival_training.py", options.rival, *files.values(), parsed, effort]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True, env={**os.environ, **one}
    )
    return {"seconds": time.perf_counter() - started, **json.loads(done.stdout.splitlines()[-1])}


def table(results: dict[str, Any]) -> str:
    """All scores in Markdown, treebank by treebank."""
    lines = [
        "# Parsers trained on the same files",
        "",
        "Written by `benchmarks/rivals.py`: UAS / LAS on test in percent, by CoNLL 2018 scoring, and",
        "as in the paper, punctuation ignored. Minutes of training are of the processor, for biatt of",
        "the clock, also where the machine was busy.",
        "",
        "| treebank | parser | minutes | CoNLL 2018 | punctuation ignored |",
        "|---|---|---|---|---|",
    ]

    def cell(scores: dict[str, float]) -> str:
        return " / ".join(f"{100 * scores[name]:.2f}" for name in SCORES if name in scores)

    for key, found in sorted(results.items(), key=lambda item: item[0].split()[1].rstrip(",")):
        parser, treebank, *passes = key.replace(",", "").split()
        cells = [
            treebank,
            " ".join([parser, *passes]),
            f"{found.get('cpu_seconds', found.get('seconds', 0)) / 60:.1f}",
            found.get("failed") or cell(found),
            cell(found.get("without_punctuation", {})),
        ]
        lines.append("| " + " | ".join(cells) + " |")
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
    parser.add_argument("--environment", type=Path, help="folder of the peers' environment, for the others")
    parser.add_argument("--model", type=Path, help="folder of a trained model of one treebank, for biatt")
    parser.add_argument("--seconds", type=float, default=1500, help="processor time of SuPar's training")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="passes of UDPipe's training")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of rivals.json")
    options = parser.parse_args()
    own = options.rival == "biatt"
    if own and (options.model is None or len(options.treebanks) > 1):
        parser.error("biatt needs --model and one treebank")
    if not own and options.environment is None:
        parser.error(f"{options.rival} needs --environment")
    return options


if __name__ == "__main__":
    sys.exit(main())
