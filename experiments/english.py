#!/usr/bin/env python3
"""Make the English models again, from a treebank, an encoder and raw text; measure every step on dev.

    experiments/english.py --treebank FOLDER --text FOLDER --encoder FOLDER [STEP]...

Steps, in order; the default is all of them. One that is finished is not repeated, one that was interrupted
goes on.

    joint      tags, lemmas and trees by one network, from the treebank alone
    teacher    the same with the first six layers of the encoder, frozen
    silver     the text, annotated by the teacher
    student    the network of `joint`, wider, on silver text and the treebank
    further    the student, trained further on other silver text and the treebank
    gold       that, trained further on the treebank alone, at a low rate
    bundle     that with known lemmas and a fitted confidence, packed: the bundled model `en`
    noise      the bundled model, trained further on the treebank with noise and without: what noise costs
    encoder    a model with all layers of the encoder, for accuracy without regard to speed
    encoders   two of these, which differ in their seed, as one

Large files go to --runs. `english/results.jsonl` gets a line for each model, with its dev scores, its size,
its settings and the commit; `english/RESULTS.md` is a table of them. Test files are only read to keep their
sentences out of the silver text.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import biatt
from biatt.data.raw_text import raw_text
from biatt.parser import Parser

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "english"
BIATT = Path(sys.executable).with_name("biatt")
sys.path[:0] = [str(HERE), str(ROOT / "benchmarks")]

from result_lines import read_results, write_results  # noqa: E402

LICENCE = "CC BY-SA 4.0"  # of the treebank
SHARED = ("affixes=5", "tokeniser.noise=0.2", "tokeniser.hidden=96", "tokeniser.epochs=12")
TEACHER = ("hidden=200", "epochs=9", "feature_layers=2,4,5,6")
STUDENT = (
    *("hidden=192", "embedding=128", "epochs=12", "silver_ratio=5", "noise=0.1", "state_limit=4"),
    *("dropout=0.2", "word_dropout=0.1", "smoothing=0.03", "tag_weight=0.5"),
)
FURTHER = (
    *("epochs=9", "silver_ratio=6", "rate=0.001", "noise=0.1"),
    *("dropout=0.2", "word_dropout=0.1", "smoothing=0.03", "tag_weight=0.5"),
)
GOLD = (
    *("epochs=4", "least_batches=0", "average=2", "rate=0.0005"),
    *("dropout=0.2", "word_dropout=0.1", "smoothing=0.03", "tag_weight=0.5"),
)
NOISE = ("0.1", "0")
AMALGUM = "amalgum.tokens.txt.xz"  # a sentence a line, three million words: 30 parts
WIKIPEDIA = "wikipedia.txt.xz"  # a paragraph a line
AMALGUM_AGAIN, WIKIPEDIA_PARTS = 6, 14  # the parts of 100,000 words that `further` reads
ENCODER = ("hidden=256", "epochs=15", "feature_layers=3,5,7,9,11")


class Data(NamedTuple):
    treebank: Path
    text: Path
    encoder: Path
    runs: Path
    processes: int
    bundled: Path
    student: Path | str  # that is trained further

    def split(self, name: str) -> Path:
        (path,) = self.treebank.glob(f"*{name}.conllu*")
        return path

    def silver(self, text: str) -> Path:
        """The folder of a text's parts."""
        return self.runs / "silver" / text.partition(".")[0]

    def parts(self, text: str, count: int | None = None) -> list[Path]:
        """The first annotated parts of a text."""
        return sorted(self.silver(text).glob("*.conllu.gz"))[:count]


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    data = Data(
        *(options.treebank, options.text, options.encoder, options.runs, options.processes, options.bundled),
        options.student or options.runs / "student",
    )
    data.runs.mkdir(parents=True, exist_ok=True)
    for step in options.steps or STEPS:
        STEPS[step](data)


def joint(data: Data) -> None:
    _train(data, "joint", SHARED)


def teacher(data: Data) -> None:
    _train(data, "teacher", (*SHARED, *TEACHER), *_with_encoder(data))


def silver(data: Data) -> None:
    options = ["--model", data.runs / "teacher", "--processes", data.processes]
    _script("annotate", data.text / AMALGUM, data.silver(AMALGUM), "--input", "tokens", *options)
    options += ["--input", "text", "--last", WIKIPEDIA_PARTS]
    _script("annotate", data.text / WIKIPEDIA, data.silver(WIKIPEDIA), *options)


def student(data: Data) -> None:
    _train(data, "student", (*SHARED, *STUDENT), *_with_silver(data, data.parts(AMALGUM)))


def further(data: Data) -> None:
    files = [*data.parts(AMALGUM, AMALGUM_AGAIN), *data.parts(WIKIPEDIA, WIKIPEDIA_PARTS)]
    _train(data, "further", FURTHER, "--start", data.student, *_with_silver(data, files))


def gold(data: Data) -> None:
    _train(data, "gold", (*GOLD, f"noise={NOISE[0]}"), "--start", data.runs / "further")


def bundle(data: Data) -> None:
    with_lemmas, target = data.runs / "gold-with-lemmas", data.bundled
    words, card = HERE / "english_irregular.tsv", HERE / "en-card.md"
    _script("lemmas", data.runs / "gold", with_lemmas, data.split("train"), words)
    _script("bundle", with_lemmas, target, card, data.split("train"))
    _run(BIATT, "calibrate", data.split("dev"), "--fit", "--model", target)
    _keep({"name": "bundle", "settings": (), **_measured(target, data)})


def noise(data: Data) -> None:
    for rate in NOISE:
        _train(data, f"noise-{rate}", (*GOLD, f"noise={rate}"), "--start", data.bundled)


def encoder(data: Data) -> None:
    _train(data, "encoder", (*SHARED, *ENCODER), *_with_encoder(data))


def encoders(data: Data) -> None:
    _train(data, "encoders", (*SHARED, *ENCODER), *_with_encoder(data), "--ensemble", 2)


def _with_silver(data: Data, files: list[Path]) -> list[object]:
    return ["--silver", *files, "--exclude", data.split("test")]


def _with_encoder(data: Data) -> list[object]:
    return ["--encoder", data.encoder, "--features", data.runs / "features"]


STEPS: dict[str, Callable[[Data], None]] = {
    step.__name__: step
    for step in (joint, teacher, silver, student, further, gold, bundle, noise, encoder, encoders)
}


def _train(data: Data, name: str, settings: tuple[str, ...], *options: object) -> None:
    """Train a pipeline, or go on with it, and write its result if there is none."""
    out = data.runs / name
    resume = ["--resume"] if out.exists() else []
    _run(
        *(BIATT, "train", "--pipeline", "--train", data.split("train"), "--dev", data.split("dev")),
        *("--output", out, "--licence", LICENCE, "--set", *settings, *options, *resume),
    )
    if name not in {result["name"] for result in read_results(RESULTS)}:
        _keep({"name": name, "settings": settings, **_measured(out, data)})


def _script(name: str, *arguments: object) -> None:
    _run(sys.executable, ROOT / "scripts" / name, *arguments)


def _run(*command: object) -> None:
    print("+", *command, flush=True)
    subprocess.run(list(map(str, command)), check=True)


def _measured(folder: Path, data: Data) -> dict[str, Any]:
    """Scores on dev, bytes, and where they were measured."""
    from raw_text import scores
    from run import commit, cpu_name

    gold = list(biatt.read(data.split("dev")))
    parser = Parser.load(folder)
    return {
        "dev": scores(parser, gold),
        "noisy dev": _noisy(parser, data.split("dev")),
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.suffix != ".jsonl"),
        "commit": commit(),
        "cpu": cpu_name(),
        "biatt": biatt.__version__,
    }


def _noisy(parser: Parser, path: Path) -> float:
    """LAS from raw text that `biatt noise` has changed."""
    import numpy as np

    from biatt.training.noise import noisy

    gold = list(noisy(list(biatt.read(path)), rate=1.0, generator=np.random.default_rng(1)))
    return biatt.evaluate(gold, parser.parse(parser.sentences(raw_text(gold).split("\n\n")))).las


def _keep(result: dict[str, Any]) -> None:
    results = [*(item for item in read_results(RESULTS) if item["name"] != result["name"]), result]
    write_results(RESULTS, results, _table)


def _table(results: list[dict[str, Any]]) -> str:
    lines = [
        "# The English models, step by step",
        "",
        "Made by `experiments/english.py`. English EWT dev, F1 by the CoNLL 2018 evaluation; noisy text is",
        "dev after `biatt noise`; MB of the model as trained, without an encoder that it points to.",
        "",
        "| model | raw text: sentences | UPOS | LAS | noisy text: LAS | gold tokens: UPOS | UAS | LAS | MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        raw, tokens = result["dev"]["raw text"], result["dev"]["gold tokens"]
        scores = [raw["Sentences"], raw["UPOS"], raw["LAS"], 100 * result["noisy dev"]]
        scores += [tokens["UPOS"], tokens["UAS"], tokens["LAS"]]
        figures = [*(f"{score:.2f}" for score in scores), f"{result['bytes'] / 1e6:.1f}"]
        lines.append(f"| {result['name']} | {' | '.join(figures)} |")
    return "\n".join(lines) + "\n"


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("steps", nargs="*", choices=[[], *STEPS], help="default: all")
    parser.add_argument("--treebank", type=Path, required=True, help="folder of English EWT")
    parser.add_argument("--text", type=Path, required=True, help="folder of the text to annotate")
    parser.add_argument("--encoder", type=Path, required=True, help="folder of MPNet-base")
    parser.add_argument("--runs", type=Path, default=ROOT.parent / "runs" / "english", help="for large files")
    bundled = ROOT / "src" / "biatt" / "models" / "en"
    parser.add_argument("--bundled", type=Path, default=bundled, help="folder of the bundled model")
    parser.add_argument("--student", help="model to train further; default: that of the step student")
    parser.add_argument("--processes", type=int, default=2, help="that annotate")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
