"""The results of the models of languages as a table, for `languages/RESULTS.md` and `docs/results.md`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from language_treebanks import TREEBANKS

from biatt.models.languages import LANGUAGES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"
ENGLISH = ROOT / "benchmarks" / "raw_text.json"
BEGIN, END = "<!-- languages -->\n", "<!-- end -->"  # of the table in the page
METRICS = ("Tokens", "Sentences", "UPOS", "Lemmas", "UAS", "LAS")
HEAD = (
    *("language", "treebank", "training words", *METRICS, "words/s", "MB", "minutes"),
    *("UDPipe 1: LAS", "words/s", "Stanza / UDPipe 2"),
)
INTRODUCTION = """\
# Models of languages

Made by `experiments/languages.py`: F1 on test from raw text by the CoNLL 2018 evaluation, words/s
of processor time on one thread, MB of the wheel, minutes of processor time of the training. Where
UDPipe 1 has figures, it was trained on the same files with its default settings. Stanza and
UDPipe 2: LAS as published, on the UD releases 2.12 and 2.17, which are not always ours; the Danish
treebank here has labels of its own, not those of UD, and Dutch and Swedish have those of early UD.
Danish and Swedish have no lemmas. English is the bundled model, which was trained longer and on
more text; its figures are those of `benchmarks/raw_text.py`, and its MB those of its folder.
UDPipe 1 parsed Swedish on a slower and busy processor with AVX2 only, on which our model, alone,
parses 10,600 words/s, and Danish, Dutch, Japanese and Portuguese on a busy one. The training of
Portuguese was interrupted; its minutes are those of a repetition, which has the same LAS.
"""


def table(results: list[dict[str, Any]]) -> str:
    """One row for each language, and one for the bundled English model."""
    rows = [english(), *map(_row, results)]
    lines = [f"| {' | '.join(row)} |" for row in [HEAD, *rows]]
    return "\n".join([lines[0], "|---" * len(HEAD) + "|", *lines[1:]])


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    treebank, other = TREEBANKS[result["code"]], result.get("udpipe")
    return (
        *(LANGUAGES[result["code"]], treebank.name, f"{result['training words']:,}"),
        *("" if metric in treebank.lacks else f"{result['test'][metric]:.2f}" for metric in METRICS),
        *(f"{result['words/s']:,.0f}", f"{result['bytes'] / 1e6:.1f}"),
        "" if result["training seconds"] is None else f"{result['training seconds'] / 60:.0f}",
        *((f"{other['test']['LAS']:.2f}", f"{other['words/s']:,.0f}") if other else ("", "")),
        treebank.published,
    )


def english() -> tuple[str, ...]:
    """The row of the bundled model. What UDPipe 1 scores on English is in the section of raw text."""
    found = json.loads(ENGLISH.read_text(encoding="utf-8"))
    speed = found["speed"]["raw text"]["words_per_cpu_second"]
    return (
        *("English", "UD English EWT 2.16", "204,577"),
        *(f"{found['test']['raw text'][metric]:.2f}" for metric in METRICS),
        *(f"{speed:,.0f}", f"{sum(found['size'].values()) / 1e6:.1f}", "", "", "", "86.77 / 89.91"),
    )


def document(results: list[dict[str, Any]]) -> str:
    """RESULTS.md."""
    return f"{INTRODUCTION}\n{table(results)}\n"


def write_page(results: list[dict[str, Any]], page: Path = PAGE) -> None:
    """Put the table into the documentation."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END, maxsplit=1)
    page.write_text(f"{before}{BEGIN}{table(results)}\n{END}{after}", encoding="utf-8")
