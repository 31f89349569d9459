"""The raw text of a treebank, and where its tokens end."""

from __future__ import annotations

from biatt.data.columns import MISC
from biatt.data.raw_text import Paragraph, RawText, TokenEnd, paragraphs, raw_text
from biatt.data.sentence import Sentence
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


def test_line_breaks_of_misc_are_line_breaks_of_the_text() -> None:
    broken = Sentence.from_words(["One", "two", "three", "four", "."])
    for row, misc in zip(broken.rows, ["SpacesAfter=\\s\\n", "X=1|SpacesAfter=\\n", "_"], strict=False):
        row[MISC] = misc
    broken.rows[3][MISC] = "SpaceAfter=No|SpacesAfter=\\n"  # two words about one place: the first is meant
    broken.rows[4][MISC] = "SpacesAfter=\\n"
    assert raw_text([broken, SECOND, THIRD]) == "One \ntwo\nthree four.\nGo!\n\nGo!\n"
    first, _ = paragraphs([broken, SECOND, THIRD])
    assert first.line_ends == [0, 1, 3]
    assert Paragraph.from_text(first.text) == first._replace(tokens=[])
    assert raw_text([broken, THIRD]) == "One \ntwo\nthree four.\n\nGo!\n"


def test_empty_lines_are_no_lines() -> None:
    paragraph = Paragraph.from_text("\n a b \r\n \n\tc\n")
    assert paragraph == Paragraph(["a", "b", "c"], [], [1])
    assert paragraph.text == "a b\nc"


def test_space_of_misc_comes_back_exactly() -> None:
    sentence = Sentence.from_words(["a", "b", "c d"])
    sentence.rows[0][MISC] = "SpacesBefore=\\t|SpacesAfter=\\s\\r\\n"
    sentence.rows[2][MISC] = "SpacesInToken=c\\s\\sd|SpacesAfter=\\s"
    assert raw_text([sentence]) == "\ta \r\nb c  d "
    sentence.rows[2][MISC] = "SpaceAfter=No"
    assert raw_text([sentence]) == "\ta \r\nb c d"
    sentence.rows[2][MISC] = "SpacesAfter=\\n \\n"
    assert raw_text([sentence, THIRD]) == "\ta \r\nb c d\n \nGo!\n"
    assert raw_text([]) == ""


def test_places_are_those_in_the_text() -> None:
    text, sentences = RawText(), [FIRST, THIRD, Sentence.from_words(["x", "\u2003"])]
    places = [text.add(sentence) for sentence in sentences]
    whole = text.text()
    parts = [[whole[a:b] for a, b in zip(*found, strict=True)] for found in places]
    assert parts == [["I", "don't", "."], ["Go", "!"], ["x", ""]]
