"""The parser that a user holds: parsing, streams, threads."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from biatt import parser as parser_module
from biatt.data.arcs import is_projective, is_tree
from biatt.data.columns import DEPREL, DEPS, FEATS, HEAD, LEMMA, PDEPREL, PHEAD, UPOS, XPOS
from biatt.data.conll import read, write
from biatt.data.length import LONGEST_SENTENCE
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.decode.decoders import heads as decoded_heads
from biatt.errors import BiattError, ConfigError, FormatError, ModelError
from biatt.machine.threads import one_matrix_thread
from biatt.parser import Parser, load
from biatt.parsing import parts as parts_module
from biatt.parsing.parts import WINDOW_SENTENCES
from builders import LARGER, TREEBANK, parts, random_parser, random_pipeline
from ways import assert_as_good, on_the

SOURCE = Path(parser_module.__file__).parents[1]


BEYOND = {**LARGER, "affixes": 2}
PARSER, LARGER_PARSER = random_parser(), random_parser(BEYOND)
both_parsers = pytest.mark.parametrize("parser", [PARSER, LARGER_PARSER], ids=["paper", "larger"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    PARSER.save(tmp_path / "model")
    return tmp_path / "model"


def trees(sentences: Iterator[Sentence] | list[Sentence]) -> list[tuple[list[int], list[str]]]:
    return [(sentence.heads, sentence.deprels) for sentence in sentences]


# Saving and loading


@both_parsers
def test_saved_and_loaded_model_gives_the_same_scores(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.config == parser.config
    assert loaded.vocabulary.to_json() == parser.vocabulary.to_json()
    for one, other in zip(loaded.scores(TREEBANK), parser.scores(TREEBANK), strict=True):
        assert all(np.array_equal(part, same) for part, same in zip(parts(one), parts(other), strict=True))


# Parsing

EVERYTHING = (
    "# sent_id = 1\r\n"
    "# text = Dogs don't bark.\r\n"
    "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t_\t_\t_\tGloss=hund|SpaceAfter=No\r\n"
    "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tX=1\r\n"
    "2\tdo\tdo\tAUX\tVBP\t_\t_\t_\t4:aux\t_\r\n"
    "# a comment between words\r\n"
    "3\tn't\tnot\tPART\tRB\t_\t2\tx\t_\t_\r\n"
    "3.1\tghost\t_\t_\t_\t_\t_\t_\t4:dep\t_\r\n"
    "4\tbark\tbark\tVERB\tVB\t_\t_\t_\t_\tStars=*\r\n"
    "\r\n"
    "# a block without words\n"
    "\n"
    "1\tSleep\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "\n\n"
)


def parsed_text(text: str, **options: Any) -> str:
    target = io.BytesIO()
    write(PARSER.parse(read(io.BytesIO(text.encode()), **options)), target)
    return target.getvalue().decode()


def test_only_head_and_relation_change() -> None:
    found = parsed_text(EVERYTHING)
    changed = 0
    for before, after in zip(EVERYTHING.split("\n"), found.split("\n"), strict=True):
        old, new = before.split("\t"), after.split("\t")
        if old[0].isdigit():
            assert new[HEAD].isdigit()
            assert new[DEPREL] in PARSER.vocabulary.relations
            new[HEAD : DEPREL + 1] = old[HEAD : DEPREL + 1]
            changed += 1
        assert new == old
    assert changed == 5


def test_tree_can_be_written_to_the_other_columns_as_well() -> None:
    words = ["dogs", "bark", "now"]
    (one,) = PARSER.parse([Sentence.from_words(words)], fill_deps=True)
    assert [row[DEPS] for row in one.rows] == [f"{row[HEAD]}:{row[DEPREL]}" for row in one.rows]
    (other,) = PARSER.parse([Sentence.from_words(words, format="conllx")], fill_deps=True)
    assert all(row[PHEAD] == row[HEAD] and row[PDEPREL] == row[DEPREL] for row in other.rows)


def test_sentences_come_back_in_order_and_unchanged_themselves() -> None:
    sentences = generate(WINDOW_SENTENCES + 30, seed=3)
    before = [sentence.to_text() for sentence in sentences]
    found = list(PARSER.parse(iter(sentences)))
    assert [sentence.comments for sentence in found] == [sentence.comments for sentence in sentences]
    assert [sentence.forms for sentence in found] == [sentence.forms for sentence in sentences]
    assert [sentence.to_text() for sentence in sentences] == before


def test_sentences_without_words_pass_through() -> None:
    empty = Sentence([], [(0, "# nothing")])
    found = list(PARSER.parse([empty, TREEBANK[0], empty]))
    assert [found[0].to_text(), found[2].to_text()] == [empty.to_text()] * 2
    assert list(PARSER.parse([empty])) == [empty]
    assert list(PARSER.parse([])) == []


def test_endless_stream_is_parsed_with_a_bounded_read_ahead() -> None:
    taken = count()
    stream = (sentence for sentence in cycle(TREEBANK[:5]) if next(taken) >= 0)
    found = PARSER.parse(stream)
    assert next(taken) == 0  # nothing is read before it is asked for
    assert len(list(islice(found, WINDOW_SENTENCES + 1))) == WINDOW_SENTENCES + 1
    found.close()  # type: ignore[attr-defined]
    assert next(taken) <= 3 * WINDOW_SENTENCES + 2


def test_error_in_the_stream_reaches_the_caller() -> None:
    def stream() -> Iterator[Sentence]:
        yield from TREEBANK[:3]
        raise ModelError("Stop.")

    with pytest.raises(ModelError, match="Stop"):
        list(PARSER.parse(stream()))


def test_sentences_before_a_broken_one_are_parsed_first() -> None:
    good = generate(WINDOW_SENTENCES + 3)

    def stream() -> Iterator[Sentence]:
        yield from good
        raise FormatError("expected ten columns.", source="some file", line=7)

    found: list[Sentence] = []

    def collect() -> None:
        for sentence in random_parser().parse(stream()):
            found.append(sentence)

    with pytest.raises(FormatError, match="line 7"):
        collect()
    assert [sentence.forms for sentence in found] == [sentence.forms for sentence in good]


def test_interleaved_parses_leave_the_matrix_threads_as_they_were() -> None:
    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info()]

    before = threads()
    parses = [random_parser().parse(generate(3)) for _ in range(2)]
    for parse in parses:
        next(parse)
    for parse in parses:
        list(parse)
    assert threads() == before


@pytest.mark.parametrize("variant", [{}, BEYOND], ids=["paper", "larger"])
def test_torch_network_gives_the_same_trees_up_to_rounding(variant: dict[str, Any]) -> None:
    # Larger weights lead to C m and D q in the hundreds, where the kernels clamp exp(2x) and torch does not.
    fused, by_torch = (
        list(random_parser(variant, deviation=0.3, fused=fused).parse(TREEBANK, confidence=True))
        for fused in (True, False)
    )
    assert len({sentence.heads[0] for sentence in by_torch}) > 1
    for one, other in zip(fused, by_torch, strict=True):
        assert_as_good(one, other)


@both_parsers
@pytest.mark.parametrize("decoder", ["mst", "projective", "argmax"])
@pytest.mark.parametrize("roots", ["single", "any"])
def test_decoder_and_roots_are_honoured(parser: Parser, decoder: Any, roots: Any) -> None:
    found = list(parser.parse(TREEBANK, decoder=decoder, roots=roots))
    for sentence, scores in zip(found, parser.scores(TREEBANK), strict=True):
        heads = decoded_heads(scores.agreement, decoder=decoder, roots=roots)
        assert sentence.heads == heads.tolist()
        best = scores.relations(heads).argmax(-1)
        assert sentence.deprels == [parser.vocabulary.relations[i] for i in best]
    if decoder != "argmax":
        assert all(is_tree(sentence.heads) for sentence in found)
        several_roots = any(sentence.heads.count(0) > 1 for sentence in found)
        assert several_roots == (
            roots == "any" and parser is PARSER
        )  # the other's trees have one root anyway
        assert all(is_projective(sentence.heads) for sentence in found) == (decoder == "projective")
    else:
        assert not all(is_tree(sentence.heads) for sentence in found)


def partly_parsed(sentence: Sentence, words: range) -> Sentence:
    """The sentence with heads and relations of only these words, from 0."""
    rows = [row[:] for row in sentence.rows]
    for word in set(range(len(rows))) - set(words):
        rows[word][HEAD] = rows[word][DEPREL] = "_"
    return sentence.with_rows(rows)


@pytest.mark.parametrize("roots", ["single", "any"])
def test_heads_and_relations_that_are_there_are_kept(roots: Any) -> None:
    assert trees(PARSER.parse(TREEBANK)) != trees(TREEBANK)
    assert trees(PARSER.parse(TREEBANK, keep_heads=True, roots=roots)) == trees(TREEBANK)
    partial = [partly_parsed(sentence, range(0, len(sentence), 2)) for sentence in TREEBANK]
    parsed = list(PARSER.parse(partial, keep_heads=True, roots=roots))
    for sentence, gold in zip(parsed, TREEBANK, strict=True):
        assert (sentence.heads[::2], sentence.deprels[::2]) == (gold.heads[::2], gold.deprels[::2])
        assert is_tree(sentence.heads)
    assert trees(parsed) != trees(TREEBANK)
    ranked = PARSER.parse_k_best(partial, 2, keep_heads=True, roots=roots)
    assert trees([kept[0] for kept in ranked]) == trees(parsed)
    free = [partly_parsed(sentence, range(0)) for sentence in TREEBANK]
    assert trees(PARSER.parse(free, keep_heads=True)) == trees(PARSER.parse(TREEBANK))


def test_one_sentence_is_parsed_under_constraints() -> None:
    sentence = max(TREEBANK, key=len)
    (free,) = PARSER.parse([sentence])
    assert PARSER.parse(sentence) == free
    head, relation = 2 if free.heads[0] != 2 else 3, PARSER.vocabulary.relations[0]
    parsed = PARSER.parse(sentence, fixed={1: (head, relation)}, confidence=True)
    assert (parsed.heads[0], parsed.deprels[0]) == (head, relation)
    assert parsed.confidence is not None
    assert parsed.confidence.words[0] == pytest.approx(1)
    forbidden = list(enumerate(free.heads, 1))[:2]
    parsed = PARSER.parse(sentence, forbidden=forbidden, brackets=[(1, 3)])
    assert not set(forbidden) & set(enumerate(parsed.heads, 1))
    assert sum(head not in (1, 2, 3) for head in parsed.heads[:3]) == 1
    assert PARSER.k_best(sentence, 2, forbidden=forbidden, brackets=[(1, 3)])[0].heads == parsed.heads


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"fixed": {1: (2, "ojb")}}, "The fixed relation 'ojb' is none of the model's relations"),
        ({"fixed": {1: 2, 2: 1}}, "the fixed heads form a cycle through words 1, 2"),
        ({"fixed": {1: 2}, "keep_heads": True}, "Keep the heads of a sentence or give constraints"),
    ],
)
def test_constraints_that_make_no_sense_are_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(BiattError, match=fault):
        PARSER.parse(TREEBANK[0], **options)
    with pytest.raises(BiattError, match="Constraints are for one sentence"):
        PARSER.parse(TREEBANK, forbidden=[(1, 2)])  # type: ignore[call-overload]


def test_conllu_has_one_root_and_conllx_any_number_unless_told() -> None:
    words = [sentence.forms for sentence in TREEBANK]
    for format, roots in (("conllu", "single"), ("conllx", "any")):
        sentences = [Sentence.from_words(forms, format=format) for forms in words]  # type: ignore[arg-type]
        assert trees(PARSER.parse(sentences)) == trees(PARSER.parse(sentences, roots=roots))  # type: ignore[arg-type]
    assert any(heads.count(0) > 1 for heads, _ in trees(PARSER.parse(sentences)))


def test_an_unknown_option_is_refused_before_anything_is_read() -> None:
    for parse in (PARSER.parse, PARSER.pipe, PARSER.parse_tokens):
        with pytest.raises(TypeError, match="'retagg' is no option of parsing"):
            parse(iter(["never read"]), retagg=True)  # type: ignore[operator]


# In a process of its own


def run(program: str, *arguments: str | Path) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_parsing_does_not_import_torch(folder: Path, tmp_path: Path) -> None:
    write(TREEBANK[:3], tmp_path / "text.conllu")
    program = """
import sys
import biatt, biatt.parser
parser = biatt.load(sys.argv[1])
print(len(list(parser.parse(biatt.read(sys.argv[2])))), "torch" in sys.modules)
"""
    assert run(program, folder, tmp_path / "text.conllu").split() == ["3", "False"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the memory of a process")
def test_sentence_of_2000_words_takes_little_memory(tmp_path: Path) -> None:
    random_parser(hidden=176, deviation=0.1).save(tmp_path)
    program = """
import re, sys
from pathlib import Path
import biatt
parser = biatt.load(sys.argv[1])
(sentence,) = parser.parse([biatt.Sentence.from_words(["dog", "sees", "dogs", "."] * 500)])
assert sentence.heads.count(0) == 1 and len(sentence) == 2000
# Of this process alone: ru_maxrss would begin with the memory of the process that started it.
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""
    assert int(run(program, tmp_path)) < 1.5e6


# Raw text and words


@pytest.fixture(scope="module")
def nlp() -> Parser:
    """A parser of raw text; its sentences, tags and trees are random."""
    return random_pipeline()


TEXTS = ["cab abba", "", "a dog sees. Cats\n\ndo not.", *(" ".join(s.forms) for s in TREEBANK[:20])]


@pytest.mark.slow
def test_pipe_call_and_parse_tokens_give_the_same(nlp: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [nlp(text) for text in TEXTS]
    monkeypatch.setattr(parts_module, "WINDOW_CHARACTERS", 100)
    monkeypatch.setattr(parts_module, "WINDOW_SENTENCES", 3)
    piped = list(nlp.pipe(iter(TEXTS), confidence=True))
    assert piped == expected
    assert [document.text for document in piped] == TEXTS
    for of_text in piped:
        assert all(token.confidence is not None for sentence in of_text for token in sentence)
        words = nlp.parse_tokens([sentence.forms for sentence in of_text])
        assert trees(words) == trees(of_text)
        assert all(token.confidence is not None for sentence in words for token in sentence)
    pairs = nlp.pipe([(text, i) for i, text in enumerate(TEXTS)], as_tuples=True)
    for i, (document, number) in enumerate(pairs):
        assert (document, number) == (expected[i], i)
        assert all(sentence.confidence is None for sentence in document)


def without_tags(sentence: Sentence, columns: list[int], words: range) -> Sentence:
    rows = [
        [("_" if i in words and column in columns else value) for column, value in enumerate(row)]
        for i, row in enumerate(sentence.rows)
    ]
    return sentence.with_rows(rows)


@pytest.mark.parametrize("missing", [[LEMMA, UPOS, XPOS, FEATS], [LEMMA, XPOS, FEATS], [XPOS]], ids=str)
@pytest.mark.parametrize("first", [0, 1], ids=["of all words", "of all words but one"])
def test_partly_tagged_sentences_are_tagged_where_tags_are_missing(
    nlp: Parser, missing: list[int], first: int
) -> None:
    partial = [without_tags(s, missing, range(first, len(s))) for s in TREEBANK]
    for before, after in zip(partial, nlp.parse(partial), strict=True):
        for given, row in zip(before.rows, after.rows, strict=True):
            for column in (LEMMA, UPOS, XPOS):
                assert row[column] == given[column] or given[column] == "_" != row[column]


def test_fully_tagged_sentence_without_features_keeps_them_empty_and_is_parsed_with_some(nlp: Parser) -> None:
    bare = [without_tags(s, [FEATS], range(len(s))) for s in TREEBANK]
    parsed = list(nlp.parse(bare))
    assert [s.feats for s in parsed] == [s.feats for s in bare]
    # As with features that the network has never seen, it parses with those that it chooses.
    unknown = [s.with_rows([[*row[:FEATS], "A=1", *row[HEAD:]] for row in s.rows]) for s in bare]
    assert trees(parsed) == trees(nlp.parse(unknown)) != trees(nlp.parse(TREEBANK))


def test_pipe_limits_the_matrix_threads_once_for_all_windows(
    nlp: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changing the limit for each window costs time."""
    monkeypatch.setattr(parts_module, "WINDOW_CHARACTERS", 100)
    limited: list[bool] = []
    set_limit = one_matrix_thread._set
    monkeypatch.setattr(one_matrix_thread, "_set", lambda: (limited.append(True), set_limit()))
    assert len(list(nlp.pipe(TEXTS))) == len(TEXTS)
    assert limited == [True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda nlp: nlp.parse_tokens(["the", "cat"]), "made of a list of words, not of the string 'the'"),
        (lambda nlp: nlp.parse_tokens("the cat"), "parse_tokens takes a list of sentences, .* not str"),
        (lambda nlp: nlp.parse_tokens(None), "parse_tokens takes a list of sentences, .* not NoneType"),
        (lambda nlp: nlp.parse_tokens([None]), "made of a list of words, not of NoneType"),
        (lambda nlp: nlp.parse_tokens([b"the"]), "made of a list of words, not of bytes"),
        (lambda nlp: nlp.parse_tokens([["the", np.nan]]), "A word is a string, not float"),
        (lambda nlp: nlp.pipe("abc"), "pipe takes several texts, such as a list of strings, not str"),
        (lambda nlp: nlp.pipe(b"abc"), "pipe takes several texts, .*, not bytes"),
        (lambda nlp: nlp.split("abc"), "split takes several texts, .*, not str"),
        (lambda nlp: nlp.sentences("abc"), "sentences takes several texts, .*, not str"),
        (lambda nlp: nlp.pipe(None), "pipe takes several texts, .*, not NoneType"),
        (lambda nlp: list(nlp.pipe(["a", None])), "Text 2 must be a string, not NoneType; leave missing val"),
        (
            lambda nlp: list(nlp.pipe([np.nan])),
            "Text 1 must be a string, not float; leave missing",
        ),
        (lambda nlp: list(nlp.pipe([3.5])), r"Text 1 must be a string, not float\.$"),
        (lambda nlp: list(nlp.pipe([b"a"])), "Text 1 must be a string, not bytes; decode it first"),
        (lambda nlp: list(nlp.pipe(["ab"], as_tuples=True)), "pairs of a text and a value; item 1 is none"),
        (lambda nlp: list(nlp.pipe([(1, 2)], as_tuples=True)), "Text 1 must be a string, not int"),
        (lambda nlp: nlp(["a", "text"]), "A text must be a string, not list"),
        (lambda nlp: nlp(None), "A text must be a string, not NoneType"),
        (lambda nlp: nlp(b"text"), "A text must be a string, not bytes; decode it first"),
        (lambda nlp: nlp(np.nan), "A text must be a string, not float; leave missing values out"),
        (lambda nlp: list(nlp.parse(["a", "text"])), "A parser takes sentences, not str"),
        (lambda nlp: nlp.parse(3.5), "A parser takes sentences, not float"),
        (lambda nlp: nlp.parse(None), "A parser takes sentences, not NoneType"),
    ],
)
def test_wrong_types_are_refused_in_one_sentence(
    nlp: Parser, call: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        call(nlp)


def test_fewer_workers_than_none_are_refused(nlp: Parser) -> None:
    for start in (nlp.parse, nlp.pipe):
        with pytest.raises(ConfigError, match="at least 1, or 0 for all cores, not -1"):
            start([], workers=-1)


def test_a_text_that_cannot_be_parsed_comes_after_those_before_it(
    nlp: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = nlp.split

    def failing(texts: list[str]) -> list[list[Sentence]]:
        if "bad" in texts:
            raise ModelError("Stop.")
        return split(texts)

    monkeypatch.setattr(nlp, "split", failing)
    piped = nlp.pipe([*TEXTS[:2], "bad", *TEXTS[:2]])
    assert [next(piped) for _ in range(2)] == [nlp(text) for text in TEXTS[:2]]
    with pytest.raises(ModelError, match="Stop"):
        next(piped)


@pytest.mark.slow
def test_workers_give_the_documents_that_one_process_gives(
    nlp: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [(text, object()) for text in 3 * TEXTS]  # what belongs to a text stays here
    monkeypatch.setattr(parts_module, "WINDOW_CHARACTERS", 100)  # windows are made here, too
    monkeypatch.setenv("BIATT_KERNELS", "plain")  # for the workers, which start faster
    with on_the("plain"):
        alone = list(nlp.pipe(texts, as_tuples=True, confidence=True))
        shared = list(nlp.pipe(texts, as_tuples=True, confidence=True, workers=2))
    assert [(document, number) for document, number in shared] == alone
    for (document, _), (expected, _) in zip(shared, alone, strict=True):
        assert document.to_dict() == expected.to_dict()
        assert all(sentence.scores is None for sentence in document)


# Settings of the process


def test_parsing_changes_settings_of_the_process_only_while_it_runs() -> None:
    parser, sentences = random_parser(), generate(3, seed=1)
    often, *_ = gc.get_threshold()
    first, second = parser.parse(sentences), parser.parse(sentences)
    next(first)
    next(second)
    list(first)
    assert gc.get_threshold()[0] > often
    list(second)
    assert gc.get_threshold()[0] == often


def test_sentence_that_is_too_long_is_one_clear_sentence() -> None:
    words = "\n".join(f"{i}\tw\t_\t_\t_\t_\t_\t_\t_\t_" for i in range(1, LONGEST_SENTENCE + 2))
    source = io.BytesIO(f"1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n{words}\n\n".encode())
    parsed = PARSER.parse(read(source, name="long.conllu"))
    assert len(next(parsed)) == 1
    with pytest.raises(FormatError, match=r"long.conllu, line 3: the sentence has 5,001 words"):
        next(parsed)
    with pytest.raises(FormatError, match="5,001 words"):
        PARSER.k_best(Sentence.from_words(["w"] * (LONGEST_SENTENCE + 1)), 2)


def test_sentence_that_takes_long_is_announced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("biatt.data.length.LONG_SENTENCE", 3)
    caplog.set_level("INFO", "biatt.data")
    text = "1\ta{0}\n2\tb{0}\n\n1\ta{0}\n2\tb{0}\n3\tc{0}\n\n".format("\t_" * 8)
    assert len(list(PARSER.parse(read(io.BytesIO(text.encode()), name="\x1b.conllu")))) == 2
    assert caplog.messages == ["\\x1b.conllu, line 4: a sentence of 3 words, which can take a minute."]
