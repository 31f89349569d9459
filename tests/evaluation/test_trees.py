"""Which files can be scored: every fault is one sentence with file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from biatt.data.columns import HEAD
from biatt.data.document import Document
from biatt.data.sentence import Sentence
from biatt.errors import ConfigError, FormatError
from biatt.evaluation.metrics import evaluate
from biatt.evaluation.trees import is_punctuation, system_sentences
from biatt.options import Style


def small(forms: str, heads: list[int], relations: str, *, source: str = "small.conllx") -> Sentence:
    sentence = Sentence.from_words(forms.split(), heads=heads, deprels=relations.split(), format="conllx")
    sentence.source, sentence.line = source, 1
    return sentence


def test_punctuation_is_wholly_of_unicode_category_p() -> None:
    for form in (".", "...", "—", "。", "“", "%", "&", "!?", "؟", "*"):
        assert is_punctuation(form), form
    for form in ("$", "+", "a.", ":-D", "€", "^", "|", "1", "="):
        assert not is_punctuation(form), form


def test_documents_are_scored_as_their_sentences_and_other_things_are_refused() -> None:
    sentences = [Sentence.from_words(["a"], heads=[0], deprels=["root"])]
    document = Document.from_sentences(sentences)
    assert system_sentences(document) == system_sentences([document]) == sentences
    with pytest.raises(TypeError, match="Sentences or documents were expected, not NoneType"):
        system_sentences(None)  # type: ignore[arg-type]


def test_a_different_word_is_an_error_that_names_both_lines() -> None:
    gold = [small("a b", [0, 1], "r d", source="g"), small("a b c", [0, 1, 1], "r d d", source="g")]
    gold[1].line = 4
    system = [small("a b", [0, 1], "r d", source="s"), small("a x c", [0, 1, 1], "r d d", source="s")]
    system[1].line = 14
    with pytest.raises(FormatError, match=r"^s, line 15: word 2 is 'x', but g, line 5, has 'b'; .*\.$"):
        evaluate(gold, system)


def test_a_different_number_of_words_or_sentences_is_an_error() -> None:
    gold = [small("a b", [0, 1], "r d", source="g")]
    with pytest.raises(
        FormatError, match=r"^s, line 1: this sentence has 3 words, but that of g, line 1, has 2"
    ):
        evaluate(gold, [small("a b c", [0, 1, 1], "r d d", source="s")])
    with pytest.raises(FormatError, match=r"^s: it holds 2 sentences, but g holds 1"):
        evaluate(gold, [small("a b", [0, 1], "r d", source="s")] * 2)
    with pytest.raises(FormatError, match="holds 0 sentences"):
        evaluate(gold, [])


def test_a_missing_head_or_one_outside_the_sentence_is_an_error() -> None:
    gold = [small("a b", [0, 1], "r d", source="g")]
    system = [small("a b", [0, 3], "r d", source="s")]
    with pytest.raises(FormatError, match=r"^s, line 2: the head of word 2 is '3'; a number from 0 to 2"):
        evaluate(gold, system)
    system[0].rows[1][HEAD] = "_"
    with pytest.raises(FormatError, match="the head of word 2 is '_'"):
        evaluate(gold, system)


CYCLE = """# a sentence of three words
1\tAda\t_\t_\t_\t_\t0\troot\t_\t_
1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
2\tb\t_\t_\t_\t_\t3\tdep\t_\t_
3\tc\t_\t_\t_\t_\t2\tdep\t_\t_
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CYCLE, r"gold.conllu, line 4: the heads form a cycle through words 2, 3; a tree was expected\.$"),
        (
            CYCLE.replace("\t0\troot", "\t2\tdep"),  # no root
            r"gold.conllu, line 4: the heads form a cycle through words 2, 3; a tree was expected\.$",
        ),
        ("# nothing but\n# comments\n", r"gold.conllu: there is no sentence with words, so"),
        ("", r"gold.conllu: there is no sentence with words, so"),
        ("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n", r"gold.conllu, line 1: the head of word 1 is '_'; a number"),
    ],
)
@pytest.mark.parametrize("style", ["conllx", "ud"])
def test_gold_must_be_trees(tmp_path: Path, text: str, message: str, style: Style) -> None:
    path = tmp_path / "gold.conllu"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        evaluate(path, path, style=style)


def test_cycle_of_a_system_is_refused_in_style_ud_only(tmp_path: Path) -> None:
    gold, system = tmp_path / "gold.conllu", tmp_path / "system.conllu"
    gold.write_text(CYCLE.replace("\t3\tdep", "\t1\tdep"))
    system.write_text(CYCLE)
    assert evaluate(gold, system, style="conllx").uas == 2 / 3
    with pytest.raises(FormatError, match=r"system.conllu, line 4: the heads form a cycle"):
        evaluate(gold, system, style="ud")


def test_long_cycle_is_shortened() -> None:
    gold = [small("a " * 12, [*range(2, 13), 1], "r " * 12)]
    with pytest.raises(FormatError, match=r"through words 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, \.\.\.; a tree"):
        evaluate(gold, gold)


@pytest.mark.parametrize("options", [{"style": "conll"}, {"punctuation": "maybe"}])
def test_unknown_way_of_scoring_is_an_error(options: dict[str, Any]) -> None:
    gold = [small("a b", [0, 1], "r d")]
    with pytest.raises(ConfigError, match=f"'{next(iter(options.values()))}' is unknown; it can be "):
        evaluate(gold, gold, **options)
