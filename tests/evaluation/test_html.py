"""Tables of results in notebooks."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from biatt.data.toy_treebank import generate
from biatt.evaluation.comparison import compare
from biatt.evaluation.html import tables_html
from biatt.evaluation.metrics import evaluate
from biatt.evaluation.results import Table


def test_cells_are_escaped_and_numbers_are_on_the_right() -> None:
    table = Table("A & B", ("<name>", "%"), [("x<y\x1b", 50.0), ("z", None), ("w", 3)])
    parsed = ElementTree.fromstring(tables_html([table]))
    assert [cell.text for cell in parsed.iter("td")] == ["x<y\\x1b", "50.00", "z", "–", "w", "3"]
    assert [cell.get("style") for cell in parsed.iter("td")][:2] == ["text-align: left", "text-align: right"]
    assert [cell.text for cell in parsed.iter("th")] == ["<name>", "%"]


def test_results_show_all_of_their_tables() -> None:
    gold = generate(5, seed=1)
    changed = [sentence.with_tree([0, *range(1, len(sentence))], sentence.deprels) for sentence in gold]
    for result in (evaluate(gold, changed), compare(gold, changed, gold, samples=20)):
        kind = type(result).__name__
        assert re.fullmatch(rf"<{kind}: UAS [\d.]+%.*LAS [\d.]+%.*; ud, punctuation include>", repr(result))
        html = result._repr_html_()
        assert html.count("<table>") == len(result.tables())
        assert all(f"<caption>{table.title}" in html for table in result.tables())
