"""The length of a sentence: one limit for parsing and for training."""

from __future__ import annotations

import logging

from biatt.data.sentence import Sentence
from biatt.data.visible import visible
from biatt.errors import FormatError

LONGEST_SENTENCE = 5000  # words in a parsed sentence: memory grows with their square, time with their cube
LONG_SENTENCE = 3000  # words: from here on, a sentence is announced before it is parsed

log = logging.getLogger(__name__)  # INFO: that a sentence takes long; the command line shows it


def check_length(sentence: Sentence) -> None:
    """Refuse a sentence that is too long to parse or to train on; announce one that takes long."""
    words = f"{len(sentence):,} words"
    if len(sentence) > LONGEST_SENTENCE:
        fault = f"the sentence has {words}; a parser takes up to {LONGEST_SENTENCE:,}."
        raise FormatError(fault, source=sentence.source, line=sentence.line)
    if len(sentence) >= LONG_SENTENCE:
        where = f"{visible(sentence.source)}, line {sentence.line}"
        log.info("%s: a sentence of %s, which can take a minute.", where, words)
