"""Words as a table."""

from __future__ import annotations

import sys

import pytest

from biatt.data.conll import reads
from biatt.data.dataframe import to_dataframe
from biatt.data.document import Document
from biatt.data.toy_treebank import generate
from biatt.errors import BiattError
from builders import random_parser

FILE = """\
# sent_id = s1
1	Go	go	VERB	VB	Mood=Imp	0	root	_	_
2	on	_	_	_	_	1	advmod	_	_

1	So	_	_	_	_	_	_	_	_

"""


def test_table_has_a_row_for_each_word() -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    document = Document.from_sentences(reads(FILE))
    table = to_dataframe([document, document])
    assert table["document"].tolist() == [0, 0, 0, 1, 1, 1]
    assert table["sentence"].tolist() == [0, 0, 1] * 2
    assert table["form"].tolist() == ["Go", "on", "So"] * 2
    first, second, third = table.iloc[:3].to_dict("records")
    assert (first["sent_id"], first["id"], first["lemma"], first["feats"]) == ("s1", 1, "go", "Mood=Imp")
    assert (second["head"], second["head_form"], second["deprel"]) == (1, "Go", "advmod")
    assert (third["start_char"], third["end_char"]) == (6, 8)
    assert table[["sent_id", "lemma", "head", "confidence"]].iloc[2].isna().all()
    assert table["head_form"].isna().tolist() == [True, False, True] * 2
    assert to_dataframe(document).equals(table.iloc[:3])


def test_sentences_without_document_are_one_document() -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    sentences = reads(FILE)
    document = Document.from_sentences(reads(FILE))
    assert to_dataframe(sentences)["document"].tolist() == [0, 0, 0]
    assert to_dataframe([sentences[0], document, sentences[1]])["document"].tolist() == [0, 0, 1, 1, 1, 2]
    assert len(to_dataframe(sentences[0])) == 2
    assert list(to_dataframe([])) == list(to_dataframe(document))


def test_confidence_is_a_column() -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    parsed = list(random_parser().parse(generate(2), confidence=True))
    expected = [word.confidence for sentence in parsed for word in sentence]
    assert to_dataframe(parsed)["confidence"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("wrong", [None, 3, ["text"], [None]])
def test_other_things_are_refused(wrong: object) -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    with pytest.raises(TypeError, match="Sentences or documents were expected, not "):
        to_dataframe(wrong)  # type: ignore[arg-type]


def test_missing_pandas_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BiattError, match=r"to_dataframe needs pandas: pip install 'biatt\[pandas\]'\."):
        to_dataframe([])
