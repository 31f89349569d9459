"""Score a pipeline on a treebank, from raw text and from gold tokens, and time it: writes raw_text.json."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from run import commit, cores, cpu_name, save
from timing import interleaved, throughput

import biatt
from biatt.data.conll import read, write
from biatt.data.raw_text import raw_text
from biatt.data.sentence import Sentence
from biatt.data.text import read_text
from biatt.decode.apply import default_roots
from biatt.decode.confidence import unfitted_confidence
from biatt.errors import BiattError
from biatt.evaluation.calibration import calibrate, calibration_error
from biatt.evaluation.metrics import evaluate
from biatt.machine.kernel_choice import require_compiled
from biatt.models.named_models import find_model
from biatt.parser import Parser

HERE = Path(__file__).parent


def main() -> int:
    options = _options()
    require_compiled()  # else the first second of work would be numpy's
    try:
        parser = biatt.load(options.model)
        results: dict[str, Any] = {"conditions": conditions(options), "size": size(find_model(options.model))}
        for split in options.splits:
            (path,) = options.treebank.glob(f"*{split}.conllu*")
            gold = list(read(path, trees=True))
            results[split] = scores(parser, gold)
            print(split, results[split], file=sys.stderr, flush=True)
            if split == options.splits[0]:
                if options.udpipe:
                    results["udpipe"] = udpipe(parser, options.treebank, gold, options.udpipe)
                results["speed"] = speed(parser, gold, options.repeats)
                parsed = list(parser.parse(gold, confidence=True, retag=True))
                unfitted = [unfitted_confidence(s, roots=default_roots(s)) for s in parsed]
                found = calibrate(gold, parsed, unfitted=unfitted)
                results["calibration"] = {
                    "split": split,
                    "temperature": found.temperature._asdict(),
                    **{
                        name: {claim: calibration_error(bins) for claim, bins in getattr(found, name).items()}
                        for name in ("fitted", "unfitted")
                    },
                }
    except BiattError as error:
        print(error, file=sys.stderr)
        return 2
    save(results, options.out / "raw_text.json")
    return 0


def scores(parser: Parser, gold: list[Sentence]) -> dict[str, Any]:
    """F1 of every CoNLL 2018 metric, from raw text and from gold tokens without tags."""
    texts = raw_text(gold).split("\n\n")
    systems = {
        "raw text": parser.parse(parser.sentences(texts)),
        "gold tokens": parser.parse(gold, retag=True),
    }
    return {name: _scores(gold, system) for name, system in systems.items()}


def _scores(gold: list[Sentence], system: Iterable[Sentence]) -> dict[str, Any]:
    return {str(row[0]): row[3] for row in evaluate(gold, system).tables()[0].rows}


def udpipe(parser: Parser, treebank: Path, gold: list[Sentence], environment: Path) -> dict[str, Any]:
    """The same scores with UDPipe's tokeniser and tagger, trained on the same files, before our parser.

    What UDPipe gave is kept in the environment's folder, since training it takes a while.
    """
    (train,), (dev,) = treebank.glob("*train.conllu*"), treebank.glob("*dev.conllu*")
    folder = environment / "udpipe_text" / treebank.resolve().name
    folder.mkdir(parents=True, exist_ok=True)
    files = {part: folder / part for part in ("train", "dev", "raw", "tokens", "out_raw", "out_tokens")}
    about = folder / "about.json"
    if not about.exists():
        write(read(train), files["train"])
        write(read(dev), files["dev"])
        files["raw"].write_text(raw_text(gold), encoding="utf-8")
        write((sentence.with_rows(_bare(sentence)) for sentence in gold), files["tokens"])
        command = [environment / "bin" / "python", HERE / "udpipe_text.py", *files.values()]
        done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
        about.write_text(done.stdout.splitlines()[-1], encoding="utf-8")
    found = json.loads(about.read_text(encoding="utf-8"))
    words, seconds = sum(map(len, gold)), found.pop("cpu_seconds")
    systems = {"raw text": files["out_raw"], "gold tokens": files["out_tokens"]}
    return {
        **found,
        "words_per_cpu_second": {part: words / taken for part, taken in seconds.items()},
        **{name: _scores(gold, parser.parse(read(path))) for name, path in systems.items()},
    }


def _bare(sentence: Sentence) -> list[list[str]]:
    return [[*row[:2], *"____", *row[6:]] for row in sentence.rows]


def speed(parser: Parser, gold: list[Sentence], repeats: int) -> dict[str, Any]:
    """Words/s, one thread: a text file to a CoNLL-U file, and each part alone in memory."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.txt", Path(folder) / "out.conllu"
        source.write_text(raw_text(gold), encoding="utf-8")
        bare = [Sentence.from_words(sentence.forms) for sentence in gold if len(sentence)]
        rounds = interleaved(
            {
                "raw text": lambda: write(parser.parse(parser.sentences(read_text(source))), target),
                "tokeniser": lambda: deque(parser.sentences(read_text(source)), maxlen=0),
                "tags and trees": lambda: deque(parser.parse(bare), maxlen=0),
            },
            repeats=repeats,
        )
        words = sum(map(len, gold))
        return {"words": words, **{name: throughput(found, words) for name, found in rounds.items()}}


def size(folder: Path) -> dict[str, int]:
    """Bytes of each part of the model."""
    total, tokeniser = (
        sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
        for part in (folder, folder / "tokeniser")
    )
    return {"tokeniser": tokeniser, "tags and trees": total - tokeniser}


def conditions(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "cpu": cpu_name(),
        "cores": cores(),
        **{name: version(name) for name in ("biatt", "numba", "numpy")},
        "commit": commit(),
        "model": Path(options.model).name,
        "treebank": options.treebank.resolve().name,
        "repeats": options.repeats,
        "load_before": os.getloadavg()[0],
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--treebank", type=Path, required=True, help="folder with *dev.conllu and *test.conllu"
    )
    parser.add_argument("--model", default="en", help="name of a bundled model, or a folder")
    parser.add_argument("--splits", nargs="+", default=["dev"], help="which files; the first is also timed")
    parser.add_argument(
        "--udpipe", type=Path, help="folder of the peers' environment: train and score UDPipe too"
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=HERE, help="folder of raw_text.json")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
