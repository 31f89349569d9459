#!/usr/bin/env python3
"""Train a small pipeline of each language, measure it on test from raw text, and make its package.

    experiments/languages.py --treebanks FOLDER [--environment FOLDER] [--cards] [CODE]...

One process with one thread makes all languages, one after the other: start it in the background, and again
after an interruption. A language that has a result is not repeated, a training that was interrupted goes on,
and after a language that fails the others are made, and the exit code is 1. With --environment, the folder of
the peers' environment (`benchmarks/README.md`), UDPipe 1 is trained on the same files with its default
settings, also where the model of a language was made before. `languages/results.jsonl` gets a line for each
language, `languages/RESULTS.md` is the table, which `docs/results.md` has too, and `packages/biatt-CODE` the
package. With --cards, packages that are there get their card and licence anew, and keep their model.

Files that do not say where spaces are get those of `biatt detokenise`, test files too. Where there is no dev
file, the last part of the training file is held out; Norwegian has no training file here, and is trained on
the first part of its dev file. `language_treebanks.py` has what is known of the treebanks.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import biatt
from biatt.data.detokeniser import lacks_spaces, with_spaces
from biatt.data.raw_text import raw_text
from biatt.errors import BiattError
from biatt.machine.kernel_choice import require_compiled
from biatt.models.languages import LANGUAGES
from biatt.parser import Parser
from biatt.parsing.package_model import Package, licence_address, write_package, write_sources

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "languages"
BIATT = Path(sys.executable).with_name("biatt")
sys.path[:0] = [str(HERE), str(ROOT / "benchmarks")]

from language_tables import METRICS, document, write_page  # noqa: E402
from language_treebanks import TREEBANKS, Treebank  # noqa: E402
from result_lines import read_results, write_results  # noqa: E402

VERSION = "1.0"  # of the packages
# Smaller than the default, so that a package has at most 8 MB: counted by its shapes, an Irish one has 5.2.
SETTINGS = ("hidden=128", "embedding=96", "tokeniser.embedding=32")
LARGEST = 8_000_000  # bytes of a package
HELD_OUT = 0.1  # of the sentences, where there is no dev file
TRAINED = "# A biatt dependency parser"  # begins what training writes into a card
SECONDS = "processor-seconds"  # a file beside the model: one line for each part of an interrupted training


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    failed = []
    for code in options.codes or TREEBANKS:
        settings = settings_of(code, options.set)
        result = next((item for item in read_results(options.results) if item["code"] == code), None)
        try:
            if result is None:
                result = {"code": code, **made(code, options, settings), **conditions(settings)}
                keep(result, options.results)
            elif options.cards:
                size = packaged(code, module_of(code, options), result["test"], options)
                result = {**result, "bytes": size}
                keep(result, options.results)
            if options.environment and "udpipe" not in result:
                files = files_of(code, options)
                found = udpipe(files, options.runs / code, options.environment)
                keep({**result, "udpipe": found}, options.results)
        except (BiattError, OSError, subprocess.CalledProcessError) as error:
            print(f"{code}: {error}", file=sys.stderr, flush=True)
            failed.append(code)
    if failed:
        print(f"Not made: {', '.join(failed)}.", file=sys.stderr)
    results = read_results(options.results)
    if results:
        write_results(options.results, results, document)
    if options.results == RESULTS:
        write_page(results)
    return 1 if failed else 0


def settings_of(code: str, others: Sequence[str] = ()) -> list[str]:
    """Those of all languages, of this one and others, of which each replaces an earlier one of its name."""
    settings = (*SETTINGS, *TREEBANKS[code].settings, *others)
    return list({setting.partition("=")[0]: setting for setting in settings}.values())


def keep(result: dict[str, Any], folder: Path) -> None:
    """Write a language's result instead of one that it may have already."""
    others = [item for item in read_results(folder) if item["code"] != result["code"]]
    write_results(folder, sorted([*others, result], key=lambda item: str(item["code"])), document)


def made(code: str, options: argparse.Namespace, settings: Sequence[str]) -> dict[str, Any]:
    """The model of a language and its package: what they measured."""
    folder, files = options.runs / code, files_of(code, options)
    seconds = trained(files, folder / "model", TREEBANKS[code].licence, settings)
    result = {**measured(folder / "model", files), "training seconds": seconds}
    size = packaged(code, folder / "model", result["test"], options)
    return {**result, "bytes": size}


def files_of(code: str, options: argparse.Namespace) -> dict[str, Path]:
    return prepared(options.treebanks / TREEBANKS[code].folder, options.runs / code)


def prepared(treebank: Path, folder: Path) -> dict[str, Path]:
    """The train, dev and test files of a language as CoNLL-U with spaces; each is written once."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {split: folder / f"{split}.conllu" for split in ("train", "dev", "test")}
    if all(path.exists() for path in files.values()):
        return files
    found = {split: _sentences(treebank, split) for split in files}
    if not (found["train"] and found["dev"]):
        whole = found["train"] or found["dev"]
        size = max(1, round(HELD_OUT * len(whole)))
        found["train"], found["dev"] = whole[:-size], whole[-size:]
    for split, path in files.items():
        biatt.write(found[split], path)
    return files


def _sentences(treebank: Path, split: str) -> list[biatt.Sentence]:
    path = next(treebank.glob(f"*{split}.conll*"), None)
    sentences = [] if path is None else [s for s in biatt.read(path, trees=True) if len(s)]
    return list(map(with_spaces, sentences)) if sentences and lacks_spaces(sentences) else sentences


def trained(
    files: dict[str, Path], model: Path, licence: str | None, settings: Sequence[str], *more: object
) -> float | None:
    """Train a model, or go on with it; the processor time of all its trainings.

    `more` are further options of the training. The time is not known if one of the trainings was killed
    together with this process.
    """
    resume = ["--resume"] if model.exists() else []
    before = _children_seconds()
    times = model.with_name(SECONDS)
    earlier = times.read_text() if times.exists() else ""
    times.write_text(f"{earlier}nan\n")
    licensed = ["--licence", licence] if licence else []
    set_to = ["--set", *settings] if settings else []
    try:
        _biatt(
            *("train", "--pipeline", "--train", files["train"], "--dev", files["dev"], "--output", model),
            *(*licensed, *more, *resume, *set_to),
        )
    finally:
        times.write_text(f"{earlier}{_children_seconds() - before:.1f}\n")
    seconds = sum(map(float, times.read_text().split()))
    return None if math.isnan(seconds) else round(seconds)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _biatt(*arguments: object) -> None:
    print("+ biatt", *arguments, flush=True)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([BIATT, *map(str, arguments)], check=True, env=environment)


def measured(model: Path, files: dict[str, Path], split: str = "test") -> dict[str, Any]:
    """F1 from raw text by the CoNLL 2018 evaluation, and words/s of processor time."""
    parser, gold = Parser.load(model), list(biatt.read(files[split], trees=True))
    text = raw_text(gold)
    require_compiled()
    deque(parser.parse(parser.split([text[:2000]])[0]), maxlen=0)  # compiles
    started = time.process_time()
    parsed = list(parser.parse(parser.sentences([text])))
    seconds, words = time.process_time() - started, sum(map(len, gold))
    train_words = sum(map(len, biatt.read(files["train"])))
    return {split: _scores(gold, parsed), "words/s": words / seconds, "training words": train_words}


def _scores(gold: list[biatt.Sentence], parsed: Any) -> dict[str, float]:
    scores = biatt.evaluate(gold, parsed, style="ud").scores
    return {metric: 100 * scores[metric].f1 for metric in METRICS}


def udpipe(files: dict[str, Path], folder: Path, environment: Path) -> dict[str, Any]:
    """The same of UDPipe 1, trained on the same files; what it gave is kept in the folder."""
    gold, raw, out = list(biatt.read(files["test"])), folder / "test.txt", folder / "udpipe.conllu"
    about = folder / "udpipe.json"
    if not about.exists():
        raw.write_text(raw_text(gold), encoding="utf-8")
        script = ROOT / "benchmarks" / "udpipe_pipeline.py"
        command = [environment / "bin" / "python", script, files["train"], files["dev"], raw, out]
        done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
        about.write_text(done.stdout.splitlines()[-1], encoding="utf-8")
    facts = json.loads(about.read_text(encoding="utf-8"))
    words = sum(map(len, gold))
    return {**facts, "test": _scores(gold, out), "words/s": words / facts["cpu_seconds"]}


def packaged(code: str, model: Path, scores: dict[str, float], options: argparse.Namespace) -> int:
    """Write the sources of the package, unless its wheel is too large; the bytes of the wheel."""
    treebank = TREEBANKS[code]
    package = Package(
        code,
        VERSION,
        language=LANGUAGES[code],
        treebank=treebank.name,
        licence=treebank.licence,
        licence_text=_licence_text(treebank, options) if treebank.whole_licence else None,
        introduction=introduction(treebank),
        scores={metric: score for metric, score in scores.items() if metric not in treebank.lacks},
    )
    with tempfile.TemporaryDirectory() as folder:
        size = write_package(_trained_model(model), package, folder).stat().st_size
    if size > LARGEST:
        raise BiattError(f"the package has {size:,} bytes, more than {LARGEST:,}.")
    write_sources(_trained_model(model), package, options.packages)
    return size


def module_of(code: str, options: argparse.Namespace) -> Path:
    """The model folder of the package that was made before."""
    return options.packages / f"biatt-{code}" / f"biatt_{code}"


def _trained_model(folder: Path) -> Parser:
    """A model with the card of its training, without what a package has put before that."""
    parser = Parser.load(folder)
    _, mark, rest = (parser.card or "").partition(TRAINED)
    parser.card = mark + rest
    return parser


def introduction(treebank: Treebank) -> str:
    """What a card says about the data: source, authors, licence, changes."""
    address = licence_address(treebank.licence)
    licence = f"[{treebank.licence}]({address})" if address else treebank.licence
    paragraphs = [
        f"Trained on [{treebank.name}]({treebank.source}), by {treebank.authors}, under {licence}; this "
        f"model is "
        "under the same licence.",
        "Changes: the annotations were turned into network weights and lists of words, affixes and "
        "labels, in "
        "November 2026. The text of the treebank is not included.",
        treebank.notes,
        f"Please cite: {treebank.citation}." if treebank.citation else "",
    ]
    return "\n\n".join(filter(None, paragraphs))


def _licence_text(treebank: Treebank, options: argparse.Namespace) -> str:
    """A notice, and the text of the licence, as the treebank's folder has it."""
    text = (options.treebanks / treebank.folder / "LICENSE.txt").read_text(encoding="utf-8")
    return f"Licence of this model: {treebank.licence}\n\n{introduction(treebank)}\n\n{text.strip()}\n"


def conditions(settings: Sequence[str]) -> dict[str, Any]:
    from run import commit, cpu_name

    return {"settings": settings, "commit": commit(), "cpu": cpu_name(), "biatt": biatt.__version__}


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("codes", nargs="*", choices=[[], *TREEBANKS], metavar="CODE", help="default: all")
    parser.add_argument("--treebanks", type=Path, required=True, help="folder of treebank folders")
    parser.add_argument("--environment", type=Path, help="folder of the peers' environment, for UDPipe 1")
    parser.add_argument("--cards", action="store_true", help="write the packages that are there anew")
    runs = ROOT.parent / "runs" / "languages"
    parser.add_argument("--runs", type=Path, default=runs, help="for models; default: beside the clone")
    parser.add_argument("--packages", type=Path, default=ROOT / "packages", help="for the packages")
    parser.add_argument("--results", type=Path, default=RESULTS, help="for the results and the table")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="KEY=VALUE", help="further settings, for a trial"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
