"""Parse a treebank with some of its gold columns given, for some of its words: writes given_columns.json.

python benchmarks/given_columns.py --gold FILE [--model en] [--sentences 700] [--out FOLDER]

Every subset of LEMMA, UPOS, XPOS and FEATS is given to all words, and to random shares of them. What is given
must help, or at least do no harm: `largest_loss` is the most LAS that one more column, or a larger share of
the words, has cost.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from run import commit, cpu_name, save

import biatt
from biatt.data.columns import FEATS, LEMMA, UPOS, XPOS
from biatt.data.sentence import Sentence
from biatt.errors import BiattError
from biatt.parser import Parser

HERE = Path(__file__).parent
COLUMNS = {"LEMMA": LEMMA, "UPOS": UPOS, "XPOS": XPOS, "FEATS": FEATS}
SHARES = 0.1, 0.5, 1.0  # of the words
NOTHING = "nothing"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--gold", required=True, help="CoNLL-U file with all columns")
    options.add_argument("--model", default="en", help="a model folder, or the name of a bundled model")
    options.add_argument("--sentences", type=int, help="use the first so many")
    options.add_argument("--out", type=Path, default=HERE, help="folder of given_columns.json")
    given = options.parse_args()
    try:
        gold = [sentence for sentence in biatt.read(given.gold) if len(sentence)][: given.sentences]
        las = scores(biatt.load(given.model), gold)
    except BiattError as error:
        print(error, file=sys.stderr)
        return 2
    conditions = {
        "model": Path(given.model).name,
        "gold": Path(given.gold).name,
        "sentences": len(gold),
        "commit": commit(),
        "cpu": cpu_name(),
    }
    loss, less, more = largest_loss(las)
    results = {**conditions, "las": las, "largest_loss": {"las": loss, "from": less, "to": more}}
    save(results, given.out / "given_columns.json")
    for name, score in las.items():
        print(f"{name}: {score:.2f}")
    print(f"largest loss: {loss:.2f}, from {less} to {more}")
    return 0


def scores(parser: Parser, gold: Sequence[Sentence]) -> dict[str, float]:
    """LAS with nothing given, and with every subset of columns for every share of the words."""
    las = {NOTHING: _las(parser, gold, (), 1.0)}
    for size in range(1, len(COLUMNS) + 1):
        for names in combinations(COLUMNS, size):
            for share in SHARES:
                las[_name(names, share)] = _las(parser, gold, names, share)
    return las


def largest_loss(las: dict[str, float]) -> tuple[float, str, str]:
    """The most LAS that more information has cost, and between which two subsets."""
    pairs = [(NOTHING, name) for name in las if name != NOTHING]
    for share in SHARES:
        for size in range(2, len(COLUMNS) + 1):
            for more in combinations(COLUMNS, size):
                pairs += [(_name(less, share), _name(more, share)) for less in combinations(more, size - 1)]
    for size in range(1, len(COLUMNS) + 1):
        for names in combinations(COLUMNS, size):
            of_shares = [_name(names, share) for share in SHARES]
            pairs += combinations(of_shares, 2)
    return max((las[less] - las[more], less, more) for less, more in pairs)


def _las(parser: Parser, gold: Sequence[Sentence], names: Iterable[str], share: float) -> float:
    generator = np.random.default_rng(1)  # the same words in every subset
    kept = {COLUMNS[name] for name in names}
    parsed = parser.parse([_given(sentence, kept, share, generator) for sentence in gold])
    return 100 * biatt.evaluate(gold, parsed).las


def _given(sentence: Sentence, kept: Iterable[int], share: float, generator: np.random.Generator) -> Sentence:
    """The sentence without the other columns, and without these columns of the other words."""
    rows = []
    for row, is_given in zip(sentence.rows, generator.random(len(sentence)) < share, strict=True):
        blank = [number for number in COLUMNS.values() if not is_given or number not in kept]
        rows.append(["_" if number in blank else value for number, value in enumerate(row)])
    return sentence.with_rows(rows)


def _name(names: Iterable[str], share: float) -> str:
    return f"{'+'.join(names)} of {share:.0%} of the words"


if __name__ == "__main__":
    sys.exit(main())
