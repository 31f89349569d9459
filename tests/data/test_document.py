"""Documents: a text and its sentences."""

from __future__ import annotations

import pytest

from biatt.data.conll import dumps, reads, write
from biatt.data.document import Document
from biatt.data.sentence import Sentence

FILE = """\
# newdoc
# sent_id = 1
1	Go	go	VERB	VB	_	0	root	_	_
2	on	on	ADV	RB	_	1	advmod	_	SpaceAfter=No
3	.	.	PUNCT	.	_	1	punct	_	_

# newpar
1-2	Don't	_	_	_	_	_	_	_	SpaceAfter=No
1	Do	do	VERB	VB	_	0	root	_	_
2	n't	not	PART	RB	_	1	advmod	_	_
3	!	!	PUNCT	.	_	1	punct	_	SpacesAfter=\\n

"""


def document() -> Document:
    return Document.from_sentences(reads(FILE))


def test_sentences_of_a_file_are_put_together() -> None:
    found = document()
    assert found.text == "Go on.\n\nDon't!\n"
    assert [sentence.text for sentence in found] == ["Go on.", "Don't!"]
    assert [found.text[t.start_char : t.end_char] for t in found.tokens] == ["Go", "on", ".", "Don't", "!"]
    assert [found.text[w.start_char : w.end_char] for w in found.words[3:]] == ["Do", "n't", "!"]
    assert (found[1].start_char, found[1].end_char, found[1][1:].text) == (8, 14, "n't!")


def test_document_is_a_sequence_of_sentences() -> None:
    found = document()
    assert len(found) == 2
    assert found[0] is found.sentences[0]
    assert found[-1:] == [found.sentences[1]]
    assert [match.word.form for match in found.find("{upos:PUNCT}")] == [".", "!"]
    assert repr(found) == "<Document of 2 sentences: Go on. Don't!>"
    assert str(found) == found.text
    assert repr(Document("x " * 40, [])) == f"<Document of 0 sentences: {'x ' * 29}x ...>"


def test_equality_is_of_text_and_sentences() -> None:
    assert document() == document() != Document(document().text, document()[:1])
    assert document() != Document("", document())
    assert document() != document().sentences
    with pytest.raises(TypeError):
        hash(document())


def test_copy_can_be_changed_and_documents_are_written() -> None:
    found = document()
    copy = found.copy()
    copy[0][0].lemma = "walk"
    assert found == document() != copy
    assert dumps(found) == FILE
    assert dumps([found, copy[0]]) == FILE + dumps(copy[0])
    assert dumps(found[0]) + dumps(found[1]) == FILE


@pytest.mark.parametrize("wrong", [None, "text", b"text", 3, [None], ["text"], [[Sentence([], [])]]])
def test_other_things_are_not_written(wrong: object) -> None:
    with pytest.raises(TypeError, match="Sentences or documents were expected, not "):
        dumps(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Sentences or documents were expected, not "):
        Document.from_sentences(wrong)  # type: ignore[arg-type]


def test_a_document_is_not_written_to_other_things_than_files() -> None:
    with pytest.raises(TypeError, match='A file is a path, "-" or a binary stream, not NoneType'):
        write(document(), None)  # type: ignore[arg-type]


def test_document_without_words_has_no_text() -> None:
    assert Document.from_sentences(reads("# newdoc\n\n")).text == ""
    assert write(Document("", []), "-") == 0
