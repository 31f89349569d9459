"""Results as JSON and as tables."""

from __future__ import annotations

import json

import pytest

from biatt.data.sentence import Sentence
from biatt.evaluation.metrics import evaluate
from biatt.options import Style


def sentence(*heads: int) -> Sentence:
    forms = ["Owls", "hunt", "by", "night", "."]
    relations = ["nsubj", "root", "case", "obl:tmod", "punct"]
    return Sentence.from_words(forms, heads=heads, deprels=relations)


GOLD = [sentence(2, 0, 4, 2, 2)]


@pytest.mark.parametrize("style", ["conllx", "ud"])
def test_everything_can_be_written_as_json(style: Style) -> None:
    plain = evaluate(GOLD, [sentence(2, 0, 4, 1, 2)], style=style, punctuation="include").as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["las"] == plain["scores"]["LAS"]["f1"] == 4 / 5
    assert plain["breakdown"]["relations"]["case"]["unlabeled_recall"] == 1
    assert plain["breakdown"]["crossed_share"]["value"] == 0
    assert plain["breakdown"]["crossed"]["value"] is None


def test_tables_are_in_percent_and_as_wide_as_their_headings() -> None:
    tables = evaluate(GOLD, GOLD).tables()
    titles = ["Scores", "Trees", "By relation", "By sentence length", "By arc length"]
    assert [table.title for table in tables] == titles
    for table in tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
    assert tables[0].rows[-1] == ("BLEX", 100, 100, 100, 100)
    conllx = evaluate(GOLD, GOLD, style="conllx")
    assert conllx.tables()[0].rows == [(name, 4, 4, 100) for name in ("UAS", "LAS", "LA")]


def test_other_words_have_no_breakdown_to_show() -> None:
    system = [Sentence.from_words(["Owlshuntbynight."], heads=[0], deprels=["root"])]
    assert [table.title for table in evaluate(GOLD, system).tables()] == ["Scores"]
