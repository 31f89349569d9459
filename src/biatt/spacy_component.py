"""A spaCy component that parses a Doc with a biatt model: `nlp.add_pipe("biatt", config={"model": "en"})`.

It takes the tokens of the Doc as they are. Sentences are those that an earlier component has set, else those
of the model's tokeniser.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import srsly
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.util import minibatch

from biatt.data.conll import UPOS_TAGS
from biatt.data.sentence import Sentence
from biatt.errors import ModelError
from biatt.parser import Parser, load

CONFIDENCE = "biatt_confidence"  # token._.biatt_confidence


@Language.factory(  # type: ignore[untyped-decorator]
    "biatt",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_config={"model": "en", "tags": True, "confidence": False},
)
def make_component(nlp: Language, name: str, model: str, tags: bool, confidence: bool) -> BiattComponent:
    try:
        parser = load(model)
    except ModelError as error:
        # A saved pipeline loads its copy of the model after this, so that the folder need not exist.
        return BiattComponent(None, tags=tags, confidence=confidence, fault=error)
    return BiattComponent(parser, tags=tags, confidence=confidence)


class BiattComponent:
    """Sets heads, relations and sentence starts, and, with `tags`, tags and lemmas of an untagged Doc.

    With `confidence`, token._.biatt_confidence is the probability that head and relation are both right.
    """

    def __init__(
        self,
        parser: Parser | None,
        *,
        tags: bool = True,
        confidence: bool = False,
        fault: ModelError | None = None,
    ) -> None:
        self._parser, self._fault = parser, fault
        self.tags, self.confidence = tags, confidence
        if confidence and not Token.has_extension(CONFIDENCE):
            Token.set_extension(CONFIDENCE, default=None)

    @property
    def parser(self) -> Parser:
        if self._parser is None:
            raise self._fault or ModelError("The component has no model yet.")
        return self._parser

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 256) -> Iterator[Doc]:
        for docs in minibatch(stream, batch_size):
            sentences = [self._sentences(doc) for doc in docs]
            untagged = (
                Sentence.from_words([token.text.strip() for token in tokens])
                for of_doc in sentences
                for tokens in of_doc
            )
            parsed = self.parser.parse(untagged, confidence=self.confidence)
            for doc, of_doc in zip(docs, sentences, strict=True):
                self._annotate(doc, of_doc, list(islice(parsed, len(of_doc))))
                yield doc

    def _sentences(self, doc: Doc) -> list[list[Token]]:
        """The tokens of each sentence, without those that are only space."""
        words = [token for token in doc if not token.is_space]
        starts = self._starts(doc, words)
        sentences: list[list[Token]] = []
        for token, starts_here in zip(words, starts, strict=True):
            if starts_here or not sentences:
                sentences.append([])
            sentences[-1].append(token)
        return sentences

    def _starts(self, doc: Doc, words: Sequence[Token]) -> list[bool]:
        """Whether each word begins a sentence."""
        if doc.has_annotation("SENT_START") or self.parser.tokeniser is None:
            spaces = {token.i for token in doc if token.is_sent_start and token.is_space}
            return [bool(token.is_sent_start) or token.i - 1 in spaces for token in words]
        ends, count = set(), 0  # in characters without spaces, which both tokenisations have in common
        for sentence in self.parser.split([doc.text])[0]:
            count += sum(len("".join(token.form.split())) for token in sentence.tokens)
            ends.add(count)
        starts, seen, ended = [], 0, True
        for token in words:
            starts.append(ended)
            before, seen = seen, seen + len("".join(token.text.split()))
            ended = any(end in ends for end in range(before + 1, seen + 1))
        return starts

    def _annotate(self, doc: Doc, sentences: Sequence[Sequence[Token]], parsed: Sequence[Sentence]) -> None:
        heads, relations = np.zeros(len(doc), np.int64), ["dep"] * len(doc)
        for tokens, sentence in zip(sentences, parsed, strict=True):
            for token, head, relation in zip(tokens, sentence.heads, sentence.deprels, strict=True):
                heads[token.i] = tokens[head - 1].i - token.i if head else 0
                relations[token.i] = relation if head else "ROOT"
        before = next((token.i for token in doc if not token.is_space), None)
        for token in doc:  # the head of a space is the word before it, or the first word
            if not token.is_space:
                before = token.i
            elif before is not None:
                heads[token.i] = before - token.i
        strings = doc.vocab.strings
        array = np.stack(
            [heads.astype(np.uint64), np.array([strings.add(r) for r in relations], np.uint64)], 1
        )
        tagged = doc.has_annotation("TAG") or doc.has_annotation("POS")
        doc.from_array([HEAD, DEP], array)
        for tokens, sentence in zip(sentences, parsed, strict=True):
            for token, word in zip(tokens, sentence, strict=True):
                if self.tags and not tagged:
                    _tag(token, word)
                if self.confidence:
                    token._.set(CONFIDENCE, word.confidence)

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        self.parser.save(path)

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> BiattComponent:
        self._parser = load(path)
        return self

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        with tempfile.TemporaryDirectory() as name:
            self.parser.save(name)
            files = {
                path.relative_to(name).as_posix(): path.read_bytes()
                for path in sorted(Path(name).rglob("*"))
                if path.is_file()
            }
        packed: bytes = srsly.msgpack_dumps(files)
        return packed

    def from_bytes(self, data: bytes, *, exclude: Sequence[str] = ()) -> BiattComponent:
        with tempfile.TemporaryDirectory() as name:
            for place, content in srsly.msgpack_loads(data).items():
                target = (Path(name) / place).resolve()
                if not target.is_relative_to(Path(name).resolve()):
                    raise ModelError(f"The bytes of the model contain a file outside of its folder: {place}.")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            return self.from_disk(name)


def _tag(token: Token, word: Any) -> None:
    """Set the tags and the lemma that the model gives."""
    if word.upos in UPOS_TAGS:  # spaCy refuses others
        token.pos_ = word.upos
    for name, value in (("tag_", word.xpos), ("lemma_", word.lemma)):
        if value != "_":
            setattr(token, name, value)
    if word.feats and all(word.feats.values()):
        token.set_morph(str(word.feats))
