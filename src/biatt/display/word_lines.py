"""What drawings show beside the words: lemmas and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from biatt.data.sentence import Sentence
from biatt.errors import ConfigError
from biatt.options import WordLine


def word_lines(sentence: Sentence, show: Sequence[WordLine]) -> list[list[str]]:
    """The values of these columns for each word."""
    known = get_args(WordLine)
    for name in show:
        if name not in known:
            raise ConfigError(f"{name!r} cannot be shown beside the words; {', '.join(known)} can.")
    columns = {"lemma": sentence.lemmas, "upos": sentence.upos, "xpos": sentence.xpos}
    return [columns[name] for name in show]
