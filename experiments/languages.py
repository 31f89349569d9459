#!/usr/bin/env python3
"""Train a small pipeline of each language, measure it on test from raw text, and make its package.

    experiments/languages.py --treebanks FOLDER [--environment FOLDER] [CODE]...

One process with one thread makes all languages, one after the other: start it in the background, and again
after an interruption. A language that has a result is not repeated, a training that was interrupted goes on,
and after a language that fails the others are made, and the exit code is 1. With --environment, the folder of
the peers' environment (`benchmarks/README.md`), UDPipe 1 is trained on the same files with its default
settings, also where the model of a language was made before. `languages/results.jsonl` gets a line for each
language, `languages/RESULTS.md` is the table, and `packages/biatt-CODE` the package. Files that do not say
where spaces are get those of `biatt detokenise`, test files too. Where there is no dev file, the last part of
the training file is held out; Norwegian has no training file here, and is trained on the first part of its
dev file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import biatt
from biatt.data.detokeniser import lacks_spaces, with_spaces
from biatt.data.raw_text import raw_text
from biatt.errors import BiattError
from biatt.machine.kernel_choice import require_compiled
from biatt.models.languages import LANGUAGES as NAMES
from biatt.parser import Parser
from biatt.parsing.package_model import Package, write_package, write_sources

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "languages"
BIATT = Path(sys.executable).with_name("biatt")
sys.path[:0] = [str(HERE), str(ROOT / "benchmarks")]

from result_lines import read_results, write_results  # noqa: E402

VERSION = "1.0"  # of the packages
# Smaller than the default, so that a package has at most 8 MB: counted by its shapes, an Irish one has 5.2.
SETTINGS = ("hidden=128", "embedding=96", "tokeniser.embedding=32")
LARGEST = 8_000_000  # bytes of a package
HELD_OUT = 0.1  # of the sentences, where there is no dev file
METRICS = ("Tokens", "Sentences", "UPOS", "Lemmas", "UAS", "LAS")
SECONDS = "processor-seconds"  # a file beside the model: one line for each part of an interrupted training


class Language(NamedTuple):
    folder: str  # of the treebank
    treebank: str  # with its release
    licence: str
    published: str = ""  # raw-text LAS of Stanza (UD 2.12) and UDPipe 2 (UD 2.17) on this treebank
    settings: tuple[str, ...] = ()  # beside those of all languages


LANGUAGES = {
    "af": Language("afrikaans-afribooms", "UD Afrikaans AfriBooms", "CC BY-SA 4.0"),
    "da": Language("danish-conllx", "Danish Dependency Treebank, CoNLL-X", "CC BY-SA 4.0", "86.61 / 86.60"),
    "fr": Language("french-sequoia", "UD French Sequoia", "LGPL-LR"),
    "ga": Language("irish-idt", "UD Irish IDT 2.6", "CC BY-SA 3.0"),
    "is": Language("icelandic-modern", "UD Icelandic Modern, October 2022", "CC BY-SA 4.0"),
    "ja": Language(
        "japanese-gsd",
        "UD Japanese GSD 2.9",
        "CC BY-SA 4.0",
        "89.29 / 87.28",
        settings=("embedding=64", "tokeniser.embedding=24"),  # many characters: with 96 and 32, 8.3 MB
    ),
    "ko": Language(
        "korean-gsd",
        "UD Korean GSD 2.10",
        "CC BY-SA 4.0",
        settings=("embedding=48", "tokeniser.embedding=24"),  # many word forms: with 96 and 32, 9.4 MB
    ),
    "nb": Language("norwegian-bokmaal", "UD Norwegian Bokmaal 2.16, dev", "CC BY-SA 4.0"),
    "nl": Language("dutch-lassysmall", "UD Dutch LassySmall 1.4", "CC BY-SA 4.0", "85.32 / 91.65"),
    "pt": Language("portuguese-bosque", "UD Portuguese Bosque 2.16", "CC BY-SA 4.0", "87.75 / 89.84"),
    "ru": Language("russian-taiga", "UD Russian Taiga 2.7", "CC BY-SA 4.0"),
    "sv": Language("swedish-talbanken", "Talbanken, early UD conversion", "CC BY-SA 4.0", "87.85 / 90.52"),
    "uk": Language("ukrainian-parlamint", "UD Ukrainian ParlaMint 2.15", "CC BY-SA 4.0"),
}


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    failed = []
    for code in options.codes or LANGUAGES:
        settings = _settings(code, options.set)
        result = next((item for item in read_results(options.results) if item["code"] == code), None)
        try:
            if result is None:
                result = {"code": code, **made(code, options, settings), **conditions(settings)}
                keep(result, options.results)
            if options.environment and "udpipe" not in result:
                keep({**result, "udpipe": udpipe(code, options)}, options.results)
        except (BiattError, OSError, subprocess.CalledProcessError) as error:
            print(f"{code}: {error}", file=sys.stderr, flush=True)
            failed.append(code)
    if failed:
        print(f"Not made: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


def _settings(code: str, others: Sequence[str]) -> list[str]:
    """Those of all languages, of this one and others, of which each replaces an earlier one of its name."""
    settings = (*SETTINGS, *LANGUAGES[code].settings, *others)
    return list({setting.partition("=")[0]: setting for setting in settings}.values())


def keep(result: dict[str, Any], folder: Path) -> None:
    """Write a language's result instead of one that it may have already."""
    others = [item for item in read_results(folder) if item["code"] != result["code"]]
    write_results(folder, sorted([*others, result], key=lambda item: str(item["code"])), table)


def made(code: str, options: argparse.Namespace, settings: Sequence[str]) -> dict[str, Any]:
    """The model of a language and its package: what they measured."""
    folder, files = options.runs / code, files_of(code, options)
    seconds = trained(files, folder / "model", LANGUAGES[code], settings)
    result = {**measured(folder / "model", files), "training seconds": round(seconds)}
    size = packaged(code, folder / "model", result["test"], options.packages)
    return {**result, "bytes": size}


def files_of(code: str, options: argparse.Namespace) -> dict[str, Path]:
    return prepared(options.treebanks / LANGUAGES[code].folder, options.runs / code)


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


def trained(files: dict[str, Path], model: Path, language: Language, settings: Sequence[str]) -> float:
    """Train a model, or go on with it; the processor time of all its trainings.

    It lacks those that were killed together with this process.
    """
    resume = ["--resume"] if model.exists() else []
    before = _children_seconds()
    times = model.with_name(SECONDS)
    try:
        _biatt(
            *("train", "--pipeline", "--train", files["train"], "--dev", files["dev"], "--output", model),
            *("--licence", language.licence, *resume, "--set", *settings),
        )
    finally:
        with times.open("a") as file:
            file.write(f"{_children_seconds() - before:.1f}\n")
    return sum(map(float, times.read_text().split()))


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _biatt(*arguments: object) -> None:
    print("+ biatt", *arguments, flush=True)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([BIATT, *map(str, arguments)], check=True, env=environment)


def measured(model: Path, files: dict[str, Path]) -> dict[str, Any]:
    """F1 on test from raw text by the CoNLL 2018 evaluation, and words/s of processor time."""
    parser, gold = Parser.load(model), list(biatt.read(files["test"], trees=True))
    text = raw_text(gold)
    require_compiled()
    deque(parser.parse(parser.split([text[:2000]])[0]), maxlen=0)  # compiles
    started = time.process_time()
    parsed = list(parser.parse(parser.sentences([text])))
    seconds, words = time.process_time() - started, sum(map(len, gold))
    train_words = sum(map(len, biatt.read(files["train"])))
    return {"test": _scores(gold, parsed), "words/s": words / seconds, "training words": train_words}


def _scores(gold: list[biatt.Sentence], parsed: Any) -> dict[str, float]:
    scores = biatt.evaluate(gold, parsed, style="ud").scores
    return {metric: 100 * scores[metric].f1 for metric in METRICS}


def udpipe(code: str, options: argparse.Namespace) -> dict[str, Any]:
    """The same of UDPipe 1, trained on the same files; what it gave is kept in the folder."""
    folder, files = options.runs / code, files_of(code, options)
    gold, raw, out = list(biatt.read(files["test"])), folder / "test.txt", folder / "udpipe.conllu"
    about = folder / "udpipe.json"
    if not about.exists():
        raw.write_text(raw_text(gold), encoding="utf-8")
        script = ROOT / "benchmarks" / "udpipe_pipeline.py"
        command = [options.environment / "bin" / "python", script, files["train"], files["dev"], raw, out]
        done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
        about.write_text(done.stdout.splitlines()[-1], encoding="utf-8")
    facts = json.loads(about.read_text(encoding="utf-8"))
    words = sum(map(len, gold))
    return {**facts, "test": _scores(gold, out), "words/s": words / facts["cpu_seconds"]}


def packaged(code: str, model: Path, scores: dict[str, float], packages: Path) -> int:
    """Write the sources of the package, unless its wheel is too large; the bytes of the wheel."""
    language = LANGUAGES[code]
    introduction = (
        f"Trained on {language.treebank}, under {language.licence}; this model is under the same licence. "
        "The text of the treebank is not included: the model has weights and lists of words, affixes and "
        "labels."
    )
    package = Package(
        code,
        VERSION,
        language=NAMES[code],
        treebank=language.treebank,
        licence=language.licence,
        introduction=introduction,
        scores=scores,
    )
    with tempfile.TemporaryDirectory() as folder:
        size = write_package(Parser.load(model), package, folder).stat().st_size
    if size > LARGEST:
        raise BiattError(f"the package has {size:,} bytes, more than {LARGEST:,}.")
    write_sources(Parser.load(model), package, packages)
    return size


def conditions(settings: Sequence[str]) -> dict[str, Any]:
    from run import commit, cpu_name

    return {"settings": settings, "commit": commit(), "cpu": cpu_name(), "biatt": biatt.__version__}


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        "# Models of languages",
        "",
        "Made by `experiments/languages.py`: F1 on test from raw text by the CoNLL 2018 evaluation, words/s",
        "of processor time on one thread, MB of the wheel, minutes of processor time of the training. Where",
        "UDPipe 1 has figures, it was trained on the same files with its default settings. Stanza and",
        "UDPipe 2: LAS as published, on the UD releases 2.12 and 2.17, which are not always ours; the Danish",
        "treebank here has labels of its own, not those of UD, and Dutch and Swedish have those of early UD.",
        "",
        f"| language | treebank | training words | {' | '.join(METRICS)} | words/s | MB | minutes "
        "| UDPipe 1: LAS | words/s | Stanza / UDPipe 2 |",
        "|---|---|---|" + "---|" * (len(METRICS) + 6),
    ]
    for result in results:
        language, other = LANGUAGES[result["code"]], result.get("udpipe")
        cells = [NAMES[result["code"]], language.treebank, f"{result['training words']:,}"]
        cells += [f"{result['test'][metric]:.2f}" for metric in METRICS]
        cells += [f"{result['words/s']:,.0f}", f"{result['bytes'] / 1e6:.1f}"]
        cells.append(f"{result['training seconds'] / 60:.0f}")
        cells += [f"{other['test']['LAS']:.2f}", f"{other['words/s']:,.0f}"] if other else ["", ""]
        lines.append(f"| {' | '.join([*cells, language.published])} |")
    return "\n".join(lines) + "\n"


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("codes", nargs="*", choices=[[], *LANGUAGES], metavar="CODE", help="default: all")
    parser.add_argument("--treebanks", type=Path, required=True, help="folder of treebank folders")
    parser.add_argument("--environment", type=Path, help="folder of the peers' environment, for UDPipe 1")
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
