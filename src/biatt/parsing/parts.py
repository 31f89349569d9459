"""Parts of inputs, texts and sentences, parsed window by window, here or by worker processes.

A window is what is parsed together: its sentences are sorted by length into batches. Windows do not depend on
the number of workers, so that the trees and their probabilities do not either.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from biatt.data.length import check_length
from biatt.data.sentence import Sentence
from biatt.machine.kernel_choice import expect_much_work
from biatt.machine.ray_pool import by_ray
from biatt.machine.threads import Arriving, fewer_collections, look_ahead, mapped, one_matrix_thread, windows
from biatt.machine.workers import in_order, number_of_workers, pickled

if TYPE_CHECKING:
    from biatt.parser import Parser

WINDOW_SENTENCES = 256  # sentences that are read ahead and sorted by length; bounds the memory of a stream
WINDOW_CHARACTERS = 25_000  # of raw text, which have about as many sentences

A = TypeVar("A")
B = TypeVar("B")
Part = str | Sentence  # of an input: a text, or a sentence that is not parsed
Trees = list[Sentence]  # of one sentence, best first


def parsed_sentences(
    parser: Parser, sentences: Iterable[Sentence], *, workers: int = 1, **options: Any
) -> Iterator[Sentence]:
    """The sentences, each with its best tree, in order; options as for `Parser._parse_window`."""
    return _flat(partial(_parse_window, **options), parser, sentences, workers)


def ranked_sentences(
    parser: Parser, sentences: Iterable[Sentence], k: int, **options: Any
) -> Iterator[Trees]:
    """The k best trees of each sentence, in order; options as for `Parser._k_best_window`."""
    return _flat(partial(_k_best_window, k=k, **options), parser, sentences, 1)


def parsed_parts(
    parser: Parser,
    windows: Iterable[tuple[A, Sequence[Part]]],
    *,
    workers: int = 1,
    k_best: int = 1,
    **options: Any,
) -> Generator[tuple[A, list[list[Trees] | Exception]], None, None]:
    """Of each pair of a context and a window of parts, the context and the sentences of each part.

    A sentence is a list of its `k_best` trees. A part that cannot be parsed is the error that says why.
    Options as for `Parser.parse`.
    """
    return _computed(partial(_parse_parts, k_best=k_best, **options), parser, windows, workers)


def parts_by_ray(
    parser: Parser,
    windows: Callable[[], Iterable[tuple[A, Sequence[Part]]]],
    *,
    workers: int = 1,
    k_best: int = 1,
    **options: Any,
) -> Generator[tuple[A, list[list[Trees] | Exception]], None, None]:
    """The same of `windows()`, which a task of Ray calls, by actors of a Ray cluster."""
    work = partial(_parse_window_of_parts, k_best=k_best, **options)
    return by_ray(work, partial(pickle.loads, pickled(parser)), windows, workers=workers, in_order=True)


def text_windows(texts: Iterable[A], size: Callable[[A], int]) -> Arriving[list[A]]:
    """Texts in a row; `size` is the number of a text's characters."""
    return windows(texts, most=WINDOW_SENTENCES, size=size, largest=WINDOW_CHARACTERS)


def size_of_part(part: Part) -> int:
    """How much of a window's characters a part takes; sentences count so that their number decides."""
    return len(part) if isinstance(part, str) else WINDOW_CHARACTERS // (WINDOW_SENTENCES + 1)


def checked(sentence: Sentence) -> Sentence:
    """The sentence, if it is one and not too long."""
    if not isinstance(sentence, Sentence):
        _refuse(sentence)
    check_length(sentence)
    return sentence


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"A parser takes sentences, not {type(value).__name__}; see Sentence.from_words.")


def _flat(
    parse: Callable[[Parser, list[Sentence]], list[A]],
    parser: Parser,
    sentences: Iterable[Sentence],
    workers: int,
) -> Iterator[A]:
    if not isinstance(sentences, Iterable):
        _refuse(sentences)
    in_windows = windows(mapped(checked, sentences), most=WINDOW_SENTENCES)
    items = mapped(lambda window: (None, window), in_windows)
    done = _computed(parse, parser, items, workers)
    return (item for _, window in done for item in window)


def _computed(
    work: Callable[[Parser, A], B], parser: Parser, items: Iterable[tuple[Any, A]], workers: int
) -> Generator[tuple[Any, B], None, None]:
    if number_of_workers(workers) > 1:
        work = partial(_without_scores, work)
    return _computing(work, parser, items, workers)


def _computing(
    work: Callable[[Parser, A], B], parser: Parser, items: Iterable[tuple[Any, A]], workers: int
) -> Generator[tuple[Any, B], None, None]:
    """The context of each item, and what the work makes of it. Meanwhile, this process uses one core.

    Compiled kernels that are on disk do all items if there are several. Otherwise they would begin after a
    second, which each worker counts for itself, and rounding would depend on the number of workers.
    """
    with one_matrix_thread, fewer_collections:
        much, items = look_ahead(items)
        if much and expect_much_work() and number_of_workers(workers) > 1:
            parser.pack()  # before the workers share it
        yield from in_order(work, parser, items, workers=workers)


# The work of a worker: functions of a parser that another process can import.


def _parse_window(parser: Parser, window: list[Sentence], **options: Any) -> list[Sentence]:
    return parser._parse_window(window, **options)


def _k_best_window(parser: Parser, window: list[Sentence], **options: Any) -> list[Trees]:
    return parser._k_best_window(window, **options)


def _parse_parts(parser: Parser, parts: Sequence[Part], **options: Any) -> list[list[Trees] | Exception]:
    """The trees of each part's sentences, or why it cannot be parsed: the other parts are not at fault."""
    try:
        return [*_parse_together(parser, parts, **options)]
    except Exception as error:
        if len(parts) == 1:
            return [error]
        return [result for part in parts for result in _parse_parts(parser, [part], **options)]


def _parse_window_of_parts(
    parser: Parser, window: tuple[A, Sequence[Part]], **options: Any
) -> tuple[A, list[list[Trees] | Exception]]:
    context, parts = window
    return context, _without_scores(partial(_parse_parts, **options), parser, parts)


def _parse_together(
    parser: Parser, parts: Sequence[Part], *, k_best: int, **options: Any
) -> Iterator[list[Trees]]:
    texts = [part for part in parts if isinstance(part, str)]
    split = iter(parser.split(texts) if texts else [])
    sentences = [next(split) if isinstance(part, str) else [part] for part in parts]
    flat = list(chain.from_iterable(sentences))
    starts = range(0, len(flat), WINDOW_SENTENCES)  # one text can have very many sentences
    parsed = chain.from_iterable(
        parser._k_best_window(window, k_best, **options)
        if k_best > 1
        else ([tree] for tree in parser._parse_window(window, **options))
        for window in (flat[start : start + WINDOW_SENTENCES] for start in starts)
    )
    return (list(islice(parsed, len(of_part))) for of_part in sentences)


def _without_scores(work: Callable[[Parser, A], B], parser: Parser, item: A) -> B:
    """What the work gives, without the scores, which are as large as the square of the words."""
    result = work(parser, item)
    _remove_scores(result)
    return result


def _remove_scores(result: Any) -> None:
    if isinstance(result, list):
        for part in result:
            _remove_scores(part)
    elif isinstance(result, Sentence):
        result.scores = None
