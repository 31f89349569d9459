"""What notebooks show of sentences and documents: pictures of their trees."""

from __future__ import annotations

from biatt.data.document import Document
from biatt.data.sentence import Sentence
from biatt.display.picture import escaped

MOST_SENTENCES = 20  # of a document that are drawn


def sentence_html(sentence: Sentence) -> str:
    """The tree, which can be scrolled where it is too wide; of a sentence without words, what it is."""
    if not len(sentence):
        return f"<p>{escaped(repr(sentence))}</p>"
    return f'<div style="overflow-x: auto">{sentence.svg()}</div>'


def document_html(document: Document) -> str:
    """The number of sentences and words, and the first trees."""
    words = sum(map(len, document))
    shown = [sentence_html(sentence) for sentence in document[:MOST_SENTENCES]]
    left = len(document) - len(shown)
    more = [f"<p>… and {left:,} more sentences</p>"] if left else []
    return "\n".join([f"<p>Document of {len(document):,} sentences, {words:,} words</p>", *shown, *more])
