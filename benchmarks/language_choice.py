"""Measure how often `biatt parse --model auto` would choose the right model: writes language_choice.json.

    language_choice.py --treebanks FOLDER [--sentences 300] [--out benchmarks]

FOLDER contains the folders of treebanks, whose names begin with the language. Each language has the profile
of its training text, and the choice is among all of them. The first sentences of each test file are texts,
one by one and by fives. py3langid and lingua choose among the same languages, if they are installed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from run import commit, save

import biatt
from biatt.data.detokeniser import lacks_spaces, with_spaces
from biatt.data.raw_text import raw_text
from biatt.models.language_profile import LanguageProfile
from biatt.models.languages import LANGUAGES
from biatt.parsing.choose_model import best_choice

HERE = Path(__file__).parent
CODES = {name.lower(): code for code, name in LANGUAGES.items()} | {"norwegian": "nb", "slovenian": "sl"}
SIZES = (1, 5)  # sentences of a text
Texts = Mapping[str, list[str]]  # of each language


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--treebanks", type=Path, required=True, help="folder of treebank folders")
    parser.add_argument("--sentences", type=int, default=300, help="of each test file")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of language_choice.json")
    options = parser.parse_args()
    profiles, tests = {}, {}
    for treebank in sorted(path for path in options.treebanks.iterdir() if path.is_dir()):
        code = CODES[treebank.name.partition("-")[0]]
        train = sentences_of(treebank, "train") or sentences_of(treebank, "dev")
        profiles[code] = LanguageProfile.of_text(raw_text(train))
        tests[code] = sentences_of(treebank, "test")[: options.sentences]
        print(treebank.name, len(profiles[code].per_million), "n-grams", file=sys.stderr, flush=True)
    results: dict[str, Any] = {"commit": commit(), "languages": len(profiles)}
    for size in SIZES:
        texts = {code: texts_of(sentences, size) for code, sentences in tests.items()}
        by_size: dict[str, Any] = {"texts": sum(map(len, texts.values())), "biatt": measured(texts, profiles)}
        for name, make in PEERS.items():
            try:
                found = {"version": version(name), **accuracies(texts, make(list(texts)))}
            except (ImportError, PackageNotFoundError) as error:
                found = {"problem": str(error)}
            by_size[name] = found
        results["by_sentence" if size == 1 else f"by_{size}_sentences"] = by_size
        print({name: by_size[name].get("correct_percent") for name in ("biatt", *PEERS)}, file=sys.stderr)
    save(results, options.out / "language_choice.json")
    return 0


def sentences_of(treebank: Path, split: str) -> list[biatt.Sentence]:
    path = next(treebank.glob(f"*{split}.conll*"), None)
    sentences = [] if path is None else [sentence for sentence in biatt.read(path) if len(sentence)]
    return list(map(with_spaces, sentences)) if sentences and lacks_spaces(sentences) else sentences


def texts_of(sentences: list[biatt.Sentence], size: int) -> list[str]:
    return [raw_text(sentences[i : i + size]).strip() for i in range(0, len(sentences) - size + 1, size)]


def measured(texts: Texts, profiles: dict[str, LanguageProfile]) -> dict[str, Any]:
    """Accuracy; how often a choice is sure, and right then; how often it is sure without the right model."""
    total = sure = right = misled = 0
    chosen = {}
    for code, of_language in texts.items():
        others = {other: profile for other, profile in profiles.items() if other != code}
        for text in of_language:
            choice = best_choice(text, profiles)
            chosen[text, code] = choice.name
            total, sure = total + 1, sure + choice.sure
            right += choice.sure and choice.name == code
            misled += best_choice(text, others).sure
    return {
        **accuracies(texts, lambda text, code: chosen[text, code]),
        "sure_percent": 100 * sure / total,
        "correct_percent_of_sure": 100 * right / max(1, sure),
        "sure_percent_without_the_right_model": 100 * misled / total,
    }


def accuracies(texts: Texts, choose: Callable[[str, str], str]) -> dict[str, Any]:
    """Percent of all texts and of those of each language, and the most frequent errors."""
    correct: dict[str, float] = {}
    errors: Counter[str] = Counter()
    for code, of_language in texts.items():
        found = [choose(text, code) for text in of_language]
        correct[code] = 100 * found.count(code) / max(1, len(found))
        errors.update(f"{code} as {other}" for other in found if other != code)
    total = sum(map(len, texts.values()))
    return {
        "correct_percent": 100 * (1 - errors.total() / max(1, total)),
        "of_language": correct,
        "errors": dict(errors.most_common(10)),
    }


def py3langid(codes: list[str]) -> Callable[[str, str], str]:
    import py3langid

    py3langid.set_languages(["no" if code == "nb" else code for code in codes])
    return lambda text, _: {"no": "nb"}.get(found := py3langid.classify(text)[0], found)


def lingua(codes: list[str]) -> Callable[[str, str], str]:
    from lingua import IsoCode639_1, LanguageDetectorBuilder

    wanted = [getattr(IsoCode639_1, code.upper()) for code in codes]
    detector = LanguageDetectorBuilder.from_iso_codes_639_1(*wanted).build()

    def choose(text: str, _: str) -> str:
        found = detector.detect_language_of(text)
        return "none" if found is None else found.iso_code_639_1.name.lower()

    return choose


PEERS = {"py3langid": py3langid, "lingua-language-detector": lingua}

if __name__ == "__main__":
    sys.exit(main())
