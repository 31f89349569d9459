"""Score the lemmas of irregular English words in short sentences: writes lemmas.json.

python benchmarks/lemmas.py --model en [--words FILE] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import biatt
from biatt.data.files import replacing
from biatt.errors import BiattError
from biatt.parser import Parser

HERE = Path(__file__).parent
WORDS = HERE.parent / "tests" / "data" / "irregular_english.tsv"


class Word(NamedTuple):
    form: str
    lemma: str
    sentence: list[str]  # the form occurs once


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", default="en", help="a model folder, or the name of a bundled model")
    options.add_argument("--words", type=Path, default=WORDS, help="lines of form, lemma and sentence")
    options.add_argument("--out", type=Path, default=HERE, help="folder of lemmas.json")
    given = options.parse_args()
    try:
        words = read_words(given.words)
        result = {"model": str(given.model), **scores(biatt.load(given.model), words)}
    except BiattError as error:
        print(error, file=sys.stderr)
        return 2
    for form, lemma, wrong in result["wrong"]:
        print(f"{form}: {wrong} instead of {lemma}")
    print(f"{result['right']} of {result['words']} lemmas are right: {result['percent']:.1f} %")
    with replacing(given.out / "lemmas.json") as file:
        file.write(json.dumps(result, indent=1, ensure_ascii=False).encode() + b"\n")
    return 0


def read_words(path: Path) -> list[Word]:
    words = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != 3 or parts[2].split().count(parts[0]) != 1:
            raise BiattError(
                f"{path}, line {number}: expected a form, its lemma and a sentence that has the form once."
            )
        words.append(Word(parts[0], parts[1], parts[2].split()))
    if not words:
        raise BiattError(f"{path} has no words.")
    return words


def scores(parser: Parser, words: list[Word]) -> dict[str, Any]:
    """How many lemmas are right, and those that are not: form, right lemma, lemma of the model."""
    parsed = parser.parse_tokens([word.sentence for word in words])
    lemmas = [
        sentence.lemmas[sentence.forms.index(word.form)] for sentence, word in zip(parsed, words, strict=True)
    ]
    wrong = [
        [word.form, word.lemma, lemma]
        for word, lemma in zip(words, lemmas, strict=True)
        if lemma != word.lemma
    ]
    right = len(words) - len(wrong)
    return {"words": len(words), "right": right, "percent": 100 * right / len(words), "wrong": wrong}


if __name__ == "__main__":
    raise SystemExit(main())
