"""What the rounding of products does to trees: writes rounding.json.

    python benchmarks/rounding.py MODEL=TREEBANK_FILE ... [--out benchmarks]

Each file is parsed three ways, from gold tokens without tags: by compiled kernels and in plain numpy, which
round what they multiply (`kernels/rounding.py`), and by torch, which does not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from run import commit, cpu_name, save

import biatt
from biatt.data.sentence import Sentence

HERE = Path(__file__).parent
METRICS = "UPOS", "UAS", "LAS"
WAYS = "compiled", "plain", "torch"
PARSE = """
import sys
import biatt

way, model, treebank, out = sys.argv[1:]
parser = biatt.load(model, fused=way != "torch")
biatt.write(parser.parse(biatt.read(treebank), retag=parser.chooses_tags), out)
"""


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    results: dict[str, Any] = {"conditions": {"commit": commit(), "cpu": cpu_name()}}
    for model, _, treebank in (name.partition("=") for name in options.files):
        results[Path(model).name] = compared(model, treebank)
        save(results, options.out / "rounding.json")


def compared(model: str, treebank: str) -> dict[str, Any]:
    """F1 by each way, and how many words have another head or relation by another way."""
    gold = list(biatt.read(treebank, trees=True))
    with TemporaryDirectory() as folder:
        parsed = {way: parse(way, model, treebank, Path(folder) / f"{way}.conllu") for way in WAYS}
    results: dict[str, Any] = {"file": "/".join(Path(treebank).parts[-2:]), "words": sum(map(len, gold))}
    for way, sentences in parsed.items():
        found = biatt.evaluate(gold, sentences, style="ud").scores
        results[way] = {metric: round(100 * found[metric].f1, 3) for metric in METRICS}
    for one, other in combinations(WAYS, 2):
        results[f"{one} and {other}"] = different(parsed[one], parsed[other])
    return results


def parse(way: str, model: str, treebank: str, out: Path) -> list[Sentence]:
    environment = os.environ if way == "torch" else {**os.environ, "BIATT_KERNELS": way}
    subprocess.run([sys.executable, "-c", PARSE, way, model, treebank, out], check=True, env=environment)
    return list(biatt.read(out))


def different(some: list[Sentence], others: list[Sentence]) -> dict[str, int]:
    """Words whose head, or head or relation, is not the same."""
    heads = arcs = 0
    for one, other in zip(some, others, strict=True):
        for word in range(len(one)):
            same_head = one.heads[word] == other.heads[word]
            heads += not same_head
            arcs += not (same_head and one.deprels[word] == other.deprels[word])
    return {"different_heads": heads, "different_arcs": arcs}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="+", metavar="MODEL=FILE", help="a model, and a treebank file with trees"
    )
    parser.add_argument("--out", type=Path, default=HERE, help="folder of rounding.json")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
