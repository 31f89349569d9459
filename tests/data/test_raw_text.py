"""The raw text of a treebank, and where its tokens end."""

from __future__ import annotations

from biatt.data.raw_text import TokenEnd, paragraphs, raw_text
from biatt.data.sentence import MISC, Sentence
from biatt.data.toy_treebank import generate

FIRST, SECOND = Sentence.from_words(["I", "do", "n't", "."]), Sentence.from_words(["Go", "!"])
FIRST.verbatim.append((1, "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No"))
SECOND.rows[0][MISC] = "X=1|SpaceAfter=No"
THIRD = SECOND.with_comment("# newpar id = p2")


def test_tokens_end_at_characters_of_the_text_without_spaces() -> None:
    first, second = paragraphs([FIRST, SECOND, THIRD])
    assert first.chunks == ["I", "don't.", "Go!"]
    assert first.tokens == [
        TokenEnd(0, False),
        TokenEnd(5, True),
        TokenEnd(6, False, ends_sentence=True),
        TokenEnd(8, False),
        TokenEnd(9, False, ends_sentence=True),
    ]
    assert second.chunks == ["Go!"]


def test_raw_text_has_a_paragraph_a_line() -> None:
    assert raw_text([FIRST, SECOND, THIRD]) == "I don't. Go!\n\nGo!\n"
    toys = generate(20)
    assert raw_text(toys) == " ".join(str(sentence.text) for sentence in toys) + "\n"


def test_token_with_spaces_is_one_token_of_several_chunks() -> None:
    sentence = Sentence.from_words(["10 000", "km", "\u2003"])
    sentence.rows[0][MISC] = "SpaceAfter=No"
    (paragraph,) = paragraphs([sentence])
    assert paragraph.chunks == ["10", "000km"]
    assert paragraph.tokens == [TokenEnd(4, False), TokenEnd(6, False, ends_sentence=True)]


def test_sentences_without_words_have_no_text() -> None:
    comment = Sentence([], [(0, "# newdoc")])
    assert list(paragraphs([comment, comment])) == []
    assert raw_text([comment, FIRST, comment, SECOND]) == "I don't.\n\nGo!\n"
