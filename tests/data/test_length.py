"""The length of a sentence: one limit for parsing and for training."""

from __future__ import annotations

from pathlib import Path

import pytest

from biatt.data.conll import write
from biatt.data.length import LONG_SENTENCE, LONGEST_SENTENCE, check_length
from biatt.data.sentence import Sentence
from biatt.errors import FormatError
from builders import sentence_of


def test_longest_sentence_is_taken_and_a_longer_one_refused() -> None:
    check_length(Sentence.from_words(["w"] * LONGEST_SENTENCE))
    with pytest.raises(FormatError, match=r"<words>, line 1: the sentence has 5,001 words; .* up to 5,000\."):
        check_length(Sentence.from_words(["w"] * (LONGEST_SENTENCE + 1)))


def test_only_long_sentences_are_announced(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "biatt")
    check_length(Sentence.from_words(["w"] * (LONG_SENTENCE - 1)))
    assert caplog.messages == []
    check_length(Sentence.from_words(["w"] * LONG_SENTENCE))
    assert caplog.messages == ["<words>, line 1: a sentence of 3,000 words, which can take a minute."]


@pytest.mark.parametrize("part", ["train", "dev"])
def test_training_refuses_sentences_that_parsing_refuses(part: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from biatt import train

    short, long = tmp_path / "short.conllu", tmp_path / "long.conllu"
    write([sentence_of([0, 1])], short)
    write([sentence_of([0, 1]), sentence_of(list(range(LONGEST_SENTENCE + 1)))], long)
    files = {"train": short, "dev": short, part: long}
    with pytest.raises(FormatError, match=r"long\.conllu, line 4: the sentence has 5,001 words"):
        train(files["train"], dev=files["dev"], out=tmp_path / "model")
