"""Measure the rules that restore spaces on treebanks that have them: writes detokeniser.json.

    detokeniser.py --treebanks FOLDER [--out benchmarks]

FOLDER contains the folders of treebanks. Of each that has spaces, the dev file is read, or where there is
none the test file. The rules were written with a look at their errors on these files.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from run import commit, save

import biatt
from biatt.data.columns import MISC, UPOS
from biatt.data.detokeniser import lacks_spaces, spaces_between
from biatt.data.spaces import space_after

HERE = Path(__file__).parent
SPLITS = ("dev", "test")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--treebanks", type=Path, required=True, help="folder of treebank folders")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of detokeniser.json")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for treebank in sorted(path for path in options.treebanks.iterdir() if path.is_dir()):
        files = [file for split in SPLITS for file in treebank.glob(f"*{split}.conllu*")]
        if not files:
            continue
        sentences = list(biatt.read(files[0]))
        if not lacks_spaces(sentences):
            results[treebank.name] = {"file": files[0].name, **measured(sentences)}
            print(treebank.name, results[treebank.name], file=sys.stderr, flush=True)
    save({"commit": commit(), "treebanks": results}, options.out / "detokeniser.json")
    return 0


def measured(sentences: list[biatt.Sentence]) -> dict[str, Any]:
    """How often the rules are right about the space after a token that is not the last of its sentence."""
    places = correct = spaces = exact = several = 0
    for sentence in sentences:
        tokens = sentence.tokens
        gold = [space_after(token.row[MISC]) != "" for token in tokens[:-1]]
        if gold:
            found = spaces_between([token.form for token in tokens], [token.row[UPOS] for token in tokens])
            places, spaces = places + len(gold), spaces + sum(gold)
            correct += sum(a == b for a, b in zip(gold, found, strict=True))
            several, exact = several + 1, exact + (gold == found)
    return {
        "places": places,
        "correct_percent": 100 * correct / places,
        "exact_sentences_percent": 100 * exact / several,
        "always_a_space_percent": 100 * spaces / places,
    }


if __name__ == "__main__":
    sys.exit(main())
