"""What notebooks show."""

from __future__ import annotations

from biatt.data.document import Document
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.display.notebook import MOST_SENTENCES

SENTENCES = generate(MOST_SENTENCES + 2, seed=3)


def test_sentence_is_a_picture_that_can_be_scrolled() -> None:
    html = SENTENCES[0]._repr_html_()
    assert html.startswith('<div style="overflow-x: auto"><svg ')
    assert html.count("<svg") == 1
    assert "&lt;Sentence of 0 words" in Sentence([], [(0, "# newdoc")])._repr_html_()
    assert "&lt;b&gt;" in Sentence.from_words(["<b>"])._repr_html_()


def test_document_shows_its_first_trees() -> None:
    html = Document.from_sentences(SENTENCES)._repr_html_()
    assert f"Document of {len(SENTENCES)} sentences, {sum(map(len, SENTENCES))} words" in html
    assert html.count("<svg") == MOST_SENTENCES
    assert "… and 2 more sentences" in html
    assert "more" not in Document.from_sentences(SENTENCES[:2])._repr_html_()
    assert Document("", [])._repr_html_() == "<p>Document of 0 sentences, 0 words</p>"
