"""Scores of the CoNLL 2018 shared task: they agree with the official evaluator."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from udtools import udeval

from biatt.data.columns import DEPREL, DEPS, FEATS, FORM, HEAD, ID, LEMMA, UPOS, XPOS
from biatt.data.conll import read
from biatt.data.sentence import Sentence
from biatt.errors import FormatError
from biatt.evaluation.metrics import evaluate
from biatt.evaluation.results import Evaluation

TREEBANKS = Path(__file__).parents[3] / "shared" / "treebanks"
SHARED_TASK_METRICS = (
    "Tokens Sentences Words UPOS XPOS UFeats AllTags Lemmas UAS LAS CLAS MLAS BLEX"  # in the official order
)

# A busy machine is no failure.


@dataclass(eq=False)
class Word:
    """A word whose head is another such object, so that words can come and go around it."""

    row: list[str]
    head: Word | None = None


@dataclass
class Token:
    surface: str
    words: list[Word]
    multiword: bool


def to_text(sentences: Iterable[list[Token]]) -> str:
    lines = []
    for tokens in sentences:
        words = [word for token in tokens for word in token.words]
        number = {id(word): str(i) for i, word in enumerate(words, start=1)}
        for token in tokens:
            if token.multiword:
                first, last = number[id(token.words[0])], number[id(token.words[-1])]
                lines.append("\t".join([f"{first}-{last}", token.surface, *"________"]))
            for word in token.words:
                row = list(word.row)
                row[ID], row[DEPS] = number[id(word)], "_"
                row[HEAD] = number[id(word.head)] if word.head else "0"
                lines.append("\t".join(row))
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def parsed(text: str, name: str = "file.conllu") -> list[Sentence]:
    return list(read(io.BytesIO(text.encode()), format="conllu", name=name))


def official(gold: str, system: str) -> dict[str, Any]:
    several_roots = {"multiple_roots_okay": True}
    loaded = [udeval.load_conllu(io.StringIO(text), "file", several_roots) for text in (gold, system)]
    scores = udeval.evaluate(*loaded)
    return {name: scores[name] for name in SHARED_TASK_METRICS.split()}


def assert_agrees_with_official(gold: str, system: str) -> Evaluation:
    expected = official(gold, system)
    evaluation = evaluate(parsed(gold), parsed(system), style="ud")
    assert list(evaluation.scores) == list(expected)
    for name, score in evaluation.scores.items():
        other = expected[name]
        found = score.correct, score.gold, score.system, score.aligned
        assert found == (other.correct, other.gold_total, other.system_total, other.aligned_total), name
        assert (score.precision, score.recall, score.f1) == (other.precision, other.recall, other.f1), name
        assert (score.aligned_accuracy or 0) == (other.aligned_accuracy or 0), name
    return evaluation


GOLD = """\
# text = Vámonos al mar, señor Gil.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tv\tMood=Imp|Number=Plur|Style=Coll\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tp\tCase=Acc|Person=1\t1\texpl:pv\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\ts\t_\t5\tcase\t_\t_
4\tel\tel\tDET\td\tDefinite=Def\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\tn\tNumber=Sing\t1\tobl:arg\t_\t_
6\t,\t,\tPUNCT\tf\t_\t7\tpunct\t_\t_
7\tseñor\t_\tNOUN\tn\t_\t1\tvocative\t_\t_
8\tGil\tGil\tPROPN\tn\t_\t7\tflat\t_\t_
9\t.\t.\tPUNCT\tf\t_\t1\tpunct\t_\t_

1\tEl\tel\tDET\td\tDefinite=Def\t2\tdet\t_\t_
2\tsol\tsol\tNOUN\tn\tNumber=Sing\t3\tnsubj\t_\t_
3\tarde\tarder\tVERB\tv\tMood=Ind\t0\troot\t_\t_

"""
SYSTEM = """\
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tv\tNumber=Plur|Mood=Imp\t0\troot\t_\t_
2\tnos\tnos\tPRON\tp\tCase=Acc|Person=1\t1\texpl\t_\t_
3\tal\ta\tADP\ts\t_\t4\tcase\t_\t_
4\tmar\tmar\tNOUN\tn\tNumber=Sing\t1\tobl\t_\t_
5\t,\t,\tPUNCT\tf\t_\t4\tpunct\t_\t_
6\tseñor\tseñor\tNOUN\tn\t_\t1\tvocative\t_\t_
7\tGil.\tGil\tPROPN\tn\t_\t6\tflat\t_\t_
8\tEl\tel\tDET\td\tDefinite=Def\t9\tdet\t_\t_
9\tsol\tsol\tNOUN\tx\tNumber=Sing\t10\tnsubj:outer\t_\t_
10\tarde\ttarde\tVERB\tv\tMood=Ind\t1\tparataxis\t_\t_

"""


def test_ud_style_agrees_with_the_official_evaluator_on_another_tokenisation() -> None:
    evaluation = assert_agrees_with_official(GOLD, SYSTEM)
    assert evaluation.breakdown is None
    score = evaluation.scores
    assert (score["Words"].correct, score["Words"].gold, score["Words"].system) == (8, 12, 10)
    assert (score["Sentences"].correct, score["Tokens"].correct) == (0, 8)


def test_ud_style_gives_a_breakdown_for_the_same_words() -> None:
    changed = GOLD.replace("\t1\texpl:pv", "\t5\texpl").replace("1\tVamos", "1\tVAMOS")
    breakdown = assert_agrees_with_official(GOLD, changed).breakdown
    assert breakdown is not None
    assert (breakdown.words.unlabeled.correct, breakdown.words.labeled.total) == (11, 12)
    assert "expl" in breakdown.relations
    assert "expl:pv" not in breakdown.relations


def test_other_sentence_boundaries_leave_no_breakdown() -> None:
    first, second = GOLD.split("\n\n")[:2]
    words = [row.split("\t") for row in second.splitlines()]
    for row in words:
        row[ID], row[HEAD] = str(int(row[ID]) + 9), str(int(row[HEAD]) + 9 if row[HEAD] != "0" else 1)
    joined = first + "\n" + "".join("\t".join(row) + "\n" for row in words) + "\n"
    evaluation = assert_agrees_with_official(GOLD, joined)
    assert evaluation.scores["Words"].f1 == 1
    assert evaluation.breakdown is None


def test_a_file_against_itself_is_perfect() -> None:
    evaluation = assert_agrees_with_official(GOLD, GOLD)
    assert all(score.f1 == 1 for score in evaluation.scores.values())
    assert (evaluation.style, evaluation.punctuation) == ("ud", "include")


def test_an_unannotated_gold_lemma_is_never_wrong() -> None:
    changed = GOLD.replace("señor\t_", "señor\tx").replace("mar\tmar", "mar\tx")
    lemmas = assert_agrees_with_official(GOLD, changed).scores["Lemmas"]
    assert lemmas.gold - lemmas.correct == 1


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        ("x\tDefinite=Def\t5", 0),
        ("d\tDefinite=Ind\t5", 1),
        ("d\tDefinite=Def|X=Y\t5", 0),
        ("d\tDefinite=Def\t1", 2),
    ],
)
def test_function_words_count_towards_their_heads_in_mlas(found: str, wrong: int) -> None:
    scores = assert_agrees_with_official(GOLD, GOLD.replace("d\tDefinite=Def\t5", found)).scores
    assert scores["MLAS"].gold - scores["MLAS"].correct == wrong
    assert scores["CLAS"].f1 == scores["BLEX"].f1 == 1


def test_ignoring_punctuation_in_ud_style_changes_tree_scores_only() -> None:
    changed = GOLD.replace(".\t.\tPUNCT\tf\t_\t1", ".\t.\tPUNCT\tf\t_\t7")
    include, ignore = (
        evaluate(parsed(GOLD), parsed(changed), punctuation=choice) for choice in ("include", "ignore")
    )
    assert (include.scores["UAS"].correct, include.scores["UAS"].gold) == (11, 12)
    assert (ignore.scores["UAS"].correct, ignore.scores["UAS"].gold) == (10, 10)
    assert ignore.scores["UPOS"] == include.scores["UPOS"]


@pytest.mark.parametrize("side", ["gold", "system"])
def test_cycle_is_refused_on_either_side_as_the_official_evaluator_does(side: str) -> None:
    cyclic = GOLD.replace("3\tarde\tarder\tVERB\tv\tMood=Ind\t0", "3\tarde\tarder\tVERB\tv\tMood=Ind\t2")
    files = (cyclic, GOLD) if side == "gold" else (GOLD, cyclic)
    with pytest.raises(udeval.UDError, match="cycle"):
        official(*files)
    message = r"^file.conllu, line 15: the heads form a cycle through words 2, 3; a tree was expected\.$"
    with pytest.raises(FormatError, match=message):
        evaluate(*map(parsed, files))


def test_cycles_of_a_system_are_scored_on_request() -> None:
    system = GOLD.replace("\t0\troot", "\t2\troot")
    evaluation = evaluate(parsed(GOLD), parsed(system), allow_cycles=True)
    assert evaluation.scores["UAS"].correct == 10
    with pytest.raises(FormatError, match="cycle"):
        evaluate(parsed(system), parsed(GOLD), allow_cycles=True)


def test_several_roots_are_scored() -> None:
    assert_agrees_with_official(GOLD, GOLD.replace("\t1\tobl:arg", "\t0\tobl:arg"))


def test_a_block_of_comments_is_no_sentence() -> None:
    evaluation = evaluate(parsed(GOLD + "# the end\n\n"), parsed("# the start\n\n" + GOLD))
    assert all(score.f1 == 1 for score in evaluation.scores.values())
    assert evaluation.scores["Sentences"].gold == 2


def test_another_text_is_an_error_in_ud_style() -> None:
    with pytest.raises(FormatError, match="the same text was expected"):
        evaluate(parsed(GOLD), parsed(GOLD.replace("mar\tmar", "río\trío")))


@st.composite
def tokenised(draw: st.DrawFn, text: str) -> list[list[Token]]:
    """The text cut into sentences, tokens and words at will, with trees, tags and relations at will."""
    sentences: list[list[Token]] = [[]]
    rest = text
    while rest:
        length = draw(st.integers(1, 3))
        surface, rest = rest[:length], rest[length:]
        forms = draw(
            st.one_of(st.none(), st.lists(st.text("abB", min_size=1, max_size=2), min_size=1, max_size=3))
        )
        words = [draw(word_rows(form)) for form in forms or [surface]]
        sentences[-1].append(Token(surface, words, forms is not None))
        if rest and draw(st.integers(0, 3)) == 0:
            sentences.append([])
    for tokens in sentences:
        words = draw(st.permutations([word for token in tokens for word in token.words]))
        for i, word in enumerate(words):
            word.head = words[draw(st.integers(0, i - 1))] if i else None
    return sentences


@st.composite
def word_rows(draw: st.DrawFn, form: str) -> Word:
    feats = draw(st.sampled_from(["_", "Case=Nom", "Number=Sing|Case=Nom", "Case=Nom|Number=Sing|Odd=Yes"]))
    relation = draw(st.sampled_from(["nsubj", "nsubj:pass", "det", "case", "punct", "obl"]))
    lemma, upos, xpos = draw(st.tuples(*[st.sampled_from("_XY")] * 3))
    return Word(["", form, lemma, upos, xpos, feats, "", relation, "_", "_"])


@given(st.data(), st.text("abB", min_size=1, max_size=12))
def test_any_two_tokenisations_score_as_in_the_official_evaluator(data: st.DataObject, text: str) -> None:
    gold, system = (to_text(data.draw(tokenised(text))) for _ in range(2))
    assert_agrees_with_official(gold, system)


@given(st.data(), st.text("abB", min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_near_misses_score_as_in_the_official_evaluator(
    data: st.DataObject, text: str, chance: random.Random
) -> None:
    gold = to_text(data.draw(tokenised(text)))
    system = [mistaken(tokens_of(sentence), chance) for sentence in parsed(gold)]
    assert_agrees_with_official(gold, to_text(retokenised(system, chance)))


def tokens_of(sentence: Sentence) -> list[Token]:
    words = [Word(list(row)) for row in sentence.rows]
    for word, head in zip(words, sentence.heads, strict=True):
        word.head = words[head - 1] if head else None
    ranges = {}
    for first, line in sentence.verbatim:
        columns = line.split("\t")
        if columns[ID][:1].isdigit() and "-" in columns[ID]:
            ranges[first] = int(columns[ID].split("-")[1]), columns[FORM]
    tokens, i = [], 0
    while i < len(words):
        end, surface = ranges.get(i, (i + 1, words[i].row[FORM]))
        tokens.append(Token(surface, words[i:end], i in ranges))
        i = end
    return tokens


def without(tokens: list[Token], gone: Word, heir: Word) -> None:
    """Give the head and the dependents of a word that goes away to another word."""
    if is_above(gone, heir):
        heir.head = gone.head
    for token in tokens:
        for word in token.words:
            if word.head is gone and word is not heir:
                word.head = heir


def is_above(upper: Word, word: Word | None) -> bool:
    while word is not None and word is not upper:
        word = word.head
    return word is upper


def retokenised(sentences: list[list[Token]], chance: random.Random) -> list[list[Token]]:
    """Errors of a tokeniser and a sentence splitter; the results are still trees."""
    result: list[list[Token]] = []
    for tokens in sentences:
        i = 0
        while i < len(tokens):
            token, following = tokens[i], tokens[i + 1] if i + 1 < len(tokens) else None
            event = chance.random()
            if event < 0.02 and not token.multiword and len(token.surface) > 1:
                word = token.words[0]
                at = chance.randrange(1, len(token.surface))
                row = list(word.row)
                word.row[FORM], row[FORM], row[DEPREL] = token.surface[:at], token.surface[at:], "goeswith"
                if word.row[FORM].strip() and row[FORM].strip():
                    tokens.insert(i + 1, Token(row[FORM], [Word(row, word)], False))
                    token.surface = word.row[FORM]
                else:
                    word.row[FORM] = token.surface
            elif event < 0.04 and following and not token.multiword and not following.multiword:
                without(tokens, following.words[0], token.words[0])
                token.surface += following.surface
                token.words[0].row[FORM] = token.surface
                del tokens[i + 1]
            elif event < 0.06 and following:
                joined = Token(token.surface + following.surface, token.words + following.words, True)
                tokens[i : i + 2] = [joined]
            elif event < 0.12 and token.multiword:
                for word in token.words[1:]:
                    without(tokens, word, token.words[0])
                token.words[1:], token.multiword = [], False
                token.words[0].row[FORM] = token.surface
            elif event < 0.2 and token.multiword:
                chance.choice(token.words).row[FORM] = "x"
            i += 1
        if result and chance.random() < 0.1:
            result[-1] += tokens
        else:
            result.append(tokens)
    return result


def mistaken(tokens: list[Token], chance: random.Random) -> list[Token]:
    """Errors of a parser and a tagger; the result is still a tree."""
    words = [word for token in tokens for word in token.words]
    for word in words:
        for column in (UPOS, XPOS, FEATS, LEMMA, DEPREL):
            if chance.random() < 0.1:
                word.row[column] = chance.choice(words).row[column]
        new_head = chance.choice(words)
        if chance.random() < 0.2 and word.head and not is_above(word, new_head):
            word.head = new_head
    return tokens


@pytest.mark.slow
@pytest.mark.skipif(not TREEBANKS.is_dir(), reason="../shared/treebanks is absent")
@pytest.mark.parametrize("treebank", ["english-ewt", "arabic-padt", "turkish-imst", "portuguese-bosque"])
@pytest.mark.parametrize("own_tokens", [False, True])
def test_a_perturbed_treebank_scores_as_in_the_official_evaluator(treebank: str, own_tokens: bool) -> None:
    sentences = list(islice(read(TREEBANKS / treebank / "test.conllu.xz"), 50))
    chance = random.Random(treebank)
    gold = [tokens_of(sentence) for sentence in sentences]
    system = [mistaken(tokens_of(sentence), chance) for sentence in sentences]
    if own_tokens:
        system = retokenised(system, chance)
    evaluation = assert_agrees_with_official(to_text(gold), to_text(system))
    assert (evaluation.breakdown is None) == own_tokens
    assert 0.5 < evaluation.las < 0.9
