"""The parser that a user holds: sentences, texts and words become trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from biatt.data.document import Document
from biatt.data.sentence import SENT_ID, Sentence
from biatt.data.text import check_text, check_texts, text_pairs
from biatt.decode.apply import with_best_tree, with_k_best_trees
from biatt.decode.constraints import FREE, Constraints, Fixed, Pairs
from biatt.errors import ConfigError, ModelError
from biatt.machine.threads import Arriving, mapped, one_matrix_thread, with_pauses
from biatt.machine.workers import number_of_workers
from biatt.models.named_models import find_model
from biatt.options import ParseOptions, Roots, TreeOptions, check_names
from biatt.parsing.parts import Trees, parsed_parts, parsed_sentences, ranked_sentences, text_windows
from biatt.parsing.trained_model import TrainedModel

if TYPE_CHECKING:
    from typing_extensions import Unpack

A = TypeVar("A")


class Parser(TrainedModel):
    """A trained model: its configuration, its vocabulary and its weights.

    On the CPU it runs without torch; on another device, or with `fused=False`, torch runs it. With labels
    it also chooses tags and lemmas, and with a tokeniser it takes raw text: `parser("Markets slept.")`.
    A model with a contextual encoder runs that in torch.
    """

    @overload
    def parse(
        self, sentences: Iterable[Sentence], *, workers: int = 1, **options: Unpack[ParseOptions]
    ) -> Iterator[Sentence]: ...

    @overload
    def parse(
        self,
        sentences: Sentence,
        *,
        fixed: Fixed | None = None,
        forbidden: Pairs = (),
        brackets: Pairs = (),
        **options: Unpack[ParseOptions],
    ) -> Sentence: ...

    def parse(
        self,
        sentences: Sentence | Iterable[Sentence],
        *,
        workers: int = 1,
        fixed: Fixed | None = None,
        forbidden: Pairs = (),
        brackets: Pairs = (),
        **options: Unpack[ParseOptions],
    ) -> Sentence | Iterator[Sentence]:
        """A copy of a sentence with HEAD and DEPREL set; or copies of several, in order, streamed.

        `decoder` is "mst" unless it is "projective" or "argmax". `roots` is "single" or "any"; None means one
        root for CoNLL-U sentences and any number for CoNLL-X. All other options are off by default.

        A model that chooses tags also sets missing tags and lemmas, or with `retag` all of them. With
        `fill_deps`, the tree is also written to DEPS, or in CoNLL-X to PHEAD and PDEPREL. With `confidence`,
        the sentences carry their confidence and the scores that it comes from. With `probabilities`, MISC has
        the most probable heads, relations and tags of every word that is not certain (`data.doubts`).

        With `keep_heads`, the heads and relations that the sentences have are kept, and the rest is parsed
        around them. The tree of one sentence can be constrained: fixed={3: (2, "obj")} gives word 3 the head
        2 and the relation obj, forbidden=[(3, 5)] denies it the head 5, and brackets=[(4, 9)] makes the words
        4 to 9 a constituent: exactly one of them has its head outside, the others have theirs inside.

        `workers` is the number of processes that parse, 0 for one on each core; a script must then have
        `if __name__ == "__main__":`. The trees are the same; they carry confidence, but no scores.
        """
        check_names(options)
        constraints = self._constraints(fixed, forbidden, brackets)
        if constraints and not isinstance(sentences, Sentence):
            raise ConfigError("Constraints are for one sentence: parse sentences one by one with them.")
        if constraints and options.get("keep_heads"):
            raise ConfigError("Keep the heads of a sentence or give constraints on its tree, not both.")
        if isinstance(sentences, Sentence):
            (parsed,) = parsed_sentences(self, [sentences], constraints=constraints, **options)
            return parsed
        return parsed_sentences(self, sentences, workers=workers, **options)

    def _constraints(self, fixed: Fixed | None, forbidden: Pairs, brackets: Pairs) -> Constraints:
        constraints = Constraints.given(fixed, forbidden, brackets)
        if unknown := constraints.unknown_relation(self.vocabulary.relations):
            raise ConfigError(f"The fixed relation {unknown!r} is none of the model's relations.")
        return constraints

    def _parse_window(
        self,
        sentences: list[Sentence],
        *,
        retag: bool = False,
        keep_heads: bool = False,
        constraints: Constraints = FREE,
        **options: Unpack[TreeOptions],
    ) -> list[Sentence]:
        confidence, probabilities = options.get("confidence", False), options.get("probabilities", False)
        with_tree = partial(
            with_best_tree,
            relations=self.vocabulary.relations,
            temperature=self.temperature,
            curves=self.curves,
            **options,
        )
        return [
            sentence
            if scores is None
            else with_tree(
                sentence,
                scores,
                tags=self._tag_choices(scores, words) if probabilities else {},
                tag_confidence=self._tag_confidence(sentence, scores, words, self.curves)
                if confidence
                else {},
                constraints=Constraints.of_tree(sentence) if keep_heads else constraints,
            )
            for sentence, scores, words in self._scored(sentences, retag=retag)
        ]

    def __call__(self, text: str, **options: Unpack[ParseOptions]) -> Document:
        """The document of a raw text: its parsed sentences, with confidence; options as for `parse`."""
        options.setdefault("confidence", True)
        return Document(text, self.parse(self.split([text])[0], **options))

    def parse_tokens(
        self, sentences: Iterable[Sequence[str]], **options: Unpack[ParseOptions]
    ) -> list[Sentence]:
        """Parsed sentences of words that are already apart, with their confidence; options as for `parse`."""
        if isinstance(sentences, (str, bytes)) or not isinstance(sentences, Iterable):
            kind = type(sentences).__name__
            raise TypeError(f"parse_tokens takes a list of sentences, each a list of words, not {kind}.")
        options.setdefault("confidence", True)
        return list(self.parse(map(Sentence.from_words, sentences), **options))

    @overload
    def pipe(
        self,
        texts: Iterable[str],
        *,
        as_tuples: Literal[False] = False,
        workers: int = 1,
        **options: Unpack[ParseOptions],
    ) -> Iterator[Document]: ...

    @overload
    def pipe(
        self,
        texts: Iterable[tuple[str, A]],
        *,
        as_tuples: Literal[True],
        workers: int = 1,
        **options: Unpack[ParseOptions],
    ) -> Iterator[tuple[Document, A]]: ...

    def pipe(
        self,
        texts: Iterable[Any],
        *,
        as_tuples: bool = False,
        workers: int = 1,
        **options: Unpack[ParseOptions],
    ) -> Iterator[Any]:
        """The documents of many texts, in order, streamed.

        This is the fast way for many texts: they are read ahead and parsed together. With `as_tuples`, it
        takes pairs of a text and anything that belongs to it, and gives pairs of a document and that. Options
        as for `parse`; with `confidence`, the documents are those that a call of the parser gives.
        """
        check_texts(texts, "pipe")
        check_names(options)
        pairs = text_pairs(texts, as_tuples=as_tuples)
        windows = text_windows(pairs, lambda pair: len(pair[0]))
        number_of_workers(workers)  # which is refused here, not at the first text
        return self._documents(windows, as_tuples=as_tuples, workers=workers, **options)

    def _documents(
        self,
        windows: Iterable[list[tuple[str, Any]]],
        *,
        as_tuples: bool,
        workers: int,
        **options: Unpack[ParseOptions],
    ) -> Iterator[Any]:
        texts = mapped(lambda window: (window, [text for text, _ in window]), windows)
        for window, parsed in parsed_parts(self, texts, workers=workers, **options):
            for (text, context), sentences in zip(window, parsed, strict=True):
                if isinstance(sentences, Exception):
                    raise sentences
                document = Document(text, (best for best, *_ in sentences))
                yield (document, context) if as_tuples else document

    def split(self, texts: Sequence[str]) -> list[list[Sentence]]:
        """The sentences of each text, not yet parsed."""
        if self.tokeniser is None:
            raise ModelError(
                "This model has no tokeniser for raw text: give it words, or train one with --pipeline."
            )
        check_texts(texts, "split")
        for text in texts:
            check_text(text, "A text")
        with one_matrix_thread:
            return self.tokeniser.split(texts)

    def sentences(self, texts: Iterable[str], *, first: int = 1) -> Iterator[Sentence]:
        """The sentences of the parts of one text, numbered from `first` on, not yet parsed, streamed."""
        check_texts(texts, "sentences")
        return Arriving(self._numbered(texts, first))

    def _numbered(self, texts: Iterable[str], number: int) -> Iterator[Sentence | None]:
        size = 0  # of the parts so far, in characters
        for window in with_pauses(text_windows(texts, len)):
            if window is None:
                yield None
                continue
            for text, sentences in zip(window, self.split(window), strict=True):
                for sentence in sentences:
                    sentence.verbatim.insert(0, (0, f"{SENT_ID}{number}"))
                    sentence.place_in(sentence.token_places._replace(base=size))
                    yield sentence
                    number += 1
                size += len(text)

    def k_best(
        self,
        sentence: Sentence,
        k: int,
        *,
        roots: Roots | None = None,
        fixed: Fixed | None = None,
        forbidden: Pairs = (),
        brackets: Pairs = (),
    ) -> list[Sentence]:
        """Copies of a sentence with its k most probable trees, or all, best first, with their confidence.

        The first has the sent_id of the sentence, the second has -k2 after it, and so on; a comment says what
        differs from the first, as `decode.differences` does. Constraints are those of `parse`.
        """
        constraints = self._constraints(fixed, forbidden, brackets)
        return next(self.parse_k_best([sentence], k, roots=roots, constraints=constraints))

    def parse_k_best(
        self,
        sentences: Iterable[Sentence],
        k: int,
        *,
        roots: Roots | None = None,
        fill_deps: bool = False,
        retag: bool = False,
        keep_heads: bool = False,
        constraints: Constraints = FREE,
    ) -> Iterator[list[Sentence]]:
        """The k most probable trees of each sentence, as `k_best` gives them; options as for `parse`."""
        manner = {"roots": roots, "fill_deps": fill_deps, "retag": retag, "keep_heads": keep_heads}
        return ranked_sentences(self, sentences, k, constraints=constraints, **manner)

    def _k_best_window(
        self,
        window: list[Sentence],
        k: int,
        *,
        retag: bool = False,
        keep_heads: bool = False,
        constraints: Constraints = FREE,
        roots: Roots | None = None,
        fill_deps: bool = False,
    ) -> list[Trees]:
        with_trees = partial(
            with_k_best_trees,
            relations=self.vocabulary.relations,
            k=k,
            roots=roots,
            fill_deps=fill_deps,
            temperature=self.temperature,
            curves=self.curves,
        )
        return [
            [sentence]
            if scores is None
            else with_trees(
                sentence,
                scores,
                tag_confidence=self._tag_confidence(sentence, scores, words, self.curves),
                constraints=Constraints.of_tree(sentence) if keep_heads else constraints,
            )
            for sentence, scores, words in self._scored(window, retag=retag)
        ]


def load(model: str | Path, *, device: str = "cpu", fused: bool | None = None) -> Parser:
    """Load a model folder, or a model of biatt or of an installed package by its name, like "en".

    Nothing in it is ever executed, nor anything of its package.
    """
    return Parser.load(find_model(model), device=device, fused=fused)
