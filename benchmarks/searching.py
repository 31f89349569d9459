"""Searching a CoNLL-U file for dependency patterns, from the file to text."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from statistics import median
from typing import Any

from timing import interleaved
from workload import Workload

from biatt.parsing.search_file import count_file, search_file

# From a word alone to chains, negation and alternatives.
PATTERNS = (
    "{upos:VERB}",
    "{upos:VERB} >nsubj {}",
    "{lemma:/be|have/} >nsubj {upos:PRON}",
    "{} >> {lemma:dog}",
    "{upos:VERB;feats:{Tense:Past}} >obj ({upos:NOUN} !>det {})",
    "{} [>nsubj {} | >csubj {}] .. {upos:ADV}",
    "{} > {}",
)


def search(work: Workload) -> dict[str, Any]:
    """Words a second of processor time, with all matches of the dev file written as text."""
    paths = {
        pattern: partial(search_file, work.dev, pattern, BytesIO(), format="text") for pattern in PATTERNS
    }
    rounds = interleaved(paths, repeats=work.repeats)
    matches = {pattern: count_file(work.dev, pattern, ["upos"]).total() for pattern in PATTERNS}
    return {
        "words": work.words,
        "patterns": {
            pattern: {
                "matches": matches[pattern],
                "words_per_cpu_second": work.words / median(rounds[pattern].cpu_seconds),
            }
            for pattern in PATTERNS
        },
    }
