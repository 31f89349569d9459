"""What `POST /parse` takes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from biatt.data.conll import reads
from biatt.data.sentence import Sentence
from biatt.data.text import words_of
from biatt.decode.constraints import Constraints
from biatt.errors import BiattError, FormatError
from biatt.options import Decoder, Roots
from biatt.parser import Parser
from biatt.service.jobs import Manner
from biatt.service.problems import Problem

INPUTS = ("text", "tokens", "conllu")
MOST_TREES = 100


def _whole(text: str) -> str:
    """The text, if it can be written as UTF-8; JSON can have half a character, such as "\\ud800"."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("The text has half a character (an unpaired surrogate).") from None
    return text


Text = Annotated[str, AfterValidator(_whole)]


class FixedArc(BaseModel):
    """An arc that the tree must have; words and sentences are numbered from 1, and head 0 is ROOT."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sentence: int = Field(1, ge=1, le=1 << 31)
    word: int = Field(ge=1, le=1 << 31)
    head: int | None = Field(None, ge=0, le=1 << 31, description="Without it, only the relation is fixed.")
    relation: Text | None = Field(None, description="Without it, only the head is fixed.")


class ParseRequest(BaseModel):
    """A text, sentences of words, or CoNLL-U, and how to parse it."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "oneOf": [{"required": [name]} for name in INPUTS],
            "examples": [{"text": "The cat sat on the mat."}],
        },
    )

    text: Text | None = Field(None, description="Raw text.")
    tokens: list[list[Text]] | None = Field(None, description="Sentences of words.")
    conllu: Text | None = Field(None, description="Sentences in CoNLL-U; their tags are kept.")
    model: Text | None = Field(
        None, description="Name of a model; see GET /models. auto: that of the input's language."
    )
    decoder: Decoder = Field("mst", description="How to find a tree from the scores of its arcs.")
    roots: Roots | None = Field(None, description="Number of words whose head is ROOT; default: single.")
    confidence: bool = Field(False, description="Probabilities of heads, relations and tags.")
    k_best: int = Field(1, ge=1, le=MOST_TREES, description="Number of trees of each sentence, best first.")
    attention: bool = Field(False, description="The probabilities of all heads, in both directions.")
    retag: bool = Field(False, description="Replace the tags that CoNLL-U has by new ones.")
    keep_heads: bool = Field(
        False, description="Keep the heads that CoNLL-U has; parse the rest around them."
    )
    fixed: list[FixedArc] = Field([], description="Arcs that the trees must have.")

    @property
    def field(self) -> str:
        """The field that has the input."""
        return next(name for name in INPUTS if getattr(self, name) is not None)

    @property
    def size(self) -> int:
        """Characters of the input."""
        if self.tokens is not None:
            return sum(len(word) + 1 for words in self.tokens for word in words)
        return len(self.text or self.conllu or "")

    @property
    def sample(self) -> str:
        """Characters of the input, by which its language is told."""
        if self.tokens is not None:
            return " ".join(word for words in self.tokens for word in words)
        return self.text if self.text is not None else words_of(self.conllu or "")

    def manner(self) -> Manner:
        return Manner(
            decoder=self.decoder,
            roots=self.roots,
            confidence=self.confidence or self.attention,
            k_best=self.k_best,
            retag=self.retag,
            keep_heads=self.keep_heads,
        )

    def check(self, parser: Parser) -> None:
        """Refuse fields that contradict each other, and what the model cannot do."""
        given = [name for name in INPUTS if getattr(self, name) is not None]
        if len(given) != 1:
            fault = f"Give one of text, tokens and conllu, not {' and '.join(given) or 'none'}."
            raise Problem(422, fault, fields=dict.fromkeys(given or INPUTS, fault))
        if self.k_best > 1 and self.decoder != "mst":
            raise Problem.in_field("k_best", "Several trees are found by the decoder mst only.")
        if self.fixed and self.keep_heads:
            raise Problem.in_field("fixed", "Fix arcs or keep those of the input, not both.")
        if self.text is not None and parser.tokeniser is None:
            raise Problem.in_field("text", "The model has no tokeniser for raw text: send tokens.")
        if self.retag and not parser.chooses_tags:
            raise Problem.in_field("retag", "The model does not choose tags.")
        for place, arc in enumerate(self.fixed):
            if arc.relation is not None and arc.relation not in parser.vocabulary.relations:
                raise Problem.in_field(f"fixed.{place}.relation", "The model does not have this relation.")

    def constraints(self) -> dict[int, Constraints]:
        """The fixed arcs, by the place of their sentence from 0."""
        by_sentence: dict[int, dict[int, Any]] = {}
        for place, arc in enumerate(self.fixed):
            arcs = by_sentence.setdefault(arc.sentence - 1, {})
            if arc.word in arcs:
                raise Problem.in_field(f"fixed.{place}.word", f"Word {arc.word} is fixed twice.")
            arcs[arc.word] = (arc.head, arc.relation)
        return {sentence: Constraints.given(arcs) for sentence, arcs in by_sentence.items()}

    def read(self) -> list[Sentence]:
        """The sentences of tokens or CoNLL-U, not yet parsed."""
        if self.tokens is not None:
            return [sentence_of_words(words, f"tokens.{place}") for place, words in enumerate(self.tokens)]
        return read_conllu(self.conllu or "", "conllu")


def sentence_of_words(words: list[str], field: str) -> Sentence:
    try:
        return Sentence.from_words(words)
    except BiattError as error:
        raise Problem.in_field(field, str(error)) from error


def read_conllu(text: str, field: str) -> list[Sentence]:
    """The sentences of CoNLL-U in a field."""
    try:
        return reads(text, format="conllu")
    except FormatError as error:
        raise Problem.in_field(field, f"Line {error.line}: {error.message}") from error
    except BiattError as error:
        raise Problem.in_field(field, str(error)) from error
