"""CoNLL-U sentences as a Doc of spaCy, and back; needs `pip install 'biatt[spacy]'`.

    doc = biatt.spacy.to_doc(biatt.read("test.conllu"))
    biatt.write(biatt.spacy.from_doc(doc), "again.conllu")

A token of the Doc is a word. What a Doc has no place for, comments, multiword tokens, DEPS and MISC, is in
its `user_data`, which spaCy saves with it: sentences that come back are equal to those that were given, but
for what was changed in between. Of a Doc that comes from elsewhere, tokens that are only space become the
space between words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

from biatt.data.columns import DEPREL, FEATS, FORM, HEAD, LEMMA, UPOS, XPOS
from biatt.data.conll import UPOS_TAGS
from biatt.data.sentence import NO_HEAD, TEXT, Sentence
from biatt.data.spaces import SPACES_BEFORE, escaped, item_for, space_after
from biatt.errors import FormatError

USER_DATA = "biatt"  # the key in doc.user_data
ROOT = "ROOT"  # spaCy's relation of a sentence's root
EMPTY = "_"


def to_doc(sentences: Sentence | Iterable[Sentence], vocab: Vocab | None = None) -> Doc:
    """A Doc of these sentences, with their tags, lemmas, features and trees.

    Trees are set if all words have a head. `vocab` is that of the pipeline that will use the Doc; default: a
    new one.
    """
    kept = [sentences] if isinstance(sentences, Sentence) else [s for s in sentences if len(s)]
    rows = [row for sentence in kept for row in sentence.rows]
    starts = [0]
    for sentence in kept:
        starts.append(starts[-1] + len(sentence))
    trees = [_heads(sentence, start) for sentence, start in zip(kept, starts, strict=False)]
    with_trees = bool(kept) and all(tree is not None for tree in trees)
    beginnings = set(starts)
    doc = Doc(
        Vocab() if vocab is None else vocab,
        words=[row[FORM] for row in rows],
        spaces=[space for sentence in kept for space in _spaces(sentence)],
        lemmas=_given(rows, LEMMA),
        tags=_given(rows, XPOS),
        pos=[tag if tag in UPOS_TAGS else "" for tag in _given(rows, UPOS)],
        morphs=[morph(feats) for feats in _given(rows, FEATS)],
        heads=[head for tree in trees for head in tree or ()] if with_trees else None,
        deps=[ROOT if row[HEAD] == "0" else row[DEPREL] for row in rows] if with_trees else None,
        sent_starts=None if with_trees else [i in beginnings for i in range(len(rows))],
    )
    doc.user_data[USER_DATA] = [
        {
            "start": start,
            "rows": [row[:] for row in sentence.rows],
            "verbatim": [list(line) for line in sentence.verbatim],
            "format": sentence.format,
        }
        for sentence, start in zip(kept, starts, strict=False)
    ]
    return doc


def _given(rows: Sequence[Sequence[str]], column: int) -> list[str]:
    return ["" if row[column] == EMPTY else row[column] for row in rows]


def morph(feats: str) -> str:
    """Features that spaCy can read; none if they are malformed."""
    return feats if all("=" in feature for feature in feats.split("|")) else ""


def _spaces(sentence: Sentence) -> list[bool]:
    """Whether a blank follows each word; none follows the inner words of a multiword token."""
    spaces = [False] * len(sentence)
    for token in sentence.tokens:
        spaces[token.end - 1] = space_after(str(token.misc)) != ""
    return spaces


def _heads(sentence: Sentence, start: int) -> list[int] | None:
    """The place of each word's head in a Doc; None if the sentence has no tree."""
    heads = sentence.heads
    if all(head == NO_HEAD for head in heads):
        return None
    if NO_HEAD in heads or heads.count(0) != 1:
        fault = "a sentence of a Doc has a tree with one root, but some heads are missing here"
        fault = fault if NO_HEAD in heads else f"a sentence of a Doc has one root, not {heads.count(0)}"
        raise FormatError(f"{fault}.", source=sentence.source, line=sentence.line)
    return [start + (head or number) - 1 for number, head in enumerate(heads, 1)]


def from_doc(doc: Doc) -> list[Sentence]:
    """The sentences of a Doc; all of it is one sentence if nothing has set sentences."""
    stored = {part["start"]: part for part in doc.user_data.get(USER_DATA, ())}
    return [_sentence(tokens, stored.get(tokens[0].i)) for tokens in sentence_tokens(doc)]


def sentence_tokens(doc: Doc) -> Iterator[list[Token]]:
    """The tokens of each sentence, without those that are only space."""
    spans: Iterable[Span] = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    for span in spans:
        if tokens := [token for token in span if not token.is_space]:
            yield tokens


def _sentence(tokens: Sequence[Token], stored: dict[str, Any] | None) -> Sentence:
    number = {token.i: i for i, token in enumerate(tokens, 1)}
    parsed = tokens[0].doc.has_annotation("DEP")
    rows = []
    for i, token in enumerate(tokens, 1):
        head = (0 if token.head.i == token.i else number.get(token.head.i, 0)) if parsed else None
        relation = "root" if token.dep_ == ROOT else token.dep_
        form = token.text.replace("\t", " ").replace("\n", " ")
        values = [str(i), form, token.lemma_, token.pos_, token.tag_, str(token.morph)]
        values += ["" if head is None else str(head), relation if parsed else "", "", _misc(token)]
        rows.append([value or EMPTY for value in values])
    if stored and [row[FORM] for row in stored["rows"]] == [row[FORM] for row in rows]:
        rows = [_merged(new, old) for new, old in zip(rows, stored["rows"], strict=True)]
        lines = [(place, line) for place, line in stored["verbatim"]]
        return Sentence(rows, lines, stored["format"], "<Doc>")
    text = tokens[0].doc[tokens[0].i : tokens[-1].i + 1].text
    return Sentence(rows, [(0, TEXT + " ".join(text.splitlines()))], "conllu", "<Doc>")


def _merged(new: list[str], old: list[str]) -> list[str]:
    """The columns of a word, as they were stored where the Doc says the same."""
    same = [True] * len(new)
    for column in (LEMMA, XPOS):
        same[column] = new[column] == old[column]
    same[UPOS] = new[UPOS] == (old[UPOS] if old[UPOS] in UPOS_TAGS else EMPTY)
    features = old[FEATS] if morph(old[FEATS]) else EMPTY
    same[FEATS] = sorted(new[FEATS].split("|")) == sorted(features.split("|"))
    relation = "root" if old[HEAD] == "0" else old[DEPREL]
    same[HEAD] = same[DEPREL] = [new[HEAD], new[DEPREL]] in ([old[HEAD], relation], [EMPTY, EMPTY])
    return [b if kept else a for a, b, kept in zip(new, old, same, strict=True)]


def _misc(token: Token) -> str:
    """The items of MISC for the space around a token."""
    doc, end = token.doc, token.i + 1
    while end < len(doc) and doc[end].is_space:
        end += 1
    after = token.whitespace_ + "".join(space.text_with_ws for space in doc[token.i + 1 : end])
    before = "" if token.i and not all(t.is_space for t in doc[: token.i]) else doc[: token.i].text_with_ws
    items = [f"{SPACES_BEFORE}{escaped(before)}"] if before else []
    return "|".join([*items, *filter(None, [item_for(after)])])


def ud_noun_chunks(doclike: Doc | Span) -> Iterator[tuple[int, int, int]]:
    """Start, end and label of each noun chunk, by the relations of Universal Dependencies.

    It takes the place of spaCy's rules, which know other relations; `data.noun_chunks` explains the rule.
    """
    doc = doclike.doc
    if not doc.has_annotation("DEP"):
        raise ValueError("Noun chunks need a parsed Doc.")
    label = doc.vocab.strings.add("NP")
    for tokens, sentence in zip(sentence_tokens(doc), from_doc(doc), strict=True):
        for chunk in sentence.noun_chunks:
            yield tokens[chunk.start].i, tokens[chunk.end - 1].i + 1, label
