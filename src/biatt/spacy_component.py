"""A spaCy component that parses a Doc with a biatt model: `nlp.add_pipe("biatt", config={"model": "en"})`.

It takes the tokens of the Doc as they are. Sentences are those that an earlier component has set, else those
of the model's tokeniser. Relations are those of the model, in the bundled models those of Universal
Dependencies, and doc.noun_chunks follows them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import srsly
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc, Token
from spacy.training import Example
from spacy.util import minibatch, registry

from biatt.data.columns import FEATS, LEMMA, UPOS, XPOS
from biatt.data.conll import UPOS_TAGS
from biatt.data.sentence import Sentence
from biatt.errors import ModelError
from biatt.parser import Parser, load
from biatt.spacy import EMPTY, ROOT, morph, ud_noun_chunks

# Extensions of tokens: token._.biatt_confidence, the probability that head and relation are both right;
# that of the arc alone; and those of upos, xpos, feats and lemma, where the model's network chose them.
CONFIDENCE, ARC_CONFIDENCE, TAG_CONFIDENCE = (
    "biatt_confidence",
    "biatt_arc_confidence",
    "biatt_tag_confidence",
)
# What an earlier component can have set, with the columns that hold it.
ATTRIBUTES = {"POS": UPOS, "TAG": XPOS, "MORPH": FEATS, "LEMMA": LEMMA}
SPACE, SPACE_TAG = "SPACE", "_SP"  # as spaCy's taggers tag tokens that are only space
PUNCTUATION = ("p", "punct")  # relations that spaCy does not score
SCORER = "biatt.scorer.v1"
SCORES = {"dep_uas": 0.5, "dep_las": 0.5, "sents_f": 0.0, "pos_acc": 0.0, "tag_acc": 0.0, "lemma_acc": 0.0}


@registry.scorers(SCORER)  # type: ignore[untyped-decorator]
def make_scorer() -> Callable[..., dict[str, Any]]:
    return score


def score(examples: Iterable[Example], **options: Any) -> dict[str, Any]:
    """Accuracy of trees, sentences, tags, features and lemmas, by the names that spaCy has for them."""
    examples = list(examples)
    options.setdefault("has_annotation", lambda doc: doc.has_annotation("SENT_START"))
    results: dict[str, Any] = {}
    results |= Scorer.score_spans(examples, "sents", **options)
    results.pop("sents_per_type", None)
    del options["has_annotation"]
    dep = {"getter": lambda token, name: getattr(token, f"{name}_").lower(), "ignore_labels": PUNCTUATION}
    results |= Scorer.score_deps(examples, "dep", **{**options, **dep})
    for name in ("pos", "tag", "morph", "lemma"):
        results |= Scorer.score_token_attr(examples, name, **options)
    return results


@Language.factory(  # type: ignore[untyped-decorator]
    "biatt",
    assigns=[
        *("token.dep", "token.head", "token.is_sent_start", "doc.sents"),
        *("token.pos", "token.tag", "token.morph", "token.lemma"),
    ],
    default_config={
        "model": "en",
        "tags": True,
        "upstream_tags": False,
        "confidence": False,
        "scorer": {"@scorers": SCORER},
    },
    default_score_weights=SCORES,
)
def make_component(
    nlp: Language,
    name: str,
    model: str,
    tags: bool,
    upstream_tags: bool,
    confidence: bool,
    scorer: Callable[..., dict[str, Any]] | None,
) -> BiattComponent:
    nlp.vocab.get_noun_chunks = ud_noun_chunks
    parser, fault = None, None
    try:
        parser = load(model)
    except ModelError as error:
        fault = error  # a saved pipeline loads its copy of the model after this: the folder need not exist
    return BiattComponent(
        parser, tags=tags, upstream_tags=upstream_tags, confidence=confidence, scorer=scorer, fault=fault
    )


class BiattComponent:
    """Sets heads, relations and sentence starts, and, with `tags`, the tags and lemmas that a Doc lacks.

    With `upstream_tags`, it parses by the tags, features and lemmas of earlier components, and chooses only
    those that are missing. With `confidence`, tokens have the probabilities of the extensions above.
    """

    def __init__(
        self,
        parser: Parser | None,
        *,
        tags: bool = True,
        upstream_tags: bool = False,
        confidence: bool = False,
        scorer: Callable[..., dict[str, Any]] | None = score,
        fault: ModelError | None = None,
    ) -> None:
        self._parser, self._fault = parser, fault
        self.tags, self.upstream_tags, self.confidence = tags, upstream_tags, confidence
        self.scorer = scorer
        for extension in (CONFIDENCE, ARC_CONFIDENCE, TAG_CONFIDENCE) if confidence else ():
            if not Token.has_extension(extension):
                Token.set_extension(extension, default=None)

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
            words = (self._words(tokens) for of_doc in sentences for tokens in of_doc)
            parsed = self.parser.parse(words, confidence=self.confidence)
            for doc, of_doc in zip(docs, sentences, strict=True):
                self._annotate(doc, of_doc, list(islice(parsed, len(of_doc))))
                yield doc

    def score(self, examples: Iterable[Example], **options: Any) -> dict[str, Any]:
        """What nlp.evaluate calls."""
        return {} if self.scorer is None else self.scorer(examples, **options)

    def _words(self, tokens: Sequence[Token]) -> Sentence:
        """A sentence to parse, with the tags of earlier components if these are asked for."""
        sentence = Sentence.from_words([token.text.strip() for token in tokens])
        if self.upstream_tags:
            for row, token in zip(sentence.rows, tokens, strict=True):
                row[UPOS], row[XPOS] = token.pos_ or EMPTY, token.tag_ or EMPTY
                row[FEATS], row[LEMMA] = str(token.morph) or EMPTY, token.lemma_ or EMPTY
        return sentence

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
                relations[token.i] = relation if head else ROOT
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
        lacking = {name for name in ATTRIBUTES if self.tags and not doc.has_annotation(name)}
        doc.from_array([HEAD, DEP], array)
        doc.noun_chunks_iterator = ud_noun_chunks  # also of a Doc that was made before the component
        for token in doc:
            if token.is_space:
                _set(token, lacking, upos=SPACE, xpos=SPACE_TAG, feats="", lemma=token.text)
        for tokens, sentence in zip(sentences, parsed, strict=True):
            for token, row in zip(tokens, sentence.rows, strict=True):
                upos, xpos, feats, lemma = ("" if row[i] == EMPTY else row[i] for i in ATTRIBUTES.values())
                _set(token, lacking, upos=upos, xpos=xpos, feats=feats, lemma=lemma)
        if self.confidence:
            _set_confidence(sentences, parsed)

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


def _set(token: Token, lacking: set[str], *, upos: str, xpos: str, feats: str, lemma: str) -> None:
    """Set those attributes of a token that its Doc lacks."""
    if "POS" in lacking and (upos in UPOS_TAGS or upos == SPACE):  # spaCy refuses others
        token.pos_ = upos
    if "TAG" in lacking:
        token.tag_ = xpos
    if "MORPH" in lacking:
        token.set_morph(morph(feats))
    if "LEMMA" in lacking:
        token.lemma_ = lemma


def _set_confidence(sentences: Sequence[Sequence[Token]], parsed: Sequence[Sentence]) -> None:
    for tokens, sentence in zip(sentences, parsed, strict=True):
        arcs = sentence.confidence.arcs.tolist() if sentence.confidence else []
        for token, word, arc in zip(tokens, sentence, arcs, strict=True):
            token._.set(CONFIDENCE, word.confidence)
            token._.set(ARC_CONFIDENCE, arc)
            token._.set(TAG_CONFIDENCE, word.tag_confidence)
