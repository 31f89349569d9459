from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

from biatt.data.conll import dumps, reads
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.decode.constraints import Constraints
from biatt.errors import BiattError
from biatt.parser import Parser
from biatt.service import batching
from biatt.service.batching import Batcher
from biatt.service.jobs import Job, Manner, Trees
from biatt.service.limits import Limits
from biatt.service.problems import Problem
from services import toy_parser

PARSER = toy_parser()
MANNERS = [
    Manner(),
    Manner(decoder="projective"),
    Manner(decoder="argmax", roots="any"),
    Manner(k_best=3),
    Manner(confidence=True),
    Manner(score=False),
    Manner(retag=True),
]


def written(_: Sequence[Sentence], trees: list[Trees]) -> bytes:
    return dumps(tree for ranked in trees for tree in ranked).encode()


def job(
    source: str | list[Sentence],
    manner: Manner = MANNERS[0],
    *,
    limits: Limits = Limits(),  # noqa: B008 (it cannot change)
    answer: Callable[[Sequence[Sentence], list[Trees]], bytes] = written,
    **options: Any,
) -> Job:
    text = source if isinstance(source, str) else None
    read = None if isinstance(source, str) else lambda: source
    return Job("toy", PARSER, manner, text, read, size=10, answer=answer, limits=limits, **options)


def alone(parser: Parser, sentences: list[Sentence], manner: Manner) -> bytes:
    """The slow twin: each sentence by itself."""
    if not manner.score:
        return dumps(sentences).encode()
    if manner.k_best > 1:
        return dumps(
            tree for s in sentences for tree in next(parser.parse_k_best([s], manner.k_best))
        ).encode()
    options: dict[str, Any] = {"decoder": manner.decoder, "roots": manner.roots, "retag": manner.retag}
    return dumps(parser.parse(sentence, **options) for sentence in sentences).encode()


def done(jobs: Sequence[Job], *, limits: Limits | None = None, threads: int = 1) -> Batcher:
    """A batcher that has done these jobs, which were all there when it began."""
    batcher = Batcher(limits or Limits(), threads=threads)
    for one in jobs:
        batcher.submit(one)
    batcher.start()
    batcher.close()
    return batcher


@pytest.mark.parametrize("threads", [1, 3])
def test_jobs_of_all_manners_get_the_trees_that_they_get_alone(threads: int) -> None:
    treebank = generate(60, seed=8)
    jobs = [job(treebank[3 * i : 3 * i + i % 4], MANNERS[i % len(MANNERS)]) for i in range(20)]
    batcher = done(jobs, threads=threads)
    for i, finished in enumerate(jobs):
        expected = alone(PARSER, treebank[3 * i : 3 * i + i % 4], finished.manner)
        assert finished.result.result() == expected
    assert batcher.jobs == 0


def test_texts_of_several_jobs_are_split_as_alone() -> None:
    texts = ["the cat sleeps. a dog barks!", "", "owls\n\nsleep"]
    jobs = [job(text, Manner(score=False)) for text in texts]
    done(jobs)
    for text, finished in zip(texts, jobs, strict=True):
        forms = [sentence.forms for sentence in reads(finished.result.result().decode())]
        assert forms == [sentence.forms for sentence in PARSER.split([text])[0]]


def test_waiting_jobs_of_one_manner_are_one_batch() -> None:
    batcher = done([job(generate(2, seed=i)) for i in range(9)])
    text = batcher.metrics.text()
    assert "biatt_batches_total 1\n" in text
    assert "biatt_batch_requests_total 9\n" in text
    assert 'biatt_sentences_total{model="toy"} 18\n' in text


def test_a_short_job_does_not_wait_for_a_long_one_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "BATCH_SENTENCES", 6)
    monkeypatch.setattr(batching, "SHARE", 2)
    order: list[str] = []

    def named(name: str) -> Callable[[Sequence[Sentence], list[Trees]], bytes]:
        def answer(sentences: Sequence[Sentence], trees: list[Trees]) -> bytes:
            order.append(name)
            return written(sentences, trees)

        return answer

    treebank = generate(50, seed=3)
    long, short = job(treebank, answer=named("long")), job(treebank[:1], answer=named("short"))
    done([long, short])
    assert order == ["short", "long"]
    assert long.result.result() == alone(PARSER, treebank, Manner())


def test_memory_of_a_batch_is_bounded_by_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "BATCH_CELLS", 1)
    treebank = generate(5, seed=3)
    finished = job(treebank)
    batcher = done([finished])
    assert "biatt_batches_total 5\n" in batcher.metrics.text()
    assert finished.result.result() == alone(PARSER, treebank, Manner())


def test_words_under_way_are_bounded_and_all_jobs_are_done() -> None:
    limits = Limits(words=30)
    jobs = [job(generate(1, seed=i), limits=limits) for i in range(20)]
    done(jobs, limits=limits, threads=2)
    assert all(finished.result.result() for finished in jobs)


def test_a_job_at_fault_harms_no_other_in_its_batch() -> None:
    cycle = reads("1\ta\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n")
    keep = Manner(keep_heads=True)
    jobs = [job(generate(1, seed=1), keep), job(cycle, keep), job(generate(1, seed=2), keep)]
    done(jobs)
    assert isinstance(jobs[1].result.exception(), BiattError)
    for finished, seed in ((jobs[0], 1), (jobs[2], 2)):
        assert finished.result.result() == dumps(generate(1, seed=seed)).encode()


def test_a_fault_of_the_answer_or_the_reader_is_the_jobs_own() -> None:
    def broken(*_: object) -> bytes:
        raise ZeroDivisionError

    wrong, fine = job(generate(1), answer=broken), job(generate(1))
    unread = job(generate(1))
    unread.read = broken  # type: ignore[assignment]
    batcher = done([wrong, unread, fine])
    assert isinstance(wrong.result.exception(), ZeroDivisionError)
    assert isinstance(unread.result.exception(), ZeroDivisionError)
    assert fine.result.result()
    assert batcher.jobs == 0


@pytest.mark.parametrize("manner", [Manner(), Manner(decoder="projective"), Manner(k_best=2)])
def test_fixed_arcs_are_kept(manner: Manner) -> None:
    sentences = generate(3, seed=5)
    finished = job(sentences, manner, fixed={1: Constraints.given({1: 0})})
    done([finished, job(sentences, manner)])
    parsed = reads(finished.result.result().decode())
    assert all(tree.heads[0] == 0 for tree in parsed if tree.forms == sentences[1].forms)


def test_fixed_arcs_that_no_tree_has_name_their_field() -> None:
    failed = job(generate(1), fixed={0: Constraints.given({1: 1})})
    done([failed])
    problem = failed.result.exception()
    assert isinstance(problem, Problem)
    assert (problem.status, list(problem.fields)) == (422, ["fixed"])


def test_scores_are_kept_for_attention_only() -> None:
    kept: dict[str, bool] = {}

    def answer(name: str) -> Callable[[Sequence[Sentence], list[Trees]], bytes]:
        def see(_: Sequence[Sentence], trees: list[Trees]) -> bytes:
            kept[name] = trees[0][0].scores is not None
            return b""

        return see

    manner = Manner(confidence=True)
    done(
        [
            job(generate(1), manner, answer=answer("no")),
            job(generate(1), manner, answer=answer("yes"), attention=True),
        ]
    )
    assert kept == {"no": False, "yes": True}


def test_a_full_queue_refuses_with_retry_after() -> None:
    limits = Limits(queue=2)
    batcher = Batcher(limits)
    first = [job(generate(1)) for _ in range(2)]
    for waiting in first:
        batcher.submit(waiting)
    with pytest.raises(Problem) as refused:
        batcher.submit(job(generate(1)))
    assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "1"})
    batcher.start()
    batcher.close()
    assert all(waiting.result.result() for waiting in first)
    with pytest.raises(Problem):
        batcher.submit(job(generate(1)))
    batcher.start()  # again
    batcher.submit(last := job(generate(1)))
    batcher.close()
    assert last.result.result()


def test_jobs_whose_client_has_left_are_not_parsed() -> None:
    left, stays = job(generate(1)), job(generate(1))
    left.result.cancel()
    batcher = done([left, stays])
    assert stays.result.result()
    assert 'biatt_sentences_total{model="toy"} 1\n' in batcher.metrics.text()
    assert batcher.jobs == 0


def test_a_text_that_is_clearly_too_long_is_not_split() -> None:
    class NoSplit:
        def split(self, texts: list[str]) -> None:
            raise AssertionError

    failed = job("a " * 9, limits=Limits(words=8))
    failed.parser = NoSplit()  # type: ignore[assignment]
    done([failed])
    problem = failed.result.exception()
    assert isinstance(problem, Problem)
    assert problem.status == 413


@pytest.mark.parametrize(
    ("limits", "options"),
    [
        (Limits(words=8), {}),
        (Limits(sentences=2), {}),
        (Limits(sentences=5), {"manner": Manner(k_best=2)}),
        (Limits(sentence_words=2), {}),
        (Limits(sentence_words=9), {"attention": True}),
    ],
)
def test_requests_beyond_the_limits_are_refused(limits: Limits, options: dict[str, Any]) -> None:
    words = Sentence.from_words(["a", "b", "c", "d", "e", "f"])
    failed = job([words.copy(), words.copy(), words.copy()], limits=limits, **options)
    done([failed])
    problem = failed.result.exception()
    assert isinstance(problem, Problem)
    assert problem.status == 413
