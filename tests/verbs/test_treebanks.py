"""generate: a toy treebank; detokenise."""

from __future__ import annotations

from pathlib import Path

from biatt.data.toy_treebank import generate
from commands import invoke


def test_generate_writes_a_toy_treebank() -> None:
    assert invoke("generate", 3, "--seed", 4) == "".join(
        sentence.to_text() for sentence in generate(3, seed=4)
    )


def test_detokenise_writes_conllu_with_the_spaces_of_the_rules(tmp_path: Path) -> None:
    path = tmp_path / "t.conllx"
    path.write_text("1\tNej\t_\tI\tI\t_\t0\tROOT\t_\t_\n2\t!\t_\tX\tXP\t_\t1\tpnct\t_\t_\n\n")
    assert invoke("detokenise", path) == (
        "# text = Nej!\n1\tNej\t_\tI\tI\t_\t0\tROOT\t_\tSpaceAfter=No\n2\t!\t_\tX\tXP\t_\t1\tpnct\t_\t_\n\n"
    )
