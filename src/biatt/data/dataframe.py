"""Words as a table for pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from biatt.data.columns import DEPREL, FEATS, FORM, LEMMA, UPOS, XPOS
from biatt.data.document import Document, sentences_in
from biatt.data.sentence import Sentence
from biatt.errors import BiattError

if TYPE_CHECKING:
    import pandas as pd

TABLE_COLUMNS = (
    *("document", "sentence", "sent_id", "id", "form", "lemma", "upos", "xpos", "feats"),
    *("head", "head_form", "deprel", "start_char", "end_char", "confidence"),
)


def to_dataframe(documents: Document | Sentence | Iterable[Document | Sentence]) -> pd.DataFrame:
    """A pandas table with a row for each word.

    Documents and sentences of a document are numbered from 0; sentences that are given without a document
    are one document. `head_form` is the form of the head, and None for the root; missing values are None.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise BiattError("to_dataframe needs pandas: pip install 'biatt[pandas]'.") from error
    rows = [row for number, sentences in _numbered(documents) for row in _rows(number, sentences)]
    table = pd.DataFrame(rows, columns=list(TABLE_COLUMNS))
    return table.astype({"head": "Int64"})  # which can hold missing values; int cannot


def _numbered(
    documents: Document | Sentence | Iterable[Document | Sentence],
) -> Iterator[tuple[int, Iterable[Sentence]]]:
    """The number of each document and its sentences."""
    if isinstance(documents, (Document, Sentence)):
        yield 0, sentences_in(documents)
        return
    alone: list[Document | Sentence] = []
    number = 0
    for item in documents if isinstance(documents, Iterable) else [documents]:
        if isinstance(item, Document):
            if alone:
                yield number, sentences_in(alone)
                number, alone = number + 1, []
            yield number, item
            number += 1
        else:
            alone.append(item)
    yield number, sentences_in(alone)


def _rows(document: int, sentences: Iterable[Sentence]) -> Iterator[tuple[Any, ...]]:
    for number, sentence in enumerate(sentences):
        sent_id, forms = sentence.sent_id, [None, *sentence.forms]
        confidence = [None] * len(sentence)
        if sentence.confidence is not None:
            confidence = sentence.confidence.words.tolist()
        heads = [None if head < 0 else head for head in sentence.heads]
        for i, (row, head, (start, end)) in enumerate(
            zip(sentence.rows, heads, sentence.word_places, strict=True)
        ):
            texts = [None if row[column] == "_" else row[column] for column in (LEMMA, UPOS, XPOS, FEATS)]
            relation = None if row[DEPREL] == "_" else row[DEPREL]
            head_form = None if head is None else forms[head]
            yield (
                *(document, number, sent_id, i + 1, row[FORM], *texts),
                *(head, head_form, relation, start, end, confidence[i]),
            )
