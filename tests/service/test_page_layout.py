"""The page lays out trees as the pictures do: layout.js and display/layout.py are the same arithmetic."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from biatt.data.arcs import crossing_arcs, is_tree
from biatt.display.layout import Arc, lay_out

PAGE = Path(__file__).parents[2] / "src" / "biatt" / "service" / "page"
NODE = shutil.which("node")
SCRIPT = f"""
import {{ layOut, crossingArcs }} from {json.dumps((PAGE / "layout.js").as_uri())};
let input = "";
for await (const part of process.stdin) input += part;
console.log(JSON.stringify(JSON.parse(input).map(({{ words, arcs, wrap, fromRight }}) => ({{
  ...layOut(words, arcs, {{ wrap, fromRight }}),
  crossing: crossingArcs(arcs.map((arc) => arc.head)),
}}))));
"""

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


def drawings(count: int) -> list[dict[str, Any]]:
    """Trees of any shape with words and labels of any width; half of the widths have quarters of a pixel."""
    chosen = random.Random(1)
    result = []
    for _ in range(count):
        size = chosen.randint(1, 30)
        heads = [chosen.randint(0, size) for _ in range(size)]
        while not is_tree(heads):
            heads = [
                min(max(0, word + chosen.choice((-3, -2, -1, 1, 2))), size) for word in range(1, size + 1)
            ]
            heads[chosen.randrange(size)] = 0
        widths = [
            chosen.choice((chosen.randint(12, 400) / 4, chosen.uniform(3, 99))) for _ in range(2 * size)
        ]
        arcs = [
            {"head": head, "dependent": word, "label": widths[word - 1]} for word, head in enumerate(heads, 1)
        ]
        wrap = chosen.choice((None, 60, 250.5, 400, 700))
        result.append(
            {"words": widths[size:], "arcs": arcs, "wrap": wrap, "fromRight": chosen.random() < 0.3}
        )
    return result


def in_python(drawing: dict[str, Any]) -> dict[str, Any]:
    arcs = [Arc(**arc) for arc in drawing["arcs"]]
    layout = lay_out(drawing["words"], arcs, wrap=drawing["wrap"], from_right=drawing["fromRight"])
    names = {"has_start": "hasStart", "has_end": "hasEnd"}
    pieces = [
        {names.get(name, name): value for name, value in piece._asdict().items()} for piece in layout.pieces
    ]
    return {
        "width": layout.width,
        "centres": layout.centres,
        "rows": [row._asdict() for row in layout.rows],
        "pieces": [{**piece, "arc": piece["arc"]._asdict()} for piece in pieces],
        "crossing": crossing_arcs([arc.head for arc in arcs]),
    }


@pytest.mark.slow
def test_both_layouts_are_the_same() -> None:
    cases = drawings(300)
    assert NODE
    command = [NODE, "--input-type=module", "--eval", SCRIPT]
    answer = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, check=True)
    for case, layout in zip(cases, json.loads(answer.stdout), strict=True):
        assert layout == in_python(case)
